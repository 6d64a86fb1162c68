/* Whom NVTX will load. Here the library is the program itself, whose path the loader does not know.
 */
#include "nvtx_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void test_a_program_that_has_no_path_offers_none(void **state)
{
	char *mine[] = {"HOME=/nowhere", NULL}, **before = environ;

	(void)state;
	environ = mine;
	vs_nvtx_path_offer("/nowhere");
	assert_ptr_equal(environ, mine);
	assert_null(getenv("NVTX_INJECTION64_PATH"));
	assert_false(vs_nvtx_path_is_taken());
	environ = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_that_has_no_path_offers_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
