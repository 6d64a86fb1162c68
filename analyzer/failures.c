#include "failures.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. Other errors are no lack of memory. */
#define OUT_OF_MEMORY 2

/* A thread that fails on and on without a word from a pool keeps only the latest. */
#define MAX_RECENT 64

/* JAX's allocator is in there, and asks for nine tenths of what it was refused, rounded up. */
#define JAX_PLUGIN "/xla_cuda_plugin.so"
#define MAX_ROUND  ((uint64_t)2 << 20)

/* A failure that is not yet decided, or may yet become part of a pool's. */
struct open_failure {
	struct vs_failure_group *group;
	struct vs_failure failure;
	uint64_t reserved_bytes; /* of the device, then */
	bool is_final;           /* decided: an out-of-memory, unless a pool takes it over */
	bool is_pools; /* asked for by a framework's pool, in the middle of a request to it */
	bool is_jax;   /* by that of JAX, which nobody sees, and which asks for less and less */
	bool is_past;  /* something of the kind was served since */
};

struct failure_thread {
	struct open_failure *open; /* oldest first */
	size_t nr_open;
	size_t open_capacity;
	struct open_failure *recovered; /* since a pool last served it: may yet be undone */
	size_t nr_recovered;
	size_t recovered_capacity;
	const struct vs_replay_pool *failed_pool; /* its latest pool request failed */
	uint64_t failed_size;
	struct vs_failure_group *failed_group; /* of that request, until a pool serves one */
};

static struct vs_failures *failures_of(struct vs_observer *observer)
{
	return (struct vs_failures *)(void *)observer; /* its first member */
}

static int get_thread(struct vs_failures *failures, uint32_t id, struct failure_thread **thread)
{
	int err;

	*thread = vs_id_map_get(&failures->threads, id);
	if (*thread)
		return 0;
	*thread = calloc(1, sizeof(**thread));
	if (!*thread)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&failures->threads, id, *thread);
	if (err)
		free(*thread);
	return err;
}

static int create_group(struct vs_failures *failures, uint64_t key, struct vs_failure_group **group)
{
	int err = VS_GROW(failures->groups, failures->groups_capacity, failures->nr_groups + 1);

	if (err)
		return err;
	*group = calloc(1, sizeof(**group));
	if (!*group)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&failures->by_key, key, *group);
	if (err) {
		free(*group);
		return err;
	}
	failures->groups[failures->nr_groups++] = *group;
	return 0;
}

/* pool: NULL for a request to the driver itself. */
static int get_group(struct vs_failures *failures, const struct vs_site *site,
		     const struct vs_replay_device *device, const struct vs_replay_pool *pool,
		     enum vs_memory_kind kind, struct vs_failure_group **group)
{
	uint64_t key = (uint64_t)site->index << 32;
	int err;

	/* Either a pool or a device and a kind: 2^31 of the one, 2^27 x 16 of the other. */
	key |= pool ? 1u << 31 | pool->index : (device->index & 0x7ffffff) << 4 | kind;
	*group = vs_id_map_get(&failures->by_key, key);
	if (*group)
		return 0;
	err = create_group(failures, key, group);
	if (err)
		return err;
	(*group)->site = site;
	(*group)->device = device;
	(*group)->kind = kind;
	if (pool && pool->owner == VS_POOL_DRIVER)
		(*group)->driver_pool = pool;
	else
		(*group)->pool = pool;
	return 0;
}

static void count_failure(struct vs_failure_group *group, uint64_t time_ns)
{
	if (!group->nr_failed++)
		group->first_ns = time_ns;
	group->last_ns = time_ns;
}

static void add_oom(struct vs_failure_group *group, const struct vs_failure *failure)
{
	bool is_first = !group->nr_ooms++;

	/* Threads come to their ends in any order. */
	if (is_first || failure->at.record < group->first_oom.at.record)
		group->first_oom = *failure;
	if (is_first || failure->at.record > group->last_oom.at.record)
		group->last_oom = *failure;
}

/* Nothing more is known of it. Whether a pool's own request failed is for the pool to say. */
static void settle(const struct open_failure *open)
{
	if (open->is_pools)
		open->group->nr_recovered++;
	else
		add_oom(open->group, &open->failure);
}

/* The thread's undecided request for this kind and device: at most one. */
static struct open_failure *find_pending(struct failure_thread *thread,
					 const struct vs_replay_device *device,
					 enum vs_memory_kind kind)
{
	size_t i;

	for (i = thread->nr_open; i-- > 0;) {
		struct open_failure *open = &thread->open[i];

		if (!open->is_final && open->group->device == device && open->group->kind == kind)
			return open;
	}
	return NULL;
}

static void drop(struct failure_thread *thread, struct open_failure *open)
{
	size_t behind = (size_t)(thread->open + thread->nr_open - open) - 1;

	memmove(open, open + 1, behind * sizeof(*open));
	thread->nr_open--;
}

static int add_open(struct failure_thread *thread, const struct open_failure *open)
{
	int err;

	if (thread->nr_open == MAX_RECENT) {
		settle(&thread->open[0]);
		drop(thread, &thread->open[0]);
	}
	err = VS_GROW(thread->open, thread->open_capacity, thread->nr_open + 1);
	if (!err)
		thread->open[thread->nr_open++] = *open;
	return err;
}

static bool is_jax(const struct vs_site *site)
{
	uint32_t i;

	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames; i++)
		if (site->frames[i].module && strstr(site->frames[i].module->path, JAX_PLUGIN))
			return true;
	return false;
}

/* Whether a request is what JAX's allocator does after this failure. Both may have been rounded up
 * on their way to the driver. */
static bool is_less(const struct open_failure *open, uint64_t size)
{
	uint64_t wanted = open->failure.size - open->failure.size / 10;

	return open->is_jax && size < open->failure.size && size + MAX_ROUND >= wanted &&
	       size <= wanted + MAX_ROUND;
}

/* Refused all the way down, it waits and begins again: down to the same, that is the same. */
static void drop_earlier(struct failure_thread *thread, const struct open_failure *latest)
{
	struct open_failure last = *latest;
	size_t i = 0;

	while (i < thread->nr_open) {
		struct open_failure *open = &thread->open[i];

		if (open != &thread->open[thread->nr_open - 1] && open->is_jax && !open->is_past &&
		    open->is_final && open->group->device == last.group->device &&
		    open->group->kind == last.group->kind &&
		    open->failure.size == last.failure.size) {
			open->group->nr_absorbed++;
			drop(thread, open);
		} else {
			i++;
		}
	}
}

static int on_alloc_failed(struct vs_failures *failures, struct failure_thread *thread,
			   const struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_alloc_failed *failed = &record->alloc_failed;
	const struct vs_replay_device *device = vs_replay_get_device(replay, failed->device);
	const struct vs_replay_pool *pool = vs_replay_get_driver_pool(replay, failed), *asker;
	const struct vs_site *site = vs_definitions_get_site(&replay->definitions, failed->stack);
	struct open_failure *pending, open = {0};
	bool is_told = failed->total_size;
	int err;

	/* A pool's memory is of its own device, whatever device the stream is of. */
	if (pool && pool->device != device) {
		device = pool->device;
		is_told = false;
	}
	if (!device || (unsigned int)failed->kind >= VS_NR_MEMORY_KINDS ||
	    failed->error != OUT_OF_MEMORY ||
	    vs_replay_get_domain(failed->kind) != VS_DOMAIN_DEVICE)
		return 0;
	err = get_group(failures, site, device, pool, failed->kind, &open.group);
	if (err)
		return err;
	open.group->api = failed->api;
	asker = vs_replay_get_pool(replay, failed->pool);
	open.is_pools = asker && asker->owner == VS_POOL_FRAMEWORK;
	open.failure = (struct vs_failure){.at = vs_instant_now(replay, record->thread),
					   .size = failed->size,
					   .free_size = is_told ? failed->free_size : 0,
					   .total_size = is_told ? failed->total_size : 0,
					   .error = failed->error,
					   .thread = record->thread,
					   .driver_pool = pool};
	open.reserved_bytes = vs_replay_get_reserved(device);
	count_failure(open.group, replay->now_ns);
	pending = find_pending(thread, device, failed->kind);
	open.is_jax = is_jax(site);
	if (pending && (pending->failure.size == failed->size || is_less(pending, failed->size))) {
		/* Asked once more: still the same out-of-memory, with its newest state. */
		*pending = open;
		if (open.is_jax)
			drop_earlier(thread, &open);
		return 0;
	}
	if (pending)
		pending->is_final = true;
	return add_open(thread, &open);
}

static int recover(struct failure_thread *thread, struct open_failure *open)
{
	struct open_failure copy = *open;
	int err = 0;

	copy.group->nr_recovered++;
	drop(thread, open);
	if (thread->nr_recovered < MAX_RECENT)
		err = VS_GROW(thread->recovered, thread->recovered_capacity,
			      thread->nr_recovered + 1);
	if (!err && thread->nr_recovered < MAX_RECENT)
		thread->recovered[thread->nr_recovered++] = copy;
	return err;
}

static int on_alloc(struct failure_thread *thread, const struct vs_replay *replay,
		    const struct vs_alloc *alloc)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, alloc->device);
	struct open_failure *pending = find_pending(thread, device, alloc->kind);
	size_t i;

	for (i = 0; i < thread->nr_open; i++)
		thread->open[i].is_past = true;
	if (!pending)
		return 0;
	if (pending->failure.size == alloc->size || is_less(pending, alloc->size))
		return recover(thread, pending);
	pending->is_final = true;
	return 0;
}

/* Pages of one size: the one that was had at the second try was no help if the next was not. */
static void take_back_recovered(struct failure_thread *thread, const struct open_failure *open)
{
	size_t i, kept = 0;

	for (i = 0; i < thread->nr_recovered; i++) {
		struct open_failure *recovered = &thread->recovered[i];

		if (recovered->group->device != open->group->device ||
		    recovered->group->kind != open->group->kind ||
		    recovered->failure.size != open->failure.size) {
			thread->recovered[kept++] = *recovered;
			continue;
		}
		recovered->group->nr_recovered--;
		recovered->group->nr_absorbed++;
	}
	thread->nr_recovered = kept;
}

/*
 * What the driver said was free, and what has been given back since: a pool that takes a request
 * page by page gives back all of them before it says that it failed.
 */
static uint64_t get_free_now(const struct open_failure *open, uint64_t reserved_now)
{
	uint64_t free_size = open->failure.free_size;

	if (open->reserved_bytes > reserved_now)
		free_size += open->reserved_bytes - reserved_now;
	return free_size < open->failure.total_size ? free_size : open->failure.total_size;
}

/* The driver failures under a pool's are part of it. Takes over what the driver told. */
static void absorb(struct failure_thread *thread, const struct vs_replay_device *device,
		   struct vs_failure *failure)
{
	size_t i;

	for (i = 0; i < thread->nr_open; i++) {
		struct open_failure *open = &thread->open[i];

		if (open->group->device != device) {
			settle(open);
			continue;
		}
		open->group->nr_absorbed++;
		take_back_recovered(thread, open);
		failure->driver_size = open->failure.size;
		failure->driver_pool = open->failure.driver_pool;
		if (open->failure.total_size) {
			failure->free_size = get_free_now(open, vs_replay_get_reserved(device));
			failure->total_size = open->failure.total_size;
		}
	}
	thread->nr_open = 0;
	thread->nr_recovered = 0;
}

static int on_block_failed(struct vs_failures *failures, struct failure_thread *thread,
			   const struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_block_failed *failed = &record->block_failed;
	const struct vs_replay_pool *pool = vs_replay_get_pool(replay, failed->pool);
	const struct vs_site *site = vs_definitions_get_site(&replay->definitions, failed->stack);
	struct vs_failure failure = {.at = vs_instant_now(replay, record->thread),
				     .size = failed->size,
				     .error = OUT_OF_MEMORY,
				     .thread = record->thread};
	struct vs_failure_group *group;
	int err;

	if (!pool)
		return 0;
	err = get_group(failures, site, pool->device, pool, VS_MEMORY_DEVICE, &group);
	if (err)
		return err;
	count_failure(group, replay->now_ns);
	absorb(thread, pool->device, &failure);
	if (thread->failed_pool == pool && thread->failed_size == failed->size && group->nr_ooms)
		group->last_oom = failure;
	else
		add_oom(group, &failure);
	thread->failed_pool = pool;
	thread->failed_size = failed->size;
	thread->failed_group = group;
	return 0;
}

/* A request to a pool was served: whatever failed before it has been decided. */
static void on_block_alloc(struct failure_thread *thread)
{
	size_t i, kept = 0;

	for (i = 0; i < thread->nr_open; i++) {
		if (thread->open[i].is_final || thread->open[i].is_pools)
			settle(&thread->open[i]);
		else
			thread->open[kept++] = thread->open[i];
	}
	thread->nr_open = kept;
	thread->nr_recovered = 0;
	thread->failed_pool = NULL;
	thread->failed_group = NULL;
}

/* What the pool says of its latest failure. */
static void on_block_failed_text(const struct failure_thread *thread,
				 const struct vs_block_failed_text *said)
{
	struct vs_failure_group *group = thread->failed_group;

	if (!group || group->pool != thread->failed_pool || group->pool->id != said->pool)
		return;
	group->last_oom.text = said->name;
	if (group->nr_ooms == 1)
		group->first_oom.text = said->name;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_failures *failures = failures_of(observer);
	bool is_failure =
		record->type == VS_RECORD_ALLOC_FAILED || record->type == VS_RECORD_BLOCK_FAILED;
	struct failure_thread *thread;
	int err;

	/* Of most traces that is all. */
	if (!replay->is_in_window || (!is_failure && !failures->threads.nr_used))
		return 0;
	thread = vs_id_map_get(&failures->threads, record->thread);
	if (!thread && !is_failure)
		return 0;
	err = get_thread(failures, record->thread, &thread);
	if (err)
		return err;
	switch (record->type) {
	case VS_RECORD_ALLOC:
		return on_alloc(thread, replay, &record->alloc);
	case VS_RECORD_ALLOC_FAILED:
		return on_alloc_failed(failures, thread, replay, record);
	case VS_RECORD_BLOCK_ALLOC:
		on_block_alloc(thread);
		return 0;
	case VS_RECORD_BLOCK_FAILED:
		return on_block_failed(failures, thread, replay, record);
	case VS_RECORD_BLOCK_FAILED_TEXT:
		on_block_failed_text(thread, &record->block_failed_text);
		return 0;
	default:
		return 0;
	}
}

static int on_block(struct vs_observer *observer, const struct vs_replay *replay,
		    struct vs_item *block, const struct vs_record *record)
{
	(void)block;
	if (!vs_replay_is_birth(record))
		return 0;
	return on_record(observer, replay, record);
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_failures *failures = failures_of(observer);
	struct failure_thread *thread;
	size_t i, slot = 0;

	(void)replay;
	while ((thread = vs_id_map_next(&failures->threads, &slot)))
		for (i = 0; i < thread->nr_open; i++)
			settle(&thread->open[i]);
	return 0;
}

void vs_failures_init(struct vs_failures *failures)
{
	memset(failures, 0, sizeof(*failures));
	failures->observer.on_record = on_record;
	failures->observer.records = VS_WANTS(VS_RECORD_ALLOC) | VS_WANTS(VS_RECORD_ALLOC_FAILED) |
				     VS_WANTS(VS_RECORD_BLOCK_ALLOC) |
				     VS_WANTS(VS_RECORD_BLOCK_FAILED) |
				     VS_WANTS(VS_RECORD_BLOCK_FAILED_TEXT);
	failures->observer.on_block = on_block;
	failures->observer.on_end = on_end;
}

void vs_failures_fini(struct vs_failures *failures)
{
	struct failure_thread *thread;
	size_t i, slot = 0;

	while ((thread = vs_id_map_next(&failures->threads, &slot))) {
		free(thread->open);
		free(thread->recovered);
		free(thread);
	}
	for (i = 0; i < failures->nr_groups; i++)
		free(failures->groups[i]);
	free(failures->groups);
	vs_id_map_fini(&failures->by_key);
	vs_id_map_fini(&failures->threads);
}

uint64_t vs_failures_count_device(const struct vs_failures *failures,
				  const struct vs_replay_device *device)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < failures->nr_groups; i++)
		if (failures->groups[i]->device == device)
			sum += failures->groups[i]->nr_ooms;
	return sum;
}

uint64_t vs_failures_count_recovered(const struct vs_failures *failures,
				     const struct vs_replay_device *device)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < failures->nr_groups; i++)
		if (failures->groups[i]->device == device)
			sum += failures->groups[i]->nr_recovered;
	return sum;
}

uint64_t vs_failures_count_pool(const struct vs_failures *failures,
				const struct vs_replay_pool *pool)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < failures->nr_groups; i++)
		if (failures->groups[i]->pool == pool || failures->groups[i]->driver_pool == pool)
			sum += failures->groups[i]->nr_ooms;
	return sum;
}

const struct vs_failure_group *vs_failures_get_last(const struct vs_failures *failures,
						    const struct vs_replay_device *device)
{
	const struct vs_failure_group *last = NULL;
	size_t i;

	for (i = 0; i < failures->nr_groups; i++) {
		const struct vs_failure_group *group = failures->groups[i];

		if (!group->nr_ooms || (device && group->device != device))
			continue;
		if (!last || group->last_oom.at.record > last->last_oom.at.record)
			last = group;
	}
	return last;
}
