#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "tree.h"

#define NR_STEPS   1000000
#define MAX_RANGES 200
#define WORLD      100000 /* addresses; so few that ranges often touch */

/* The naive way: ranges in an array, sorted by address. */
static struct sg_node *ranges[MAX_RANGES];
static int nr_ranges;
static struct sg_node storage[MAX_RANGES];
static bool is_used[MAX_RANGES];
static struct sg_tree tree;
static uint64_t seed;

static int begin(void **state)
{
	(void)state;
	nr_ranges = 0;
	memset(is_used, 0, sizeof(is_used));
	tree.root = NULL;
	seed = 42;
	return 0;
}

/* Heights, largest sizes and order below a node; its height. */
static int check_below(const struct sg_node *node, uint64_t low, uint64_t high, uint64_t *max)
{
	uint64_t left_max = 0, right_max = 0;
	int left, right;

	*max = 0;
	if (!node)
		return 0;
	assert_true(node->base >= low && node->base + node->size <= high);
	left = check_below(node->child[0], low, node->base, &left_max);
	right = check_below(node->child[1], node->base + node->size, high, &right_max);
	assert_true(abs(left - right) <= 1);
	*max = node->size;
	if (left_max > *max)
		*max = left_max;
	if (right_max > *max)
		*max = right_max;
	assert_int_equal(node->max_size, *max);
	assert_int_equal(node->height, 1 + (left > right ? left : right));
	return node->height;
}

static void check_shape(void)
{
	uint64_t max;

	check_below(tree.root, 0, UINT64_MAX, &max);
}

static uint64_t gap_begin(int place)
{
	return place ? ranges[place - 1]->base + ranges[place - 1]->size : 0;
}

static uint64_t gap_end(int place)
{
	return place < nr_ranges ? ranges[place]->base : WORLD;
}

static void insert_random(void)
{
	int place = (int)sg_rig_draw_below(&seed, (uint64_t)nr_ranges + 1);
	uint64_t low = gap_begin(place), room = gap_end(place) - low;
	struct sg_node *node;
	int slot = 0;

	if (nr_ranges == MAX_RANGES || !room)
		return;
	while (is_used[slot])
		slot++;
	is_used[slot] = true;
	node = &storage[slot];
	node->size = 1 + sg_rig_draw_below(&seed, room < 1000 ? room : 1000);
	node->base = low + sg_rig_draw_below(&seed, room - node->size + 1);
	sg_tree_insert(&tree, node);
	memmove(&ranges[place + 1], &ranges[place],
		(size_t)(nr_ranges - place) * sizeof(ranges[0]));
	ranges[place] = node;
	nr_ranges++;
}

static void remove_random(void)
{
	int place;

	if (!nr_ranges)
		return;
	place = (int)sg_rig_draw_below(&seed, (uint64_t)nr_ranges);
	sg_tree_remove(&tree, ranges[place]);
	is_used[ranges[place] - storage] = false;
	nr_ranges--;
	memmove(&ranges[place], &ranges[place + 1],
		(size_t)(nr_ranges - place) * sizeof(ranges[0]));
}

static void resize_random(void)
{
	uint64_t low, room, base, size;
	struct sg_node *node;
	int place;

	if (!nr_ranges)
		return;
	place = (int)sg_rig_draw_below(&seed, (uint64_t)nr_ranges);
	node = ranges[place];
	low = gap_begin(place);
	room = (place + 1 < nr_ranges ? ranges[place + 1]->base : WORLD) - low;
	size = 1 + sg_rig_draw_below(&seed, room);
	base = low + sg_rig_draw_below(&seed, room - size + 1);
	sg_tree_resize(&tree, node, base, size);
	assert_int_equal(node->base, base);
	assert_int_equal(node->size, size);
}

static void check_find(void)
{
	uint64_t address = sg_rig_draw_below(&seed, WORLD + 10);
	struct sg_node *from = NULL, *holds = NULL;

	for (int i = 0; i < nr_ranges && !from; i++)
		if (ranges[i]->base + ranges[i]->size > address)
			from = ranges[i];
	if (from && from->base <= address)
		holds = from;
	assert_ptr_equal(sg_tree_find(&tree, address), holds);
	assert_ptr_equal(sg_tree_find_from(&tree, address), from);
}

static void check_fit(void)
{
	uint64_t size = 1 + sg_rig_draw_below(&seed, sg_rig_draw_below(&seed, 20) ? 1000 : WORLD);
	struct sg_node *first = NULL, *last = NULL;

	for (int i = 0; i < nr_ranges; i++) {
		if (ranges[i]->size < size)
			continue;
		first = first ? first : ranges[i];
		last = ranges[i];
	}
	assert_ptr_equal(sg_tree_first_fit(&tree, size), first);
	assert_ptr_equal(sg_tree_last_fit(&tree, size), last);
}

static void test_a_million_random_steps_agree_with_a_sorted_array(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		/* Grows for a while, then shrinks: both ends of the balance are reached. */
		uint64_t growth = step / 5000 % 2 ? 25 : 40;
		uint64_t choice = sg_rig_draw_below(&seed, 100);

		if (choice < growth)
			insert_random();
		else if (choice < 65)
			remove_random();
		else if (choice < 75)
			resize_random();
		else if (choice < 88)
			check_find();
		else
			check_fit();
		if (step % 997 == 0)
			check_shape();
	}
}

static void test_empty_tree_finds_nothing(void **state)
{
	(void)state;
	assert_null(sg_tree_find(&tree, 0));
	assert_null(sg_tree_find_from(&tree, 0));
	assert_null(sg_tree_first_fit(&tree, 1));
	assert_null(sg_tree_last_fit(&tree, 1));
}

static void test_range_at_the_end_of_all_addresses_is_found(void **state)
{
	struct sg_node node = {.base = UINT64_MAX - 9, .size = 10};

	(void)state;
	/* base + size wraps to zero */
	sg_tree_insert(&tree, &node);
	assert_ptr_equal(sg_tree_find(&tree, UINT64_MAX), &node);
	assert_ptr_equal(sg_tree_find(&tree, UINT64_MAX - 9), &node);
	assert_null(sg_tree_find(&tree, UINT64_MAX - 10));
	assert_ptr_equal(sg_tree_find_from(&tree, 0), &node);
}

static void test_ascending_inserts_keep_the_tree_flat(void **state)
{
	const int nr = 100000;
	struct sg_node *nodes = calloc((size_t)nr, sizeof(*nodes));

	(void)state;
	assert_non_null(nodes);
	for (int i = 0; i < nr; i++) {
		nodes[i].base = (uint64_t)i * 10;
		nodes[i].size = 10;
		sg_tree_insert(&tree, &nodes[i]);
	}
	check_shape();
	assert_true(tree.root->height <= 24); /* 1.44 log2 n */
	for (int i = 0; i < nr; i++)
		sg_tree_remove(&tree, &nodes[i]);
	assert_null(tree.root);
	free(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_million_random_steps_agree_with_a_sorted_array,
				       begin),
		cmocka_unit_test_setup(test_empty_tree_finds_nothing, begin),
		cmocka_unit_test_setup(test_range_at_the_end_of_all_addresses_is_found, begin),
		cmocka_unit_test_setup(test_ascending_inserts_keep_the_tree_flat, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
