#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "definitions_reader.h"
#include "definitions_writer.h"
#include "pair_maker.h"

static uint64_t frames[VS_STACK_MAX];

/* Takes one row; 1 if it was a record, 0 if not, or the error. */
static int get(struct vs_definitions_reader *reader, const uint8_t *bytes, size_t size,
	       struct vs_record *record)
{
	/* Exactly as long as the bytes, so that a sanitizer sees a step too far. */
	uint8_t *copy = malloc(size ? size : 1);
	bool is_record = false;
	int taken;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	taken = vs_definitions_reader_get(reader, copy, size, record, &is_record, frames);
	free(copy);
	if (taken < 0)
		return taken;
	assert_int_equal(taken, size);
	return is_record;
}

/* A row of bytes, and what it should be. */
#define EXPECT(reader, record, expected, ...)                                 \
	assert_int_equal(get(reader, (const uint8_t[]){__VA_ARGS__},          \
			     sizeof((const uint8_t[]){__VA_ARGS__}), record), \
			 expected)

static void test_stack_has_its_frames_from_inside(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	assert_int_equal(vs_definitions_reader_get_next_node(&reader), 1);
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 8, 1, 3, 1, 0x22, 1, 3, 1, 2);
	assert_int_equal(vs_definitions_reader_get_next_node(&reader), 4);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 1, 3);
	assert_int_equal(record.type, VS_RECORD_STACK);
	assert_int_equal(record.stack.id, 5);
	assert_true(record.stack.is_cut);
	assert_false(record.stack.is_deep);
	assert_int_equal(record.stack.nr_frames, 3);
	assert_int_equal(frames[0], 0x10);
	assert_int_equal(frames[1], 0x0f);
	assert_int_equal(frames[2], 0x11);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 6, 2, 0);
	assert_int_equal(record.stack.nr_frames, 0);
	assert_true(record.stack.is_deep);
	vs_definitions_reader_fini(&reader);
}

/* docs/trace-format.md, section 3.3 */
static void test_example_of_the_document_is_right(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, 0, 7, 8, 1, 2, 1, 0x80, 0x40, 1, 0x80, 4);
	EXPECT(&reader, &record, 1, 3, 3, 5, 0, 2);
	assert_int_equal(record.stack.id, 5);
	assert_int_equal(record.stack.nr_frames, 2);
	assert_int_equal(frames[0], 0x1100);
	assert_int_equal(frames[1], 0x1000);
	assert_false(record.stack.is_cut);
	EXPECT(&reader, &record, 0, 7, 5, 3, 1, 2, 0x80, 8);
	EXPECT(&reader, &record, 1, 3, 3, 6, 1, 3);
	assert_int_equal(record.stack.nr_frames, 2);
	assert_int_equal(frames[0], 0x1200);
	assert_int_equal(frames[1], 0x1000);
	assert_true(record.stack.is_cut);
	vs_definitions_reader_fini(&reader);
}

static void test_all_stacks_come_back(void **state)
{
	static struct vs_pair_maker_storage storage;
	static uint8_t bytes[VS_DEFINITIONS_WRITER_MAX];
	struct vs_definitions_reader reader = {0};
	struct vs_pair_maker_random random = {7};
	struct vs_record written, record;
	struct vs_stack_tree tree;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t nr_rows = 0;
		size_t size, row_size;

		vs_pair_maker_fill(&written, VS_RECORD_STACK, &random, &storage);
		for (uint32_t k = 0; k < written.stack.nr_frames; k++)
			storage.frames[k] %= 3; /* many have the same outer frames */
		size = vs_definitions_writer_put(bytes, &written, &tree, &nr_rows);
		row_size = (size_t)vs_codec_get_size(bytes, size);
		if (nr_rows == 2)
			assert_int_equal(get(&reader, bytes, row_size, &record), 0);
		else
			row_size = 0;
		assert_int_equal(get(&reader, bytes + row_size, size - row_size, &record), 1);
		assert_int_equal(record.stack.id, written.stack.id);
		assert_int_equal(record.stack.is_cut, written.stack.is_cut);
		assert_int_equal(record.stack.is_deep, written.stack.is_deep);
		assert_int_equal(record.stack.nr_frames, written.stack.nr_frames);
		assert_memory_equal(frames, written.stack.frames, record.stack.nr_frames * 8);
		assert_int_equal(vs_definitions_reader_get_next_node(&reader), tree.next_node);
	}
	vs_stack_tree_fini(&tree);
	vs_definitions_reader_fini(&reader);
}

/* As after a kill between two writes. */
static void test_nodes_that_are_there_twice_are_the_same(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 6, 1, 2, 1, 0x22, 1, 3);
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 8, 1, 3, 1, 0x22, 1, 3, 1, 2);
	assert_int_equal(vs_definitions_reader_get_next_node(&reader), 4);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 3);
	assert_int_equal(record.stack.nr_frames, 3);
	assert_int_equal(frames[0], 0x10);
	vs_definitions_reader_fini(&reader);
}

/* A damaged block took nodes 2 and 3 with it. */
static void test_stack_of_lost_nodes_is_cut(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 4, 1, 1, 1, 0x22);
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 8, 4, 3, 1, 2, 5, 4, 2, 6);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 2); /* lost itself */
	assert_int_equal(record.stack.nr_frames, 0);
	assert_true(record.stack.is_cut);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 4); /* below node 3 */
	assert_true(record.stack.is_cut);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 6); /* below node 4 */
	assert_int_equal(record.stack.nr_frames, 0);
	assert_true(record.stack.is_cut);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 99); /* never there */
	assert_true(record.stack.is_cut);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0, 5); /* outermost */
	assert_int_equal(record.stack.nr_frames, 1);
	assert_int_equal(frames[0], 2);
	assert_false(record.stack.is_cut);
	vs_definitions_reader_fini(&reader);
}

static void test_stack_deeper_than_ours_keeps_its_innermost_frames(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;
	uint8_t row[VS_CODEC_MAX];
	uint8_t *p = row + 2;

	(void)state;
	p = vs_wire_put_varint(p, 1);
	p = vs_wire_put_varint(p, 600);
	for (uint32_t i = 0; i < 600; i++) {
		p = vs_wire_put_varint(p, 1);
		p = vs_wire_put_varint(p, 2);
	}
	assert_int_equal(get(&reader, row,
			     vs_codec_put_frame(row, VS_FORMAT_NODES, (size_t)(p - row - 2)),
			     &record),
			 0);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 4, 5, 0, 0xd8, 4);
	assert_int_equal(record.stack.nr_frames, VS_STACK_MAX);
	assert_int_equal(frames[0], 600);
	assert_true(record.stack.is_deep);
	vs_definitions_reader_fini(&reader);
}

static void test_numbers_far_apart_take_no_memory_between(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 12, 0xfe, 0xff, 0xff, 0xff, 0xf, 1, 0xfe, 0xff,
	       0xff, 0xff, 0xf, 2);
	assert_true(vs_definitions_reader_get_next_node(&reader) == UINT32_MAX);
	assert_true(reader.nodes_capacity < 1000);
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_FORMAT_NODES, 12, 0xff, 0xff, 0xff, 0xff, 0xf,
	       1, 0xfe, 0xff, 0xff, 0xff, 0xf, 2);
	vs_definitions_reader_fini(&reader);
}

static void test_what_cannot_be_is_corrupt(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_FORMAT_NODES, 4, 0, 1, 0, 2); /* node 0 */
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_FORMAT_NODES, 4, 5, 1, 0, 2); /* own parent */
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_FORMAT_NODES, 4, 5, 1, 6, 2); /* below 0 */
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_FORMAT_NODES, 4, 5, 2, 1, 2); /* one short */
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_RECORD_STACK, 2, 1, 0);
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, VS_RECORD_NAME, 2, 1, 5);
	EXPECT(&reader, &record, -VS_ERR_CORRUPT, 0, 1, 1);
	EXPECT(&reader, &record, -VS_ERR_TRUNCATED, VS_RECORD_NAME, 2, 1);
	vs_definitions_reader_fini(&reader);
}

static void test_later_versions_are_skipped(void **state)
{
	struct vs_definitions_reader reader = {0};
	struct vs_record record;

	(void)state;
	EXPECT(&reader, &record, 0, 15, 3, 1, 2, 3);                    /* another row */
	EXPECT(&reader, &record, 0, 200, 1, 7);                         /* nor is that one */
	EXPECT(&reader, &record, 0, VS_FORMAT_NODES, 5, 1, 1, 1, 2, 9); /* longer ones */
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 4, 5, 0, 1, 9);
	assert_int_equal(record.stack.nr_frames, 1);
	EXPECT(&reader, &record, 1, VS_RECORD_STACK, 3, 5, 0x7c, 1); /* other flags */
	assert_false(record.stack.is_cut);
	EXPECT(&reader, &record, 1, VS_RECORD_NAME, 4, 5, 1, 'a', 'b');
	assert_int_equal(record.name.text.size, 1);
	vs_definitions_reader_fini(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_has_its_frames_from_inside),
		cmocka_unit_test(test_example_of_the_document_is_right),
		cmocka_unit_test(test_all_stacks_come_back),
		cmocka_unit_test(test_nodes_that_are_there_twice_are_the_same),
		cmocka_unit_test(test_stack_of_lost_nodes_is_cut),
		cmocka_unit_test(test_stack_deeper_than_ours_keeps_its_innermost_frames),
		cmocka_unit_test(test_numbers_far_apart_take_no_memory_between),
		cmocka_unit_test(test_what_cannot_be_is_corrupt),
		cmocka_unit_test(test_later_versions_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
