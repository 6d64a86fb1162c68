#include <string.h>

#include "cmocka_all.h"
#include "definitions_writer.h"

static uint8_t bytes[VS_DEFINITIONS_WRITER_MAX];

static size_t put_stack(struct vs_stack_tree *tree, const struct vs_stack *stack, uint32_t *nr_rows)
{
	const struct vs_record record = {.type = VS_RECORD_STACK, .stack = *stack};
	size_t size;

	*nr_rows = 0;
	size = vs_definitions_writer_put(bytes, &record, tree, nr_rows);
	assert_true(size <= sizeof(bytes));
	return size;
}

static void test_stack_is_nodes_from_outside_and_its_innermost_one(void **state)
{
	const uint64_t frames[] = {0x10, 0x0f, 0x11};
	const struct vs_stack stack = {.id = 5, .frames = frames, .nr_frames = 3, .is_cut = true};
	static const uint8_t expected[] = {
		VS_FORMAT_NODES,
		8,
		1,
		3, /* from node 1 on, 3 of them */
		1,
		0x22, /* 0x11, below nothing */
		1,
		3, /* 0x0f = 0x11 - 2, below node 1 */
		1,
		2, /* 0x10 = 0x0f + 1, below node 2 */
		VS_RECORD_STACK,
		3,
		5,
		1,
		3,
	};
	struct vs_stack_tree tree;
	uint32_t nr_rows;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	assert_int_equal(put_stack(&tree, &stack, &nr_rows), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(nr_rows, 2);
	vs_stack_tree_fini(&tree);
}

static void test_stacks_share_their_outer_frames(void **state)
{
	const uint64_t first[] = {0x30, 0x20, 0x10};
	const uint64_t second[] = {0x40, 0x35, 0x20, 0x10};
	const struct vs_stack stacks[] = {
		{.id = 1, .frames = first, .nr_frames = 3},
		{.id = 2, .frames = second, .nr_frames = 4, .is_deep = true},
		{.id = 3, .frames = second + 2, .nr_frames = 2},
	};
	static const uint8_t second_expected[] = {
		VS_FORMAT_NODES,
		6,
		4,
		2, /* two new ones */
		2,
		0x2a, /* 0x35 = 0x20 + 0x15, below node 2 */
		1,
		0x16, /* 0x40 */
		VS_RECORD_STACK,
		3,
		2,
		2,
		5,
	};
	static const uint8_t third_expected[] = {VS_RECORD_STACK, 3, 3, 0, 2};
	struct vs_stack_tree tree;
	uint32_t nr_rows;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	put_stack(&tree, &stacks[0], &nr_rows);
	assert_int_equal(put_stack(&tree, &stacks[1], &nr_rows), sizeof(second_expected));
	assert_memory_equal(bytes, second_expected, sizeof(second_expected));
	assert_int_equal(put_stack(&tree, &stacks[2], &nr_rows), sizeof(third_expected));
	assert_memory_equal(bytes, third_expected, sizeof(third_expected));
	assert_int_equal(nr_rows, 1);
	vs_stack_tree_fini(&tree);
}

static void test_stack_without_frames_has_no_node(void **state)
{
	const struct vs_stack stack = {.id = 9};
	struct vs_stack_tree tree;
	uint32_t nr_rows;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	assert_int_equal(put_stack(&tree, &stack, &nr_rows), 5);
	assert_memory_equal(bytes, ((const uint8_t[]){VS_RECORD_STACK, 3, 9, 0, 0}), 5);
	vs_stack_tree_fini(&tree);
}

/* The longest numbers and more frames than a stack may have: what there is room for fits. */
static void test_largest_stack_fits_and_is_deep(void **state)
{
	static uint64_t frames[VS_STACK_MAX + 10];
	struct vs_stack stack = {
		.id = UINT32_MAX, .frames = frames, .nr_frames = VS_STACK_MAX + 10};
	struct vs_stack_tree tree;
	uint32_t nr_rows;
	size_t size;

	(void)state;
	for (size_t i = 0; i < VS_STACK_MAX + 10; i++)
		frames[i] = i % 2 ? 1ull << 63 : i;
	vs_stack_tree_init(&tree, UINT32_MAX - 2 * VS_STACK_MAX);
	size = put_stack(&tree, &stack, &nr_rows);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(vs_codec_get_size(bytes, size), size - 13);
	assert_int_equal(bytes[size - 6], VS_STACK_DEEP);
	assert_int_equal(tree.next_node, UINT32_MAX - VS_STACK_MAX);
	vs_stack_tree_fini(&tree);
}

static void test_other_definitions_are_their_rows(void **state)
{
	const struct vs_record record = {.type = VS_RECORD_NAME, .name = {7, {"abc", 3}}};
	uint8_t expected[VS_CODEC_MAX];
	struct vs_stack_tree tree;
	uint32_t nr_rows = 0;
	size_t size;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	size = vs_codec_put_record(expected, &record);
	assert_int_equal(vs_definitions_writer_put(bytes, &record, &tree, &nr_rows), size);
	assert_memory_equal(bytes, expected, size);
	assert_int_equal(nr_rows, 1);
	vs_stack_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_is_nodes_from_outside_and_its_innermost_one),
		cmocka_unit_test(test_stacks_share_their_outer_frames),
		cmocka_unit_test(test_stack_without_frames_has_no_node),
		cmocka_unit_test(test_largest_stack_fits_and_is_deep),
		cmocka_unit_test(test_other_definitions_are_their_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
