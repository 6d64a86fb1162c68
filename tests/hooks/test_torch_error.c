/* The text of an out-of-memory is quoted, and every exception is made as if we were not there. */
#include "torch_error.h"

#include <stdio.h>
#include <string.h>

#include "hooks_cmocka.h"
#include "pool_torch.h"
#include "recorder.h"
#include "torch_recorder.h"

#define TEXT "CUDA out of memory. Tried to allocate 2.00 GiB."

static struct torch_model model;
static uint32_t failed; /* pool whose failure is the latest thing this thread heard */
static int object;

uint32_t vs_pool_torch_take_failed(void)
{
	uint32_t pool = failed;

	failed = VS_NO_ID;
	return pool;
}

static int clear(void **state)
{
	(void)state;
	failed = VS_NO_ID;
	torch_recorder_clear();
	memset(model.heard, 0, sizeof(*model.heard));
	return 0;
}

/* The real constructor got the object, the location and the text. */
static void assert_made(const char *function)
{
	assert_string_equal(model.heard->function, function);
	assert_ptr_equal(model.heard->address, &object);
	assert_string_equal(model.heard->location.function, "malloc");
	assert_string_equal(model.heard->location.file, "CUDACachingAllocator.cpp");
	assert_int_equal(model.heard->location.line, 7);
	assert_non_null(model.heard->text);
}

static void test_the_text_behind_a_failure_is_quoted_once(void **state)
{
	(void)state;
	failed = 3;
	model.table->error(&object, TEXT);
	assert_string_equal(torch_recorder_get(), "quote 3 " TEXT "\n");
	assert_made("error");
	model.table->error(&object, TEXT);
	assert_string_equal(torch_recorder_get(), "quote 3 " TEXT "\n");
}

static void test_an_exception_of_its_own_class_is_quoted_once(void **state)
{
	(void)state;
	failed = 4;
	model.table->out_of_memory(&object, TEXT);
	assert_string_equal(torch_recorder_get(), "quote 4 " TEXT "\n");
	assert_made("out of memory");
}

static void test_an_old_string_is_read_as_such(void **state)
{
	(void)state;
	failed = 5;
	model.table->error_old(&object, TEXT);
	assert_string_equal(torch_recorder_get(), "quote 5 " TEXT "\n");
	assert_made("error old");
}

static void test_other_exceptions_are_made_and_not_quoted(void **state)
{
	(void)state;
	model.table->error(&object, TEXT); /* nothing failed */
	assert_made("error");
	failed = 6;
	model.table->error(&object, "index out of range"); /* short, and of something else */
	assert_made("error");
	assert_string_equal(torch_recorder_get(), "");
	assert_int_equal(failed, VS_NO_ID);
}

/* Last: it uses up what may be quoted. */
static void test_a_program_that_fails_on_and_on_is_not_quoted_for_ever(void **state)
{
	(void)state;
	torch_recorder_is_quiet = true;
	for (unsigned i = 0; i < 1000; i++) {
		failed = 7;
		model.table->error(&object, TEXT);
	}
	assert_in_range(torch_recorder_nr, 200, 256);
	assert_made("error");
}

static int load(void **state)
{
	(void)state;
	model = torch_recorder_load(MODEL_TORCH "/torch");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_text_behind_a_failure_is_quoted_once, clear),
		cmocka_unit_test_setup(test_an_exception_of_its_own_class_is_quoted_once, clear),
		cmocka_unit_test_setup(test_an_old_string_is_read_as_such, clear),
		cmocka_unit_test_setup(test_other_exceptions_are_made_and_not_quoted, clear),
		cmocka_unit_test_setup(test_a_program_that_fails_on_and_on_is_not_quoted_for_ever,
				       clear),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
