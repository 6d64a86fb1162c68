/* What an item is in a part of a device. */
#include "heatmap_part.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define KIB ((uint64_t)1024)

static char outer_name[] = "outer", inner_name[] = "inner";
static struct vs_replay_pool outer = {.name = outer_name}, inner = {.name = inner_name};

/* A segment of pool "outer", a block of it in which "inner" stands, a block of that. */
static struct vs_item segment = {.range = {.base = 64 * KIB, .size = 16 * KIB}, .owner = &outer};
static struct vs_item block = {.range = {.base = 68 * KIB, .size = 4 * KIB},
			       .pool = &outer,
			       .owner = &inner,
			       .parent = &segment};
static struct vs_item deep = {
	.range = {.base = 68 * KIB, .size = KIB}, .pool = &inner, .parent = &block};

static void assert_judged(const struct vs_heatmap_part *part, const struct vs_item *item,
			  bool is_held, bool is_live)
{
	struct vs_lifetime lifetime = {.is_held = !item->parent, .is_live = !item->owner};

	vs_heatmap_part_judge(part, item, &lifetime);
	assert_int_equal(lifetime.is_held, is_held);
	assert_int_equal(lifetime.is_live, is_live);
}

static void test_pools_see_what_they_hold_and_gave_out(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_POOL, .pool = "outer"};

	(void)state;
	assert_judged(&part, &segment, true, false);
	assert_judged(&part, &block, false, true); /* it gave it out: to whom does not matter */
	assert_judged(&part, &deep, false, false);
	part.pool = "inner";
	assert_judged(&part, &segment, false, false);
	assert_judged(&part, &block, true, false);
	assert_judged(&part, &deep, false, true);
	part.pool = "out";
	assert_judged(&part, &segment, false, false);
}

static void test_segments_see_all_that_lies_in_them(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_SEGMENT, .address = 80 * KIB - 1};

	(void)state;
	assert_judged(&part, &segment, true, false);
	assert_judged(&part, &deep, false, true);
	part.address = 80 * KIB; /* behind it */
	assert_judged(&part, &segment, false, false);
	assert_judged(&part, &deep, false, false);
	part.type = VS_HEATMAP_DEVICE;
	assert_judged(&part, &segment, true, false);
	assert_judged(&part, &deep, false, true);
}

static void test_parts_have_names(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_SEGMENT, .address = 0x7f00};
	char *name = vs_heatmap_part_copy_name(&part);

	(void)state;
	assert_string_equal(name, "segment at 0x7f00");
	free(name);
	part = (struct vs_heatmap_part){.type = VS_HEATMAP_POOL, .pool = "PyTorch"};
	name = vs_heatmap_part_copy_name(&part);
	assert_string_equal(name, "pool PyTorch");
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools_see_what_they_hold_and_gave_out),
		cmocka_unit_test(test_segments_see_all_that_lies_in_them),
		cmocka_unit_test(test_parts_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
