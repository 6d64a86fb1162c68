/*
 * The judge is the analyzer's replay: whoever replays what the set visits, and then the rest, has
 * what he would have who replays everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live_set.h"
#include "replay_items.h"

#define NR_EVENTS   20000
#define NR_ROUNDS   6
#define NR_SEGMENTS 24u
#define NR_HANDLES  12u
#define NR_ARRAYS   8u
#define NR_BLOCKS   16u /* places in a segment */
#define SEGMENT     UINT64_C(0x200000)
#define FIRST_POOL  1u /* 1 and 2 of the program, 3 in blocks of 1, 4 of the driver */

/* ---- A program that makes sense -------------------------------------------------------------- */

struct segment {
	bool is_alive;
	enum vs_memory_kind kind;
	uint32_t context;
	uint32_t pool; /* who places blocks in it */
	bool has_block[NR_BLOCKS];
	bool has_inner[NR_BLOCKS]; /* a block of pool 3 in the block */
};

struct program {
	unsigned int seed;
	uint64_t time_ns;
	struct segment segments[NR_SEGMENTS];
	bool has_array[NR_ARRAYS];
	bool has_handle[NR_HANDLES]; /* that can be named */
	uint32_t mapped[NR_HANDLES]; /* at its place in the reservation: 1 + handle; 0: nothing */
	bool has_range;
	bool has_mapped_block[NR_HANDLES];
	unsigned nr_phases[3];
	void (*tell)(void *context, const struct vs_record *record);
	void *context;
};

static uint32_t pick(struct program *program, uint32_t below)
{
	return (uint32_t)rand_r(&program->seed) % below;
}

static void tell(struct program *program, uint32_t thread, struct vs_record record)
{
	program->time_ns += 1000 * pick(program, 3);
	record.time_ns = program->time_ns;
	record.thread = 1 + thread;
	program->tell(program->context, &record);
}

static uint64_t segment_at(uint32_t i)
{
	return 0x10000000 + i * SEGMENT;
}

static uint64_t place_at(uint32_t i)
{
	return 0x90000000 + i * SEGMENT;
}

static void forget_segment(struct segment *segment)
{
	memset(segment, 0, sizeof(*segment));
}

static void change_segment(struct program *program, uint32_t thread)
{
	static const enum vs_memory_kind kinds[] = {VS_MEMORY_DEVICE, VS_MEMORY_PINNED,
						    VS_MEMORY_ASYNC, VS_MEMORY_MANAGED};
	uint32_t i = pick(program, NR_SEGMENTS);
	struct segment *segment = &program->segments[i];
	bool fails = pick(program, 5) == 0;

	if (!segment->is_alive) {
		segment->is_alive = true;
		segment->kind = kinds[pick(program, 4)];
		segment->context = pick(program, 3);
		segment->pool = FIRST_POOL + pick(program, 2);
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_ALLOC,
					.alloc = {.kind = segment->kind,
						  .address = segment_at(i),
						  .size = SEGMENT - 512 * pick(program, 2),
						  .pool = segment->kind == VS_MEMORY_ASYNC ? 4 : 0,
						  .context = segment->context}});
		return;
	}
	tell(program, thread,
	     (struct vs_record){.type = VS_RECORD_FREE,
				.free = {.kind = VS_MEMORY_DEVICE, .address = segment_at(i)}});
	if (fails)
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_FREE_FAILED,
					.free_failed = {.kind = VS_MEMORY_DEVICE,
							.address = segment_at(i),
							.error = 1}});
	else
		forget_segment(segment);
}

static void tell_block(struct program *program, uint32_t thread, uint32_t pool, uint64_t address,
		       bool is_new)
{
	/* What is in a block has room there. */
	uint64_t size = 512 * ((pool == 3 ? 1 : 20) + pick(program, 10));

	if (is_new)
		tell(program, thread,
		     (struct vs_record){
			     .type = VS_RECORD_BLOCK_ALLOC,
			     .block_alloc = {.pool = pool, .address = address, .size = size}});
	else
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_BLOCK_FREE,
					.block_free = {.pool = pool, .address = address}});
}

static void change_block(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_SEGMENTS), k = pick(program, NR_BLOCKS);
	struct segment *segment = &program->segments[i];
	uint64_t address = segment_at(i) + k * (SEGMENT / NR_BLOCKS);

	if (!segment->is_alive || i % 4 == 0)
		return;
	if (segment->has_block[k] && segment->pool == FIRST_POOL && pick(program, 2)) {
		segment->has_inner[k] = !segment->has_inner[k];
		tell_block(program, thread, 3, address + 256, segment->has_inner[k]);
		return;
	}
	segment->has_block[k] = !segment->has_block[k];
	segment->has_inner[k] = false; /* they go together */
	tell_block(program, thread, segment->pool, address, segment->has_block[k]);
}

static void change_array(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_ARRAYS);

	program->has_array[i] = !program->has_array[i];
	if (program->has_array[i])
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_ALLOC,
					.alloc = {.kind = VS_MEMORY_ARRAY,
						  .address = segment_at(i),
						  .size = 4096}});
	else
		tell(program, thread,
		     (struct vs_record){
			     .type = VS_RECORD_FREE,
			     .free = {.kind = VS_MEMORY_ARRAY, .address = segment_at(i)}});
}

static void change_handle(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_HANDLES);

	/* Its number is used again while mappings keep the old one alive. */
	program->has_handle[i] = !program->has_handle[i];
	if (program->has_handle[i])
		tell(program, thread,
		     (struct vs_record){
			     .type = VS_RECORD_ALLOC,
			     .alloc = {.kind = VS_MEMORY_VMM, .address = 1 + i, .size = SEGMENT}});
	else
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_FREE,
					.free = {.kind = VS_MEMORY_VMM, .address = 1 + i}});
}

static void tell_unmap(struct program *program, uint32_t thread, uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < first + nr; i++) {
		program->mapped[i] = 0;
		program->has_mapped_block[i] = false;
	}
	tell(program, thread,
	     (struct vs_record){.type = VS_RECORD_UNMAP,
				.map = {.address = place_at(first), .size = nr * SEGMENT}});
}

static void change_mapping(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_HANDLES), handle = pick(program, NR_HANDLES);

	if (program->mapped[i]) {
		/* Two at once, if they are there. */
		tell_unmap(program, thread, i,
			   i + 1 < NR_HANDLES && program->mapped[i + 1] && pick(program, 2) ? 2
											    : 1);
		return;
	}
	if (!program->has_range || !program->has_handle[handle])
		return;
	program->mapped[i] = 1 + handle;
	tell(program, thread,
	     (struct vs_record){
		     .type = VS_RECORD_MAP,
		     .map = {.address = place_at(i), .size = SEGMENT, .handle = 1 + handle}});
}

static void change_mapped_block(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_HANDLES);

	if (!program->mapped[i])
		return;
	program->has_mapped_block[i] = !program->has_mapped_block[i];
	tell_block(program, thread, FIRST_POOL + 1, place_at(i) + 4096,
		   program->has_mapped_block[i]);
}

static void change_range(struct program *program, uint32_t thread)
{
	program->has_range = !program->has_range;
	if (!program->has_range)
		tell_unmap(program, thread, 0, NR_HANDLES);
	tell(program, thread,
	     (struct vs_record){.type = program->has_range ? VS_RECORD_RESERVE
							   : VS_RECORD_UNRESERVE,
				.reserve = {place_at(0), NR_HANDLES * SEGMENT}});
}

/* Calls that the driver refuses while something is mapped: said before, taken back behind. */
static void fail_range(struct program *program, uint32_t thread)
{
	uint32_t i = pick(program, NR_HANDLES);
	uint64_t part = place_at(i) + 4096;

	if (!program->mapped[i])
		return;
	if (pick(program, 2)) {
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_UNRESERVE,
					.reserve = {place_at(0), NR_HANDLES * SEGMENT}});
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_RESERVE,
					.reserve = {place_at(0), NR_HANDLES * SEGMENT}});
		return;
	}
	tell(program, thread,
	     (struct vs_record){.type = VS_RECORD_UNMAP,
				.map = {.address = part, .size = SEGMENT}});
	tell(program, thread,
	     (struct vs_record){
		     .type = VS_RECORD_MAP,
		     .map = {.address = part, .size = SEGMENT, .handle = program->mapped[i]}});
}

/* Context 1 or 2 is destroyed, or the device reset. */
static void end_context(struct program *program, uint32_t thread)
{
	uint32_t context = pick(program, 3);

	for (uint32_t i = 0; i < NR_SEGMENTS; i++) {
		struct segment *segment = &program->segments[i];

		if (!context || (segment->context == context && segment->kind != VS_MEMORY_ASYNC))
			forget_segment(segment);
	}
	if (!context) {
		memset(program->has_array, 0, sizeof(program->has_array));
		memset(program->has_handle, 0, sizeof(program->has_handle));
		memset(program->mapped, 0, sizeof(program->mapped));
		memset(program->has_mapped_block, 0, sizeof(program->has_mapped_block));
	}
	tell(program, thread,
	     (struct vs_record){
		     .type = VS_RECORD_CONTEXT,
		     .context = {.change = context ? VS_CONTEXT_DESTROYED : VS_CONTEXT_RESET,
				 .context = context}});
}

static void change_phase(struct program *program, uint32_t thread)
{
	unsigned *nr = &program->nr_phases[thread];

	if (*nr && pick(program, 2)) {
		--*nr;
		tell(program, thread, (struct vs_record){.type = VS_RECORD_PHASE_POP});
	} else if (*nr < 8) {
		++*nr;
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_PHASE_PUSH,
					.phase_push = {1 + pick(program, 5)}});
	}
}

static void take_step(struct program *program)
{
	uint32_t thread = pick(program, 3), what = pick(program, 1000);

	if (what < 500)
		change_block(program, thread);
	else if (what < 600)
		change_segment(program, thread);
	else if (what < 650)
		change_array(program, thread);
	else if (what < 730)
		change_handle(program, thread);
	else if (what < 830)
		change_mapping(program, thread);
	else if (what < 900)
		change_mapped_block(program, thread);
	else if (what < 960)
		change_phase(program, thread);
	else if (what < 990)
		tell(program, thread,
		     (struct vs_record){.type = VS_RECORD_POOL_STATE,
					.pool_state = {4, 0x1000 * pick(program, 9999), 0x1000}});
	else if (what < 993)
		fail_range(program, thread);
	else if (what < 997)
		change_range(program, thread);
	else
		end_context(program, thread);
}

/* ---- What a replay has, as text -------------------------------------------------------------- */

struct dump {
	size_t size;
	char text[1 << 18];
};

__attribute__((format(printf, 2, 3))) static void add(struct dump *dump, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	dump->size += (size_t)vsnprintf(dump->text + dump->size, sizeof(dump->text) - dump->size,
					format, arguments);
	va_end(arguments);
	assert_true(dump->size < sizeof(dump->text));
}

static void add_item(struct dump *dump, const struct vs_item *item)
{
	add(dump,
	    "class %d kind %d %#llx+%#llx pool %u owner %u charged %d released %d mapped %u\n",
	    item->class, item->kind, (unsigned long long)item->range.base,
	    (unsigned long long)item->size, item->pool ? item->pool->id : 0,
	    item->owner ? item->owner->id : 0, item->is_charged, item->is_released,
	    item->nr_mappings);
}

static void add_tree(struct dump *dump, const struct vs_range_tree *tree)
{
	for (struct vs_range *range = vs_range_tree_first(tree); range;
	     range = vs_range_tree_next(tree, range)) {
		add_item(dump, vs_replay_items_of(range));
		add_tree(dump, &vs_replay_items_of(range)->blocks);
	}
}

static void add_map(struct dump *dump, const struct vs_id_map *map, uint64_t first, uint64_t step,
		    uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct vs_item *item = vs_id_map_get(map, first + i * step);

		if (item)
			add_item(dump, item);
	}
}

static void dump_replay(struct dump *dump, const struct vs_replay *replay)
{
	dump->size = 0;
	add_tree(dump, &replay->regions);
	add_map(dump, &replay->arrays, segment_at(0), SEGMENT, NR_ARRAYS);
	add_map(dump, &replay->handles, 1, 1, NR_HANDLES);
	for (struct vs_range *range = vs_range_tree_first(&replay->reservations); range;
	     range = vs_range_tree_next(&replay->reservations, range)) {
		const struct vs_reservation *reservation = (void *)range;

		add(dump, "reserved %#llx owner %u\n", (unsigned long long)range->base,
		    reservation->owner ? reservation->owner->id : 0);
	}
	for (size_t i = 0; i < replay->nr_devices; i++)
		add(dump, "device: segments %llu handles %llu pools %llu\n",
		    (unsigned long long)replay->devices[i]->segment_bytes,
		    (unsigned long long)replay->devices[i]->handle_bytes,
		    (unsigned long long)replay->devices[i]->driver_pool_bytes);
	for (size_t i = 0; i < replay->nr_pools; i++)
		add(dump, "pool %u: blocks %llu segments %llu held %llu\n", replay->pools[i]->id,
		    (unsigned long long)replay->pools[i]->block_bytes,
		    (unsigned long long)replay->pools[i]->segment_bytes,
		    (unsigned long long)vs_replay_get_held(replay->pools[i]));
	/* One site: an account is a domain. They are in the order in which they were met. */
	for (int domain = 0; domain < VS_NR_DOMAINS; domain++)
		for (size_t i = 0; i < replay->nr_accounts; i++)
			if (replay->accounts[i]->domain == (enum vs_domain)domain &&
			    replay->accounts[i]->live_count)
				add(dump, "domain %d: live %llu in %llu\n", domain,
				    (unsigned long long)replay->accounts[i]->live_bytes,
				    (unsigned long long)replay->accounts[i]->live_count);
}

/* ---- Both ways ------------------------------------------------------------------------------- */

static struct vs_replay *make_replay(void)
{
	struct vs_replay *replay;

	assert_int_equal(vs_replay_create(&replay), 0);
	for (uint32_t id = 1; id <= 4; id++) {
		struct vs_record pool = {
			.type = VS_RECORD_POOL,
			.pool = {.id = id,
				 .owner = id == 4 ? VS_POOL_DRIVER : VS_POOL_PROGRAM,
				 .name = {"pool", 4}}};

		assert_int_equal(vs_replay_add(replay, &pool), 0);
	}
	return replay;
}

static void replay_event(void *context, const struct vs_record *event)
{
	assert_int_equal(vs_replay_add(context, event), 0);
}

struct both {
	struct vs_live_set *set;
	struct vs_replay *whole;
	struct vs_replay *rest; /* a snapshot, and what came after it; NULL: not yet */
	uint64_t nr_visited;
};

static void take_event(void *context, const struct vs_record *event)
{
	struct both *both = context;

	assert_int_equal(vs_live_set_add(both->set, event), 0);
	replay_event(both->whole, event);
	if (both->rest)
		replay_event(both->rest, event);
}

static void compare(const struct both *both)
{
	static struct dump whole, rest;

	dump_replay(&whole, both->whole);
	dump_replay(&rest, both->rest);
	for (size_t at = 0, line = 0; at <= whole.size; at++) {
		/* Only the line in question: all of it is more than cmocka prints. */
		if (whole.text[at] != rest.text[at]) {
			whole.text[line + strcspn(whole.text + line, "\n")] = '\0';
			rest.text[line + strcspn(rest.text + line, "\n")] = '\0';
			assert_string_equal(whole.text + line, rest.text + line);
		}
		if (whole.text[at] == '\n')
			line = at + 1;
	}
}

static void begin_again(struct both *both)
{
	if (both->rest)
		vs_replay_destroy(both->rest);
	both->rest = make_replay();
	vs_live_set_visit(both->set, replay_event, both->rest);
	compare(both);
}

static void test_snapshot_and_rest_are_the_whole(void **state)
{
	(void)state;
	for (unsigned int round = 1; round <= NR_ROUNDS; round++) {
		struct both both = {.whole = make_replay()};
		struct program program = {.seed = round, .tell = take_event, .context = &both};

		assert_int_equal(vs_live_set_create(&both.set), 0);
		for (int i = 1; i <= NR_EVENTS; i++) {
			take_step(&program);
			if (i % 97 == 0 && both.rest)
				compare(&both);
			if (i % 1009 == 0)
				begin_again(&both);
		}
		/* A program that makes sense is what was meant. */
		assert_int_equal(both.whole->counters.nr_overlaps, 0);
		vs_live_set_destroy(both.set);
		vs_replay_destroy(both.whole);
		vs_replay_destroy(both.rest);
	}
}

/* ---- In particular --------------------------------------------------------------------------- */

struct seen {
	uint32_t nr;
	struct vs_record records[8];
};

static void note(void *context, const struct vs_record *event)
{
	struct seen *seen = context;

	assert_true(seen->nr < 8);
	seen->records[seen->nr++] = *event;
}

static void test_empty_segment_is_still_the_pools(void **state)
{
	const struct vs_record events[] = {
		{.type = VS_RECORD_ALLOC,
		 .time_ns = 1000,
		 .thread = 7,
		 .alloc = {.address = 0x1000, .size = 0x1000}},
		{.type = VS_RECORD_BLOCK_ALLOC,
		 .block_alloc = {.pool = 2, .address = 0x1800, .size = 8}},
		{.type = VS_RECORD_BLOCK_FREE, .block_free = {.pool = 2, .address = 0x1800}},
	};
	struct seen seen = {0};
	struct vs_live_set *set;

	(void)state;
	assert_int_equal(vs_live_set_create(&set), 0);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_int_equal(vs_live_set_add(set, &events[i]), 0);
	vs_live_set_visit(set, note, &seen);
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.records[0].type, VS_RECORD_ALLOC);
	assert_int_equal(seen.records[0].time_ns, 1000);
	assert_int_equal(seen.records[0].thread, 7);
	assert_int_equal(seen.records[1].type, VS_RECORD_ADOPTED);
	assert_int_equal(seen.records[1].adopted.pool, 2);
	assert_int_equal(seen.records[1].adopted.address, 0x1800);
	vs_live_set_destroy(set);
}

static void test_ranges_stay_until_they_end(void **state)
{
	const struct vs_record events[] = {
		{.type = VS_RECORD_RANGE_START, .thread = 1, .range_start = {.name = 3, .id = 7}},
		{.type = VS_RECORD_RANGE_START, .thread = 1, .range_start = {.name = 4, .id = 8}},
		{.type = VS_RECORD_RANGE_END, .thread = 2, .range_end = {.id = 7}},
		{.type = VS_RECORD_RANGE_END, .thread = 2, .range_end = {.id = 9}},
	};
	struct seen seen = {0};
	struct vs_live_set *set;

	(void)state;
	assert_int_equal(vs_live_set_create(&set), 0);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_int_equal(vs_live_set_add(set, &events[i]), 0);
	vs_live_set_visit(set, note, &seen);
	assert_int_equal(seen.nr, 1);
	assert_int_equal(seen.records[0].type, VS_RECORD_RANGE_START);
	assert_int_equal(seen.records[0].range_start.name, 4);
	assert_int_equal(seen.records[0].range_start.id, 8);
	vs_live_set_destroy(set);
}

static void test_what_is_alive_alone_takes_room(void **state)
{
	struct vs_record alloc = {.type = VS_RECORD_ALLOC, .alloc = {.size = 256}};
	struct vs_record free = {.type = VS_RECORD_FREE};
	struct vs_live_set *set;

	(void)state;
	assert_int_equal(vs_live_set_create(&set), 0);
	for (uint64_t i = 1; i <= 100000; i++) {
		alloc.alloc.address = i * 256;
		assert_int_equal(vs_live_set_add(set, &alloc), 0);
		free.free.address = i > 10 ? (i - 10) * 256 : 0;
		assert_int_equal(vs_live_set_add(set, &free), 0);
	}
	/* The last free may turn out to have failed. */
	assert_true(vs_live_set_get_nr(set) <= 11);
	vs_live_set_destroy(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot_and_rest_are_the_whole),
		cmocka_unit_test(test_empty_segment_is_still_the_pools),
		cmocka_unit_test(test_ranges_stay_until_they_end),
		cmocka_unit_test(test_what_is_alive_alone_takes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
