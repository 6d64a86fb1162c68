#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "codec.h"
#include "pair_maker.h"

/* Exactly as long as the bytes, so that a sanitizer sees a step too far. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	return copy;
}

/* ---- Fields, said once more for comparison: a wrong member in the list would go both ways ------
 */

static void test_alloc_is_these_bytes(void **state)
{
	struct vs_record record = {
		.type = VS_RECORD_ALLOC,
		.time_ns = 300,
		.thread = 2,
		.alloc = {.kind = VS_MEMORY_MANAGED,
			  .device = 3,
			  .address = 0x80,
			  .size = 5,
			  .pool = 6,
			  .context = 7,
			  .stack = 8,
			  .api = 9},
	};
	static const uint8_t expected[] = {16, 12, 0xac, 2, 2, 1, 4, 0x80, 1, 5, 6, 7, 8, 9};
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	assert_int_equal(vs_codec_put_record(bytes, &record), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	record.alloc.device = VS_NO_DEVICE;
	vs_codec_put_record(bytes, &record);
	assert_int_equal(bytes[6], 0);
}

static void test_stack_is_these_bytes(void **state)
{
	const uint64_t frames[] = {0x10, 0x0f, 0x11};
	const struct vs_record record = {
		.type = VS_RECORD_STACK,
		.time_ns = 1, /* a definition has none */
		.stack = {.id = 5,
			  .frames = frames,
			  .nr_frames = 3,
			  .is_cut = true,
			  .is_deep = true},
	};
	static const uint8_t expected[] = {3, 6, 5, 3, 3, 0x20, 1, 4};
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	assert_int_equal(vs_codec_put_record(bytes, &record), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
}

static void test_device_is_these_bytes(void **state)
{
	const struct vs_record record = {
		.type = VS_RECORD_DEVICE,
		.device = {.device = 0,
			   .total_size = 1,
			   .compute_capability = 90,
			   .is_simulated = true,
			   .uuid = "abcdefghijklmnop",
			   .name = {"gpu", 3}},
	};
	static const uint8_t expected[] = "\5\30\1\1\x5a\1abcdefghijklmnop\3gpu";
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	assert_int_equal(vs_codec_put_record(bytes, &record), sizeof(expected) - 1);
	assert_memory_equal(bytes, expected, sizeof(expected) - 1);
}

/* ---- Everything there is --------------------------------------------------------------------- */

static void expect_same(const struct vs_record *a, const struct vs_record *b)
{
	uint8_t left[VS_CODEC_MAX], right[VS_CODEC_MAX];
	size_t size = vs_codec_put_record(left, a);

	assert_int_equal(a->type, b->type);
	assert_true(a->time_ns == b->time_ns);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(vs_codec_put_record(right, b), size);
	assert_memory_equal(left, right, size);
}

static void test_every_type_comes_back_as_it_was(void **state)
{
	struct vs_pair_maker_random random = {1};
	struct vs_pair_maker_storage storage;
	uint64_t frames[VS_STACK_MAX];
	struct vs_record record, found;
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	for (size_t i = 0; i < 200 * vs_pair_maker_nr_types; i++) {
		enum vs_record_type type = vs_pair_maker_types[i % vs_pair_maker_nr_types];
		uint8_t *copy;
		size_t size;

		vs_pair_maker_fill(&record, type, &random, &storage);
		size = vs_codec_put_record(bytes, &record);
		assert_true(size <= VS_CODEC_MAX);
		copy = copy_of(bytes, size);
		assert_int_equal(vs_codec_get_record(copy, size, &found, frames), size);
		assert_int_equal(vs_codec_get_size(copy, size), size);
		expect_same(&record, &found);
		free(copy);
	}
}

static void test_record_cut_at_any_byte_is_truncated(void **state)
{
	struct vs_pair_maker_random random = {2};
	struct vs_pair_maker_storage storage;
	uint64_t frames[VS_STACK_MAX];
	struct vs_record record, found;
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	for (size_t i = 0; i < 3 * vs_pair_maker_nr_types; i++) {
		enum vs_record_type type = vs_pair_maker_types[i % vs_pair_maker_nr_types];
		size_t size;

		vs_pair_maker_fill(&record, type, &random, &storage);
		size = vs_codec_put_record(bytes, &record);
		for (size_t cut = 0; cut < size; cut++) {
			uint8_t *copy = copy_of(bytes, cut);

			assert_int_equal(vs_codec_get_record(copy, cut, &found, frames),
					 -VS_ERR_TRUNCATED);
			assert_int_equal(vs_codec_get_size(copy, cut), -VS_ERR_TRUNCATED);
			free(copy);
		}
	}
}

static void test_body_that_is_too_short_is_corrupt(void **state)
{
	struct vs_pair_maker_random random = {3};
	struct vs_pair_maker_storage storage;
	uint64_t frames[VS_STACK_MAX];
	struct vs_record record, found;
	uint8_t bytes[VS_CODEC_MAX];

	(void)state;
	for (size_t i = 0; i < vs_pair_maker_nr_types; i++) {
		size_t size;

		vs_pair_maker_fill(&record, vs_pair_maker_types[i], &random, &storage);
		size = vs_codec_put_record(bytes, &record);
		if (bytes[1] & 0x80)
			continue;
		for (uint8_t shorter = 0; shorter < bytes[1]; shorter++) {
			uint8_t *copy = copy_of(bytes, 2 + (size_t)shorter);

			copy[1] = shorter;
			assert_int_equal(
				vs_codec_get_record(copy, 2 + (size_t)shorter, &found, frames),
				-VS_ERR_CORRUPT);
			free(copy);
		}
		assert_true(size > 2);
	}
}

static void test_any_bytes_are_a_record_or_an_error(void **state)
{
	struct vs_pair_maker_random random = {4};
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		size_t size = vs_pair_maker_draw(&random) % 64;
		uint8_t *bytes = malloc(size ? size : 1);
		int taken;

		assert_non_null(bytes);
		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)(vs_pair_maker_draw(&random) >>
					     vs_pair_maker_draw(&random) % 8);
		taken = vs_codec_get_record(bytes, size, &found, frames);
		assert_true(taken == -VS_ERR_TRUNCATED || taken == -VS_ERR_CORRUPT ||
			    (taken >= 2 && (size_t)taken <= size));
		free(bytes);
	}
}

/* ---- Limits and later versions --------------------------------------------------------------- */

static void test_text_frames_and_build_id_are_cut_to_fit(void **state)
{
	static char text[20000];
	static uint64_t many[2000];
	uint64_t frames[VS_STACK_MAX];
	uint8_t bytes[VS_CODEC_MAX];
	struct vs_record found;
	struct vs_record record = {
		.type = VS_RECORD_MODULE,
		.module = {.start = UINT64_MAX,
			   .end = UINT64_MAX,
			   .bias = UINT64_MAX,
			   .path = {text, sizeof(text)},
			   .build_id_size = 100},
	};

	(void)state;
	assert_true(vs_codec_put_record(bytes, &record) <= VS_CODEC_MAX);
	assert_true(vs_codec_get_record(bytes, sizeof(bytes), &found, frames) > 0);
	assert_int_equal(found.module.path.size, VS_CODEC_TEXT_MAX);
	assert_int_equal(found.module.build_id_size, VS_BUILD_ID_MAX);
	for (size_t i = 0; i < 2000; i++)
		many[i] = i % 2 ? 1ull << 63 : 0; /* the longest differences there are */
	record = (struct vs_record){
		.type = VS_RECORD_STACK,
		.stack = {.id = UINT32_MAX, .frames = many, .nr_frames = 2000},
	};
	assert_true(vs_codec_put_record(bytes, &record) <= VS_CODEC_MAX);
	assert_true(vs_codec_get_record(bytes, sizeof(bytes), &found, frames) > 0);
	assert_int_equal(found.stack.nr_frames, VS_STACK_MAX);
	assert_true(found.stack.is_deep);
	assert_false(found.stack.is_cut);
	assert_memory_equal(found.stack.frames, many, sizeof(frames));
}

static void test_record_of_a_later_version_is_skipped_by_its_length(void **state)
{
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found = {0};

	(void)state;
	assert_int_equal(vs_codec_get_record((const uint8_t *)"\xc8\3abcrest", 9, &found, frames),
			 5);
	assert_int_equal(found.type, 200);
	assert_int_equal(found.time_ns, 0);
}

static void test_field_of_a_later_version_is_skipped(void **state)
{
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found;

	(void)state;
	assert_int_equal(vs_codec_get_record((const uint8_t *)"\x20\5\1\2\3new", 8, &found, frames),
			 7);
	assert_int_equal(found.type, VS_RECORD_STEP);
	assert_int_equal(found.step.number, 3);
}

static void test_flags_of_a_later_version_are_ignored(void **state)
{
	static const uint8_t bytes[] = {VS_RECORD_STACK, 4, 1, 0xfe, 1, 0x20};
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found;

	(void)state;
	assert_int_equal(vs_codec_get_record(bytes, sizeof(bytes), &found, frames), sizeof(bytes));
	assert_false(found.stack.is_cut);
	assert_true(found.stack.is_deep);
	assert_int_equal(frames[0], 0x10);
}

static void test_body_is_found_by_its_frame(void **state)
{
	uint8_t bytes[VS_CODEC_MAX] = {0};
	struct vs_wire body;

	(void)state;
	memset(bytes + 2, 'b', 300);
	assert_int_equal(vs_codec_put_frame(bytes, 9, 100), 102);
	assert_int_equal(vs_codec_get_body(bytes, sizeof(bytes), &body), 102);
	assert_ptr_equal(body.next, bytes + 2);
	assert_int_equal(vs_wire_left(&body), 100);
	/* A longer one has to make room for its size. */
	assert_int_equal(vs_codec_put_frame(bytes, 9, 300), 303);
	assert_int_equal(bytes[0], 9);
	assert_int_equal(vs_codec_get_body(bytes, sizeof(bytes), &body), 303);
	assert_int_equal(vs_wire_left(&body), 300);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(body.next[i], 'b');
	assert_int_equal(vs_codec_get_body(bytes, 302, &body), -VS_ERR_TRUNCATED);
}

static void test_choices_out_of_range_are_corrupt(void **state)
{
	static const uint8_t wrong[][16] = {
		{VS_RECORD_FREE, 6, 1, 1, VS_NR_MEMORY_KINDS, 1, 1, 1},
		{VS_RECORD_CONTEXT, 5, 1, 1, 3, 1, 1},
		{VS_RECORD_POOL, 6, 1, 3, 1, 1, 1, 0},
		{VS_RECORD_DEVICE, 5, 1, 1, 1, 2, 0}, /* a flag that is neither */
		{0, 3, 1, 1, 1},                      /* no type */
	};
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(vs_codec_get_record(wrong[i], 16, &found, frames),
				 -VS_ERR_CORRUPT);
}

static void test_failure_leaves_the_record_alone(void **state)
{
	uint64_t frames[VS_STACK_MAX];
	struct vs_record found, before;

	(void)state;
	memset(&found, 0x5a, sizeof(found));
	before = found;
	assert_true(vs_codec_get_record((const uint8_t *)"\x10\3\1\1\1", 5, &found, frames) < 0);
	assert_memory_equal(&found, &before, sizeof(found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_is_these_bytes),
		cmocka_unit_test(test_stack_is_these_bytes),
		cmocka_unit_test(test_device_is_these_bytes),
		cmocka_unit_test(test_every_type_comes_back_as_it_was),
		cmocka_unit_test(test_record_cut_at_any_byte_is_truncated),
		cmocka_unit_test(test_body_that_is_too_short_is_corrupt),
		cmocka_unit_test(test_any_bytes_are_a_record_or_an_error),
		cmocka_unit_test(test_text_frames_and_build_id_are_cut_to_fit),
		cmocka_unit_test(test_record_of_a_later_version_is_skipped_by_its_length),
		cmocka_unit_test(test_field_of_a_later_version_is_skipped),
		cmocka_unit_test(test_flags_of_a_later_version_are_ignored),
		cmocka_unit_test(test_body_is_found_by_its_frame),
		cmocka_unit_test(test_choices_out_of_range_are_corrupt),
		cmocka_unit_test(test_failure_leaves_the_record_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
