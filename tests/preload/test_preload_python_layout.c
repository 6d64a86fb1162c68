#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "python_layout.h"

#define VERSION(minor) (UINT32_C(0x03000000) | (uint32_t)(minor) << 16 | 0xf0)

/* What an interpreter exports as _PyRuntime, up to where the table ends. */
struct runtime {
	uint64_t words[128];
};

static struct runtime make_runtime(uint32_t version)
{
	struct runtime runtime = {{0}};

	/* Each number says where it stands. */
	for (uint64_t i = 0; i < 128; i++)
		runtime.words[i] = 1000 + i;
	memcpy(runtime.words, "xdebugpy", 8);
	runtime.words[1] = version;
	runtime.words[2] = 0;
	return runtime;
}

static void test_releases_with_a_layout_of_their_own_are_known(void **state)
{
	struct vs_python_layout layout;

	(void)state;
	for (int minor = 8; minor <= 12; minor++) {
		assert_int_equal(vs_python_layout_get(&layout, VERSION(minor), NULL),
				 VS_PYTHON_KNOWN);
		assert_int_equal(layout.version, 0x0300 + minor);
		assert_true(layout.frame_code_mask == UINT64_MAX);
		assert_int_equal(layout.text_length, 16);
		assert_int_equal(layout.bytes_data, 32);
		/* All that is loaded of a frame is looked at before. */
		assert_true(layout.frame_previous + 8 <= layout.max_frame);
		assert_true(layout.frame_code + 8 <= layout.max_frame);
		assert_true(layout.frame_position + 8 <= layout.max_frame);
		assert_true(layout.frame_entry < layout.max_frame);
		assert_int_equal(layout.entry, minor < 11    ? VS_PYTHON_EVERY
					       : minor == 11 ? VS_PYTHON_FLAG
							     : VS_PYTHON_SHIM);
		assert_int_equal(layout.code_version != 0, minor >= 12);
	}
}

static void test_others_are_too_old_or_too_new(void **state)
{
	struct vs_python_layout layout;

	(void)state;
	assert_int_equal(vs_python_layout_get(&layout, VERSION(7), NULL), VS_PYTHON_TOO_OLD);
	assert_int_equal(vs_python_layout_get(&layout, 0x02070000, NULL), VS_PYTHON_TOO_OLD);
	assert_int_equal(vs_python_layout_get(&layout, 0, NULL), VS_PYTHON_TOO_OLD);
	assert_int_equal(vs_python_layout_get(&layout, VERSION(15), NULL), VS_PYTHON_TOO_NEW);
	assert_int_equal(vs_python_layout_get(&layout, 0x04000000, NULL), VS_PYTHON_TOO_NEW);
}

static void test_the_table_of_3_13_is_read(void **state)
{
	struct runtime runtime = make_runtime(VERSION(13));
	struct vs_python_layout layout;

	(void)state;
	assert_int_equal(vs_python_layout_get(&layout, VERSION(13), &runtime), VS_PYTHON_KNOWN);
	/* cookie, version, free_threaded, runtime[3], interpreter[13]: threads begin at 19. */
	assert_int_equal(layout.thread_frame, 1000 + 19 + 4);
	assert_int_equal(layout.max_frame, 1000 + 28);
	assert_int_equal(layout.frame_previous, 1000 + 29);
	assert_int_equal(layout.frame_code, 1000 + 30);
	assert_int_equal(layout.frame_position, 1000 + 31);
	assert_int_equal(layout.frame_entry, 1000 + 33);
	assert_int_equal(layout.code_file, 1000 + 34 + 1);
	assert_int_equal(layout.code_name, 1000 + 34 + 3);
	assert_int_equal(layout.code_lines, 1000 + 34 + 4);
	assert_int_equal(layout.code_first_line, 1000 + 34 + 5);
	assert_int_equal(layout.code_version, 1000 + 34 + 7 - 4);
	assert_int_equal(layout.code_start, 1000 + 34 + 9);
	/* object[2], type[4], tuple[3], list[3], dict[3], float[2], long[3] */
	assert_int_equal(layout.bytes_size, 1000 + 64 + 1);
	assert_int_equal(layout.bytes_data, 1000 + 64 + 2);
	assert_int_equal(layout.text_state, 1000 + 67 + 1);
	assert_int_equal(layout.text_length, 1000 + 67 + 2);
	assert_int_equal(layout.text_ascii, 1000 + 67 + 3);
	assert_int_equal(layout.text_compact, 1000 + 67 + 3 + 16);
	assert_true(layout.frame_code_mask == UINT64_MAX);
}

static void test_the_table_of_3_14_is_read(void **state)
{
	struct runtime runtime = make_runtime(VERSION(14));
	struct vs_python_layout layout;

	(void)state;
	assert_int_equal(vs_python_layout_get(&layout, VERSION(14), &runtime), VS_PYTHON_KNOWN);
	/* Three more of the interpreter, two of a frame, one of the code, a set. */
	assert_int_equal(layout.thread_frame, 1000 + 22 + 4);
	assert_int_equal(layout.max_frame, 1000 + 31);
	assert_int_equal(layout.frame_entry, 1000 + 36);
	assert_int_equal(layout.code_file, 1000 + 39 + 1);
	assert_int_equal(layout.bytes_size, 1000 + 74 + 1);
	assert_int_equal(layout.text_ascii, 1000 + 77 + 3);
	assert_true(layout.frame_code_mask == ~UINT64_C(3));
}

static void test_a_table_that_is_not_what_it_should_be_is_refused(void **state)
{
	struct runtime runtime = make_runtime(VERSION(13));
	struct vs_python_layout layout;

	(void)state;
	assert_int_equal(vs_python_layout_get(&layout, VERSION(14), &runtime), VS_PYTHON_TOO_NEW);
	runtime.words[2] = 1;
	assert_int_equal(vs_python_layout_get(&layout, VERSION(13), &runtime),
			 VS_PYTHON_FREE_THREADED);
	memcpy(runtime.words, "xdebugpx", 8);
	assert_int_equal(vs_python_layout_get(&layout, VERSION(13), &runtime), VS_PYTHON_TOO_NEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases_with_a_layout_of_their_own_are_known),
		cmocka_unit_test(test_others_are_too_old_or_too_new),
		cmocka_unit_test(test_the_table_of_3_13_is_read),
		cmocka_unit_test(test_the_table_of_3_14_is_read),
		cmocka_unit_test(test_a_table_that_is_not_what_it_should_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
