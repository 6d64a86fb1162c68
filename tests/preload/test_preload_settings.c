#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"
#include "settings.h"

static struct vs_settings settings;

static void read_from(char *const *variables, size_t nr)
{
	static char *environment[16];
	char *argv[] = {"/usr/bin/python3", "train.py", "a b\n", NULL};

	memset(environment, 0, sizeof(environment));
	environment[0] = "PATH=/bin";
	for (size_t i = 0; i < nr; i++)
		environment[i + 1] = variables[i];
	vs_settings_read(&settings, 3, argv, environment);
}

#define READ(...) \
	read_from((char *const[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

static void test_without_any_variable_the_defaults_hold(void **state)
{
	char cwd[PATH_MAX];

	(void)state;
	READ(NULL);
	assert_string_equal(settings.output, "");
	assert_string_equal(settings.index, "");
	assert_string_equal(settings.replace, "");
	assert_string_equal(settings.program, "python3");
	assert_string_equal(settings.command, "/usr/bin/python3\ntrain.py\na b\\n\n");
	assert_string_equal(settings.cwd, getcwd(cwd, sizeof(cwd)));
	assert_string_equal(settings.folder, cwd);
	assert_string_equal(settings.rank, "0");
	assert_int_equal(settings.stack_depth, VS_SETTINGS_STACK_DEPTH);
	assert_int_equal(settings.log_size, VS_SETTINGS_LOG_SIZE);
	assert_int_equal(settings.meminfo_ms, VS_SETTINGS_MEMINFO_MS);
	assert_false(settings.no_meminfo);
	assert_false(settings.no_stacks || settings.free_stacks || settings.no_pools ||
		     settings.no_hooks || settings.no_children || settings.is_off);
	assert_null(settings.kept[0].name);
}

static void test_names_are_absolute_whatever_was_given(void **state)
{
	char expected[PATH_MAX];

	(void)state;
	READ("VRAMSCOPE_OUTPUT=/abs/%p", "VRAMSCOPE_INDEX=rel/index");
	assert_string_equal(settings.output, "/abs/%p");
	snprintf(expected, sizeof(expected), "%.4000s/rel/index", settings.cwd);
	assert_string_equal(settings.index, expected);
}

static void test_folder_run_and_what_may_be_replaced_are_as_told(void **state)
{
	(void)state;
	READ("VRAMSCOPE_FOLDER=/here 50%p", "VRAMSCOPE_REPLACE=1:2:3,", "VRAMSCOPE_RUN=4711.1");
	assert_string_equal(settings.folder, "/here 50%p");
	assert_string_equal(settings.replace, "1:2:3,");
	assert_string_equal(settings.kept[0].name, "VRAMSCOPE_RUN");
	assert_string_equal(settings.kept[0].value, "4711.1");
}

/* It is the pattern's % that is filled in. */
static void test_a_percent_sign_of_the_folder_is_doubled_in_a_pattern(void **state)
{
	char folder[] = "/tmp/vramscope-test.%p.XXXXXX", expected[PATH_MAX], cwd[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	READ("VRAMSCOPE_OUTPUT=%h", "VRAMSCOPE_INDEX=index");
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(rmdir(folder), 0);
	snprintf(expected, sizeof(expected), "/tmp/vramscope-test.%%%%p.%s/%%h", folder + 23);
	assert_string_equal(settings.output, expected);
	snprintf(expected, sizeof(expected), "%s/index", folder);
	assert_string_equal(settings.index, expected);
}

static void test_a_switch_is_on_unless_empty_or_zero(void **state)
{
	(void)state;
	READ("VRAMSCOPE_NO_STACKS=1", "VRAMSCOPE_NO_POOLS=0", "VRAMSCOPE_NO_HOOKS=");
	assert_true(settings.no_stacks);
	assert_false(settings.no_pools);
	assert_false(settings.no_hooks);
	READ("VRAMSCOPE_NO_STACKSX=1", "VRAMSCOPE_NO_POOLS=yes");
	assert_false(settings.no_stacks);
	assert_true(settings.no_pools);
}

static void test_numbers_out_of_range_leave_the_default(void **state)
{
	(void)state;
	READ("VRAMSCOPE_MAX_SIZE=1048576");
	assert_int_equal(settings.max_size, 1048576);
	READ("VRAMSCOPE_MAX_SIZE=1048575");
	assert_int_equal(settings.max_size, 0);
	READ("VRAMSCOPE_STACK_DEPTH=7", "VRAMSCOPE_LOG_SIZE=100000");
	assert_int_equal(settings.stack_depth, 7);
	assert_int_equal(settings.log_size, 100000);
	READ("VRAMSCOPE_NO_MEMINFO=1", "VRAMSCOPE_MEMINFO_WAIT=0");
	assert_true(settings.no_meminfo);
	assert_int_equal(settings.meminfo_ms, 0);
	READ("VRAMSCOPE_STACK_DEPTH=0", "VRAMSCOPE_LOG_SIZE=1");
	assert_int_equal(settings.stack_depth, VS_SETTINGS_STACK_DEPTH);
	assert_int_equal(settings.log_size, 1);
	READ("VRAMSCOPE_STACK_DEPTH=512", "VRAMSCOPE_LOG_SIZE=x");
	assert_int_equal(settings.stack_depth, VS_STACK_MAX);
	assert_int_equal(settings.log_size, VS_SETTINGS_LOG_SIZE);
	READ("VRAMSCOPE_STACK_DEPTH=513", "VRAMSCOPE_LOG_SIZE=-1");
	assert_int_equal(settings.stack_depth, VS_SETTINGS_STACK_DEPTH);
	assert_int_equal(settings.log_size, VS_SETTINGS_LOG_SIZE);
	READ("VRAMSCOPE_STACK_DEPTH=12x", "VRAMSCOPE_LOG_SIZE=99999999999999999999999");
	assert_int_equal(settings.stack_depth, VS_SETTINGS_STACK_DEPTH);
	assert_int_equal(settings.log_size, VS_SETTINGS_LOG_SIZE);
}

static void test_the_rank_comes_from_the_first_launcher_that_says_one(void **state)
{
	(void)state;
	READ("OMPI_COMM_WORLD_RANK=5", "SLURM_PROCID=4");
	assert_string_equal(settings.rank, "4");
	READ("OMPI_COMM_WORLD_RANK=5", "SLURM_PROCID=4", "RANK=../3");
	assert_string_equal(settings.rank, ".._3");
	READ("OMPI_COMM_WORLD_RANK=5", "RANK=");
	assert_string_equal(settings.rank, "5");
}

static void test_variables_of_allocators_are_kept(void **state)
{
	(void)state;
	READ("PYTORCH_CUDA_ALLOC_CONF=backend:native", "HOME=/", "CUDA_VISIBLE_DEVICES=1");
	assert_string_equal(settings.kept[0].name, "CUDA_VISIBLE_DEVICES");
	assert_string_equal(settings.kept[0].value, "1");
	assert_string_equal(settings.kept[1].name, "PYTORCH_CUDA_ALLOC_CONF");
	assert_string_equal(settings.kept[1].value, "backend:native");
	assert_null(settings.kept[2].name);
}

static void test_children_no_is_passed_on_with_the_pid(void **state)
{
	char *environment[] = {"A=b", "VRAMSCOPE_CHILDREN=no", "C=d", NULL};
	char *argv[] = {"x", NULL};
	char expected[64];

	(void)state;
	vs_settings_read(&settings, 1, argv, environment);
	assert_true(settings.no_children);
	assert_false(settings.is_off);
	snprintf(expected, sizeof(expected), "VRAMSCOPE_CHILDREN=no:%ld", (long)getpid());
	assert_string_equal(environment[1], expected);
	assert_string_equal(environment[0], "A=b");
	/* The same process after an exec. */
	vs_settings_read(&settings, 1, argv, environment);
	assert_false(settings.is_off);
	/* A child of it. */
	READ("VRAMSCOPE_CHILDREN=no:1");
	assert_true(settings.is_off);
	READ("VRAMSCOPE_CHILDREN=yes");
	assert_false(settings.no_children);
	READ("VRAMSCOPE_CHILDREN=none");
	assert_false(settings.no_children);
}

static void test_dumps_of_tensorflow_have_the_pid_if_they_are_the_launchers(void **state)
{
	char *environment[] = {"VRAMSCOPE_TF_DUMP=/t/d", "TF_BFC_MEMORY_DUMP=/t/d", NULL};
	char *users[] = {"VRAMSCOPE_TF_DUMP=/t/d", "TF_BFC_MEMORY_DUMP=/mine", NULL};
	char *argv[] = {"x", NULL};
	char expected[64];

	(void)state;
	snprintf(expected, sizeof(expected), "TF_BFC_MEMORY_DUMP=/t/d.%ld", (long)getpid());
	/* Once more, as after an exec. */
	for (int i = 0; i < 2; i++) {
		vs_settings_read(&settings, 1, argv, environment);
		assert_string_equal(environment[1], expected);
		assert_string_equal(settings.tf_dump, strchr(expected, '=') + 1);
	}
	vs_settings_read(&settings, 1, argv, users);
	assert_string_equal(users[1], "TF_BFC_MEMORY_DUMP=/mine");
	assert_string_equal(settings.tf_dump, "");
	READ("TF_BFC_MEMORY_DUMP=/mine");
	assert_string_equal(settings.tf_dump, "");
}

static void test_a_program_without_a_name_has_one(void **state)
{
	char *nothing[] = {NULL};

	(void)state;
	vs_settings_read(&settings, 0, nothing, nothing);
	assert_string_equal(settings.program, "program");
	assert_string_equal(settings.command, "");
}

static void test_the_allocator_chosen_for_jax_is_kept(void **state)
{
	(void)state;
	READ("VRAMSCOPE_JAX_ALLOCATOR=cuda_async", "XLA_CLIENT_MEM_FRACTION=.5");
	assert_string_equal(settings.jax_allocator, "cuda_async");
	assert_string_equal(settings.kept[0].name, "XLA_CLIENT_MEM_FRACTION");
	assert_string_equal(settings.kept[1].name, "VRAMSCOPE_JAX_ALLOCATOR");
	READ("PATH=/");
	assert_string_equal(settings.jax_allocator, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_any_variable_the_defaults_hold),
		cmocka_unit_test(test_names_are_absolute_whatever_was_given),
		cmocka_unit_test(test_folder_run_and_what_may_be_replaced_are_as_told),
		cmocka_unit_test(test_a_percent_sign_of_the_folder_is_doubled_in_a_pattern),
		cmocka_unit_test(test_a_switch_is_on_unless_empty_or_zero),
		cmocka_unit_test(test_numbers_out_of_range_leave_the_default),
		cmocka_unit_test(test_the_rank_comes_from_the_first_launcher_that_says_one),
		cmocka_unit_test(test_variables_of_allocators_are_kept),
		cmocka_unit_test(test_the_allocator_chosen_for_jax_is_kept),
		cmocka_unit_test(test_children_no_is_passed_on_with_the_pid),
		cmocka_unit_test(test_dumps_of_tensorflow_have_the_pid_if_they_are_the_launchers),
		cmocka_unit_test(test_a_program_without_a_name_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
