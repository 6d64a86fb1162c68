/* What the hooks ask about devices, of a driver that knows little, or nothing. */
#include "device_facts.h"

#include "captures.h"
#include "event_lines.h"
#include "hooks_cmocka.h"
#include "paper_table.h"
#include "recorder.h"

#define STREAM ((CUstream)0x5)

static struct vs_real real;
static CUdevice stream_device;
static CUresult stream_result;
static unsigned nr_stream_questions;

static CUresult get_stream_device(CUstream stream, CUdevice *device)
{
	assert_ptr_equal(stream, STREAM);
	nr_stream_questions++;
	*device = stream_device;
	return stream_result;
}

static int start(void **state)
{
	(void)state;
	vs_paper_table_init(&real);
	real.cuStreamGetDevice = get_stream_device;
	stream_device = 1;
	stream_result = CUDA_SUCCESS;
	nr_stream_questions = 0;
	while (vs_captures_has_any())
		vs_captures_end();
	vs_event_lines_skip();
	return 0;
}

/* ---- Definitions; a device is defined once, so each test has its own. ---- */

static void test_device_is_defined_at_its_first_use_only(void **state)
{
	(void)state;
	assert_int_equal(vs_device_facts_get_current(&real), 0);
	vs_event_lines_expect("device 0 paper0 1000 86 0 a0");
	assert_int_equal(vs_device_facts_get_current(&real), 0);
	vs_device_facts_define(&real, 0);
	vs_event_lines_expect_none();
}

static void test_every_device_has_its_own_facts(void **state)
{
	(void)state;
	vs_paper_table.device = 2;
	assert_int_equal(vs_device_facts_get_current(&real), 2);
	vs_event_lines_expect("device 2 paper2 1002 86 0 a2");
	vs_device_facts_define(&real, 1);
	vs_event_lines_expect("device 1 paper1 1001 86 0 a1");
	vs_event_lines_expect_none();
}

static void test_simulated_driver_says_so(void **state)
{
	(void)state;
	vs_paper_table.is_simulated = true;
	vs_device_facts_define(&real, 3);
	vs_event_lines_expect("device 3 paper3 1003 86 1 a3");
}

static void test_failed_question_leaves_nothing_behind(void **state)
{
	(void)state;
	vs_paper_table.result = CUDA_ERROR_INVALID_DEVICE;
	vs_device_facts_define(&real, 4);
	vs_event_lines_expect("device 4  0 0 0 00");
}

static void test_driver_without_the_functions_names_nothing(void **state)
{
	static const struct vs_real bare;

	(void)state;
	vs_device_facts_define(&bare, 5);
	vs_event_lines_expect("device 5  0 0 0 00");
	assert_int_equal(vs_device_facts_get_current(&bare), VS_NO_DEVICE);
	assert_int_equal(vs_device_facts_get_context(&bare), 0);
	assert_int_equal(vs_device_facts_get_of_stream(&bare, STREAM), VS_NO_DEVICE);
	vs_event_lines_expect_none();
}

/* ---- The current context ---- */

static void test_thread_without_a_context_has_no_device(void **state)
{
	(void)state;
	vs_paper_table.device = -1;
	vs_paper_table.context = 0;
	assert_int_equal(vs_device_facts_get_current(&real), VS_NO_DEVICE);
	assert_int_equal(vs_device_facts_get_context(&real), 0);
	vs_device_facts_define(&real, VS_NO_DEVICE);
	vs_event_lines_expect_none();
}

static void test_contexts_are_told_apart(void **state)
{
	uint32_t first = vs_device_facts_get_context(&real), second;

	(void)state;
	vs_paper_table.context = 0xc1;
	second = vs_device_facts_get_context(&real);
	assert_int_not_equal(first, 0);
	assert_int_not_equal(second, 0);
	assert_int_not_equal(first, second);
	vs_paper_table.context = 0xc0;
	assert_int_equal(vs_device_facts_get_context(&real), first);
}

static void assert_place(uint32_t device, uint32_t context)
{
	struct vs_device_place place = vs_device_facts_get_place(&real);

	assert_int_equal(place.device, device);
	assert_int_equal(place.context, context);
}

static void test_place_is_that_of_the_current_context(void **state)
{
	uint32_t first = vs_device_facts_get_context(&real), second;

	(void)state;
	assert_place(0, first);
	assert_place(0, first);
	vs_paper_table.context = 0xc1;
	vs_paper_table.device = 2;
	second = vs_device_facts_get_context(&real);
	assert_place(2, second);
	vs_paper_table.context = 0;
	vs_paper_table.device = -1;
	assert_place(VS_NO_DEVICE, 0);
	vs_paper_table.context = 0xc0;
	vs_paper_table.device = 0;
	assert_place(0, first);
}

static void test_place_of_a_context_that_came_anew_is_asked_for_anew(void **state)
{
	uint32_t first = vs_device_facts_get_context(&real);

	(void)state;
	assert_place(0, first);
	vs_recorder_forget_context(vs_paper_table.context);
	vs_paper_table.device = 1; /* the same handle, on another device */
	assert_place(1, vs_device_facts_get_context(&real));
	assert_int_not_equal(vs_device_facts_get_context(&real), first);
}

/* ---- Streams ---- */

static void test_stream_has_a_device_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(vs_device_facts_get_of_stream(&real, STREAM), 1);
}

/* These three are no handles: they mean a stream of the current context. */
static void test_default_streams_are_on_the_current_device(void **state)
{
	(void)state;
	vs_paper_table.device = 2;
	assert_int_equal(vs_device_facts_get_of_stream(&real, NULL), 2);
	assert_int_equal(vs_device_facts_get_of_stream(&real, CU_STREAM_LEGACY), 2);
	assert_int_equal(vs_device_facts_get_of_stream(&real, CU_STREAM_PER_THREAD), 2);
	assert_int_equal(nr_stream_questions, 0);
}

static void test_stream_that_the_driver_does_not_know_is_on_the_current_device(void **state)
{
	(void)state;
	stream_result = CUDA_ERROR_INVALID_HANDLE;
	assert_int_equal(vs_device_facts_get_of_stream(&real, STREAM), 0);
	stream_result = CUDA_SUCCESS;
	stream_device = -1;
	assert_int_equal(vs_device_facts_get_of_stream(&real, STREAM), 0);
	real.cuStreamGetDevice = NULL;
	assert_int_equal(vs_device_facts_get_of_stream(&real, STREAM), 0);
}

/* ---- Memory ---- */

static void assert_memory(uint32_t device, uint64_t free_size, uint64_t total_size)
{
	uint64_t got_free = 99, got_total = 99;

	vs_device_facts_get_memory(&real, device, &got_free, &got_total);
	assert_int_equal(got_free, free_size);
	assert_int_equal(got_total, total_size);
}

static void test_memory_is_that_of_the_current_device(void **state)
{
	(void)state;
	assert_memory(0, 1, 2);
	/* The driver can be asked about the current one only. */
	assert_memory(1, 0, 0);
	assert_memory(VS_NO_DEVICE, 0, 0);
	vs_paper_table.device = -1;
	assert_memory(0, 0, 0);
	assert_memory(VS_NO_DEVICE, 0, 0);
	assert_int_equal(vs_paper_table.nr_memory_questions, 1);
}

static void test_memory_is_not_asked_for_while_a_stream_captures(void **state)
{
	(void)state;
	vs_captures_begin();
	assert_memory(0, 0, 0);
	assert_int_equal(vs_paper_table.nr_memory_questions, 0);
	vs_captures_end();
	assert_memory(0, 1, 2);
}

static CUresult fail_to_get_memory(size_t *free_size, size_t *total_size)
{
	*free_size = *total_size = 7;
	return CUDA_ERROR_UNKNOWN;
}

static void test_memory_that_cannot_be_told_is_zero(void **state)
{
	(void)state;
	real.cuMemGetInfo_v2 = fail_to_get_memory;
	assert_memory(0, 0, 0);
	real.cuMemGetInfo_v2 = NULL;
	assert_memory(0, 0, 0);
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_device_is_defined_at_its_first_use_only),
		TEST(test_every_device_has_its_own_facts),
		TEST(test_simulated_driver_says_so),
		TEST(test_failed_question_leaves_nothing_behind),
		TEST(test_driver_without_the_functions_names_nothing),
		TEST(test_thread_without_a_context_has_no_device),
		TEST(test_contexts_are_told_apart),
		TEST(test_place_is_that_of_the_current_context),
		TEST(test_place_of_a_context_that_came_anew_is_asked_for_anew),
		TEST(test_stream_has_a_device_of_its_own),
		TEST(test_default_streams_are_on_the_current_device),
		TEST(test_stream_that_the_driver_does_not_know_is_on_the_current_device),
		TEST(test_memory_is_that_of_the_current_device),
		TEST(test_memory_is_not_asked_for_while_a_stream_captures),
		TEST(test_memory_that_cannot_be_told_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
