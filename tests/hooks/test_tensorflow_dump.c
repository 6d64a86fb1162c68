#include "tensorflow_dump.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * A MemoryDump by hand: a name, a bin, a chunk of 512 bytes in use (500 asked for, by "Fill"), a
 * free one of 256, and one of 1024; statistics with a fragmentation of 0.2.
 */
static const unsigned char message[] = {
	0x0a, 3,  'b',  'f',  'c', /* allocator_name */
	0x12, 2,  0x08, 1,         /* bin_summary */
	0x1a, 19, 0x08, 0x80, 0x20, 0x10, 0x80, 4,    0x18, 0xf4, 3,    0x20, 1,    /* chunk */
	0x2a, 4,  'F',  'i',  'l',  'l',  0x40, 1,                                  /* in use */
	0x1a, 11, 0x08, 0x80, 0x24, 0x10, 0x80, 2,    0x20, 0xff, 0xff, 0xff, 0x0f, /* free */
	0x1a, 3,  0x10, 0x80, 8,                                                    /* free */
	0x2a, 7,  0x10, 5,    0x2d, 0xcd, 0xcc, 0x4c, 0x3e,                         /* stats */
};

static void assert_message(const struct vs_tensorflow_dump *dump)
{
	assert_int_equal(dump->nr_used, 1);
	assert_int_equal(dump->used_size, 512);
	assert_int_equal(dump->requested_size, 500);
	assert_int_equal(dump->nr_free, 2);
	assert_int_equal(dump->free_size, 1280);
	assert_int_equal(dump->largest_free, 1024);
	assert_int_equal(dump->fragmentation, 200);
}

static void test_chunks_and_statistics_are_read(void **state)
{
	struct vs_tensorflow_dump dump;

	(void)state;
	assert_true(vs_tensorflow_dump_read(&dump, message, sizeof(message)));
	assert_message(&dump);
}

static void test_message_that_is_cut_is_none(void **state)
{
	struct vs_tensorflow_dump dump;

	(void)state;
	for (size_t size = 0; size < sizeof(message); size++)
		assert_false(vs_tensorflow_dump_read(&dump, message, size));
	assert_false(vs_tensorflow_dump_read(&dump, "no message", 10));
}

static void test_it_is_told_in_a_sentence(void **state)
{
	const struct vs_tensorflow_dump dump = {3, 4096, 4000, 2, 1280, 1024, 45};
	char text[VS_TENSORFLOW_DUMP_TEXT_MAX];
	size_t size;

	(void)state;
	size = vs_tensorflow_dump_tell(&dump, text);
	assert_int_equal(size, strlen(text));
	assert_string_equal(text,
			    "3 chunks in use, 4096 bytes (4000 requested); 2 free, 1280 bytes, "
			    "the largest 1024; fragmentation 0.045");
}

static void test_largest_numbers_fit(void **state)
{
	const struct vs_tensorflow_dump dump = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
						UINT64_MAX, UINT64_MAX, 1000};
	char text[VS_TENSORFLOW_DUMP_TEXT_MAX];

	(void)state;
	vs_tensorflow_dump_tell(&dump, text);
	assert_non_null(strstr(text, "fragmentation 1.000"));
}

/* ---- Files ---- */

static char folder[] = "/tmp/test_tensorflow_dump.XXXXXX";

static void put_file(const char *name, const void *bytes, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Removes it. */
static bool has_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return unlink(path) == 0;
}

static void test_newest_file_is_read_and_all_of_the_allocator_go(void **state)
{
	struct vs_tensorflow_dump dump;
	char prefix[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(prefix, sizeof(prefix), "%s/dump.7", folder);
	assert_false(vs_tensorflow_dump_take(&dump, prefix, "GPU_0_bfc"));
	put_file("dump.7_GPU_0_bfc.99", "old", 3);
	put_file("dump.7_GPU_0_bfc.100", message, sizeof(message));
	put_file("dump.7_GPU_0_bfc.12", "older", 5);
	put_file("dump.7_GPU_0_bfc.200x", "not one", 7);
	put_file("dump.7_GPU_1_bfc.300", "another's", 9);
	put_file("dump.70_GPU_0_bfc.300", "another process's", 17);
	assert_true(vs_tensorflow_dump_take(&dump, prefix, "GPU_0_bfc"));
	assert_message(&dump);
	assert_false(has_file("dump.7_GPU_0_bfc.99"));
	assert_false(has_file("dump.7_GPU_0_bfc.100"));
	assert_false(has_file("dump.7_GPU_0_bfc.12"));
	assert_true(has_file("dump.7_GPU_0_bfc.200x"));
	assert_true(has_file("dump.7_GPU_1_bfc.300"));
	assert_true(has_file("dump.70_GPU_0_bfc.300"));
	put_file("dump.7_GPU_0_bfc.400", "damaged", 7);
	assert_false(vs_tensorflow_dump_take(&dump, prefix, "GPU_0_bfc"));
	assert_false(has_file("dump.7_GPU_0_bfc.400"));
	assert_int_equal(rmdir(folder), 0);
	assert_false(vs_tensorflow_dump_take(&dump, prefix, "GPU_0_bfc"));
	assert_false(vs_tensorflow_dump_take(&dump, "", "GPU_0_bfc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_and_statistics_are_read),
		cmocka_unit_test(test_message_that_is_cut_is_none),
		cmocka_unit_test(test_it_is_told_in_a_sentence),
		cmocka_unit_test(test_largest_numbers_fit),
		cmocka_unit_test(test_newest_file_is_read_and_all_of_the_allocator_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
