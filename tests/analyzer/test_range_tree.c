#include "range_tree.h"

#include <stdlib.h>

#include "script.h"

#define NR 500

static void test_find_gives_the_range_that_holds_an_address(void **state)
{
	struct vs_range a = {.base = 100, .size = 50}, b = {.base = 200, .size = 10};
	struct vs_range_tree tree = {0};

	(void)state;
	vs_range_tree_insert(&tree, &b);
	vs_range_tree_insert(&tree, &a);
	assert_null(vs_range_tree_find(&tree, 99));
	assert_ptr_equal(vs_range_tree_find(&tree, 100), &a);
	assert_ptr_equal(vs_range_tree_find(&tree, 149), &a);
	assert_null(vs_range_tree_find(&tree, 150));
	assert_ptr_equal(vs_range_tree_find_from(&tree, 150), &b);
	assert_ptr_equal(vs_range_tree_find_below(&tree, 200), &a);
	assert_ptr_equal(vs_range_tree_find_below(&tree, 201), &b);
	assert_null(vs_range_tree_find_below(&tree, 100));
	assert_null(vs_range_tree_next(&tree, &b));
	assert_ptr_equal(vs_range_tree_last(&tree), &b);
}

/* Height of a valid subtree; fails on a broken order. */
static int check(const struct vs_range *range, uint64_t low, uint64_t high)
{
	int left, right;

	if (!range)
		return 0;
	assert_true(range->base >= low && range->base < high);
	assert_true(!range->child[0] || range->child[0]->parent == range);
	assert_true(!range->child[1] || range->child[1]->parent == range);
	left = check(range->child[0], low, range->base);
	right = check(range->child[1], range->base + 1, high);
	assert_true(!range->child[0] || range->child[0]->priority <= range->priority);
	assert_true(!range->child[1] || range->child[1]->priority <= range->priority);
	return 1 + (left > right ? left : right);
}

/* Each knows its neighbours. */
static void check_neighbours(const struct vs_range_tree *tree, struct vs_range *ranges,
			     const bool *is_in)
{
	struct vs_range *before = NULL;
	size_t i;

	for (i = 0; i < NR; i++) {
		if (!is_in[i])
			continue;
		assert_ptr_equal(vs_range_tree_before(&ranges[i]), before);
		assert_ptr_equal(before ? vs_range_tree_next(tree, before)
					: vs_range_tree_first(tree),
				 &ranges[i]);
		before = &ranges[i];
	}
	assert_ptr_equal(vs_range_tree_last(tree), before);
	assert_null(tree->root ? tree->root->parent : NULL);
}

/* By itself, or by somebody who knows its place. */
static void put(struct vs_range_tree *tree, struct vs_range *range, bool knows_next)
{
	if (knows_next)
		vs_range_tree_insert_before(tree, range,
					    vs_range_tree_find_from(tree, range->base));
	else
		vs_range_tree_insert(tree, range);
}

static void test_tree_stays_ordered_and_balanced_through_any_changes(void **state)
{
	static struct vs_range ranges[NR];
	struct vs_range_tree tree = {0};
	bool is_in[NR] = {false};
	unsigned int seed = 1;
	size_t i, nr_in = 0;

	(void)state;
	for (i = 0; i < NR; i++)
		ranges[i] = (struct vs_range){.base = 10 * i, .size = 10};
	for (i = 0; i < 20 * NR; i++) {
		size_t pick = (size_t)rand_r(&seed) % NR;

		if (is_in[pick])
			vs_range_tree_remove(&tree, &ranges[pick]);
		else
			put(&tree, &ranges[pick], i % 2);
		is_in[pick] = !is_in[pick];
		nr_in += is_in[pick] ? 1 : -1ul;
		if (i % 97 == 0) {
			/* About 250 are in: 8 at best, 17 or so in a random order. */
			assert_true(check(tree.root, 0, UINT64_MAX) <= 28);
			check_neighbours(&tree, ranges, is_in);
		}
		assert_int_equal(tree.nr_ranges, nr_in);
	}
	for (i = 0; i < NR; i++)
		assert_ptr_equal(vs_range_tree_find(&tree, 10 * i + 9),
				 is_in[i] ? &ranges[i] : NULL);
}

static void test_walk_visits_ranges_by_address(void **state)
{
	static struct vs_range ranges[NR];
	struct vs_range_tree tree = {0};
	struct vs_range *range;
	size_t i, expected = 0;

	(void)state;
	for (i = 0; i < NR; i++) {
		size_t pick = i * 7 % NR;

		ranges[pick] = (struct vs_range){.base = 4 * pick, .size = 3};
		vs_range_tree_insert(&tree, &ranges[pick]);
	}
	for (range = vs_range_tree_first(&tree); range; range = vs_range_tree_next(&tree, range))
		assert_ptr_equal(range, &ranges[expected++]);
	assert_int_equal(expected, NR);
}

/* Addresses come in order, and are multiples of large powers of two. */
static void test_tree_of_regular_addresses_is_not_deep(void **state)
{
	static struct vs_range ranges[1 << 16];

	(void)state;
	for (int shift = 0; shift < 40; shift += 3) {
		struct vs_range_tree tree = {0};

		for (uint64_t i = 0; i < 1 << 16; i++) {
			ranges[i] =
				(struct vs_range){.base = 0x7f0000000000 + (i << shift), .size = 1};
			vs_range_tree_insert_before(&tree, &ranges[i], NULL);
		}
		assert_true(check(tree.root, 0, UINT64_MAX) <=
			    60); /* 17 at best, 40 or so usually */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find_gives_the_range_that_holds_an_address),
		cmocka_unit_test(test_tree_stays_ordered_and_balanced_through_any_changes),
		cmocka_unit_test(test_tree_of_regular_addresses_is_not_deep),
		cmocka_unit_test(test_walk_visits_ranges_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
