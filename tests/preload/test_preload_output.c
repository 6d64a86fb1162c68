#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "output.h"

static struct vs_settings settings;
static char dir[64];
static char path[PATH_MAX];
static char expected[PATH_MAX];

static int set_up(void **state)
{
	(void)state;
	memset(&settings, 0, sizeof(settings));
	snprintf(dir, sizeof(dir), "/tmp/vramscope-test.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	strcpy(settings.folder, dir);
	strcpy(settings.program, "train");
	strcpy(settings.host, "node7");
	strcpy(settings.rank, "3");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const char *open_next(void)
{
	int fd = -1;

	if (vs_output_open(&settings, path, &fd))
		return NULL;
	close(fd);
	return path;
}

static void test_the_default_is_program_and_pid_in_the_folder_of_the_settings(void **state)
{
	(void)state;
	snprintf(expected, sizeof(expected), "%s/train.%ld.vscope", dir, (long)getpid());
	assert_string_equal(open_next(), expected);
}

static void test_a_pattern_is_filled_in(void **state)
{
	bool is_own;

	(void)state;
	strcpy(settings.output, "/a/%h-%r-%p%%p-%x%");
	assert_int_equal(vs_output_expand(&settings, path, &is_own), 0);
	snprintf(expected, sizeof(expected), "/a/node7-3-%ld%%p-%%x%%", (long)getpid());
	assert_string_equal(path, expected);
	assert_true(is_own);
	strcpy(settings.output, "/a/%%p");
	assert_int_equal(vs_output_expand(&settings, path, &is_own), 0);
	assert_string_equal(path, "/a/%p");
	assert_false(is_own);
}

static void test_a_name_with_pid_counts_when_it_is_taken(void **state)
{
	(void)state;
	snprintf(settings.output, sizeof(settings.output), "%s/%%p.vscope", dir);
	snprintf(expected, sizeof(expected), "%s/%ld.vscope", dir, (long)getpid());
	assert_string_equal(open_next(), expected);
	strcat(expected, ".1");
	assert_string_equal(open_next(), expected);
	expected[strlen(expected) - 1] = '2';
	assert_string_equal(open_next(), expected);
}

static void test_a_name_without_pid_goes_to_the_first_others_add_theirs(void **state)
{
	(void)state;
	snprintf(settings.output, sizeof(settings.output), "%s/out", dir);
	snprintf(expected, sizeof(expected), "%s/out", dir);
	assert_string_equal(open_next(), expected);
	snprintf(expected, sizeof(expected), "%s/out.%ld", dir, (long)getpid());
	assert_string_equal(open_next(), expected);
	snprintf(expected, sizeof(expected), "%s/out.%ld.1", dir, (long)getpid());
	assert_string_equal(open_next(), expected);
}

/* ---- Files that may be replaced -------------------------------------------------------------- */

/* A file DIR/out that was there before, and its key. */
static void make_old(char key[128])
{
	struct stat file;
	int fd;

	snprintf(settings.output, sizeof(settings.output), "%s/out", dir);
	fd = open(settings.output, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(fstat(fd, &file), 0);
	close(fd);
	snprintf(key, 128, "%llu:%llu:%llu,", (unsigned long long)file.st_dev,
		 (unsigned long long)file.st_ino,
		 (unsigned long long)file.st_mtim.tv_sec * 1000000000 +
			 (unsigned long long)file.st_mtim.tv_nsec);
}

static void test_a_listed_file_makes_room_once(void **state)
{
	char key[128];

	(void)state;
	make_old(key);
	snprintf(settings.replace, sizeof(settings.replace), "1:2:3,%s4:5:6,", key);
	assert_string_equal(open_next(), settings.output);
	snprintf(expected, sizeof(expected), "%s/out.%ld", dir, (long)getpid());
	assert_string_equal(open_next(), expected);
}

static void test_a_file_that_is_not_listed_stays(void **state)
{
	char key[128];

	(void)state;
	make_old(key);
	/* Its key is the end of another, or misses its own. */
	snprintf(settings.replace, sizeof(settings.replace), "9%s", key);
	assert_string_not_equal(open_next(), settings.output);
	snprintf(settings.replace, sizeof(settings.replace), "%.*s0,", (int)strlen(key) - 1, key);
	assert_string_not_equal(open_next(), settings.output);
	snprintf(settings.replace, sizeof(settings.replace), "%.*s", (int)strlen(key) - 1, key);
	assert_string_not_equal(open_next(), settings.output);
}

static void test_a_file_that_somebody_holds_locked_stays(void **state)
{
	char key[128];
	int fd;

	(void)state;
	make_old(key);
	strcpy(settings.replace, key);
	fd = open(settings.output, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_string_not_equal(open_next(), settings.output);
	close(fd);
}

/* Processes that open as soon as the gate does, all at once. */
static void race(int nr_processes)
{
	int gate[2], fd, status;
	char byte;

	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < nr_processes; i++) {
		if (fork() == 0) {
			close(gate[1]);
			_exit(read(gate[0], &byte, 1) != 0 || vs_output_open(&settings, path, &fd));
		}
	}
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < nr_processes; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
}

static int count_and_remove_files(void)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	int nr = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		if (entry->d_type == DT_REG)
			nr += unlinkat(dirfd(folder), entry->d_name, 0) == 0;
	closedir(folder);
	return nr;
}

/* Whoever comes first, nobody removes the new file of another. */
static void test_of_processes_that_race_for_a_name_none_loses_its_file(void **state)
{
	struct stat file;
	char key[128];

	(void)state;
	for (int round = 0; round < 200; round++) {
		make_old(key);
		strcpy(settings.replace, key);
		race(4);
		assert_int_equal(stat(settings.output, &file), 0);
		assert_int_equal(file.st_size, 0); /* the old one is gone */
		assert_int_equal(count_and_remove_files(), 4);
	}
}

static void test_a_folder_of_that_name_is_an_error(void **state)
{
	(void)state;
	strcpy(settings.output, dir);
	assert_null(open_next());
	assert_int_equal(errno, EEXIST);
	assert_string_equal(path, dir);
}

static void test_a_link_to_nowhere_is_not_followed(void **state)
{
	(void)state;
	snprintf(settings.output, sizeof(settings.output), "%s/link", dir);
	assert_int_equal(symlink("/tmp/vramscope-nowhere", settings.output), 0);
	assert_null(open_next());
	assert_int_equal(access("/tmp/vramscope-nowhere", F_OK), -1);
}

static void test_a_name_too_long_is_an_error(void **state)
{
	(void)state;
	memset(settings.output, 'x', sizeof(settings.output) - 3);
	settings.output[0] = '/';
	strcpy(settings.output + sizeof(settings.output) - 3, "%p");
	assert_null(open_next());
	assert_int_equal(errno, ENAMETOOLONG);
}

static void test_the_index_gets_a_line_for_each_trace(void **state)
{
	char text[256];
	ssize_t size;
	int fd;

	(void)state;
	vs_output_add_to_index(&settings, "/no/index/wanted");
	snprintf(settings.index, sizeof(settings.index), "%s/index", dir);
	vs_output_add_to_index(&settings, "/a");
	vs_output_add_to_index(&settings, "/b c");
	vs_output_add_refused(&settings, "/could/not/be");
	fd = open(settings.index, O_RDONLY);
	assert_true(fd >= 0);
	size = read(fd, text, sizeof(text) - 1);
	assert_true(size >= 0);
	text[size] = '\0';
	close(fd);
	assert_string_equal(text, "/a\n/b c\n!/could/not/be\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_default_is_program_and_pid_in_the_folder_of_the_settings),
		TEST(test_a_pattern_is_filled_in),
		TEST(test_a_name_with_pid_counts_when_it_is_taken),
		TEST(test_a_name_without_pid_goes_to_the_first_others_add_theirs),
		TEST(test_a_listed_file_makes_room_once),
		TEST(test_a_file_that_is_not_listed_stays),
		TEST(test_a_file_that_somebody_holds_locked_stays),
		TEST(test_of_processes_that_race_for_a_name_none_loses_its_file),
		TEST(test_a_folder_of_that_name_is_an_error),
		TEST(test_a_link_to_nowhere_is_not_followed),
		TEST(test_a_name_too_long_is_an_error),
		TEST(test_the_index_gets_a_line_for_each_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
