#include "measure_pinning.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/* The device after all records of a script. */
struct rig {
	struct script script;
	struct vs_replay *replay;
	struct vs_address_map map;
	struct vs_measure_pinning pinning;
};

static void begin(struct rig *rig)
{
	script_init_usual(&rig->script);
}

static void look(struct rig *rig, uint64_t wanted, size_t max_sets)
{
	rig->replay = script_replay(&rig->script);
	assert_int_equal(
		vs_address_map_init(&rig->map, rig->replay, script_get_device(rig->replay)), 0);
	assert_int_equal(vs_measure_pinning_init(&rig->pinning, &rig->map,
						 vs_replay_get_pool(rig->replay, 1), wanted,
						 max_sets),
			 0);
}

static void end(struct rig *rig)
{
	vs_measure_pinning_fini(&rig->pinning);
	vs_address_map_fini(&rig->map);
	vs_replay_destroy(rig->replay);
	script_fini(&rig->script);
}

static void assert_set(const struct rig *rig, size_t i, uint64_t base, uint64_t hole_bytes,
		       size_t nr_blocks, uint64_t block_bytes)
{
	const struct vs_pinning_set *set = &rig->pinning.sets[i];

	assert_true(i < rig->pinning.nr_sets);
	assert_int_equal(set->base, base);
	assert_int_equal(set->hole_bytes, hole_bytes);
	assert_int_equal(set->nr_blocks, nr_blocks);
	assert_int_equal(set->block_bytes, block_bytes);
}

/* Blocks of 10, 20 and 30 with 100 free behind each. */
static void make_three(struct rig *rig)
{
	begin(rig);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, BASE, 360);
	script_block(&rig->script, 1, BASE, 10);
	script_block(&rig->script, 1, BASE + 110, 20);
	script_block(&rig->script, 1, BASE + 230, 30);
}

static void test_cheapest_set_comes_first_and_none_shares_a_block(void **state)
{
	struct rig rig;

	(void)state;
	make_three(&rig);
	look(&rig, 110, 8);
	assert_false(rig.pinning.has_hole);
	assert_int_equal(rig.pinning.nr_sets, 3);
	assert_set(&rig, 0, BASE, 110, 1, 10);
	assert_set(&rig, 1, BASE + 10, 220, 1, 20);
	assert_set(&rig, 2, BASE + 130, 230, 1, 30);
	end(&rig);
	make_three(&rig);
	look(&rig, 221, 8); /* of those that cost the same, the one with fewer blocks */
	assert_int_equal(rig.pinning.nr_sets, 2);
	assert_set(&rig, 0, BASE + 130, 230, 1, 30);
	assert_set(&rig, 1, BASE, 230, 2, 30);
	end(&rig);
	make_three(&rig);
	look(&rig, 110, 1);
	assert_int_equal(rig.pinning.nr_sets, 1);
	end(&rig);
}

static void test_nothing_need_go_where_a_hole_is_large_enough(void **state)
{
	struct rig rig;

	(void)state;
	make_three(&rig);
	look(&rig, 100, 8);
	assert_true(rig.pinning.has_hole);
	end(&rig);
}

static void test_block_without_a_hole_beside_it_gains_nothing(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&rig.script, 1, BASE, 50);
	script_block(&rig.script, 1, BASE + 50, 20);
	script_block(&rig.script, 1, BASE + 70, 25);
	look(&rig, 20, 8);
	assert_int_equal(rig.pinning.nr_sets, 1);
	assert_set(&rig, 0, BASE + 70, 30, 1, 25);
	end(&rig);
}

static void test_request_beyond_every_segment_has_no_set(void **state)
{
	struct rig rig;

	(void)state;
	make_three(&rig);
	look(&rig, 361, 8);
	assert_false(rig.pinning.has_hole);
	assert_int_equal(rig.pinning.nr_sets, 0);
	end(&rig);
	make_three(&rig);
	look(&rig, 360, 8);
	assert_set(&rig, 0, BASE, 360, 3, 60);
	end(&rig);
}

static void test_holes_of_two_segments_are_never_joined(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 100);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + 100, 100);
	script_block(&rig.script, 1, BASE, 10);
	script_block(&rig.script, 1, BASE + 190, 10);
	look(&rig, 101, 8);
	assert_int_equal(rig.pinning.nr_sets, 0);
	end(&rig);
}

static void test_blocks_of_another_pool_do_not_count(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	script_pool(&rig.script, 2, VS_POOL_PROGRAM, 0, 0, "other");
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&rig.script, 2, BASE, 10);
	look(&rig, 100, 8);
	assert_int_equal(rig.pinning.nr_sets + rig.pinning.nr_segments, 0);
	end(&rig);
}

static void test_set_says_who_its_blocks_come_from(void **state)
{
	struct vs_address_neighbour *groups;
	struct rig rig;
	size_t nr;

	(void)state;
	begin(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 300);
	for (uint64_t i = 0; i < 3; i++) {
		script_set_stack(&rig.script, i == 1 ? 1 : 2);
		script_block(&rig.script, 1, BASE + i * 100, 10 + i);
	}
	look(&rig, 300, 8);
	assert_int_equal(vs_measure_pinning_group(&rig.pinning.sets[0], &groups, &nr), 0);
	assert_int_equal(nr, 2);
	assert_ptr_equal(groups[0].account, script_get_account(rig.replay, 2));
	assert_int_equal(groups[0].nr_blocks, 2);
	assert_int_equal(groups[0].bytes, 22);
	assert_int_equal(groups[1].nr_blocks, 1);
	assert_int_equal(groups[1].bytes, 11);
	free(groups);
	end(&rig);
}

static void test_emptiest_segments_are_given_back_first(void **state)
{
	struct rig rig;
	uint64_t bytes;

	(void)state;
	begin(&rig);
	for (uint64_t i = 1; i <= 3; i++) { /* a tenth, two tenths and three tenths in use */
		script_alloc(&rig.script, VS_MEMORY_DEVICE, i * BASE, 100);
		script_block(&rig.script, 1, i * BASE, 40 - i * 10);
	}
	look(&rig, 1, 1);
	assert_int_equal(rig.pinning.nr_segments, 3);
	assert_int_equal(rig.pinning.segments[0].block_bytes, 10);
	assert_int_equal(vs_measure_pinning_count_segments(&rig.pinning, 100, &bytes), 1);
	assert_int_equal(bytes, 10);
	assert_int_equal(vs_measure_pinning_count_segments(&rig.pinning, 101, &bytes), 2);
	assert_int_equal(bytes, 30);
	assert_int_equal(vs_measure_pinning_count_segments(&rig.pinning, 300, &bytes), 3);
	assert_int_equal(vs_measure_pinning_count_segments(&rig.pinning, 301, &bytes), 0);
	assert_int_equal(vs_measure_pinning_count_segments(&rig.pinning, 0, &bytes), 0);
	end(&rig);
}

/* ---- The twin ------------------------------------------------------------------------------- */

#define SIZE 64 /* of a segment, in units */
#define NR   3  /* of them */

/* What lies where, byte by byte: 0 free, else the number of a block. */
static unsigned int bytes[NR][SIZE];

/* Free bytes in the stretch without the blocks that are in [from, to), and right beside it. */
static unsigned int count_free(const unsigned int *segment, unsigned int from, unsigned int to)
{
	unsigned int nr = 0;

	while (from > 0 && (!segment[from - 1] || segment[from - 1] == segment[from]))
		from--;
	while (to < SIZE && (!segment[to] || segment[to] == segment[to - 1]))
		to++;
	for (; from < to; from++)
		nr += !segment[from];
	return nr;
}

/*
 * The least that must go for a stretch of `wanted`, tried at every place, so that at least one hole
 * becomes larger; SIZE + 1: it cannot be.
 */
static unsigned int get_least(unsigned int wanted)
{
	unsigned int least = SIZE + 1;

	for (unsigned int s = 0; s < NR; s++) {
		bool is_used = false;

		for (unsigned int i = 0; i < SIZE; i++)
			is_used |= bytes[s][i];
		for (unsigned int from = 0; is_used && from + wanted <= SIZE; from++) {
			unsigned int gone = 0, last = 0;

			for (unsigned int i = from; i < from + wanted; i++) {
				if (!bytes[s][i] || bytes[s][i] == last)
					continue;
				last = bytes[s][i];
				for (unsigned int k = 0; k < SIZE; k++)
					gone += bytes[s][k] == last;
			}
			if (gone < least && count_free(bytes[s], from, from + wanted))
				least = gone;
		}
	}
	return least;
}

static void fill(struct rig *rig, unsigned int *seed)
{
	unsigned int number = 0;

	memset(bytes, 0, sizeof(bytes));
	begin(rig);
	for (uint64_t s = 0; s < NR; s++) {
		unsigned int at = (unsigned int)rand_r(seed) % 12;

		script_alloc(&rig->script, VS_MEMORY_DEVICE, (s + 1) * BASE, SIZE);
		while (at < SIZE) {
			unsigned int size = 1 + (unsigned int)rand_r(seed) % 9;

			if (at + size > SIZE)
				break;
			script_block(&rig->script, 1, (s + 1) * BASE + at, size);
			number++;
			for (unsigned int i = at; i < at + size; i++)
				bytes[s][i] = number;
			at += size + (unsigned int)rand_r(seed) % 14;
		}
	}
}

static void test_random_segments_agree_with_every_place_tried(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 3000; seed++) {
		unsigned int random = seed, wanted, least;
		struct rig rig;

		fill(&rig, &random);
		wanted = 1 + (unsigned int)rand_r(&random) % (SIZE + 4);
		least = get_least(wanted);
		look(&rig, wanted, 4);
		if (!least) {
			assert_true(rig.pinning.has_hole);
		} else {
			assert_false(rig.pinning.has_hole);
			assert_int_equal(rig.pinning.nr_sets ? rig.pinning.sets[0].block_bytes
							     : SIZE + 1,
					 least);
		}
		for (size_t i = 1; i < rig.pinning.nr_sets; i++)
			assert_true(rig.pinning.sets[i].block_bytes >=
				    rig.pinning.sets[i - 1].block_bytes);
		end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheapest_set_comes_first_and_none_shares_a_block),
		cmocka_unit_test(test_nothing_need_go_where_a_hole_is_large_enough),
		cmocka_unit_test(test_block_without_a_hole_beside_it_gains_nothing),
		cmocka_unit_test(test_request_beyond_every_segment_has_no_set),
		cmocka_unit_test(test_holes_of_two_segments_are_never_joined),
		cmocka_unit_test(test_blocks_of_another_pool_do_not_count),
		cmocka_unit_test(test_set_says_who_its_blocks_come_from),
		cmocka_unit_test(test_emptiest_segments_are_given_back_first),
		cmocka_unit_test(test_random_segments_agree_with_every_place_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
