/* On the programs of build_shapes.sh, and on files that are none. */
#include "module_file.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "shape_run.h"

/* A program as the recorder knows it. */
static const struct vs_module *get_module(const char *name)
{
	static struct shape_run run;

	shape_run_read(&run, name);
	return &run.modules[0].record;
}

static enum vs_module_file_state open_state(const char *path, const uint8_t *build_id,
					    uint32_t size)
{
	struct vs_module_file file;
	enum vs_module_file_state state;

	vs_module_file_open(&file, path, build_id, size);
	state = file.state;
	assert_int_equal(file.elf != NULL, state == VS_MODULE_FILE_GOOD);
	vs_module_file_close(&file);
	assert_null(file.elf);
	return state;
}

static void test_file_with_the_recorded_build_id_is_good(void **state)
{
	const struct vs_module *module = get_module("pie");

	(void)state;
	assert_int_equal(module->build_id_size, 20);
	assert_int_equal(open_state(module->path.bytes, module->build_id, module->build_id_size),
			 VS_MODULE_FILE_GOOD);
}

static void test_file_with_another_build_id_has_changed(void **state)
{
	const struct vs_module *module = get_module("pie");
	uint8_t other[VS_BUILD_ID_MAX];

	(void)state;
	memcpy(other, module->build_id, sizeof(other));
	other[19] ^= 1;
	assert_int_equal(open_state(module->path.bytes, other, 20), VS_MODULE_FILE_CHANGED);
	/* Shorter or longer is another one, too; and so is none. */
	assert_int_equal(open_state(module->path.bytes, module->build_id, 19),
			 VS_MODULE_FILE_CHANGED);
	assert_int_equal(open_state(module->path.bytes, module->build_id, 21),
			 VS_MODULE_FILE_CHANGED);
	assert_int_equal(open_state(module->path.bytes, NULL, 0), VS_MODULE_FILE_CHANGED);
}

static void test_file_without_build_id_is_good_if_none_was_recorded(void **state)
{
	static const uint8_t id[20] = {1};
	const struct vs_module *module = get_module("noid");

	(void)state;
	assert_int_equal(module->build_id_size, 0);
	assert_int_equal(open_state(module->path.bytes, NULL, 0), VS_MODULE_FILE_GOOD);
	assert_int_equal(open_state(module->path.bytes, id, 20), VS_MODULE_FILE_CHANGED);
}

static void test_long_build_id_is_compared_as_far_as_it_was_kept(void **state)
{
	const struct vs_module *module = get_module("longid");
	uint8_t other[VS_BUILD_ID_MAX];

	(void)state;
	assert_int_equal(module->build_id_size, VS_BUILD_ID_MAX); /* of 40 bytes */
	assert_int_equal(open_state(module->path.bytes, module->build_id, VS_BUILD_ID_MAX),
			 VS_MODULE_FILE_GOOD);
	memcpy(other, module->build_id, sizeof(other));
	other[VS_BUILD_ID_MAX - 1] ^= 1;
	assert_int_equal(open_state(module->path.bytes, other, VS_BUILD_ID_MAX),
			 VS_MODULE_FILE_CHANGED);
}

/* ---- What is no module ---------------------------------------------------------------------- */

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/test_module_file-XXXXXX", P_tmpdir);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static char *make_path(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

static void test_what_is_not_elf_counts_as_gone(void **state)
{
	char path[128];

	(void)state;
	assert_int_equal(open_state("/nonexistent/lib.so", NULL, 0), VS_MODULE_FILE_GONE);
	assert_int_equal(open_state("", NULL, 0), VS_MODULE_FILE_GONE);
	write_file(make_path(path, "empty"), "", 0);
	assert_int_equal(open_state(path, NULL, 0), VS_MODULE_FILE_GONE);
	write_file(make_path(path, "text"), "#!/bin/sh\necho\n", 15);
	assert_int_equal(open_state(path, NULL, 0), VS_MODULE_FILE_GONE);
	write_file(make_path(path, "archive"), "!<arch>\n", 8);
	assert_int_equal(open_state(path, NULL, 0), VS_MODULE_FILE_GONE);
	write_file(make_path(path, "cut"),
		   "\x7f"
		   "ELF",
		   4);
	assert_int_equal(open_state(path, NULL, 0), VS_MODULE_FILE_GONE);
	assert_int_equal(open_state(folder, NULL, 0), VS_MODULE_FILE_GONE);
}

/* A path is what a trace says, and the trace may be anybody's. */
static void test_paths_that_are_no_files_are_not_waited_for(void **state)
{
	char path[128];

	(void)state;
	assert_int_equal(mkfifo(make_path(path, "fifo"), 0600), 0);
	assert_int_equal(open_state(path, NULL, 0), VS_MODULE_FILE_GONE);
	assert_int_equal(open_state("/dev/zero", NULL, 0), VS_MODULE_FILE_GONE);
	assert_int_equal(open_state("/dev/tty", NULL, 0), VS_MODULE_FILE_GONE);
}

/* ---- Debug files ---------------------------------------------------------------------------- */

static void test_debug_file_is_found_by_build_id_also_when_the_module_is_gone(void **state)
{
	const struct vs_module *module = get_module("separate");
	struct vs_module_file file;
	char path[PATH_MAX];

	(void)state;
	vs_module_file_open(&file, module->path.bytes, module->build_id, module->build_id_size);
	assert_null(file.debug); /* not in the system's folder */
	vs_module_file_close(&file);
	vs_module_file_set_debug_folder(shape_run_get_path(path, "debug"));
	vs_module_file_open(&file, module->path.bytes, module->build_id, module->build_id_size);
	assert_int_equal(file.state, VS_MODULE_FILE_GOOD);
	assert_non_null(file.debug);
	vs_module_file_close(&file);
	assert_null(file.debug);
	vs_module_file_open(&file, "/nonexistent", module->build_id, module->build_id_size);
	assert_int_equal(file.state, VS_MODULE_FILE_GONE);
	assert_non_null(file.debug);
	vs_module_file_close(&file);
	vs_module_file_set_debug_folder(NULL);
}

static void test_debug_file_of_another_build_is_not_used(void **state)
{
	const struct vs_module *module = get_module("pie");
	struct vs_module_file file;
	char path[128], command[PATH_MAX + 300];
	char name[2 * VS_BUILD_ID_MAX + 1] = "";

	(void)state;
	for (uint32_t i = 1; i < module->build_id_size; i++)
		sprintf(name + 2 * (i - 1), "%02x", module->build_id[i]);
	snprintf(path, sizeof(path), "%s/%02x", folder, module->build_id[0]);
	assert_int_equal(mkdir(path, 0700), 0);
	/* Another program under its name. */
	snprintf(command, sizeof(command), "cp '%s/table' '%s/%s.debug'", getenv("VS_SHAPES"), path,
		 name);
	assert_int_equal(system(command), 0);
	vs_module_file_set_debug_folder(folder);
	vs_module_file_open(&file, module->path.bytes, module->build_id, module->build_id_size);
	assert_int_equal(file.state, VS_MODULE_FILE_GOOD);
	assert_null(file.debug);
	vs_module_file_close(&file);
	vs_module_file_set_debug_folder(NULL);
}

static void test_ids_too_short_and_folders_too_long_have_no_debug_file(void **state)
{
	static const uint8_t id[VS_BUILD_ID_MAX] = {0};
	static char long_folder[5000];
	struct vs_module_file file;

	(void)state;
	for (uint32_t size = 0; size < 2; size++) {
		vs_module_file_open(&file, "/nonexistent", id, size);
		assert_null(file.debug);
		vs_module_file_close(&file);
	}
	for (size_t size = 4000; size < sizeof(long_folder); size += 7) {
		memset(long_folder, '/', size);
		long_folder[size] = '\0';
		vs_module_file_set_debug_folder(long_folder);
		vs_module_file_open(&file, "/nonexistent", id, VS_BUILD_ID_MAX);
		assert_null(file.debug);
		vs_module_file_close(&file);
	}
	vs_module_file_set_debug_folder(NULL);
}

static int count_descriptors(void)
{
	DIR *open_ones = opendir("/proc/self/fd");
	int nr = 0;

	assert_non_null(open_ones);
	while (readdir(open_ones))
		nr++;
	closedir(open_ones);
	return nr;
}

static void test_descriptors_are_closed_whatever_was_found(void **state)
{
	const struct vs_module *module = get_module("separate");
	struct vs_module_file file;
	uint8_t other[VS_BUILD_ID_MAX] = {0};
	char path[PATH_MAX];
	int before = count_descriptors();

	(void)state;
	vs_module_file_set_debug_folder(shape_run_get_path(path, "debug"));
	vs_module_file_open(&file, module->path.bytes, module->build_id, module->build_id_size);
	vs_module_file_close(&file);
	vs_module_file_open(&file, module->path.bytes, other, 20);
	vs_module_file_close(&file);
	vs_module_file_open(&file, folder, other, 20);
	vs_module_file_close(&file);
	vs_module_file_close(&file); /* once more does no harm */
	assert_int_equal(count_descriptors(), before);
	vs_module_file_set_debug_folder(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_with_the_recorded_build_id_is_good),
		cmocka_unit_test(test_file_with_another_build_id_has_changed),
		cmocka_unit_test(test_file_without_build_id_is_good_if_none_was_recorded),
		cmocka_unit_test(test_long_build_id_is_compared_as_far_as_it_was_kept),
		cmocka_unit_test(test_what_is_not_elf_counts_as_gone),
		cmocka_unit_test(test_paths_that_are_no_files_are_not_waited_for),
		cmocka_unit_test(test_debug_file_is_found_by_build_id_also_when_the_module_is_gone),
		cmocka_unit_test(test_debug_file_of_another_build_is_not_used),
		cmocka_unit_test(test_ids_too_short_and_folders_too_long_have_no_debug_file),
		cmocka_unit_test(test_descriptors_are_closed_whatever_was_found),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
