/*
 * What the set keeps is judged by the analyzer: replaying the events it holds must end in the state
 * that replaying all of them ends in. Events are random, but such as a program can cause: what
 * comes next is chosen by looking at what the replay of all holds alive.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live_set.h"
#include "replay.h"

#define NR_EVENTS 12000
#define GAP       40 /* events between two looks */

#define GIB         ((uint64_t)1 << 30)
#define PAGE        ((uint64_t)2 << 20)
#define NR_PLACES   24u /* for segments, 4 GiB apart */
#define NR_SPACES   3u  /* reserved addresses */
#define NR_PAGES    16u
#define NR_ITEMS    1024u
#define NR_HANDLES  12u
#define NR_ARRAYS   6u
#define NR_CONTEXTS 4u
#define NR_STACKS   4u

static const uint32_t thread_ids[] = {1, 2, 3, 4};

/* Pools: blocks in segments, blocks in blocks, and two of the driver's on two devices. Each kind
 * has as many as may end. */
enum {
	POOL_OUTER = 1,
	POOL_INNER = 100,
	POOL_DRIVER_0 = 200,
	POOL_DRIVER_1 = 300,
	NR_LIVES = 90,
};

static struct {
	struct vs_live_set *set;
	struct vs_replay *all; /* of all events */
	uint64_t time_ns;
	unsigned nr_events;
	unsigned ended[4]; /* of each kind of pool */
	unsigned depth[sizeof(thread_ids) / sizeof(thread_ids[0])];
} world;

static unsigned seed;

static unsigned pick(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
}

/* ---- What both replays know ------------------------------------------------------------------ */

static void add_definition(struct vs_replay *replay, struct vs_record record)
{
	assert_int_equal(vs_replay_add(replay, &record), 0);
}

static void define_pools(struct vs_replay *replay, uint32_t first, enum vs_pool_owner owner,
			 uint32_t device)
{
	for (uint32_t i = 0; i < NR_LIVES; i++)
		add_definition(replay,
			       (struct vs_record){.type = VS_RECORD_POOL,
						  .pool = {.id = first + i,
							   .owner = owner,
							   .device = device,
							   .name = {.bytes = "pool", .size = 4}}});
}

static struct vs_replay *create_replay(void)
{
	static const uint64_t frames[] = {0x1000, 0x2000, 0x3000, 0x4000};
	struct vs_replay *replay;

	assert_int_equal(vs_replay_create(&replay), 0);
	for (uint32_t device = 0; device < 2; device++)
		add_definition(replay, (struct vs_record){.type = VS_RECORD_DEVICE,
							  .device = {.device = device,
								     .total_size = 80 * GIB}});
	for (uint32_t i = 0; i < NR_STACKS; i++)
		add_definition(replay, (struct vs_record){.type = VS_RECORD_STACK,
							  .stack = {.id = i + 1,
								    .frames = &frames[i],
								    .nr_frames = 1}});
	define_pools(replay, POOL_OUTER, VS_POOL_FRAMEWORK, 0);
	define_pools(replay, POOL_INNER, VS_POOL_PROGRAM, 0);
	define_pools(replay, POOL_DRIVER_0, VS_POOL_DRIVER, 0);
	define_pools(replay, POOL_DRIVER_1, VS_POOL_DRIVER, 1);
	return replay;
}

/* ---- The state as text ----------------------------------------------------------------------- */

struct text {
	char bytes[1 << 18];
	size_t size;
};

static void __attribute__((format(printf, 2, 3))) print(struct text *text, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text->bytes + text->size, sizeof(text->bytes) - text->size, format,
			 arguments);
	va_end(arguments);
	assert_true(size >= 0 && text->size + (size_t)size < sizeof(text->bytes));
	text->size += (size_t)size;
}

static struct vs_item *item_of(struct vs_range *range)
{
	return (struct vs_item *)(void *)((char *)range - offsetof(struct vs_item, range));
}

static void print_item(struct text *text, const struct vs_item *item, int depth)
{
	struct vs_range *range;

	print(text, "%*s%#" PRIx64 " +%#" PRIx64 " size %#" PRIx64 " class %d kind %d device %u",
	      2 * depth, "", item->range.base, item->range.size, item->size, (int)item->class,
	      (int)item->kind, item->device->ordinal);
	print(text, " pool %u owner %u charged %d blocks %#" PRIx64,
	      item->pool ? item->pool->id : 0, item->owner ? item->owner->id : 0, item->is_charged,
	      item->block_bytes);
	/* A run of mappings has its birth from whichever came first, and no stack. */
	if (!item->reservation)
		print(text, " site %u api %u context %u born %" PRIu64, item->account->site->index,
		      item->api, item->context, item->birth_ns);
	if (item->class == VS_ITEM_HANDLE)
		print(text, " mappings %u of pools %u released %d", item->nr_mappings,
		      item->nr_owned_mappings, item->is_released);
	print(text, "\n");
	for (range = vs_range_tree_first(&item->blocks); range;
	     range = vs_range_tree_next(&item->blocks, range))
		print_item(text, item_of(range), depth + 1);
}

static int compare_items(const void *a, const void *b)
{
	const struct vs_item *const *first = a, *const *second = b;

	return (*first)->range.base < (*second)->range.base ? -1 : 1;
}

/* A table has no order. */
static void print_table(struct text *text, const char *what, const struct vs_id_map *map)
{
	const struct vs_item *items[NR_ITEMS] = {NULL}, *item;
	size_t nr = 0, slot = 0;

	while ((item = vs_id_map_next(map, &slot)))
		items[nr++] = item;
	qsort(items, nr, sizeof(items[0]), compare_items);
	for (size_t i = 0; i < nr; i++) {
		print(text, "%s ", what);
		print_item(text, items[i], 0);
	}
}

static void print_pools(struct text *text, const struct vs_replay *replay, uint32_t device)
{
	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		/* One that is not used may be missing. */
		if (pool->device->ordinal != device ||
		    (!pool->nr_blocks && !pool->segment_bytes && !vs_replay_get_held(pool)))
			continue;
		print(text,
		      "pool %u: %" PRIu64 " blocks of %" PRIu64 " in %" PRIu64 ", held %" PRIu64
		      "\n",
		      pool->id, pool->nr_blocks, pool->block_bytes, pool->segment_bytes,
		      vs_replay_get_held(pool));
	}
}

/* They stand in the order in which they were first charged, which may differ. */
static void print_account(struct text *text, const struct vs_replay *replay, uint32_t device,
			  enum vs_domain domain, uint32_t site)
{
	for (size_t i = 0; i < replay->nr_accounts; i++) {
		const struct vs_account *account = replay->accounts[i];

		if (account->live_count && account->site->index == site &&
		    account->device->ordinal == device && account->domain == domain)
			print(text, "account %u.%d: %" PRIu64 " in %" PRIu64 "\n", site,
			      (int)domain, account->live_bytes, account->live_count);
	}
}

static void print_totals(struct text *text, const struct vs_replay *replay)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct vs_replay_device *device = vs_replay_get_device(replay, i);

		print(text,
		      "device %u: live %" PRIu64 " in %" PRIu64 ", segments %" PRIu64
		      " handles %" PRIu64 " driver pools %" PRIu64 "\n",
		      i, device->live_bytes, device->live_count, device->segment_bytes,
		      device->handle_bytes, device->driver_pool_bytes);
		print_pools(text, replay, i);
		for (int domain = 0; domain < VS_NR_DOMAINS; domain++)
			for (uint32_t site = 0; site <= NR_STACKS; site++)
				print_account(text, replay, i, (enum vs_domain)domain, site);
	}
}

static void print_vmm(struct text *text, const struct vs_replay *replay)
{
	struct vs_range *range;

	for (range = vs_range_tree_first(&replay->reservations); range;
	     range = vs_range_tree_next(&replay->reservations, range)) {
		const struct vs_reservation *reservation = (const void *)range;

		print(text, "reservation %#" PRIx64 " +%#" PRIx64 " owner %u\n", range->base,
		      range->size, reservation->owner ? reservation->owner->id : 0);
	}
	for (range = vs_range_tree_first(&replay->mappings); range;
	     range = vs_range_tree_next(&replay->mappings, range)) {
		const struct vs_mapping *mapping = (const void *)range;

		print(text, "mapping %#" PRIx64 " +%#" PRIx64 " owned %d of ", range->base,
		      range->size, mapping->is_owned);
		if (mapping->handle)
			print_item(text, mapping->handle, 0);
		else
			print(text, "nothing\n");
	}
}

static void print_state(struct text *text, const struct vs_replay *replay)
{
	struct vs_range *range;

	text->size = 0;
	print_totals(text, replay);
	for (range = vs_range_tree_first(&replay->regions); range;
	     range = vs_range_tree_next(&replay->regions, range))
		print_item(text, item_of(range), 0);
	print_table(text, "array", &replay->arrays);
	print_table(text, "handle", &replay->handles);
	print_vmm(text, replay);
	for (size_t i = 0; i < sizeof(thread_ids) / sizeof(thread_ids[0]); i++) {
		const struct vs_replay_thread *thread =
			vs_id_map_get(&replay->threads, thread_ids[i]);

		print(text, "thread %u:", thread_ids[i]);
		for (size_t level = 0; thread && level < thread->nr_phases; level++)
			print(text, " %u", thread->phases[level]);
		print(text, "\n");
	}
	print(text, "step %" PRIu64 "\n", replay->step_number);
}

/* ---- The comparison -------------------------------------------------------------------------- */

static void replay_one(void *context, const struct vs_record *event)
{
	assert_int_equal(vs_replay_add(context, event), 0);
}

static void assert_same_text(const struct text *expected, const struct text *found)
{
	const char *a = expected->bytes, *b = found->bytes;

	/* The first line that differs says more than all of them. */
	while (*a && *b && strcspn(a, "\n") == strcspn(b, "\n") &&
	       strncmp(a, b, strcspn(a, "\n")) == 0) {
		a += strcspn(a, "\n") + 1;
		b += strcspn(b, "\n") + 1;
	}
	if (*a || *b)
		fail_msg("after %u events of seed %u\nall: %.*s\nset: %.*s", world.nr_events, seed,
			 (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

static void check(void)
{
	static struct text expected, found;
	struct vs_replay *kept = create_replay();

	vs_live_set_visit(world.set, replay_one, kept);
	print_state(&expected, world.all);
	print_state(&found, kept);
	assert_same_text(&expected, &found);
	assert_int_equal(kept->counters.nr_overlaps, 0);
	assert_int_equal(kept->counters.nr_unmatched_frees, 0);
	vs_replay_destroy(kept);
}

static void say(struct vs_record event)
{
	if (!event.thread)
		event.thread = thread_ids[pick(4)];
	event.time_ns = ++world.time_ns * 1000;
	assert_int_equal(vs_replay_add(world.all, &event), 0);
	assert_int_equal(vs_live_set_add(world.set, &event), 0);
	world.nr_events++;
}

/* ---- Looking for something to do ------------------------------------------------------------- */

struct found {
	struct vs_item *items[NR_ITEMS];
	unsigned nr;
};

typedef bool (*wanted)(const struct vs_item *item);

static void collect(struct found *found, const struct vs_range_tree *tree, wanted is_wanted)
{
	struct vs_range *range;

	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		if (is_wanted(item_of(range)))
			found->items[found->nr++] = item_of(range);
		collect(found, &item_of(range)->blocks, is_wanted);
	}
	assert_true(found->nr < NR_ITEMS);
}

static struct vs_item *pick_item(wanted is_wanted)
{
	struct found found = {.nr = 0};

	collect(&found, &world.all->regions, is_wanted);
	return found.nr ? found.items[pick(found.nr)] : NULL;
}

static bool is_segment(const struct vs_item *item)
{
	return item->class == VS_ITEM_SEGMENT && !item->reservation;
}

static bool is_run(const struct vs_item *item)
{
	return item->reservation;
}

static bool is_pool_block(const struct vs_item *item)
{
	return vs_replay_is_pool_block(item);
}

static bool is_driver_block(const struct vs_item *item)
{
	return item->class == VS_ITEM_BLOCK && !vs_replay_is_pool_block(item);
}

/* Not one that lies across mappings: the set knows only where it begins. */
static bool is_outer_block(const struct vs_item *item)
{
	return vs_replay_is_pool_block(item) && item->pool->id < POOL_INNER && item->parent &&
	       !item->parent->reservation;
}

static bool is_vacant(const struct vs_range_tree *tree, uint64_t base, uint64_t size)
{
	const struct vs_range *range = vs_range_tree_find_from(tree, base);

	return !range || range->base >= base + size;
}

static struct vs_item *pick_from(const struct vs_id_map *map)
{
	struct vs_item *items[NR_ITEMS], *item;
	size_t slot = 0;
	unsigned nr = 0;

	while ((item = vs_id_map_next(map, &slot)))
		items[nr++] = item;
	return nr ? items[pick(nr)] : NULL;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t place_base(unsigned place)
{
	return 4 * GIB * (place + 1);
}

static void say_alloc(enum vs_memory_kind kind, uint32_t device, uint64_t address, uint64_t size,
		      uint32_t pool)
{
	say((struct vs_record){.type = VS_RECORD_ALLOC,
			       .alloc = {.kind = kind,
					 .device = device,
					 .address = address,
					 .size = size,
					 .pool = pool,
					 .context = pick(NR_CONTEXTS),
					 .stack = pick(NR_STACKS + 1),
					 .api = 1 + pick(3)}});
}

static void do_alloc(void)
{
	static const enum vs_memory_kind kinds[] = {VS_MEMORY_DEVICE,     VS_MEMORY_DEVICE,
						    VS_MEMORY_MANAGED,    VS_MEMORY_PINNED,
						    VS_MEMORY_REGISTERED, VS_MEMORY_IPC};
	uint64_t base = place_base(pick(NR_PLACES));

	if (is_vacant(&world.all->regions, base, GIB))
		say_alloc(kinds[pick(6)], pick(2), base, 512 * (1 + pick(10000)), VS_NO_ID);
}

static void do_async_alloc(void)
{
	uint64_t base = place_base(pick(NR_PLACES));
	uint32_t device = pick(2);
	uint32_t pool = device ? POOL_DRIVER_1 + world.ended[3] : POOL_DRIVER_0 + world.ended[2];

	if (!is_vacant(&world.all->regions, base, GIB))
		return;
	if (pick(8) == 0)
		say_alloc(VS_MEMORY_GRAPH, device, base, 512 * (1 + pick(100)), VS_NO_ID);
	else
		say_alloc(VS_MEMORY_ASYNC, device, base, 512 * (1 + pick(100)), pool);
}

/* Sometimes in vain: the free is taken back by its thread, others may come between. */
static void say_free(enum vs_memory_kind kind, uint64_t address)
{
	uint32_t thread = thread_ids[pick(4)];
	bool has_failed = pick(6) == 0;

	say((struct vs_record){
		.type = VS_RECORD_FREE,
		.thread = thread,
		.free = {.kind = kind, .address = address, .stack = pick(NR_STACKS + 1)}});
	if (!has_failed)
		return;
	if (pick(2))
		say((struct vs_record){.type = VS_RECORD_STEP,
				       .thread = thread == 1 ? 2 : 1,
				       .step.number = pick(1000)});
	say((struct vs_record){.type = VS_RECORD_FREE_FAILED,
			       .thread = thread,
			       .free_failed = {.kind = kind, .address = address, .error = 700}});
}

static void do_free(void)
{
	struct vs_item *item = pick_item(pick(2) ? is_segment : is_driver_block);

	/* The kind is a hint. */
	if (item)
		say_free(pick(2) ? VS_MEMORY_DEVICE : item->kind, item->range.base);
}

static void do_array(void)
{
	uint64_t number = 0x77000 + pick(NR_ARRAYS);
	const struct vs_item *item = vs_id_map_get(&world.all->arrays, number);

	if (item)
		say_free(VS_MEMORY_ARRAY, number);
	else
		say_alloc(VS_MEMORY_ARRAY, pick(2), number, 4096 * (1 + pick(100)), VS_NO_ID);
}

static void do_nonsense(void)
{
	/* Nobody knows it: a free of what was there before the trace began. */
	say_free(pick(2) ? VS_MEMORY_VMM : VS_MEMORY_DEVICE, 0x5555000 + pick(10));
}

/* ---- Virtual memory -------------------------------------------------------------------------- */

static uint64_t page_base(unsigned space, unsigned page)
{
	return 1024 * GIB + space * 4 * GIB + page * PAGE;
}

static void do_handle(void)
{
	struct vs_item *item = pick_from(&world.all->handles);
	uint64_t number = 0x88000 + pick(NR_HANDLES);

	/* A number may come again while mappings keep alive what had it before. */
	if (pick(2) && item)
		say_free(VS_MEMORY_VMM, item->range.base);
	else if (!vs_id_map_get(&world.all->handles, number))
		say_alloc(VS_MEMORY_VMM, pick(2), number, PAGE * (1 + pick(3)), VS_NO_ID);
}

static void do_map(void)
{
	const struct vs_item *handle = pick_from(&world.all->handles);
	unsigned space = pick(NR_SPACES), page = pick(NR_PAGES);

	if (!handle || page + handle->size / PAGE > NR_PAGES ||
	    !is_vacant(&world.all->mappings, page_base(space, page), handle->size) ||
	    !vs_range_tree_find(&world.all->reservations, page_base(space, page)))
		return;
	say((struct vs_record){.type = VS_RECORD_MAP,
			       .map = {.address = page_base(space, page),
				       .size = handle->size,
				       .handle = handle->range.base}});
}

/* Whether a block lies across the address. */
static bool is_within_block(uint64_t address)
{
	struct vs_range *range = vs_range_tree_find(&world.all->regions, address);

	if (range)
		range = vs_range_tree_find(&item_of(range)->blocks, address);
	return range && range->base < address;
}

/* One mapping, or it and its neighbours by one call; no program tears a block apart. */
static void do_unmap(void)
{
	uint64_t base = page_base(pick(NR_SPACES), pick(NR_PAGES)), end;
	struct vs_range *range = vs_range_tree_find_from(&world.all->mappings, base);

	if (!range)
		return;
	base = range->base;
	end = base;
	for (unsigned nr = 1 + pick(3); range && nr && range->base == end; nr--) {
		end = vs_range_end(range);
		range = vs_range_tree_next(&world.all->mappings, range);
	}
	if (is_within_block(base) || is_within_block(end))
		return;
	say((struct vs_record){.type = VS_RECORD_UNMAP,
			       .map = {.address = base, .size = end - base}});
}

static void do_reserve(void)
{
	uint64_t base = page_base(pick(NR_SPACES), 0), size = NR_PAGES * PAGE;
	bool is_reserved = vs_range_tree_find(&world.all->reservations, base);

	if (!is_vacant(&world.all->mappings, base, size))
		return;
	say((struct vs_record){.type = is_reserved ? VS_RECORD_UNRESERVE : VS_RECORD_RESERVE,
			       .reserve = {.address = base, .size = size}});
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static void place_block(const struct vs_item *parent, uint32_t pool)
{
	uint64_t base, size;

	if (!parent || parent->range.size < 512)
		return;
	base = parent->range.base + 256 * pick((unsigned)(parent->range.size / 256));
	size = 1 + pick((unsigned)(vs_range_end(&parent->range) - base)) % 100000;
	if (is_vacant(&parent->blocks, base, size))
		say((struct vs_record){.type = VS_RECORD_BLOCK_ALLOC,
				       .block_alloc = {.pool = pool,
						       .address = base,
						       .size = size,
						       .stack = pick(NR_STACKS + 1)}});
}

static void do_block(void)
{
	place_block(pick_item(pick(2) ? is_segment : is_run), POOL_OUTER + world.ended[0]);
}

static void do_inner_block(void)
{
	place_block(pick_item(is_outer_block), POOL_INNER + world.ended[1]);
}

static void do_block_free(void)
{
	const struct vs_item *item = pick_item(is_pool_block);

	if (item)
		say((struct vs_record){
			.type = VS_RECORD_BLOCK_FREE,
			.block_free = {.pool = item->pool->id, .address = item->range.base}});
}

static void do_pool_state(void)
{
	bool is_first = pick(2);

	say((struct vs_record){.type = VS_RECORD_POOL_STATE,
			       .pool_state = {.pool = is_first ? POOL_DRIVER_0 + world.ended[2]
							       : POOL_DRIVER_1 + world.ended[3],
					      .reserved_size = pick(1000000)}});
}

static void do_pool_end(void)
{
	static const uint32_t first[] = {POOL_OUTER, POOL_INNER, POOL_DRIVER_0, POOL_DRIVER_1};
	unsigned kind = pick(4);

	if (world.ended[kind] + 1 < NR_LIVES)
		say((struct vs_record){.type = VS_RECORD_POOL_END,
				       .pool_end.pool = first[kind] + world.ended[kind]++});
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void do_context(void)
{
	unsigned which = pick(8);

	say((struct vs_record){
		.type = VS_RECORD_CONTEXT,
		.context = {.change = which < 4   ? VS_CONTEXT_CREATED
				      : which < 7 ? VS_CONTEXT_DESTROYED
						  : VS_CONTEXT_RESET,
			    .context = which < 7 ? 1 + pick(NR_CONTEXTS - 1) : VS_NO_ID,
			    .device = pick(2)}});
}

static void do_phase(void)
{
	unsigned i = pick(4);

	if (world.depth[i] > 20 || pick(2)) {
		world.depth[i] -= world.depth[i] > 0;
		say((struct vs_record){.type = VS_RECORD_PHASE_POP, .thread = thread_ids[i]});
		return;
	}
	world.depth[i]++;
	say((struct vs_record){.type = VS_RECORD_PHASE_PUSH,
			       .thread = thread_ids[i],
			       .phase_push.name = 1 + pick(9)});
}

static void do_step(void)
{
	say((struct vs_record){.type = VS_RECORD_STEP, .step.number = pick(100000)});
}

static const struct action {
	void (*act)(void);
	unsigned weight;
} actions[] = {
	{do_alloc, 60},   {do_async_alloc, 40}, {do_free, 60},        {do_array, 20},
	{do_handle, 60},  {do_map, 90},         {do_unmap, 40},       {do_reserve, 40},
	{do_block, 300},  {do_inner_block, 60}, {do_block_free, 200}, {do_pool_state, 20},
	{do_context, 2},  {do_phase, 40},       {do_step, 10},        {do_pool_end, 1},
	{do_nonsense, 3},
};

static void do_something(void)
{
	unsigned total = 0, at;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		total += actions[i].weight;
	at = pick(total);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (at < actions[i].weight) {
			actions[i].act();
			return;
		}
		at -= actions[i].weight;
	}
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.all = create_replay();
	return vs_live_set_create(&world.set);
}

static int tear_down(void **state)
{
	(void)state;
	vs_live_set_destroy(world.set);
	vs_replay_destroy(world.all);
	return 0;
}

static void live(unsigned first_seed)
{
	seed = first_seed;
	for (unsigned space = 0; space < NR_SPACES; space++)
		do_reserve();
	for (unsigned next = GAP; world.nr_events < NR_EVENTS;) {
		do_something();
		if (world.nr_events < next)
			continue;
		next = world.nr_events + GAP;
		check();
	}
	assert_int_equal(world.all->counters.nr_overlaps, 0);
}

static void test_what_is_kept_gives_the_same_state_as_all_events(void **state)
{
	(void)state;
	live(20260101);
}

static void test_and_so_it_does_in_another_life(void **state)
{
	(void)state;
	live(4711);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_kept_gives_the_same_state_as_all_events),
		TEST(test_and_so_it_does_in_another_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
