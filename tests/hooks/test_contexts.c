/* Contexts that come and go, and come again under the same handle. */
#include "contexts.h"

#include <errno.h>
#include <pthread.h>

#include "device_facts.h"
#include "event_lines.h"
#include "hooks_cmocka.h"
#include "paper_table.h"

#define MAX_DEVICES 4
#define CONTEXT(n)  ((CUcontext)(uintptr_t)(n))

static struct vs_real real;
static struct vs_call call;
static bool is_active[MAX_DEVICES];
static CUcontext refused; /* a handle that the driver does not know */

static CUresult get_api_version(CUcontext context, unsigned *version)
{
	*version = 3020;
	return context == refused ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult get_state(CUdevice device, unsigned *flags, int *active)
{
	*flags = 0;
	if (device < 0 || device >= MAX_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	*active = is_active[device];
	return CUDA_SUCCESS;
}

/* The number in the lines. Ask before the context ends: afterwards the handle has another one. */
static uint32_t number_of(uintptr_t context)
{
	return vs_recorder_context(context);
}

static int start(void **state)
{
	(void)state;
	vs_paper_table_init(&real);
	real.cuCtxGetApiVersion = get_api_version;
	real.cuDevicePrimaryCtxGetState = get_state;
	call = vs_paper_table_call(&real);
	refused = CONTEXT(0xdead);
	for (uint32_t device = 0; device < MAX_DEVICES; device++) {
		is_active[device] = false;
		vs_device_facts_define(&real, device);
	}
	vs_event_lines_skip();
	return 0;
}

static void test_context_is_told_with_its_device(void **state)
{
	uint32_t first, second;

	(void)state;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0x10), 1);
	vs_event_lines_expect("context created %u 1", number_of(0x10));
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0x20), 2);
	vs_event_lines_expect("context created %u 2", number_of(0x20));
	/* Current is one on device 0: it does not matter. */
	first = number_of(0x10);
	vs_contexts_note_destroy(&call, CONTEXT(0x10));
	vs_event_lines_expect("context destroyed %u 1", first);
	second = number_of(0x20);
	vs_contexts_note_destroy(&call, CONTEXT(0x20));
	vs_event_lines_expect("context destroyed %u 2", second);
	vs_event_lines_expect_none();
}

static void test_device_of_a_context_is_defined_before_it(void **state)
{
	(void)state;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0x30), 9);
	vs_event_lines_expect("device 9 paper9 1009 86 0 a9");
	vs_event_lines_expect("context created %u 9", number_of(0x30));
	vs_contexts_note_destroy(&call, CONTEXT(0x30));
}

static void test_handle_that_comes_again_is_another_context(void **state)
{
	uint32_t first, second;

	(void)state;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0x40), 0);
	first = number_of(0x40);
	vs_contexts_note_destroy(&call, CONTEXT(0x40));
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0x40), 2);
	second = number_of(0x40);
	assert_int_not_equal(first, second);
	vs_event_lines_expect("context created %u 0", first);
	vs_event_lines_expect("context destroyed %u 0", first);
	vs_event_lines_expect("context created %u 2", second);
	vs_contexts_note_destroy(&call, CONTEXT(0x40));
	vs_event_lines_expect("context destroyed %u 2", second);
}

static void test_what_did_not_happen_is_not_told(void **state)
{
	(void)state;
	vs_contexts_note_create(&call, CUDA_ERROR_OUT_OF_MEMORY, CONTEXT(0x50), 0);
	vs_contexts_note_create(&call, CUDA_SUCCESS, NULL, 0);
	vs_contexts_note_retain(&call, CUDA_ERROR_INVALID_DEVICE, CONTEXT(0x50), 0);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, NULL, 0);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x50), -1);
	vs_contexts_note_release(&call, CUDA_ERROR_INVALID_CONTEXT, 0);
	vs_contexts_note_release(&call, CUDA_SUCCESS, -1);
	vs_event_lines_expect_none();
}

/* These are told before the call, so whether it will be refused must be found out. */
static void test_what_the_driver_will_refuse_is_not_told(void **state)
{
	(void)state;
	vs_contexts_note_destroy(&call, refused);
	vs_contexts_note_destroy(&call, NULL);
	vs_contexts_note_reset(&call, 0); /* nothing is there */
	vs_contexts_note_reset(&call, -1);
	vs_contexts_note_reset(&call, 1000);
	vs_event_lines_expect_none();
}

/* One that was made before we were there. */
static void test_unknown_context_ends_without_a_device(void **state)
{
	uint32_t number = number_of(0x60);

	(void)state;
	vs_contexts_note_destroy(&call, CONTEXT(0x60));
	vs_event_lines_expect("context destroyed %u -1", number);
	vs_event_lines_expect_none();
}

static void test_primary_context_is_told_at_its_first_retain_only(void **state)
{
	uint32_t first = number_of(0x70), other = number_of(0x71);

	(void)state;
	is_active[1] = is_active[2] = true;
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x70), 1);
	vs_event_lines_expect("context created %u 1", first);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x70), 1);
	vs_event_lines_expect_none();
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x71), 2);
	vs_event_lines_expect("context created %u 2", other);
	/* One reference less, but not the last. */
	vs_contexts_note_release(&call, CUDA_SUCCESS, 1);
	vs_event_lines_expect_none();
	is_active[1] = false;
	vs_contexts_note_release(&call, CUDA_SUCCESS, 1);
	vs_event_lines_expect("context destroyed %u 1", first);
	vs_contexts_note_release(&call, CUDA_SUCCESS, 1);
	vs_event_lines_expect_none();
	is_active[2] = false;
	vs_contexts_note_release(&call, CUDA_SUCCESS, 2);
	vs_event_lines_expect("context destroyed %u 2", other);
}

/* Drivers give a device's primary context the same handle in each of its lives. */
static void test_primary_context_that_comes_again_is_another_one(void **state)
{
	uint32_t first = number_of(0x80);

	(void)state;
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x80), 3);
	vs_contexts_note_release(&call, CUDA_SUCCESS, 3);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x80), 3);
	vs_event_lines_expect("context created %u 3", first);
	vs_event_lines_expect("context destroyed %u 3", first);
	vs_event_lines_expect("context created %u 3", number_of(0x80));
	assert_int_not_equal(number_of(0x80), first);
	vs_contexts_note_release(&call, CUDA_SUCCESS, 3);
}

static void test_reset_ends_the_primary_context_of_its_device_only(void **state)
{
	uint32_t first = number_of(0x90), other = number_of(0x91);

	(void)state;
	is_active[1] = is_active[2] = true;
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x90), 1);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x91), 2);
	vs_event_lines_skip();
	vs_contexts_note_reset(&call, 1);
	vs_event_lines_expect("context reset 0 1");
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x90), 1);
	vs_event_lines_expect("context created %u 1", number_of(0x90));
	assert_int_not_equal(number_of(0x90), first);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0x91), 2);
	vs_event_lines_expect_none();
	assert_int_equal(number_of(0x91), other);
	is_active[1] = is_active[2] = false;
	vs_contexts_note_release(&call, CUDA_SUCCESS, 1);
	vs_contexts_note_release(&call, CUDA_SUCCESS, 2);
}

static void test_end_that_cannot_be_checked_is_not_told(void **state)
{
	(void)state;
	real.cuCtxGetApiVersion = NULL;
	real.cuDevicePrimaryCtxGetState = NULL;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0xa0), 0);
	vs_event_lines_skip();
	vs_contexts_note_destroy(&call, CONTEXT(0xa0));
	vs_contexts_note_reset(&call, 0);
	vs_event_lines_expect_none();
}

static void test_call_inside_another_one_tells_nothing(void **state)
{
	(void)state;
	is_active[0] = true;
	call.is_recording = false;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0xb0), 0);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0xb0), 0);
	vs_contexts_note_destroy(&call, CONTEXT(0xb0));
	vs_contexts_note_reset(&call, 0);
	is_active[0] = false;
	vs_contexts_note_release(&call, CUDA_SUCCESS, 0);
	vs_event_lines_expect_none();
}

static void test_errno_is_kept(void **state)
{
	(void)state;
	vs_event_lines_spoil_errno(1);
	is_active[0] = true;
	errno = ENOTTY;
	vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(0xc0), 0);
	assert_int_equal(errno, ENOTTY);
	vs_contexts_note_destroy(&call, CONTEXT(0xc0));
	assert_int_equal(errno, ENOTTY);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0xc1), 0);
	assert_int_equal(errno, ENOTTY);
	vs_contexts_note_reset(&call, 0);
	assert_int_equal(errno, ENOTTY);
	vs_contexts_note_retain(&call, CUDA_SUCCESS, CONTEXT(0xc1), 0);
	is_active[0] = false;
	vs_contexts_note_release(&call, CUDA_SUCCESS, 0);
	assert_int_equal(errno, ENOTTY);
	vs_event_lines_spoil_errno(0);
}

/* ---- Threads: each has contexts of its own, on a device of its own ---- */

#define NR_THREADS 4
#define NR_EACH    30

static pthread_barrier_t barrier;

static void *make_contexts(void *argument)
{
	uintptr_t thread = (uintptr_t)argument;
	struct vs_call own = vs_paper_table_call(&real);

	pthread_barrier_wait(&barrier);
	for (uintptr_t i = 0; i < NR_EACH; i++)
		vs_contexts_note_create(&own, CUDA_SUCCESS,
					CONTEXT(0x10000 * (thread + 1) + 0x100 * i), (int)thread);
	return NULL;
}

static void test_contexts_of_many_threads_keep_their_devices(void **state)
{
	pthread_t threads[NR_THREADS];

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, NR_THREADS), 0);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_contexts, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	vs_event_lines_skip();
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		for (uintptr_t j = 0; j < NR_EACH; j++) {
			uintptr_t context = 0x10000 * (i + 1) + 0x100 * j;
			uint32_t number = number_of(context);

			vs_contexts_note_destroy(&call, CONTEXT(context));
			vs_event_lines_expect("context destroyed %u %d", number, (int)i);
		}
}

/* Last: the table stays full. */
static void test_more_contexts_than_there_is_room_for_lose_their_device_only(void **state)
{
	const uintptr_t first = 0x1000000, last = first + 0x100 * 999;
	uint32_t number;

	(void)state;
	for (uintptr_t context = first; context <= last; context += 0x100) {
		number = number_of(context);
		vs_contexts_note_create(&call, CUDA_SUCCESS, CONTEXT(context), 1);
		vs_event_lines_expect("context created %u 1", number);
	}
	number = number_of(last);
	vs_contexts_note_destroy(&call, CONTEXT(last));
	vs_event_lines_expect("context destroyed %u -1", number);
	number = number_of(first);
	vs_contexts_note_destroy(&call, CONTEXT(first));
	vs_event_lines_expect("context destroyed %u 1", number);
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_context_is_told_with_its_device),
		TEST(test_device_of_a_context_is_defined_before_it),
		TEST(test_handle_that_comes_again_is_another_context),
		TEST(test_what_did_not_happen_is_not_told),
		TEST(test_what_the_driver_will_refuse_is_not_told),
		TEST(test_unknown_context_ends_without_a_device),
		TEST(test_primary_context_is_told_at_its_first_retain_only),
		TEST(test_primary_context_that_comes_again_is_another_one),
		TEST(test_reset_ends_the_primary_context_of_its_device_only),
		TEST(test_end_that_cannot_be_checked_is_not_told),
		TEST(test_call_inside_another_one_tells_nothing),
		TEST(test_errno_is_kept),
		TEST(test_contexts_of_many_threads_keep_their_devices),
		TEST(test_more_contexts_than_there_is_room_for_lose_their_device_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
