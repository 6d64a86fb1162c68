#include "reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static uint64_t add_up(const struct vs_reconcile *where)
{
	return where->live_bytes + where->rounding_bytes + where->hole_bytes +
	       where->releasable_bytes + where->unmapped_bytes + where->outside_bytes +
	       where->not_taken_bytes + where->not_seen_bytes;
}

static struct vs_reconcile find(struct script *script, uint64_t free_size, uint64_t total_size)
{
	const struct vs_memory_sample none = {0};
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct vs_reconcile where;

	script_analyse(script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	vs_reconcile_find(&where, &map, &none, free_size, total_size);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(script);
	return where;
}

/* 100 and 50 live, 60 in a hole, 200 in a free segment, 30 created and not mapped. */
static void make_all(struct script *script)
{
	script_init(script);
	script_device(script, 0, 1000);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 100);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 110);
	script_block(script, 1, 2 * BASE, 50);
	script_alloc(script, VS_MEMORY_DEVICE, 3 * BASE, 200);
	script_block(script, 1, 3 * BASE, 10);
	script_block_free(script, 1, 3 * BASE);
	script_alloc(script, VS_MEMORY_VMM, 77, 30);
}

static void test_every_byte_of_the_card_is_somewhere(void **state)
{
	struct script script;
	struct vs_reconcile where;

	(void)state;
	make_all(&script);
	where = find(&script, 400, 990);
	assert_int_equal(where.live_bytes, 150);
	assert_int_equal(where.hole_bytes, 60);
	assert_int_equal(where.releasable_bytes, 200);
	assert_int_equal(where.unmapped_bytes, 30);
	assert_int_equal(where.cached_bytes, 230);
	assert_int_equal(where.not_taken_bytes, 400);
	assert_int_equal(where.outside_bytes, 150);
	assert_false(where.outside.is_known);
	assert_int_equal(where.total_bytes, 990);
	assert_int_equal(add_up(&where), 990);
}

static void test_what_nobody_told_is_one_part(void **state)
{
	struct script script;
	struct vs_reconcile where;

	(void)state;
	make_all(&script);
	where = find(&script, 0, 0);
	assert_false(where.is_free_known);
	assert_int_equal(where.not_seen_bytes, 560);
	assert_int_equal(add_up(&where), 1000);
}

static void test_more_than_the_card_has_is_excess(void **state)
{
	struct script script;
	struct vs_reconcile where;

	(void)state;
	make_all(&script);
	script_alloc(&script, VS_MEMORY_MANAGED, 9 * BASE, 2000);
	where = find(&script, 400, 1000);
	assert_int_equal(where.excess_bytes, 1440);
	assert_int_equal(where.not_taken_bytes, 0);
}

/* ---- Rounding ------------------------------------------------------------------------------- */

static void ask(struct script *script, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_BLOCK_ASKED,
					      .block_asked = {.size = size}});
}

static void test_what_a_block_has_more_than_was_asked_for_is_rounding(void **state)
{
	struct vs_reconcile where;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 1000);
	script_pool(&script, 1, VS_POOL_FRAMEWORK, 0, 0, "TensorFlow GPU_0_bfc");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 600);
	script_block(&script, 1, BASE, 256);
	ask(&script, 200);
	script_block(&script, 1, BASE + 256, 256);
	ask(&script, 256);
	script_block(&script, 1, BASE + 512, 64); /* gone again, with its rounding */
	ask(&script, 1);
	script_block_free(&script, 1, BASE + 512);
	where = find(&script, 300, 1000);
	assert_int_equal(where.live_bytes, 456);
	assert_int_equal(where.rounding_bytes, 56);
	assert_int_equal(where.driver_rounding, 0);
	assert_int_equal(where.unasked_bytes, 0);
	assert_int_equal(where.hole_bytes, 88);
	assert_int_equal(add_up(&where), 1000);
}

static void test_rounding_that_nobody_tells_is_part_of_live(void **state)
{
	struct vs_reconcile where;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 1000);
	script_pool(&script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 600);
	script_block(&script, 1, BASE, 512);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 50); /* asked of the driver: as it is */
	where = find(&script, 300, 1000);
	assert_int_equal(where.live_bytes, 562);
	assert_int_equal(where.rounding_bytes, 0);
	assert_int_equal(where.unasked_bytes, 512);
}

/* One of 3 MiB, three of 512 KiB of which two share a page, and one that fills its own. */
static void make_pages(struct script *script)
{
	script_init(script);
	script_device(script, 0, GIB);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 3 * MIB);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 512 * KIB);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE + MIB, 512 * KIB);
	script_alloc(script, VS_MEMORY_DEVICE, 3 * BASE, 512 * KIB);
	script_alloc(script, VS_MEMORY_DEVICE, 4 * BASE, 2 * MIB);
}

static void test_rest_of_the_drivers_pages_is_rounding(void **state)
{
	uint64_t slack = MIB + MIB + (2 * MIB - 512 * KIB), taken = 6 * MIB + 512 * KIB;
	struct vs_reconcile where;
	struct script script;

	(void)state;
	make_pages(&script);
	where = find(&script, GIB - taken - slack - 100 * MIB, GIB);
	assert_int_equal(where.live_bytes, taken);
	assert_int_equal(where.driver_rounding, slack);
	assert_int_equal(where.rounding_bytes, slack);
	assert_int_equal(where.outside_bytes, 100 * MIB);
	assert_int_equal(add_up(&where), GIB);
	/* All of it was free or ours: that many pages cannot be there. */
	make_pages(&script);
	where = find(&script, GIB - taken - slack + 1, GIB);
	assert_int_equal(where.rounding_bytes, 0);
	assert_int_equal(where.outside_bytes, slack - 1);
	assert_int_equal(add_up(&where), GIB);
	/* Nobody says what is free. */
	make_pages(&script);
	where = find(&script, 0, 0);
	assert_int_equal(where.rounding_bytes, 0);
	assert_int_equal(add_up(&where), GIB);
}

/* NVML says what this process holds: its pages are in that, and are no part of the context. */
static void test_context_is_without_what_the_driver_rounds(void **state)
{
	uint64_t slack = 3 * MIB + 512 * KIB, taken = 6 * MIB + 512 * KIB;
	struct vs_reconcile where;
	struct script script;

	(void)state;
	make_pages(&script);
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_MEMORY_INFO,
				      .memory_info = {.total_size = GIB,
						      .free_size = GIB - taken - slack - 150 * MIB,
						      .used_size = taken + slack + 150 * MIB}});
	script_add(&script, (struct vs_record){.type = VS_RECORD_MEMORY_OWN,
					       .memory_own = {.flags = VS_MEMORY_OWN_LISTED,
							      .nr_others = 1,
							      .own_size = taken + slack + 100 * MIB,
							      .others_size = 40 * MIB}});
	where = find(&script, 0, 0);
	assert_int_equal(where.rounding_bytes, slack);
	assert_int_equal(where.outside.context_bytes, 100 * MIB);
	assert_int_equal(where.outside.others_bytes, 40 * MIB);
	assert_int_equal(where.outside.unexplained_bytes, 10 * MIB);
	assert_int_equal(where.not_taken_bytes, GIB - taken - slack - 150 * MIB);
	assert_int_equal(add_up(&where), GIB);
}

/* NVML's list has us with `own` bytes, and nobody else; the context took `context` of them. */
static void sample_us(struct script *script, uint64_t own, uint64_t context)
{
	struct vs_memory_own ours = {.flags = VS_MEMORY_OWN_LISTED | VS_MEMORY_OWN_CONTEXT,
				     .own_size = own,
				     .context_size = context};

	script_add(script, (struct vs_record){.type = VS_RECORD_MEMORY_INFO,
					      .memory_info = {.total_size = GIB,
							      .free_size = GIB - own,
							      .used_size = own}});
	script_add(script, (struct vs_record){.type = VS_RECORD_MEMORY_OWN, .memory_own = ours});
}

/* A program that is over before the next sample: none of what it took is in the only one. */
static void test_pages_that_came_after_the_sample_are_not_taken_off_it(void **state)
{
	uint64_t slack = 1 * MIB + 1536 * KIB, taken = 3 * MIB + 512 * KIB;
	struct vs_reconcile where;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, GIB);
	sample_us(&script, 100 * MIB, 100 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 3 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 512 * KIB);
	where = find(&script, 0, 0);
	assert_int_equal(where.rounding_bytes, slack);
	assert_int_equal(where.outside.context_bytes, 100 * MIB);
	assert_int_equal(where.outside.unexplained_bytes, 0);
	assert_int_equal(where.not_taken_bytes, GIB - taken - slack - 100 * MIB);
	assert_int_equal(add_up(&where), GIB);
}

static void test_pages_that_have_no_room_beside_the_context_are_of_another_size(void **state)
{
	uint64_t slack = 3 * MIB + 512 * KIB, taken = 6 * MIB + 512 * KIB;
	struct vs_reconcile where;
	struct script script;

	(void)state;
	make_pages(&script);
	sample_us(&script, taken + slack + 100 * MIB, 100 * MIB);
	where = find(&script, 0, 0);
	assert_int_equal(where.rounding_bytes, slack);
	assert_int_equal(where.outside.context_bytes, 100 * MIB);
	make_pages(&script);
	sample_us(&script, taken + slack + 100 * MIB - 1, 100 * MIB);
	where = find(&script, 0, 0);
	assert_int_equal(where.rounding_bytes, 0);
	assert_int_equal(where.outside.context_bytes, slack + 100 * MIB - 1);
	assert_int_equal(add_up(&where), GIB);
}

/* Whatever happened, and whatever the driver says is free. */
static void test_random_devices_add_up(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 1000; seed++) {
		unsigned int random = seed;
		struct script script;
		struct vs_reconcile where;
		uint64_t total = 100000, nr = 1 + (uint64_t)rand_r(&random) % 20;

		script_init(&script);
		script_device(&script, 0, total);
		script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
		script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
		for (uint64_t i = 1; i <= nr; i++) {
			uint64_t size = 64 + (uint64_t)rand_r(&random) % 1000;

			switch (rand_r(&random) % 4) {
			case 0:
				script_alloc(&script, VS_MEMORY_DEVICE, i * BASE, size);
				break;
			case 1:
				script_alloc(&script, VS_MEMORY_DEVICE, i * BASE, size);
				script_block(&script, 1, i * BASE + 16, 1 + size / 3);
				if (rand_r(&random) % 2)
					ask(&script, (uint64_t)rand_r(&random) % 400);
				if (rand_r(&random) % 2)
					script_block_free(&script, 1, i * BASE + 16);
				break;
			case 2:
				script_alloc(&script, VS_MEMORY_VMM, i, size);
				break;
			default:
				script_alloc_async(&script, 2, i * BASE, size);
				script_pool_state(&script, 2, 20000);
			}
		}
		where = find(&script, (uint64_t)rand_r(&random) % 120000,
			     rand_r(&random) % 2 ? total : 0);
		assert_int_equal(add_up(&where), total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_of_the_card_is_somewhere),
		cmocka_unit_test(test_what_nobody_told_is_one_part),
		cmocka_unit_test(test_more_than_the_card_has_is_excess),
		cmocka_unit_test(test_what_a_block_has_more_than_was_asked_for_is_rounding),
		cmocka_unit_test(test_rounding_that_nobody_tells_is_part_of_live),
		cmocka_unit_test(test_rest_of_the_drivers_pages_is_rounding),
		cmocka_unit_test(test_context_is_without_what_the_driver_rounds),
		cmocka_unit_test(test_pages_that_came_after_the_sample_are_not_taken_off_it),
		cmocka_unit_test(
			test_pages_that_have_no_room_beside_the_context_are_of_another_size),
		cmocka_unit_test(test_random_devices_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
