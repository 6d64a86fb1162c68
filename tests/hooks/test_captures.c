/* Whether a stream captures: a count of ours, and the driver's word. */
#include "captures.h"

#include <pthread.h>

#include "hooks_cmocka.h"

#define STREAM ((CUstream)0x5)

static CUstreamCaptureStatus status;
static CUresult result;
static unsigned nr_plain, nr_per_thread;

static CUresult ask(CUstream stream, CUstreamCaptureStatus *out)
{
	assert_ptr_equal(stream, STREAM);
	nr_plain++;
	*out = status;
	return result;
}

static CUresult ask_per_thread(CUstream stream, CUstreamCaptureStatus *out)
{
	assert_ptr_equal(stream, STREAM);
	nr_per_thread++;
	*out = status;
	return result;
}

static const struct vs_real real = {.cuStreamIsCapturing = ask,
				    .cuStreamIsCapturing_ptsz = ask_per_thread};

static int end_all(void **state)
{
	(void)state;
	while (vs_captures_has_any())
		vs_captures_end();
	status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	result = CUDA_SUCCESS;
	nr_plain = nr_per_thread = 0;
	return 0;
}

static void test_driver_is_not_asked_when_nobody_captures(void **state)
{
	(void)state;
	assert_false(vs_captures_has_any());
	assert_false(vs_captures_is_capturing(&real, STREAM, false));
	assert_false(vs_captures_is_capturing(&real, STREAM, true));
	assert_int_equal(nr_plain + nr_per_thread, 0);
}

static void test_driver_says_which_stream_it_is(void **state)
{
	(void)state;
	vs_captures_begin();
	assert_true(vs_captures_is_capturing(&real, STREAM, false));
	assert_int_equal(nr_plain, 1);
	assert_int_equal(nr_per_thread, 0);
	status = CU_STREAM_CAPTURE_STATUS_NONE;
	assert_false(vs_captures_is_capturing(&real, STREAM, false));
}

/* The default stream means another one to a function for per-thread streams. */
static void test_per_thread_function_asks_its_own_kind(void **state)
{
	(void)state;
	vs_captures_begin();
	assert_true(vs_captures_is_capturing(&real, STREAM, true));
	assert_int_equal(nr_plain, 0);
	assert_int_equal(nr_per_thread, 1);
}

/* What is asked of an invalidated capture fails; it becomes no node. */
static void test_broken_capture_is_none(void **state)
{
	(void)state;
	vs_captures_begin();
	status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	assert_false(vs_captures_is_capturing(&real, STREAM, false));
}

static void test_driver_that_cannot_tell_is_taken_for_no(void **state)
{
	static const struct vs_real older;

	(void)state;
	vs_captures_begin();
	assert_false(vs_captures_is_capturing(&older, STREAM, false));
	assert_false(vs_captures_is_capturing(&older, STREAM, true));
	result = CUDA_ERROR_INVALID_HANDLE;
	assert_false(vs_captures_is_capturing(&real, STREAM, false));
}

static void test_each_capture_has_an_end_of_its_own(void **state)
{
	(void)state;
	vs_captures_begin();
	vs_captures_begin();
	vs_captures_end();
	assert_true(vs_captures_has_any());
	vs_captures_end();
	assert_false(vs_captures_has_any());
}

/* One that began before we were there may end; the next one is still seen. */
static void test_end_without_a_beginning_hides_no_later_capture(void **state)
{
	(void)state;
	vs_captures_end();
	vs_captures_end();
	assert_false(vs_captures_has_any());
	vs_captures_begin();
	assert_true(vs_captures_has_any());
}

/* Each sees its own capture, whatever the others do. */
static void *capture_often(void *argument)
{
	uintptr_t nr_missed = 0;

	(void)argument;
	for (int i = 0; i < 20000; i++) {
		vs_captures_begin();
		nr_missed += !vs_captures_has_any();
		vs_captures_end();
	}
	return (void *)nr_missed;
}

static void test_captures_of_many_threads_are_counted(void **state)
{
	pthread_t threads[4];
	void *nr_missed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, capture_often, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &nr_missed), 0);
		assert_null(nr_missed);
	}
	assert_false(vs_captures_has_any());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_driver_is_not_asked_when_nobody_captures, end_all),
		cmocka_unit_test_setup(test_driver_says_which_stream_it_is, end_all),
		cmocka_unit_test_setup(test_per_thread_function_asks_its_own_kind, end_all),
		cmocka_unit_test_setup(test_broken_capture_is_none, end_all),
		cmocka_unit_test_setup(test_driver_that_cannot_tell_is_taken_for_no, end_all),
		cmocka_unit_test_setup(test_each_capture_has_an_end_of_its_own, end_all),
		cmocka_unit_test_setup(test_end_without_a_beginning_hides_no_later_capture,
				       end_all),
		cmocka_unit_test_setup(test_captures_of_many_threads_are_counted, end_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
