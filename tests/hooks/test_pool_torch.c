/*
 * What PyTorch's allocator reports reaches the recorder, and always PyTorch, too. The allocator is
 * a model of its libraries; the profiler is linked into this program, in front of them.
 */
#include "pool_torch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "captured_memory.h"
#include "hooks_cmocka.h"
#include "torch_recorder.h"

#define CUDA(number) ((struct model_device){1, number})
#define HOST         ((struct model_device){0, -1})
#define XPU          ((struct model_device){12, 0})

#define AT(number) ((void *)(uintptr_t)(number))

static struct torch_model model;
static uint64_t captured; /* this address lies in memory that was taken during a capture */

bool vs_captured_memory_has(uint64_t address)
{
	return captured && address == captured;
}

static void forget_pool(int8_t device)
{
	/* An event with totals that follow from nothing: the next ones do. */
	model.table->usage_2_0(AT(0x10), 512, 512, 4096, CUDA(device));
	model.table->usage_2_0(AT(0x10), -512, 0, 4096, CUDA(device));
	torch_recorder_clear();
}

static int clear(void **state)
{
	(void)state;
	captured = 0;
	torch_recorder_is_off = torch_recorder_is_quiet = false;
	torch_recorder_clear();
	return 0;
}

/* ---- Through ---- */

static void assert_heard(const char *function, void *address, int64_t size, uint64_t allocated,
			 uint64_t reserved, struct model_device device)
{
	assert_string_equal(model.heard->function, function);
	assert_ptr_equal(model.heard->address, address);
	assert_int_equal(model.heard->size, size);
	assert_int_equal(model.heard->allocated, allocated);
	assert_int_equal(model.heard->reserved, reserved);
	assert_int_equal(model.heard->device.type, device.type);
	assert_int_equal(model.heard->device.index, device.index);
}

static void test_memory_of_the_host_goes_through_and_is_not_recorded(void **state)
{
	unsigned before = *model.nr_heard;

	(void)state;
	model.report_host(AT(0x500), 64);
	assert_heard("usage 2.0", AT(0x500), 64, 0, 0, HOST);
	assert_int_equal(*model.nr_heard, before + 1);
	assert_string_equal(torch_recorder_get(), "");
}

static void test_memory_of_other_backends_goes_through_and_is_not_recorded(void **state)
{
	(void)state;
	model.table->usage_2_0(AT(0x500), 64, 1, 2, XPU);
	assert_heard("usage 2.0", AT(0x500), 64, 1, 2, XPU);
	model.table->out_2_0(64, 1, 2, XPU);
	assert_heard("out 2.0", NULL, 64, 1, 2, XPU);
	assert_string_equal(torch_recorder_get(), "");
}

static void test_every_way_of_reporting_goes_through(void **state)
{
	(void)state;
	model.table->usage_2_0(AT(0x7000), 512, 512, 1024, CUDA(1));
	assert_heard("usage 2.0", AT(0x7000), 512, 512, 1024, CUDA(1));
	model.table->usage_1_10(AT(0x8000), -512, 0, 1024, CUDA(1));
	assert_heard("usage 1.10", AT(0x8000), -512, 0, 1024, CUDA(1));
	model.table->usage_1_6(AT(0x9000), 1024, CUDA(1));
	assert_heard("usage 1.6", AT(0x9000), 1024, 0, 0, CUDA(1));
	model.table->out_2_0(4096, 1, 2, CUDA(1));
	assert_heard("out 2.0", NULL, 4096, 1, 2, CUDA(1));
	model.table->out_1_13(4096, 3, 4, CUDA(1));
	assert_heard("out 1.13", NULL, 4096, 3, 4, CUDA(1));
}

static void test_a_recorder_that_is_off_changes_nothing(void **state)
{
	(void)state;
	torch_recorder_is_off = true;
	model.table->usage_2_0(AT(0x7000), 512, 512, 1024, CUDA(2));
	assert_heard("usage 2.0", AT(0x7000), 512, 512, 1024, CUDA(2));
	model.table->out_2_0(4096, 1, 2, CUDA(2));
	assert_heard("out 2.0", NULL, 4096, 1, 2, CUDA(2));
	assert_string_equal(torch_recorder_get(), "");
}

static void test_the_program_keeps_its_errno(void **state)
{
	(void)state;
	errno = EINTR;
	model.table->usage_2_0(AT(0x7000), 512, 512, 1024, CUDA(3));
	assert_int_equal(errno, EINTR);
	assert_int_equal(model.heard->error_number, EINTR);
}

/* ---- Blocks ---- */

static void test_blocks_go_to_a_pool_of_their_device(void **state)
{
	char expected[128];
	unsigned first;

	(void)state;
	model.table->usage_2_0(AT(0xa000), 512, 512, 2048, CUDA(10));
	assert_int_equal(sscanf(torch_recorder_get(), "pool %u 'PyTorch' 10", &first), 1);
	snprintf(expected, sizeof(expected),
		 "pool %u 'PyTorch' 10\nalloc %u a000 512\nstate %u 512 in 2048\n", first, first,
		 first);
	assert_string_equal(torch_recorder_get(), expected);
	torch_recorder_clear();
	model.table->usage_2_0(AT(0xa000), 1024, 1024, 2048, CUDA(11));
	snprintf(expected, sizeof(expected),
		 "pool %u 'PyTorch' 11\nalloc %u a000 1024\nstate %u 1024 in 2048\n", first + 1,
		 first + 1, first + 1);
	assert_string_equal(torch_recorder_get(), expected);
	torch_recorder_clear();
	model.table->usage_2_0(AT(0xa000), -512, 0, 2048, CUDA(10));
	snprintf(expected, sizeof(expected), "free %u a000\n", first);
	assert_string_equal(torch_recorder_get(), expected);
}

static void test_a_device_beyond_all_numbers_is_left_alone(void **state)
{
	(void)state;
	model.table->usage_2_0(AT(0xa000), 512, 512, 2048, CUDA(64));
	assert_heard("usage 2.0", AT(0xa000), 512, 512, 2048, CUDA(64));
	model.table->usage_2_0(AT(0xa000), 512, 512, 2048, CUDA(-1));
	assert_string_equal(torch_recorder_get(), "");
}

static void test_blocks_in_memory_taken_during_a_capture_have_a_pool_of_their_own(void **state)
{
	unsigned common, private;

	(void)state;
	model.table->usage_2_0(AT(0x1000), 512, 512, 4096, CUDA(12));
	assert_int_equal(sscanf(torch_recorder_get(), "pool %u", &common), 1);
	torch_recorder_clear();
	captured = 0x2000;
	model.table->usage_2_0(AT(0x2000), 512, 1024, 4096, CUDA(12));
	assert_int_equal(sscanf(torch_recorder_get(), "pool %u", &private), 1);
	assert_int_not_equal(private, common);
	assert_non_null(strstr(torch_recorder_get(), "(derived)' 12\n"));
	torch_recorder_clear();
	model.table->usage_2_0(AT(0x2000), -512, 512, 8192, CUDA(12));
	/* Totals are those of all pools; the common one says them. */
	char expected[64];

	snprintf(expected, sizeof(expected), "free %u 2000\nstate %u 512 in 8192\n", private,
		 common);
	assert_string_equal(torch_recorder_get(), expected);
}

/* ---- Totals ---- */

static void test_totals_that_follow_from_the_blocks_are_not_said(void **state)
{
	(void)state;
	forget_pool(20);
	for (uint64_t i = 1; i < 100; i++)
		model.table->usage_2_0(AT(0x1000 * i), 512, 512 * i, 4096, CUDA(20));
	for (uint64_t i = 99; i > 0; i--)
		model.table->usage_2_0(AT(0x1000 * i), -512, 512 * (i - 1), 4096, CUDA(20));
	assert_null(strstr(torch_recorder_get(), "state"));
}

static void test_totals_that_are_others_are_said_behind_the_event(void **state)
{
	(void)state;
	forget_pool(21);
	model.table->usage_2_0(AT(0x1000), 512, 512, 8192, CUDA(21)); /* another segment */
	assert_non_null(strstr(torch_recorder_get(), " 1000 512\nstate "));
	assert_non_null(strstr(torch_recorder_get(), " 512 in 8192\n"));
	torch_recorder_clear();
	model.table->usage_2_0(AT(0x2000), 512, 1536, 8192, CUDA(21)); /* 512 more than it tells */
	assert_non_null(strstr(torch_recorder_get(), " 1536 in 8192\n"));
	torch_recorder_clear();
	model.table->usage_2_0(AT(0x2000), -512, 1024, 8192, CUDA(21)); /* goes on from there */
	assert_null(strstr(torch_recorder_get(), "state"));
}

static void test_another_recording_hears_the_totals_anew(void **state)
{
	(void)state;
	forget_pool(22);
	torch_recorder_recording++;
	model.table->usage_2_0(AT(0x1000), 512, 512, 4096, CUDA(22));
	assert_non_null(strstr(torch_recorder_get(), " 512 in 4096\n"));
}

static void test_totals_are_said_now_and_then_in_any_case(void **state)
{
	(void)state;
	forget_pool(23);
	torch_recorder_is_quiet = true;
	for (unsigned i = 0; i < 2048; i++) {
		model.table->usage_2_0(AT(0x1000), 512, 512, 4096, CUDA(23));
		model.table->usage_2_0(AT(0x1000), -512, 0, 4096, CUDA(23));
	}
	assert_int_equal(torch_recorder_nr, 4096 + 4);
}

static void test_the_oldest_way_says_no_totals(void **state)
{
	(void)state;
	model.table->usage_1_6(AT(0x1000), 512, CUDA(24));
	assert_non_null(strstr(torch_recorder_get(), " 1000 512\n"));
	assert_null(strstr(torch_recorder_get(), "state"));
}

/* ---- Failures ---- */

static void test_an_out_of_memory_is_recorded_with_its_size_and_known_to_its_thread(void **state)
{
	unsigned pool;

	(void)state;
	forget_pool(30);
	assert_int_equal(vs_pool_torch_take_failed(), 0);
	model.table->out_2_0(1 << 20, 0, 4096, CUDA(30));
	assert_int_equal(sscanf(torch_recorder_get(), "fail %u 1048576\n", &pool), 1);
	assert_null(strstr(torch_recorder_get(), "state"));
	assert_int_equal(vs_pool_torch_take_failed(), pool);
	assert_int_equal(vs_pool_torch_take_failed(), 0);
	model.table->out_1_13(1 << 20, 0, 8192, CUDA(30));
	assert_non_null(strstr(torch_recorder_get(), " 0 in 8192\n"));
	/* Memory was had after all: what is thrown now is something else. */
	model.table->usage_2_0(AT(0x1000), 512, 512, 8192, CUDA(30));
	assert_int_equal(vs_pool_torch_take_failed(), 0);
}

/* ---- Threads ---- */

static void *report_many(void *argument)
{
	int8_t device = (int8_t)(intptr_t)argument;

	for (unsigned i = 0; i < 5000; i++) {
		model.table->usage_2_0(AT(-1), 512, 512, 4096, CUDA(device));
		model.table->usage_2_0(AT(-1), -512, 0, 4096, CUDA(device));
		model.table->usage_2_0(AT(-1), 16, 0, 0, HOST);
	}
	return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
	pthread_t threads[4];
	unsigned before = *model.nr_heard;

	(void)state;
	torch_recorder_is_quiet = true;
	for (intptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, report_many, (void *)(40 + i / 2)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(*model.nr_heard - before, 4 * 15000);
	/* Two events of each round, and here and there a state. */
	assert_true(torch_recorder_nr >= 4 * 10000);
}

/* ---- Facts ---- */

static void test_the_release_is_a_fact_as_soon_as_something_is_reported(void **state)
{
	(void)state;
	assert_string_equal(torch_recorder_get_fact("torch.version"), "2.15.0+cu132");
	assert_non_null(strstr(torch_recorder_get_fact("torch.library"), "/lib/libc10.so"));
	assert_string_equal(torch_recorder_get_fact("torch.hook"),
			    "void*, int64, size_t, size_t, Device");
	assert_string_equal(torch_recorder_get_fact("torch.blocks"), "recorded");
	assert_string_equal(torch_recorder_get_printed(), "");
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
		cmocka_unit_test_setup(test_memory_of_the_host_goes_through_and_is_not_recorded,
				       clear),
		cmocka_unit_test_setup(test_the_release_is_a_fact_as_soon_as_something_is_reported,
				       clear),
		cmocka_unit_test_setup(
			test_memory_of_other_backends_goes_through_and_is_not_recorded, clear),
		cmocka_unit_test_setup(test_every_way_of_reporting_goes_through, clear),
		cmocka_unit_test_setup(test_a_recorder_that_is_off_changes_nothing, clear),
		cmocka_unit_test_setup(test_the_program_keeps_its_errno, clear),
		cmocka_unit_test_setup(test_blocks_go_to_a_pool_of_their_device, clear),
		cmocka_unit_test_setup(test_a_device_beyond_all_numbers_is_left_alone, clear),
		cmocka_unit_test_setup(
			test_blocks_in_memory_taken_during_a_capture_have_a_pool_of_their_own,
			clear),
		cmocka_unit_test_setup(test_totals_that_follow_from_the_blocks_are_not_said, clear),
		cmocka_unit_test_setup(test_totals_that_are_others_are_said_behind_the_event,
				       clear),
		cmocka_unit_test_setup(test_another_recording_hears_the_totals_anew, clear),
		cmocka_unit_test_setup(test_totals_are_said_now_and_then_in_any_case, clear),
		cmocka_unit_test_setup(test_the_oldest_way_says_no_totals, clear),
		cmocka_unit_test_setup(
			test_an_out_of_memory_is_recorded_with_its_size_and_known_to_its_thread,
			clear),
		cmocka_unit_test_setup(test_threads_do_not_disturb_each_other, clear),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
