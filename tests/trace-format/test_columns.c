#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "columns_tester.h"
#include "crc32.h"
#include "event_fields.h"

static const enum vs_record_type types[] = {
#define VS_RECORD(number, NAME, name) VS_RECORD_##NAME,
#include "record.def"
#undef VS_RECORD
};
#define NR_TYPES (sizeof(types) / sizeof(types[0]))

/* ---- There and back ----------------------------------------------------------------------- */

static void test_every_type_comes_back_as_it_was(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	uint64_t random = 1;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t nr = 0;

		for (uint32_t i = 0; i < 40 * NR_TYPES; i++)
			if (types[i % NR_TYPES] >= VS_RECORD_ALLOC)
				vs_event_fields_fill(&events[nr++], types[i % NR_TYPES],
						     round % 2 ? vs_columns_tester_draw_few
							       : vs_columns_tester_draw_any,
						     &random);
		vs_columns_tester_expect_back(&tester, events, nr);
	}
	vs_columns_tester_fini(&tester);
	free(events);
}

static void test_events_of_any_order_come_back(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	uint64_t random = 2;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t nr = 1 + (uint32_t)vs_columns_tester_draw(&random) % 600;

		for (uint32_t i = 0; i < nr; i++)
			vs_event_fields_fill(&events[i], vs_columns_tester_draw_type(&random),
					     vs_columns_tester_draw(&random) % 4
						     ? vs_columns_tester_draw_few
						     : vs_columns_tester_draw_any,
					     &random);
		vs_columns_tester_expect_back(&tester, events, nr);
	}
	vs_columns_tester_fini(&tester);
	free(events);
}

static void test_a_program_comes_back(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester_program program = {.random = 3, .time_ns = 1000000};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t nr = round ? 1 + (uint32_t)vs_columns_tester_draw(&program.random) % 5000
				    : VS_COLUMNS_MAX;

		for (uint32_t i = 0; i < nr; i++)
			vs_columns_tester_run(&program, &events[i]);
		vs_columns_tester_expect_back(&tester, events, nr);
	}
	vs_columns_tester_fini(&tester);
	free(events);
}

/* The next event says which allocation of the block it is, and which one it is about. Returns
 * whether it says the latter. */
static bool check_kin(const struct vs_record *event, uint64_t *addresses, uint32_t *nr_births)
{
	bool is_birth = event->type == VS_RECORD_ALLOC || event->type == VS_RECORD_BLOCK_ALLOC;
	uint64_t address = event->type == VS_RECORD_ALLOC         ? event->alloc.address
			   : event->type == VS_RECORD_FREE        ? event->free.address
			   : event->type == VS_RECORD_BLOCK_ALLOC ? event->block_alloc.address
			   : event->type == VS_RECORD_BLOCK_FREE  ? event->block_free.address
								  : 0;

	assert_int_equal(event->birth, is_birth ? (uint16_t)(*nr_births + 1) : 0);
	if (event->before) {
		assert_true(event->before <= *nr_births);
		assert_int_equal(addresses[event->before], address);
	}
	if (is_birth)
		addresses[++*nr_births] = address;
	return event->before;
}

static void test_events_say_which_allocation_they_are_about(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events(), event;
	struct vs_columns_tester_program program = {.random = 5, .time_ns = 1000000};
	uint64_t *addresses = calloc(VS_COLUMNS_MAX + 1, sizeof(*addresses));
	uint32_t nr_births = 0, nr_known = 0;
	struct vs_columns_tester tester;

	(void)state;
	assert_non_null(addresses);
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++)
		vs_columns_tester_run(&program, &events[i]);
	vs_columns_tester_encode(&tester, events, VS_COLUMNS_MAX);
	assert_int_equal(
		vs_columns_reader_begin(tester.reader, tester.bytes, tester.size, VS_COLUMNS_MAX),
		0);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		assert_int_equal(vs_columns_reader_next(tester.reader, &event), 1);
		nr_known += check_kin(&event, addresses, &nr_births);
	}
	assert_true(nr_births > VS_COLUMNS_MAX / 4 && nr_known > VS_COLUMNS_MAX / 4);
	vs_columns_tester_fini(&tester);
	free(addresses);
	free(events);
}

/* ---- Limits ------------------------------------------------------------------------------- */

/* Thousands of sites in no order, of three threads: the encoder looks ahead if it is told several.
 */
static void fill_astray(struct vs_record *events, uint64_t *random)
{
	uint64_t live[256] = {0};

	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		struct vs_record *event = &events[i];
		uint64_t drawn = vs_columns_tester_draw(random), *at = &live[drawn >> 8 & 0xff];
		uint32_t stack = 1 + (uint32_t)(drawn >> 16) % 3000;

		*event = (struct vs_record){.time_ns = i * 700u,
					    .thread = 1 + (uint32_t)(drawn % 3)};
		if (drawn >> 56 == 0) {
			event->type = VS_RECORD_MARK;
			event->mark.name = stack;
		} else if (*at) {
			event->type = VS_RECORD_FREE;
			event->free = (struct vs_free){.address = *at, .stack = stack};
			*at = 0;
		} else {
			*at = 512 * (1 + drawn % 4096);
			event->type = VS_RECORD_ALLOC;
			event->alloc = (struct vs_alloc){
				.address = *at, .size = 512 + stack % 16, .stack = stack};
		}
	}
}

static void test_events_added_together_make_the_same_bytes(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester one_by_one, together;
	uint64_t random = 11;

	(void)state;
	vs_columns_tester_init(&one_by_one, VS_COLUMNS_TESTER_UNIT);
	vs_columns_tester_init(&together, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t nr;

		fill_astray(events, &random);
		for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++)
			vs_columns_add(one_by_one.columns, &events[i]);
		for (uint32_t i = 0; i < VS_COLUMNS_MAX; i += nr) {
			nr = 1 + (uint32_t)(vs_columns_tester_draw(&random) % 70);
			nr = nr < VS_COLUMNS_MAX - i ? nr : VS_COLUMNS_MAX - i;
			vs_columns_add_some(together.columns, &events[i], nr);
		}
		one_by_one.size = vs_columns_finish(one_by_one.columns, one_by_one.bytes);
		together.size = vs_columns_finish(together.columns, together.bytes);
		assert_int_equal(together.size, one_by_one.size);
		assert_memory_equal(together.bytes, one_by_one.bytes, one_by_one.size);
		vs_columns_tester_decode(&together, events, VS_COLUMNS_MAX, VS_COLUMNS_TESTER_UNIT);
	}
	vs_columns_tester_fini(&one_by_one);
	vs_columns_tester_fini(&together);
	free(events);
}

static void test_full_block_is_full(void **state)
{
	const struct vs_record event = {.type = VS_RECORD_PHASE_POP};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		assert_false(vs_columns_is_full(tester.columns));
		vs_columns_add(tester.columns, &event);
	}
	assert_true(vs_columns_is_full(tester.columns));
	assert_true(vs_columns_finish(tester.columns, tester.bytes) < 400);
	assert_false(vs_columns_is_full(tester.columns));
	vs_columns_tester_fini(&tester);
}

/* As many of everything as there are events: all numbers become as long as they can be. */
static void test_block_of_nothing_but_new_things_comes_back(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		events[i].type = VS_RECORD_ALLOC;
		events[i].thread = i;
		events[i].time_ns = (uint64_t)i * i * i;
		events[i].alloc.stack = i;
		events[i].alloc.size = i * 3;
		events[i].alloc.address = (uint64_t)i << 40;
	}
	vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX);
	vs_columns_tester_fini(&tester);
	free(events);
}

/* Half of a block is new, the other half refers to it, near and far. */
static void test_numbers_of_any_distance_come_back(void **state)
{
	const uint32_t half = VS_COLUMNS_MAX / 2;
	struct vs_record *events = vs_columns_tester_make_events();
	uint64_t random = 4;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < half; i++) {
		struct vs_record *again = &events[half + i];
		uint32_t other = (uint32_t)vs_columns_tester_draw(&random) % half;

		events[i].type = VS_RECORD_ALLOC;
		events[i].thread = i;
		events[i].alloc.stack = i;
		events[i].alloc.size = i;
		events[i].alloc.address = (uint64_t)i << 9;
		if (i % 2) {
			*again = events[other % (i + 1)];
			again->alloc.size = vs_columns_tester_draw(&random) % half;
			again->alloc.address = (vs_columns_tester_draw(&random) % half) << 9;
		} else {
			again->type = VS_RECORD_FREE;
			again->thread = other;
			again->free.address = (uint64_t)other << 9;
		}
	}
	vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX);
	vs_columns_tester_fini(&tester);
	free(events);
}

static void test_no_block_is_larger_than_the_bound(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	uint64_t random = 5;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, 1);
	for (size_t k = 0; k < NR_TYPES; k++) {
		if (types[k] < VS_RECORD_ALLOC)
			continue;
		for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++)
			vs_event_fields_fill(&events[i], types[k],
					     (vs_event_fields_draw)vs_columns_tester_draw_any,
					     &random);
		vs_columns_tester_encode(&tester, events, VS_COLUMNS_MAX);
	}
	vs_columns_tester_decode(&tester, events, VS_COLUMNS_MAX, 1);
	vs_columns_tester_fini(&tester);
	free(events);
}

static void test_block_without_events_takes_no_bytes(void **state)
{
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	assert_int_equal(vs_columns_tester_expect_back(&tester, NULL, 0), 0);
	vs_columns_tester_fini(&tester);
}

static void test_unit_of_nothing_is_invalid(void **state)
{
	struct vs_columns *columns = NULL;

	(void)state;
	assert_int_equal(vs_columns_create(&columns, 0), -VS_ERR_INVALID);
	assert_null(columns);
	vs_columns_destroy(NULL);
	vs_columns_reader_destroy(NULL);
}

/* ---- Time --------------------------------------------------------------------------------- */

static void test_time_is_rounded_down_to_the_unit(void **state)
{
	static const uint32_t units[] = {1, 7, 1000, 1000000, UINT32_MAX};
	static const uint64_t times[] = {
		0,
		1,
		999,
		1000,
		1001,
		2999,
		2998,
		2000,
		5,
		1ull << 32,
		(1ull << 32) - 1,
		127000,
		254999,
		255000,
		1ull << 47,
		(1ull << 48) - 1,
		UINT64_MAX,
		0,
		UINT64_MAX - 1000,
		1ull << 63,
		128000,
		128000,
		1,
	};
	struct vs_record events[sizeof(times) / sizeof(times[0])];
	const uint32_t nr = sizeof(times) / sizeof(times[0]);

	(void)state;
	for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
		struct vs_columns_tester tester;

		vs_columns_tester_init(&tester, units[k]);
		for (uint32_t first = 0; first < nr; first++) {
			for (uint32_t i = 0; i < nr; i++)
				events[i] = (struct vs_record){
					.type = VS_RECORD_PHASE_POP,
					.time_ns = times[(first + i) % nr],
				};
			vs_columns_tester_encode(&tester, events, nr);
			vs_columns_tester_decode(&tester, events, nr, units[k]);
		}
		vs_columns_tester_fini(&tester);
	}
}

/* Every step there is a byte for, the last one before the next, and more than there are bytes for.
 */
static void test_steps_of_any_length_come_back(void **state)
{
	struct vs_record events[64 * 6];
	uint64_t time_ns = 0;
	uint32_t nr = 0;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, 1);
	for (uint32_t power = 0; power < 62; power++)
		for (uint64_t quarter = 4; quarter < 8; quarter++) {
			time_ns += (quarter << power >> 2) - (quarter % 2);
			events[nr++] = (struct vs_record){
				.type = VS_RECORD_PHASE_POP,
				.time_ns = power % 3 ? time_ns : time_ns / 2,
			};
		}
	vs_columns_tester_encode(&tester, events, nr);
	vs_columns_tester_decode(&tester, events, nr, 1);
	vs_columns_tester_fini(&tester);
}

/* ---- Blocks stand alone ------------------------------------------------------------------- */

/* As if there had never been another block before it. */
static void expect_fresh(struct vs_columns_tester *tester, const struct vs_record *events,
			 uint32_t nr)
{
	struct vs_columns_tester fresh;

	vs_columns_tester_expect_back(tester, events, nr);
	vs_columns_tester_init(&fresh, VS_COLUMNS_TESTER_UNIT);
	vs_columns_tester_expect_back(&fresh, events, nr);
	assert_int_equal(tester->size, fresh.size);
	assert_memory_equal(tester->bytes, fresh.bytes, fresh.size);
	vs_columns_tester_fini(&fresh);
}

static void test_what_came_before_does_not_change_a_block(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester_program program = {.random = 6, .time_ns = 5000};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t nr = 1 + (uint32_t)vs_columns_tester_draw(&program.random) % 2000;

		for (uint32_t i = 0; i < nr; i++)
			vs_columns_tester_run(&program, &events[i]);
		expect_fresh(&tester, events, nr);
	}
	vs_columns_tester_fini(&tester);
	free(events);
}

/*
 * Marks of 16 bits tell what is of which block, and come again after 65,535 of them. What a block
 * left then, in the same places but in another order, must be gone.
 */
static void test_nor_does_what_came_before_thousands_of_blocks(void **state)
{
	struct vs_columns_tester_program first = {.random = 7}, second = {.random = 8};
	struct vs_record events[2][300], tiny = {.type = VS_RECORD_PHASE_POP};
	struct vs_columns_tester tester;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		vs_columns_tester_run(&first, &events[0][i]);
		vs_columns_tester_run(&second, &events[1][i]);
	}
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t round = 0; round <= 2 * 65535; round++) {
		if (round % 65535 == 0)
			expect_fresh(&tester, events[round / 65535 % 2], 300);
		else
			vs_columns_tester_expect_back(&tester, &tiny, 1);
	}
	vs_columns_tester_fini(&tester);
}

static void test_reader_may_leave_a_block_in_the_middle(void **state)
{
	struct vs_columns_tester_program program = {.random = 8};
	struct vs_record events[500], found;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < 500; i++)
		vs_columns_tester_run(&program, &events[i]);
	vs_columns_tester_encode(&tester, events, 500);
	for (uint32_t nr_read = 0; nr_read < 500; nr_read += 50) {
		assert_int_equal(
			vs_columns_reader_begin(tester.reader, tester.bytes, tester.size, 500), 0);
		for (uint32_t i = 0; i < nr_read; i++)
			assert_int_equal(vs_columns_reader_next(tester.reader, &found), 1);
		vs_columns_tester_decode(&tester, events, 500, VS_COLUMNS_TESTER_UNIT);
	}
	vs_columns_tester_fini(&tester);
}

/*
 * What is expected when is part of the format: whoever changes it without meaning to is told here.
 * (Another choice among the ways to say the same is no change; then this sum is a new one.)
 */
static void test_bytes_of_a_program_are_what_they_were(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester_program program = {.random = 11};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < 20000; i++)
		vs_columns_tester_run(&program, &events[i]);
	/* A place where it always takes long. */
	for (uint32_t i = 20000; i < 21000; i++)
		events[i] = (struct vs_record){
			.type = VS_RECORD_PHASE_POP,
			.time_ns = program.time_ns += 10000000,
		};
	vs_columns_tester_expect_back(&tester, events, 21000);
	assert_int_equal(vs_crc32_add(0, tester.bytes, tester.size), 0x52b3517c);
	vs_columns_tester_fini(&tester);
	free(events);
}

/* ---- Sizes: what is foreseen takes next to nothing ---------------------------------------- */

/* A loop of 200 allocations, freed in the opposite order, at the same addresses every time. */
static void test_loop_takes_an_eighth_of_a_byte(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		uint32_t at = i % 400;
		uint32_t object = at < 200 ? at : 399 - at;

		events[i].type = at < 200 ? VS_RECORD_BLOCK_ALLOC : VS_RECORD_BLOCK_FREE;
		events[i].thread = at < 200 ? 1 : 2;
		events[i].time_ns = i * 3000;
		if (at < 200)
			events[i].block_alloc = (struct vs_block_alloc){
				.pool = 1,
				.address = 0x7f0000000000 + object * object * 512,
				.size = 512 + object % 50 * 512,
				.stack = 1 + object % 90,
			};
		else
			events[i].block_free = (struct vs_block_free){
				.pool = 1,
				.address = 0x7f0000000000 + object * object * 512,
				.stack = 100 + object % 70,
			};
	}
	assert_true(vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX) <
		    VS_COLUMNS_MAX / 8);
	vs_columns_tester_fini(&tester);
	free(events);
}

/* Each size has its own addresses, the last freed is taken first; sizes come at random. */
static void test_addresses_that_are_taken_again_cost_little(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	uint64_t freed[64][64], live[64], random = 9;
	uint32_t nr_freed[64] = {0}, nr_live = 0, class_of[64];
	uint64_t next = 1 << 30;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		uint32_t class = (uint32_t)vs_columns_tester_draw(&random) % 64;
		uint32_t victim = nr_live ? (uint32_t)vs_columns_tester_draw(&random) % nr_live : 0;

		if (vs_columns_tester_draw(&random) % 64 >= nr_live) {
			next += 1 << 20;
			live[nr_live] = nr_freed[class] ? freed[class][--nr_freed[class]] : next;
			events[i].type = VS_RECORD_BLOCK_ALLOC;
			events[i].block_alloc.size = 512 + class * 512;
			events[i].block_alloc.address = live[nr_live];
			class_of[nr_live++] = class;
		} else {
			class = class_of[victim];
			freed[class][nr_freed[class]++] = live[victim];
			events[i].type = VS_RECORD_BLOCK_FREE;
			events[i].block_free.address = live[victim];
			live[victim] = live[--nr_live];
			class_of[victim] = class_of[nr_live];
		}
	}
	/* One byte for the size or what is freed, and hardly one for everything else. */
	assert_true(vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX) <
		    VS_COLUMNS_MAX * 9 / 5);
	vs_columns_tester_fini(&tester);
	free(events);
}

/* Never the same address, never the same order; but each site has its size. */
static void test_sizes_that_are_a_sites_cost_nothing(void **state)
{
	struct vs_record *events = vs_columns_tester_make_events();
	size_t size_of_sites, size_of_none;
	struct vs_columns_tester tester;
	uint64_t random = 10;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++) {
		uint32_t stack = (uint32_t)vs_columns_tester_draw(&random) % 200;

		events[i].type = VS_RECORD_BLOCK_ALLOC;
		events[i].block_alloc.stack = stack;
		events[i].block_alloc.size = 512 + 512 * stack;
		events[i].block_alloc.address = (uint64_t)i * i << 9;
	}
	size_of_sites = vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX);
	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++)
		events[i].block_alloc.size = 512 + 512 * (vs_columns_tester_draw(&random) % 200);
	size_of_none = vs_columns_tester_expect_back(&tester, events, VS_COLUMNS_MAX);
	assert_true(size_of_sites + VS_COLUMNS_MAX * 9 / 10 < size_of_none);
	vs_columns_tester_fini(&tester);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_comes_back_as_it_was),
		cmocka_unit_test(test_events_of_any_order_come_back),
		cmocka_unit_test(test_a_program_comes_back),
		cmocka_unit_test(test_events_say_which_allocation_they_are_about),
		cmocka_unit_test(test_events_added_together_make_the_same_bytes),
		cmocka_unit_test(test_full_block_is_full),
		cmocka_unit_test(test_block_of_nothing_but_new_things_comes_back),
		cmocka_unit_test(test_numbers_of_any_distance_come_back),
		cmocka_unit_test(test_no_block_is_larger_than_the_bound),
		cmocka_unit_test(test_block_without_events_takes_no_bytes),
		cmocka_unit_test(test_unit_of_nothing_is_invalid),
		cmocka_unit_test(test_time_is_rounded_down_to_the_unit),
		cmocka_unit_test(test_steps_of_any_length_come_back),
		cmocka_unit_test(test_what_came_before_does_not_change_a_block),
		cmocka_unit_test(test_nor_does_what_came_before_thousands_of_blocks),
		cmocka_unit_test(test_reader_may_leave_a_block_in_the_middle),
		cmocka_unit_test(test_bytes_of_a_program_are_what_they_were),
		cmocka_unit_test(test_loop_takes_an_eighth_of_a_byte),
		cmocka_unit_test(test_addresses_that_are_taken_again_cost_little),
		cmocka_unit_test(test_sizes_that_are_a_sites_cost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
