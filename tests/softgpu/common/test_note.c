#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "note.h"

static char path[] = "/tmp/softgpu-note.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	setenv("SOFTGPU_NOTES", path, 1);
	return fd < 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static size_t read_notes(char text[2048])
{
	FILE *file = fopen(path, "re");
	size_t size;

	assert_non_null(file);
	size = fread(text, 1, 2047, file);
	text[size] = '\0';
	fclose(file);
	return size;
}

static void test_notes_are_lines_one_after_the_other(void **state)
{
	char text[2048];

	(void)state;
	errno = 33;
	sg_note_add("size %s %zu", "some-buffer", (size_t)4096);
	sg_note_add("missing cuThat");
	assert_int_equal(errno, 33);
	read_notes(text);
	assert_string_equal(text, "size some-buffer 4096\nmissing cuThat\n");
}

static void test_long_note_is_cut_and_still_a_line(void **state)
{
	char name[900], text[2048], *line;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(truncate(path, 0), 0);
	sg_note_add("missing %s", name);
	sg_note_add("missing cuThis");
	read_notes(text);
	line = strchr(text, '\n');
	assert_non_null(line);
	assert_true(line - text < 512);
	assert_string_equal(line, "\nmissing cuThis\n");
}

static void test_without_a_file_nothing_is_made(void **state)
{
	char gone[64];

	(void)state;
	snprintf(gone, sizeof(gone), "%s.gone", path);
	setenv("SOFTGPU_NOTES", gone, 1);
	errno = 33;
	sg_note_add("missing cuThat");
	assert_int_equal(errno, 33);
	assert_int_equal(access(gone, F_OK), -1);
	unsetenv("SOFTGPU_NOTES");
	sg_note_add("missing cuThat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes_are_lines_one_after_the_other),
		cmocka_unit_test(test_long_note_is_cut_and_still_a_line),
		cmocka_unit_test(test_without_a_file_nothing_is_made),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
