#include <stdlib.h>
#include <string.h>

#include "extents.h"
#include "rig.h"

#define NR_STEPS   500000
#define NR_REGIONS 3
#define LENGTH     200 /* units in a region */
#define GAP        1   /* units between two regions: never joined */
#define UNIT_SIZE  512
#define MAX_LIVE   400

/* The naive way: one flag per unit. */
struct model {
	bool is_known[NR_REGIONS]; /* given to the set */
	bool is_used[NR_REGIONS][LENGTH];
};

static struct sg_extents extents;
static struct model model;
static struct sg_extent *live[MAX_LIVE];
static int nr_live;
static int words[NR_REGIONS]; /* only their addresses count */
static uint64_t seed;

/* Regions 0 and 1 touch each other, 2 lies apart. */
static uint64_t base_of(int region)
{
	return (uint64_t)(0x10000 + region * LENGTH * UNIT_SIZE +
			  (region > 1 ? GAP * UNIT_SIZE : 0));
}

static int begin(void **state)
{
	(void)state;
	memset(&extents, 0, sizeof(extents));
	memset(&model, 0, sizeof(model));
	nr_live = 0;
	seed = 7;
	return 0;
}

static int end(void **state)
{
	(void)state;
	sg_extents_fini(&extents);
	return 0;
}

static void add_region(int region)
{
	assert_true(sg_extents_add(&extents, base_of(region), LENGTH * UNIT_SIZE, &words[region]));
	model.is_known[region] = true;
	memset(model.is_used[region], 0, sizeof(model.is_used[region]));
}

/* The lowest (highest) stretch of free units that is long enough; false if there is none. */
static bool find_stretch(int length, bool is_high, int *region, int *first)
{
	bool found = false;

	for (int r = 0; r < NR_REGIONS; r++) {
		for (int begin_at = 0; model.is_known[r] && begin_at < LENGTH;) {
			int stop = begin_at;

			while (stop < LENGTH && !model.is_used[r][stop])
				stop++;
			if (stop - begin_at >= length) {
				*region = r;
				*first = is_high ? stop - length : begin_at;
				found = true;
				if (!is_high)
					return true;
			}
			begin_at = stop + 1;
		}
	}
	return found;
}

static void take_random(void)
{
	int length = 1 + (int)sg_rig_draw_below(&seed, sg_rig_draw_below(&seed, 10) ? 12 : LENGTH);
	bool is_high = sg_rig_draw_below(&seed, 2) == 1;
	struct sg_extent *extent;
	int region, first;

	if (nr_live == MAX_LIVE)
		return;
	extent = is_high ? sg_extents_take_high(&extents, (uint64_t)length * UNIT_SIZE)
			 : sg_extents_take_low(&extents, (uint64_t)length * UNIT_SIZE);
	if (!find_stretch(length, is_high, &region, &first)) {
		assert_null(extent);
		return;
	}
	assert_non_null(extent);
	assert_int_equal(extent->node.base, base_of(region) + (uint64_t)first * UNIT_SIZE);
	assert_int_equal(extent->node.size, length * UNIT_SIZE);
	assert_ptr_equal(extent->region, &words[region]);
	assert_false(extent->is_free);
	for (int i = 0; i < length; i++)
		model.is_used[region][first + i] = true;
	live[nr_live++] = extent;
}

static void put_random(void)
{
	int which, region, first, low, high;
	struct sg_extent *extent, *joined;

	if (!nr_live)
		return;
	which = (int)sg_rig_draw_below(&seed, (uint64_t)nr_live);
	extent = live[which];
	region = (int)((int *)extent->region - words);
	first = (int)((extent->node.base - base_of(region)) / UNIT_SIZE);
	for (uint64_t i = 0; i < extent->node.size / UNIT_SIZE; i++)
		model.is_used[region][first + (int)i] = false;
	live[which] = live[--nr_live];
	joined = sg_extents_put(&extents, extent);
	for (low = first; low > 0 && !model.is_used[region][low - 1];)
		low--;
	for (high = first; high < LENGTH && !model.is_used[region][high];)
		high++;
	assert_true(joined->is_free);
	assert_int_equal(joined->node.base, base_of(region) + (uint64_t)low * UNIT_SIZE);
	assert_int_equal(joined->node.size, (high - low) * UNIT_SIZE);
	assert_int_equal(!joined->neighbour[0] && !joined->neighbour[1],
			 low == 0 && high == LENGTH);
	if (low == 0 && high == LENGTH && sg_rig_draw_below(&seed, 2)) {
		sg_extents_drop(&extents, joined);
		model.is_known[region] = false;
	}
}

static void put_all(void)
{
	while (nr_live) {
		struct sg_extent *whole = sg_extents_put(&extents, live[--nr_live]);

		if (!whole->neighbour[0] && !whole->neighbour[1]) {
			model.is_known[(int *)whole->region - words] = false;
			sg_extents_drop(&extents, whole);
		}
	}
	for (int r = 0; r < NR_REGIONS; r++) {
		struct sg_extent *whole;

		if (!model.is_known[r])
			continue;
		whole = sg_extents_take_low(&extents, LENGTH * UNIT_SIZE);
		assert_non_null(whole);
		sg_extents_drop(&extents, sg_extents_put(&extents, whole));
	}
}

static void test_random_steps_agree_with_a_bitmap(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		uint64_t choice = sg_rig_draw_below(&seed, 100);
		int region = (int)sg_rig_draw_below(&seed, NR_REGIONS);

		if (choice < 10) {
			if (!model.is_known[region])
				add_region(region);
		} else if (choice < (step / 2000 % 2 ? 48u : 62u)) {
			take_random();
		} else {
			put_random();
		}
	}
	put_all();
	assert_null(extents.free.root);
}

static void test_regions_that_touch_do_not_join(void **state)
{
	struct sg_extent *first, *second;

	(void)state;
	add_region(0);
	add_region(1);
	assert_int_equal(base_of(0) + LENGTH * UNIT_SIZE, base_of(1));
	assert_null(sg_extents_take_low(&extents, (LENGTH + 1) * UNIT_SIZE));
	first = sg_extents_take_low(&extents, LENGTH * UNIT_SIZE);
	second = sg_extents_take_low(&extents, LENGTH * UNIT_SIZE);
	first = sg_extents_put(&extents, first);
	second = sg_extents_put(&extents, second);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->node.size, LENGTH * UNIT_SIZE);
	sg_extents_drop(&extents, first);
	sg_extents_drop(&extents, second);
}

static void test_set_without_regions_has_nothing_to_take(void **state)
{
	(void)state;
	assert_null(sg_extents_take_low(&extents, UNIT_SIZE));
	assert_null(sg_extents_take_high(&extents, UNIT_SIZE));
}

static void test_freed_middle_joins_both_neighbours(void **state)
{
	struct sg_extent *part[3], *whole;

	(void)state;
	add_region(0);
	for (int i = 0; i < 3; i++)
		part[i] = sg_extents_take_low(&extents, (i < 2 ? 50 : 100) * UNIT_SIZE);
	sg_extents_put(&extents, part[0]);
	sg_extents_put(&extents, part[2]);
	whole = sg_extents_put(&extents, part[1]);
	assert_int_equal(whole->node.base, base_of(0));
	assert_int_equal(whole->node.size, LENGTH * UNIT_SIZE);
	assert_null(whole->neighbour[0]);
	assert_null(whole->neighbour[1]);
	sg_extents_drop(&extents, whole);
	assert_null(extents.free.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_steps_agree_with_a_bitmap, begin, end),
		cmocka_unit_test_setup_teardown(test_regions_that_touch_do_not_join, begin, end),
		cmocka_unit_test_setup_teardown(test_set_without_regions_has_nothing_to_take, begin,
						end),
		cmocka_unit_test_setup_teardown(test_freed_middle_joins_both_neighbours, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
