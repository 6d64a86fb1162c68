#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "shim_run.h"

static void test_a_host_with_our_libraries_names_is_unharmed_and_so_are_we(void **state)
{
	char names[1][NAME_MAX + 1], path[2 * PATH_MAX];
	static struct shim_run run;
	struct shim_trace *trace;
	struct stat file;

	(void)state;
	shim_run_init(&run);
	SHIM_RUN(&run, "host_symbols");
	shim_run_assert_fine(&run);
	assert_string_equal(run.out, "called 0 times\n");
	trace = shim_run_read(&run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 30000);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr[VS_RECORD_STACK], 1);
	free(trace);
	/* Compressed: an event of this kind takes ten bytes and more as it is. */
	assert_int_equal(shim_run_list(&run, ".vscope", names, 1), 1);
	snprintf(path, sizeof(path), "%s/%s", run.dir, names[0]);
	assert_int_equal(stat(path, &file), 0);
	assert_in_range(file.st_size, 1000, 30000 * 9);
	shim_run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_host_with_our_libraries_names_is_unharmed_and_so_are_we),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
