#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "crc32.h"
#include "format.h"
#include "scratch.h"
#include "trace_maker.h"
#include "trace_open.h"

static void make_trace(const char *name, uint32_t nr_allocs, bool is_cut)
{
	const struct vs_trace_maker_plan plan = {.nr_allocs = nr_allocs, .is_cut = is_cut};

	assert_int_equal(vs_trace_maker_create(name, &plan), 0);
}

static off_t get_size(const char *name)
{
	struct stat info;

	assert_int_equal(stat(name, &info), 0);
	return info.st_size;
}

static void overwrite(const char *name, off_t offset, const char *bytes)
{
	FILE *file = fopen(name, "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
	assert_int_equal(fclose(file), 0);
}

/* Header of a format that does not exist yet. */
static void make_newer(const char *name)
{
	unsigned char header[VS_FORMAT_HEADER_SIZE] = VS_FORMAT_MAGIC;
	uint32_t crc;

	header[8] = VS_FORMAT_VERSION + 1;
	crc = vs_crc32_add(0, header, 12);
	for (int i = 0; i < 4; i++)
		header[12 + i] = (unsigned char)(crc >> (8 * i));
	vs_scratch_write(name, header, sizeof(header));
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void expect_refusal(const char *path, int error, const char *text)
{
	struct vs_reader *reader;
	char line[512];
	int err;

	snprintf(line, sizeof(line), "vramscope: %s: %s\n", path, text);
	vs_capture_begin(STDERR_FILENO);
	errno = EXDEV; /* of something else, long ago */
	err = vs_trace_open_reader(&reader, path);
	assert_string_equal(vs_capture_end(), line);
	assert_int_equal(err, error);
}

static void test_what_is_no_trace_is_said_in_one_line(void **state)
{
	(void)state;
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	vs_scratch_write_text("empty", "");
	vs_scratch_write_text("letter", "Dear Anna, this is no trace.");
	vs_scratch_write_text("cut", "VSCOPE");
	make_newer("newer");
	expect_refusal("missing", -VS_ERR_IO, strerror(ENOENT));
	expect_refusal("letter/trace", -VS_ERR_IO, strerror(ENOTDIR));
	expect_refusal("folder", -VS_ERR_NOT_A_TRACE, "is a folder, not a vramscope trace");
	expect_refusal("pipe", -VS_ERR_NOT_A_TRACE, "is no regular file, not a vramscope trace");
	expect_refusal("/dev/null", -VS_ERR_NOT_A_TRACE,
		       "is no regular file, not a vramscope trace");
	expect_refusal("empty", -VS_ERR_EMPTY, vs_error_text(-VS_ERR_EMPTY));
	expect_refusal("letter", -VS_ERR_NOT_A_TRACE, vs_error_text(-VS_ERR_NOT_A_TRACE));
	expect_refusal("cut", -VS_ERR_TRUNCATED, vs_error_text(-VS_ERR_TRUNCATED));
	expect_refusal("newer", -VS_ERR_NEWER, vs_error_text(-VS_ERR_NEWER));
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* How many allocations can be read, and what is said at the end. */
static int read_all(const char *path, uint32_t *nr_allocs, const char *text)
{
	struct vs_reader *reader;
	struct vs_record record;
	int status;

	*nr_allocs = 0;
	assert_int_equal(vs_trace_open_reader(&reader, path), 0);
	while (vs_trace_open_next(reader, &record))
		*nr_allocs += record.type == VS_RECORD_ALLOC;
	vs_capture_begin(STDERR_FILENO);
	status = vs_trace_open_finish(reader, path);
	assert_string_equal(vs_capture_end(), text);
	return status;
}

static void test_a_whole_trace_is_read_without_a_word(void **state)
{
	uint32_t nr_allocs;

	(void)state;
	make_trace("trace", 7, false);
	assert_int_equal(read_all("trace", &nr_allocs, ""), VS_EXIT_DONE);
	assert_int_equal(nr_allocs, 7);
}

static void test_a_trace_that_was_cut_is_read_as_far_as_it_goes(void **state)
{
	uint32_t nr_allocs;

	(void)state;
	make_trace("trace", 7, true);
	assert_int_equal(truncate("trace", get_size("trace") - 1), 0);
	assert_int_equal(read_all("trace", &nr_allocs,
				  "vramscope: trace: is cut or damaged: parts of it could not be "
				  "read\n"),
			 VS_EXIT_DAMAGED);
	assert_int_equal(nr_allocs, 0);
}

static void test_what_is_behind_a_damaged_block_is_read(void **state)
{
	uint32_t nr_allocs;

	(void)state;
	make_trace("trace", 200000, false);
	/* Inside the first block of records, behind all headers. */
	overwrite("trace", 2000, "XXXX");
	assert_int_equal(read_all("trace", &nr_allocs,
				  "vramscope: trace: is damaged: parts of it could not be read\n"),
			 VS_EXIT_DAMAGED);
	assert_true(nr_allocs > 0);
	assert_true(nr_allocs < 200000);
}

/* ---- By the first bytes --------------------------------------------------------------------- */

static void test_a_trace_is_told_by_its_first_bytes(void **state)
{
	(void)state;
	make_trace("trace", 1, false);
	assert_int_equal(vs_trace_open_is_trace("trace"), 1);
	make_newer("newer");
	assert_int_equal(vs_trace_open_is_trace("newer"), 1);
	vs_scratch_write_text("cut", "VSC");
	assert_int_equal(vs_trace_open_is_trace("cut"), 1);
	vs_scratch_write_text("empty", "");
	assert_int_equal(vs_trace_open_is_trace("empty"), 1);
}

static void test_other_files_are_none(void **state)
{
	(void)state;
	vs_scratch_write_text("letter", "Dear Anna,");
	assert_int_equal(vs_trace_open_is_trace("letter"), 0);
	vs_scratch_write_text("text", "VSCOPE\n\n"); /* as a transfer as text makes it */
	assert_int_equal(vs_trace_open_is_trace("text"), 0);
	vs_scratch_write_text("log", "VSLIVE\r\n");
	assert_int_equal(vs_trace_open_is_trace("log"), 0);
}

static void test_what_cannot_be_looked_at_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(vs_trace_open_is_trace("missing"), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(vs_trace_open_is_trace("folder"), -VS_ERR_IO);
	assert_int_equal(errno, EISDIR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_no_trace_is_said_in_one_line),
		TEST(test_a_whole_trace_is_read_without_a_word),
		TEST(test_a_trace_that_was_cut_is_read_as_far_as_it_goes),
		TEST(test_what_is_behind_a_damaged_block_is_read),
		TEST(test_a_trace_is_told_by_its_first_bytes),
		TEST(test_other_files_are_none),
		TEST(test_what_cannot_be_looked_at_is_an_error),
	};

	return cmocka_run_group_tests_name("trace_open", tests, NULL, NULL);
}
