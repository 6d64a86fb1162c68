#include "live_set.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define NONE         UINT32_MAX
#define FIRST_NR     1024u /* a power of two */
#define MAX_NR       (1u << 30)
#define BODY_SIZE    sizeof(struct vs_alloc_failed) /* the largest event */
#define PHASE_LEVELS 65536u
#define POOL_LEVELS  16 /* pools that stand in each other: as the analyzer has it */

/* What an address or a number means. Things of different spaces never meet. */
enum space {
	SPACE_MEMORY, /* addresses of all kinds but the next two */
	SPACE_HANDLE, /* of VMM; with its entry in `extra` once only mappings know it */
	SPACE_ARRAY,
	SPACE_BLOCK, /* addresses, in the pool that is in `extra` */
	SPACE_RESERVATION,
	SPACE_MAPPING,
	SPACE_POOL_STATE, /* numbers of pools */
	SPACE_CONTEXT,    /* numbers of contexts */
	SPACE_RESET,      /* numbers of devices */
	SPACE_PHASE,      /* number of the thread, and how deep in `extra` */
	SPACE_RANGE,      /* numbers of ranges */
	SPACE_STEP,       /* 0 */
	SPACE_RELEASE,    /* the FREE of a handle that mappings keep alive; like it by its entry */
	SPACE_DEPTH,      /* number of the thread: how many phases; never visited */
};

struct entry {
	uint64_t key;
	uint32_t extra;
	uint8_t space;
	uint8_t type;
	bool is_alive;
	bool is_pending; /* a thread gives it back: struct pending */
	uint32_t thread;
	uint32_t previous; /* in the order of events; a free entry: the next free one */
	uint32_t next;
	uint32_t chain;    /* next in the same bucket */
	uint32_t nr_users; /* mappings of a handle; phases of a thread */
	uint32_t handle;   /* of a mapping, or NONE */
	uint32_t release;  /* of a handle that was released, or NONE */
	uint64_t time_ns;

	/* What has addresses is in a tree by them: a treap, whose priorities are hashes. */
	uint64_t size;  /* of its addresses, from key on; 0: it is in no tree */
	uint32_t owner; /* in whose `inside` it is; NONE: in one of the set's own trees */
	uint32_t lower, upper;
	uint32_t inside; /* blocks that a pool has placed in it */

	/* The first block that was ever placed in it, if that is what has to be said of it. */
	uint32_t first_pool;
	uint64_t first_block;
	uint8_t body[BODY_SIZE];
};

/*
 * A free is recorded before the call, which may fail; the thread's next event tells. Until then
 * what is freed stays here, and both events are visited.
 */
#define NR_PENDING 64u
struct pending {
	uint32_t entry; /* NONE: nothing */
	struct vs_record event;
};

struct vs_live_set {
	struct entry *entries;
	uint32_t *buckets; /* as many as entries */
	uint32_t capacity;
	uint32_t nr_used; /* entries from here on were never used */
	uint32_t nr_alive;
	uint32_t free; /* first free entry, or NONE */
	uint32_t first, last;
	uint32_t regions; /* tree: memory and mappings */
	uint32_t reservations;
	struct pending pending[NR_PENDING]; /* by thread, modulo */
};

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static uint32_t get_bucket(const struct vs_live_set *set, enum space space, uint64_t key,
			   uint32_t extra)
{
	uint64_t hash = (key ^ (uint64_t)extra << 40 ^ (uint64_t)space << 60) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> 32) & (set->capacity - 1);
}

static void put_into_bucket(struct vs_live_set *set, uint32_t index)
{
	struct entry *entry = &set->entries[index];
	uint32_t *bucket = &set->buckets[get_bucket(set, entry->space, entry->key, entry->extra)];

	entry->chain = *bucket;
	*bucket = index;
}

/* Room for `capacity` entries. */
static int resize(struct vs_live_set *set, uint32_t capacity)
{
	struct entry *entries = map_memory(capacity * sizeof(*entries));
	uint32_t *buckets = map_memory(capacity * sizeof(*buckets));

	if (!entries || !buckets) {
		if (entries)
			munmap(entries, capacity * sizeof(*entries));
		if (buckets)
			munmap(buckets, capacity * sizeof(*buckets));
		return -VS_ERR_NO_MEMORY;
	}
	if (set->capacity) {
		memcpy(entries, set->entries, set->nr_used * sizeof(*entries));
		munmap(set->entries, set->capacity * sizeof(*entries));
		munmap(set->buckets, set->capacity * sizeof(*buckets));
	}
	set->entries = entries;
	set->buckets = buckets;
	set->capacity = capacity;
	memset(buckets, 0xff, capacity * sizeof(*buckets)); /* NONE */
	for (uint32_t i = 0; i < set->nr_used; i++)
		if (entries[i].is_alive)
			put_into_bucket(set, i);
	return 0;
}

int vs_live_set_create(struct vs_live_set **set)
{
	struct vs_live_set *new = map_memory(sizeof(*new));

	if (!new)
		return -VS_ERR_NO_MEMORY;
	new->free = new->first = new->last = NONE;
	new->regions = new->reservations = NONE;
	for (uint32_t i = 0; i < NR_PENDING; i++)
		new->pending[i].entry = NONE;
	if (resize(new, FIRST_NR)) {
		munmap(new, sizeof(*new));
		return -VS_ERR_NO_MEMORY;
	}
	*set = new;
	return 0;
}

void vs_live_set_destroy(struct vs_live_set *set)
{
	munmap(set->entries, set->capacity * sizeof(*set->entries));
	munmap(set->buckets, set->capacity * sizeof(*set->buckets));
	munmap(set, sizeof(*set));
}

static uint32_t take_entry(struct vs_live_set *set)
{
	uint32_t index = set->free;

	if (index != NONE) {
		set->free = set->entries[index].previous;
		return index;
	}
	if (set->nr_used == set->capacity &&
	    (set->capacity >= MAX_NR || resize(set, 2 * set->capacity)))
		return NONE;
	return set->nr_used++;
}

/* ---- Trees by address ------------------------------------------------------------------------ */

static uint32_t get_priority(const struct entry *entry)
{
	return (uint32_t)((entry->key + entry->extra) * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

static uint32_t *get_root(struct vs_live_set *set, const struct entry *entry)
{
	if (entry->owner != NONE)
		return &set->entries[entry->owner].inside;
	return entry->space == SPACE_RESERVATION ? &set->reservations : &set->regions;
}

/* All of `low` is below all of `high`. */
static uint32_t join(struct vs_live_set *set, uint32_t low, uint32_t high)
{
	uint32_t root = NONE;
	uint32_t *at = &root;

	while (low != NONE && high != NONE) {
		struct entry *lower = &set->entries[low], *upper = &set->entries[high];

		if (get_priority(lower) >= get_priority(upper)) {
			*at = low;
			at = &lower->upper;
			low = lower->upper;
		} else {
			*at = high;
			at = &upper->lower;
			high = upper->lower;
		}
	}
	*at = low != NONE ? low : high;
	return root;
}

static void put_into_tree(struct vs_live_set *set, struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);
	uint32_t *at = get_root(set, entry);
	uint32_t *low = &entry->lower, *high = &entry->upper;
	uint32_t rest;

	while (*at != NONE && get_priority(&set->entries[*at]) >= get_priority(entry))
		at = entry->key < set->entries[*at].key ? &set->entries[*at].lower
							: &set->entries[*at].upper;
	rest = *at;
	*at = index;
	/* What was there goes to both sides. */
	while (rest != NONE) {
		struct entry *other = &set->entries[rest];

		if (other->key < entry->key) {
			*low = rest;
			low = &other->upper;
			rest = other->upper;
		} else {
			*high = rest;
			high = &other->lower;
			rest = other->lower;
		}
	}
	*low = NONE;
	*high = NONE;
}

static void remove_from_tree(struct vs_live_set *set, struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);
	uint32_t *at = get_root(set, entry);

	while (*at != index)
		at = entry->key < set->entries[*at].key ? &set->entries[*at].lower
							: &set->entries[*at].upper;
	*at = join(set, entry->lower, entry->upper);
}

/* The lowest one with an address from base on, below base + size; or NULL. Nothing overlaps. */
static struct entry *find_from(const struct vs_live_set *set, uint32_t root, uint64_t base,
			       uint64_t size)
{
	struct entry *found = NULL;

	while (root != NONE) {
		struct entry *entry = &set->entries[root];

		if (base >= entry->key && base - entry->key < entry->size)
			return entry;
		if (base >= entry->key) {
			root = entry->upper;
		} else {
			if (entry->key - base < size)
				found = entry;
			root = entry->lower;
		}
	}
	return found;
}

static uint64_t get_extent(uint64_t base, uint64_t size)
{
	if (size == 0)
		size = 1;
	return size > UINT64_MAX - base ? UINT64_MAX - base : size;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void remove_from_bucket(struct vs_live_set *set, const struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);
	uint32_t *at = &set->buckets[get_bucket(set, entry->space, entry->key, entry->extra)];

	while (*at != index)
		at = &set->entries[*at].chain;
	*at = entry->chain;
}

static struct entry *find(const struct vs_live_set *set, enum space space, uint64_t key,
			  uint32_t extra)
{
	uint32_t index = set->buckets[get_bucket(set, space, key, extra)];

	for (; index != NONE; index = set->entries[index].chain) {
		struct entry *entry = &set->entries[index];

		if (entry->key == key && entry->extra == extra && entry->space == space)
			return entry;
	}
	return NULL;
}

static void link_last(struct vs_live_set *set, uint32_t index)
{
	struct entry *entry = &set->entries[index];

	entry->previous = set->last;
	entry->next = NONE;
	if (set->last != NONE)
		set->entries[set->last].next = index;
	else
		set->first = index;
	set->last = index;
}

static void unlink_entry(struct vs_live_set *set, struct entry *entry)
{
	if (entry->previous != NONE)
		set->entries[entry->previous].next = entry->next;
	else
		set->first = entry->next;
	if (entry->next != NONE)
		set->entries[entry->next].previous = entry->previous;
	else
		set->last = entry->previous;
}

static void forget_pending(struct vs_live_set *set, struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);

	for (uint32_t i = 0; i < NR_PENDING; i++)
		if (set->pending[i].entry == index)
			set->pending[i].entry = NONE;
	entry->is_pending = false;
}

/* With all that lies in it. */
static void drop(struct vs_live_set *set, struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);

	while (entry->inside != NONE)
		drop(set, &set->entries[entry->inside]);
	remove_from_bucket(set, entry);
	unlink_entry(set, entry);
	if (entry->size)
		remove_from_tree(set, entry);
	if (entry->is_pending)
		forget_pending(set, entry);
	entry->is_alive = false;
	entry->previous = set->free;
	set->free = index;
	set->nr_alive--;
}

static size_t get_body_size(enum vs_record_type type)
{
	switch (type) {
	case VS_RECORD_ALLOC:
		return sizeof(struct vs_alloc);
	case VS_RECORD_FREE:
		return sizeof(struct vs_free);
	case VS_RECORD_RESERVE:
		return sizeof(struct vs_reserve);
	case VS_RECORD_MAP:
		return sizeof(struct vs_map);
	case VS_RECORD_CONTEXT:
		return sizeof(struct vs_context);
	case VS_RECORD_POOL_STATE:
		return sizeof(struct vs_pool_state);
	case VS_RECORD_POOL_END:
		return sizeof(struct vs_pool_end);
	case VS_RECORD_BLOCK_ALLOC:
		return sizeof(struct vs_block_alloc);
	case VS_RECORD_PHASE_PUSH:
		return sizeof(struct vs_phase_push);
	case VS_RECORD_RANGE_START:
		return sizeof(struct vs_range_start);
	case VS_RECORD_STEP:
		return sizeof(struct vs_step);
	default:
		return 0;
	}
}

/* Puts the event in, in the place of one with the same key. */
static int put(struct vs_live_set *set, enum space space, uint64_t key, uint32_t extra,
	       const struct vs_record *event)
{
	struct entry *old = find(set, space, key, extra);
	uint32_t index;

	if (old)
		drop(set, old);
	index = take_entry(set);
	if (index == NONE)
		return -VS_ERR_NO_MEMORY;
	set->entries[index] = (struct entry){
		.key = key,
		.extra = extra,
		.space = (uint8_t)space,
		.type = (uint8_t)event->type,
		.is_alive = true,
		.thread = event->thread,
		.time_ns = event->time_ns,
		.handle = NONE,
		.release = NONE,
		.owner = NONE,
		.lower = NONE,
		.upper = NONE,
		.inside = NONE,
	};
	memcpy(set->entries[index].body, &event->alloc, get_body_size(event->type));
	put_into_bucket(set, index);
	link_last(set, index);
	set->nr_alive++;
	return 0;
}

/* ---- Memory of the program ------------------------------------------------------------------- */

static enum space get_space(enum vs_memory_kind kind)
{
	switch (kind) {
	case VS_MEMORY_VMM:
		return SPACE_HANDLE;
	case VS_MEMORY_ARRAY:
		return SPACE_ARRAY;
	default:
		return SPACE_MEMORY;
	}
}

static void end_mapping(struct vs_live_set *set, struct entry *mapping)
{
	uint32_t index = mapping->handle;
	struct entry *handle;

	drop(set, mapping);
	if (index == NONE)
		return;
	handle = &set->entries[index];
	if (--handle->nr_users > 0 || handle->extra == 0)
		return;
	if (handle->release != NONE)
		drop(set, &set->entries[handle->release]);
	drop(set, handle);
}

/* From now on only its mappings know the handle: its number may be given to another. */
static void hide_handle(struct vs_live_set *set, struct entry *handle)
{
	uint32_t index = (uint32_t)(handle - set->entries);

	remove_from_bucket(set, handle);
	handle->extra = index + 1;
	put_into_bucket(set, index);
}

/* Whatever it is. */
static void drop_used(struct vs_live_set *set, struct entry *entry)
{
	if (entry->space == SPACE_MAPPING)
		end_mapping(set, entry);
	else
		drop(set, entry);
}

/* The event puts something at addresses; what was there must have gone unseen. */
static int put_at(struct vs_live_set *set, enum space space, uint64_t base, uint64_t size,
		  const struct vs_record *event)
{
	uint32_t *root = space == SPACE_RESERVATION ? &set->reservations : &set->regions;
	struct entry *entry;
	int err;

	size = get_extent(base, size);
	while ((entry = find_from(set, *root, base, size)))
		drop_used(set, entry);
	err = put(set, space, base, 0, event);
	if (err || size == 0)
		return err;
	entry = find(set, space, base, 0);
	entry->size = size;
	put_into_tree(set, entry);
	return 0;
}

/* ---- Frees ----------------------------------------------------------------------------------- */

/* Released, but mappings keep it alive: both events are needed. */
static int release_handle(struct vs_live_set *set, struct entry *handle,
			  const struct vs_record *event)
{
	uint32_t index = (uint32_t)(handle - set->entries);
	uint64_t key = handle->key;
	int err;

	hide_handle(set, handle);
	err = put(set, SPACE_RELEASE, key, index + 1, event);
	if (!err)
		set->entries[index].release =
			(uint32_t)(find(set, SPACE_RELEASE, key, index + 1) - set->entries);
	return err;
}

/* The free did happen. */
static int complete_free(struct vs_live_set *set, struct pending *pending)
{
	struct entry *entry = &set->entries[pending->entry];

	pending->entry = NONE;
	entry->is_pending = false;
	if (entry->space == SPACE_HANDLE && entry->nr_users > 0)
		return release_handle(set, entry, &pending->event);
	drop(set, entry);
	return 0;
}

/* A number that is given again: the free of the one that had it went well. */
static int settle_number(struct vs_live_set *set, const struct entry *entry)
{
	uint32_t index = (uint32_t)(entry - set->entries);

	for (uint32_t i = 0; i < NR_PENDING; i++)
		if (set->pending[i].entry == index)
			return complete_free(set, &set->pending[i]);
	return 0;
}

static int add_alloc(struct vs_live_set *set, const struct vs_record *event)
{
	enum space space = get_space(event->alloc.kind);
	struct entry *old;
	int err;

	if (space == SPACE_MEMORY)
		return put_at(set, space, event->alloc.address, event->alloc.size, event);
	old = find(set, space, event->alloc.address, 0);
	if (old && old->is_pending) {
		err = settle_number(set, old);
		if (err)
			return err;
		old = find(set, space, event->alloc.address, 0);
	}
	/* Its release was missed; its mappings keep it alive. */
	if (old && old->nr_users > 0)
		hide_handle(set, old);
	return put(set, space, event->alloc.address, 0, event);
}

static void add_free(struct vs_live_set *set, const struct vs_record *event)
{
	struct entry *entry = find(set, get_space(event->free.kind), event->free.address, 0);
	struct pending *pending = &set->pending[event->thread % NR_PENDING];

	if (!entry || entry->is_pending)
		return;
	entry->is_pending = true;
	pending->entry = (uint32_t)(entry - set->entries);
	pending->event = *event;
}

/* The free before it on this thread did not happen. */
static void add_free_failed(struct vs_live_set *set, const struct vs_record *event)
{
	struct pending *pending = &set->pending[event->thread % NR_PENDING];

	if (pending->entry == NONE)
		return;
	set->entries[pending->entry].is_pending = false;
	pending->entry = NONE;
}

/* What a thread does after a free tells that it went well. */
static int settle_pending(struct vs_live_set *set, const struct vs_record *event)
{
	struct pending *pending = &set->pending[event->thread % NR_PENDING];

	if (pending->entry == NONE ||
	    (event->type == VS_RECORD_FREE_FAILED && pending->event.thread == event->thread))
		return 0;
	return complete_free(set, pending);
}

/* ---- Virtual memory -------------------------------------------------------------------------- */

/*
 * What the driver refuses was not done, and what takes it back is nothing new: as in the analyzer,
 * replay_vmm.c.
 */
static bool is_within(const struct vs_live_set *set, uint32_t root, uint64_t base, uint64_t size)
{
	const struct entry *entry = find_from(set, root, base, 1);

	return entry && entry->size - (base - entry->key) >= size;
}

/* Whether one that has addresses begins before the range, or ends behind it. */
static bool is_cut(const struct vs_live_set *set, uint32_t root, uint64_t base, uint64_t size)
{
	const struct entry *first = find_from(set, root, base, size);
	const struct entry *last = size ? find_from(set, root, base + size - 1, 1) : NULL;

	return (first && first->key < base) || (last && last->key + last->size > base + size);
}

static bool is_mapped(const struct vs_live_set *set, const struct vs_map *map)
{
	const struct entry *mapping = find_from(set, set->regions, map->address, 1);

	return mapping && mapping->space == SPACE_MAPPING && mapping->handle != NONE &&
	       set->entries[mapping->handle].key == map->handle;
}

static int add_reservation(struct vs_live_set *set, const struct vs_record *event)
{
	uint64_t base = event->reserve.address;

	if (is_within(set, set->reservations, base, get_extent(base, event->reserve.size)))
		return 0;
	return put_at(set, SPACE_RESERVATION, base, event->reserve.size, event);
}

static int add_map(struct vs_live_set *set, const struct vs_record *event)
{
	const struct vs_map *map = &event->map;
	struct entry *mapping, *handle;
	int err;

	if (is_mapped(set, map))
		return 0;
	err = put_at(set, SPACE_MAPPING, map->address, map->size, event);
	if (err)
		return err;
	mapping = find(set, SPACE_MAPPING, map->address, 0);
	handle = find(set, SPACE_HANDLE, map->handle, 0);
	if (!handle)
		return 0;
	mapping->handle = (uint32_t)(handle - set->entries);
	handle->nr_users++;
	return 0;
}

/* Whatever is mapped there. */
static void end_mappings(struct vs_live_set *set, uint64_t base, uint64_t size)
{
	uint64_t end = base + get_extent(base, size);
	struct entry *entry;

	while (base < end && (entry = find_from(set, set->regions, base, end - base))) {
		base = entry->key + entry->size;
		if (entry->space == SPACE_MAPPING)
			end_mapping(set, entry);
	}
}

/* One call may end several mappings that lie side by side. */
static void unmap(struct vs_live_set *set, const struct vs_map *map)
{
	uint64_t size = get_extent(map->address, map->size);

	if (map->size && !is_cut(set, set->regions, map->address, size))
		end_mappings(set, map->address, size);
}

static bool has_mapping(const struct vs_live_set *set, uint64_t base, uint64_t size)
{
	uint64_t end = base + size;
	const struct entry *entry;

	while (base < end && (entry = find_from(set, set->regions, base, end - base))) {
		if (entry->space == SPACE_MAPPING)
			return true;
		base = entry->key + entry->size;
	}
	return false;
}

static void unreserve(struct vs_live_set *set, const struct vs_reserve *reserve)
{
	uint64_t base = reserve->address, size = get_extent(base, reserve->size);
	struct entry *entry;

	if (has_mapping(set, base, size) || is_cut(set, set->reservations, base, size))
		return;
	while ((entry = find_from(set, set->reservations, base, size)))
		drop(set, entry);
}

/* ---- Blocks of pools ------------------------------------------------------------------------- */

/* What a block of this pool lies in: the innermost, for pools take memory from pools. */
static struct entry *find_owner(struct vs_live_set *set, const struct vs_block_alloc *block,
				uint64_t size)
{
	uint32_t root = set->regions;
	struct entry *owner = NULL, *entry;

	for (int level = 0; level < POOL_LEVELS; level++) {
		entry = find_from(set, root, block->address, 1);
		if (!entry || (entry->space == SPACE_BLOCK &&
			       (entry->extra == block->pool ||
				entry->key + entry->size - block->address < size)))
			break;
		owner = entry;
		root = entry->inside;
	}
	return owner;
}

/* Memory with a block in it belongs to the block's pool, also when the block is gone. */
static void note_first_block(struct vs_live_set *set, struct entry *owner,
			     const struct vs_block_alloc *block)
{
	struct entry *reservation;

	/* Mappings come and go; the addresses under them are what belongs to the pool. */
	if (owner->space == SPACE_MAPPING) {
		reservation = find_from(set, set->reservations, block->address, 1);
		if (reservation)
			owner = reservation;
	}
	if (owner->first_pool != VS_NO_ID)
		return;
	owner->first_pool = block->pool;
	owner->first_block = block->address;
}

static int add_block(struct vs_live_set *set, const struct vs_record *event)
{
	const struct vs_block_alloc *block = &event->block_alloc;
	uint64_t size = get_extent(block->address, block->size);
	struct entry *owner, *entry;
	uint32_t owner_index;
	int err;

	owner = find_owner(set, block, size);
	owner_index = owner ? (uint32_t)(owner - set->entries) : NONE;
	while (owner && (entry = find_from(set, owner->inside, block->address, size)))
		drop(set, entry);
	err = put(set, SPACE_BLOCK, block->address, block->pool, event);
	if (err || owner_index == NONE)
		return err;
	owner = &set->entries[owner_index];
	note_first_block(set, owner, block);
	entry = find(set, SPACE_BLOCK, block->address, block->pool);
	entry->size = size;
	entry->owner = owner_index;
	put_into_tree(set, entry);
	return 0;
}

/* ---- What takes others with it --------------------------------------------------------------- */

static bool dies_with(const struct entry *entry, const struct vs_context *context)
{
	struct vs_alloc alloc;

	if (entry->type != VS_RECORD_ALLOC)
		return false;
	memcpy(&alloc, entry->body, sizeof(alloc));
	if (context->change == VS_CONTEXT_RESET)
		return alloc.device == context->device;
	if (context->context == VS_NO_ID || alloc.context != context->context)
		return false;
	return alloc.kind == VS_MEMORY_DEVICE || alloc.kind == VS_MEMORY_MANAGED ||
	       alloc.kind == VS_MEMORY_PINNED || alloc.kind == VS_MEMORY_REGISTERED ||
	       alloc.kind == VS_MEMORY_ARRAY;
}

/* A mapping of a handle that a reset takes. */
static bool is_mapping_of(const struct vs_live_set *set, const struct entry *entry,
			  const struct vs_context *context)
{
	return entry->space == SPACE_MAPPING && entry->handle != NONE &&
	       context->change == VS_CONTEXT_RESET &&
	       dies_with(&set->entries[entry->handle], context);
}

static void end_context(struct vs_live_set *set, const struct vs_context *context)
{
	/* By place: what goes takes others with it, anywhere in the order. Mappings first: they
	 * know by their handles whose they are. */
	for (uint32_t i = 0; i < set->nr_used; i++)
		if (set->entries[i].is_alive && is_mapping_of(set, &set->entries[i], context))
			end_mapping(set, &set->entries[i]);
	for (uint32_t i = 0; i < set->nr_used; i++)
		if (set->entries[i].is_alive && dies_with(&set->entries[i], context))
			drop(set, &set->entries[i]);
}

static int add_context(struct vs_live_set *set, const struct vs_record *event)
{
	struct entry *entry;

	if (event->context.change == VS_CONTEXT_CREATED)
		return put(set, SPACE_CONTEXT, event->context.context, 0, event);
	end_context(set, &event->context);
	/* What pools of the driver hold goes, too, and only the reader knows which are the
	 * device's. */
	if (event->context.change == VS_CONTEXT_RESET)
		return put(set, SPACE_RESET, event->context.device, 0, event);
	entry = find(set, SPACE_CONTEXT, event->context.context, 0);
	if (entry)
		drop(set, entry);
	return 0;
}

static int end_pool(struct vs_live_set *set, const struct vs_record *event)
{
	uint32_t pool = event->pool_end.pool;

	for (uint32_t i = 0; i < set->nr_used; i++) {
		struct entry *entry = &set->entries[i];

		if (entry->is_alive && entry->space == SPACE_BLOCK && entry->extra == pool)
			drop(set, entry);
	}
	return put(set, SPACE_POOL_STATE, pool, 0, event);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static int push_phase(struct vs_live_set *set, const struct vs_record *event)
{
	struct entry *depth = find(set, SPACE_DEPTH, event->thread, 0);
	int err;

	if (!depth) {
		err = put(set, SPACE_DEPTH, event->thread, 0, event);
		if (err)
			return err;
		depth = find(set, SPACE_DEPTH, event->thread, 0);
	}
	if (depth->nr_users >= PHASE_LEVELS)
		return 0;
	depth->nr_users++;
	return put(set, SPACE_PHASE, event->thread, depth->nr_users, event);
}

static void pop_phase(struct vs_live_set *set, const struct vs_record *event)
{
	struct entry *depth = find(set, SPACE_DEPTH, event->thread, 0);
	struct entry *phase;

	if (!depth || depth->nr_users == 0)
		return;
	phase = find(set, SPACE_PHASE, event->thread, depth->nr_users);
	depth->nr_users--;
	if (phase)
		drop(set, phase);
}

/* ---- Interface ------------------------------------------------------------------------------- */

static int add(struct vs_live_set *set, const struct vs_record *event)
{
	struct entry *entry;

	switch (event->type) {
	case VS_RECORD_ALLOC:
		return add_alloc(set, event);
	case VS_RECORD_FREE:
		add_free(set, event);
		return 0;
	case VS_RECORD_FREE_FAILED:
		add_free_failed(set, event);
		return 0;
	case VS_RECORD_RESERVE:
		return add_reservation(set, event);
	case VS_RECORD_UNRESERVE:
		unreserve(set, &event->reserve);
		return 0;
	case VS_RECORD_MAP:
		return add_map(set, event);
	case VS_RECORD_UNMAP:
		unmap(set, &event->map);
		return 0;
	case VS_RECORD_CONTEXT:
		return add_context(set, event);
	case VS_RECORD_POOL_STATE:
		return put(set, SPACE_POOL_STATE, event->pool_state.pool, 0, event);
	case VS_RECORD_POOL_END:
		return end_pool(set, event);
	case VS_RECORD_BLOCK_ALLOC:
		return add_block(set, event);
	case VS_RECORD_BLOCK_FREE:
		entry = find(set, SPACE_BLOCK, event->block_free.address, event->block_free.pool);
		if (entry)
			drop(set, entry);
		return 0;
	case VS_RECORD_PHASE_PUSH:
		return push_phase(set, event);
	case VS_RECORD_PHASE_POP:
		pop_phase(set, event);
		return 0;
	case VS_RECORD_RANGE_START:
		return put(set, SPACE_RANGE, event->range_start.id, 0, event);
	case VS_RECORD_RANGE_END:
		entry = find(set, SPACE_RANGE, event->range_end.id, 0);
		if (entry)
			drop(set, entry);
		return 0;
	case VS_RECORD_STEP:
		return put(set, SPACE_STEP, 0, 0, event);
	default:
		return 0; /* nothing that lasts */
	}
}

int vs_live_set_add(struct vs_live_set *set, const struct vs_record *event)
{
	int err = settle_pending(set, event);

	return err ? err : add(set, event);
}

/* The event of an entry, and what it does not say itself. */
static void visit_entry(const struct entry *entry,
			void (*visit)(void *context, const struct vs_record *event), void *context)
{
	struct vs_record event = {
		.type = entry->type,
		.time_ns = entry->time_ns,
		.thread = entry->thread,
	};

	memcpy(&event.alloc, entry->body, get_body_size(event.type));
	visit(context, &event);
	if (entry->first_pool == VS_NO_ID)
		return;
	event.type = VS_RECORD_ADOPTED;
	event.adopted =
		(struct vs_adopted){.pool = entry->first_pool, .address = entry->first_block};
	visit(context, &event);
}

void vs_live_set_visit(struct vs_live_set *set,
		       void (*visit)(void *context, const struct vs_record *event), void *context)
{
	for (uint32_t i = set->first; i != NONE; i = set->entries[i].next)
		if (set->entries[i].space != SPACE_DEPTH)
			visit_entry(&set->entries[i], visit, context);
	for (uint32_t i = 0; i < NR_PENDING; i++)
		if (set->pending[i].entry != NONE)
			visit(context, &set->pending[i].event);
}

uint64_t vs_live_set_get_nr(const struct vs_live_set *set)
{
	return set->nr_alive;
}
