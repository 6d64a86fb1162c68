/* What all wrappers share, between a recorder that writes lines and a driver on paper. */
#include "hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "captures.h"
#include "driver_pools.h"
#include "event_lines.h"
#include "hooks_cmocka.h"
#include "paper_loader.h"
#include "paper_table.h"

#define DEFAULT_POOL 0xd000

static struct vs_real driver; /* what the library on paper has */
static uint64_t pool_size;    /* reserved and used, of every pool */

static CUresult allocate(CUdeviceptr *address, size_t size)
{
	*address = 0x1000;
	errno = ENOTTY;
	return size < 100 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get_default_pool(CUmemoryPool *pool, CUdevice device)
{
	(void)device;
	*pool = (CUmemoryPool)DEFAULT_POOL;
	return CUDA_SUCCESS;
}

static CUresult get_pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	(void)pool, (void)attribute;
	*(cuuint64_t *)value = pool_size;
	return CUDA_SUCCESS;
}

static void *find_in_driver(const char *name)
{
#define VS_HOOK(text, abi, symbol)      \
	if (strcmp(name, #symbol) == 0) \
		return (void *)driver.symbol;
#define VS_DRIVER_CALL(symbol) VS_HOOK(, , symbol)
#include "cuda_api.def"
	return NULL;
}

static int load_driver(void **state)
{
	(void)state;
	driver.cuMemAlloc_v2 = allocate;
	driver.cuDeviceGetDefaultMemPool = get_default_pool;
	driver.cuMemPoolGetAttribute = get_pool_attribute;
	(void)vs_paper_loader_load("libcuda.so.1", find_in_driver);
	return 0;
}

static int start(void **state)
{
	(void)state;
	vs_paper_table_init(&driver);
	vs_event_lines_skip();
	return 0;
}

/* As the wrapper of cuMemAlloc_v2 does it. */
static CUresult hooked_alloc(CUdeviceptr *address, size_t size)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAlloc_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuMemAlloc_v2, address, size);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_DEVICE, result ? 0 : *address, size);
	return vs_hooks_leave_driver(&call, result);
}

static uint32_t current_context(void)
{
	return vs_recorder_context(vs_paper_table.context);
}

/* ---- Without a driver; these come first ---- */

static void test_without_a_driver_calls_fail_and_nothing_is_said(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFree_v2);
	CUdeviceptr address;

	(void)state;
	assert_null(call.real);
	assert_false(call.is_recording);
	vs_hooks_note_free(&call, VS_MEMORY_DEVICE, 0x1000);
	vs_hooks_note_free_result(&call, CUDA_ERROR_INVALID_VALUE, VS_MEMORY_DEVICE, 0x1000);
	vs_hooks_note_alloc_on(&call, CUDA_SUCCESS, VS_MEMORY_ASYNC, 0, 0x1000, 10, 0xa0);
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_ERROR_NO_DEVICE);
	vs_event_lines_expect_none();
}

static void test_without_a_driver_the_runtime_may_still_tell(void **state)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);

	(void)state;
	assert_int_equal(VS_CALL_RUNTIME(&call, cudaMalloc, NULL, 10), cudaErrorInsufficientDriver);
	vs_hooks_note_runtime_alloc(&call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000, 10);
	vs_event_lines_expect("alloc device -1 1000 10 pool=0 context=0 cudaMalloc");
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
}

/* ---- The driver's functions ---- */

static void test_allocation_is_told_with_device_context_and_name(void **state)
{
	CUdeviceptr address;

	(void)state;
	(void)load_driver(state);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	vs_event_lines_expect("device 0 paper0 1000 86 0 a0");
	vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cuMemAlloc_v2",
			      current_context());
	vs_paper_table.device = 1;
	vs_paper_table.context = 0xc1;
	assert_int_equal(hooked_alloc(&address, 20), CUDA_SUCCESS);
	vs_event_lines_expect("device 1 paper1 1001 86 0 a1");
	vs_event_lines_expect("alloc device 1 1000 20 pool=0 context=%u cuMemAlloc_v2",
			      current_context());
	vs_event_lines_expect_none();
}

static void test_function_that_the_driver_lacks_is_not_found(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFree_v2);

	(void)state;
	assert_int_equal(VS_CALL_DRIVER(&call, cuMemFree_v2, 0x1000), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(vs_hooks_leave_driver(&call, CUDA_ERROR_NOT_FOUND), CUDA_ERROR_NOT_FOUND);
}

static void test_failure_is_told_with_what_was_free(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_int_equal(hooked_alloc(&address, 100), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail device 0 100 2 1/2 pool=0 cuMemAlloc_v2");
	vs_captures_begin();
	assert_int_equal(hooked_alloc(&address, 100), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail device 0 100 2 0/0 pool=0 cuMemAlloc_v2");
	vs_captures_end();
	vs_paper_table.device = -1;
	vs_paper_table.context = 0;
	assert_int_equal(hooked_alloc(&address, 100), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail device -1 100 2 0/0 pool=0 cuMemAlloc_v2");
	vs_event_lines_expect_none();
}

static void test_only_the_outermost_call_is_told(void **state)
{
	struct vs_call outer = VS_ENTER_DRIVER(cuMemAllocPitch_v2);
	CUdeviceptr address;

	(void)state;
	assert_true(outer.is_recording);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	assert_int_equal(hooked_alloc(&address, 100), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect_none();
	vs_hooks_note_free(&outer, VS_MEMORY_DEVICE, 0x2000);
	vs_event_lines_expect("free device 2000 cuMemAllocPitch_v2");
	(void)vs_hooks_leave_driver(&outer, CUDA_SUCCESS);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cuMemAlloc_v2",
			      current_context());
}

static void test_memory_beyond_contexts_has_the_device_of_the_caller(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemCreate);

	(void)state;
	vs_hooks_note_alloc_on(&call, CUDA_SUCCESS, VS_MEMORY_VMM, 2, 0x5000, 50, 0);
	vs_event_lines_expect("device 2 paper2 1002 86 0 a2");
	vs_event_lines_expect("alloc vmm 2 5000 50 pool=0 context=0 cuMemCreate");
	/* Of another device than the current one the driver cannot be asked what is free. */
	vs_hooks_note_alloc_on(&call, CUDA_ERROR_OUT_OF_MEMORY, VS_MEMORY_VMM, 2, 0, 50, 0);
	vs_event_lines_expect("fail vmm 2 50 2 0/0 pool=0 cuMemCreate");
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
}

static void test_pool_is_told_before_what_comes_from_it(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocAsync);

	(void)state;
	vs_hooks_note_alloc_on(&call, CUDA_SUCCESS, VS_MEMORY_ASYNC, 0, 0x6000, 60, 0xa0);
	vs_event_lines_expect("pool 1 a0 0");
	vs_event_lines_expect("alloc async 0 6000 60 pool=1 context=0 cuMemAllocAsync");
	vs_hooks_note_alloc_on(&call, CUDA_ERROR_OUT_OF_MEMORY, VS_MEMORY_ASYNC, 0, 0, 60, 0xa0);
	vs_event_lines_expect("fail async 0 60 2 1/2 pool=1 cuMemAllocAsync");
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
}

/* What the default pool has let go may be what the allocation got. */
static void test_default_pool_is_asked_before_an_allocation_is_told(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemCreate);
	CUdeviceptr address;

	(void)state;
	pool_size = 64;
	vs_driver_pools_sample(&call, DEFAULT_POOL, 0);
	vs_event_lines_skip();
	pool_size = 32;
	vs_hooks_note_alloc_on(&call, CUDA_SUCCESS, VS_MEMORY_VMM, 0, 0x5000, 50, 0);
	vs_event_lines_expect("pool-state 2 32 32");
	vs_event_lines_expect("alloc vmm 0 5000 50 pool=0 context=0 cuMemCreate");
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
	pool_size = 0;
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	vs_event_lines_expect("pool-state 2 0 0");
	vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cuMemAlloc_v2",
			      current_context());
	vs_event_lines_expect_none();
}

/* What pools hold is part of the evidence: it must be there when the failure is read. */
static void test_pools_are_asked_before_a_failure_is_told(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocFromPoolAsync);
	uint32_t own = vs_recorder_driver_pool(0xb0, 0);
	uint32_t usual = vs_recorder_driver_pool(DEFAULT_POOL, 0);

	(void)state;
	pool_size = 64;
	vs_driver_pools_sample(&call, 0xb0, 0);
	vs_driver_pools_sample(&call, DEFAULT_POOL, 0);
	vs_event_lines_skip();
	pool_size = 32;
	vs_hooks_note_alloc_on(&call, CUDA_ERROR_OUT_OF_MEMORY, VS_MEMORY_ASYNC, 0, 0, 60, 0xb0);
	vs_event_lines_expect("pool-state %u 32 32", own);
	vs_event_lines_expect("pool-state %u 32 32", usual);
	vs_event_lines_expect("fail async 0 60 2 1/2 pool=%u cuMemAllocFromPoolAsync", own);
	vs_event_lines_expect_none();
	/* Whoever asks with a bad handle learns that; we do not ask once more. */
	pool_size = 16;
	vs_hooks_note_alloc_on(&call, CUDA_ERROR_INVALID_VALUE, VS_MEMORY_ASYNC, 0, 0, 60, 0xb0);
	vs_event_lines_expect("pool-state %u 16 16", usual);
	vs_event_lines_expect("fail async 0 60 1 1/2 pool=%u cuMemAllocFromPoolAsync", own);
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
}

static void test_free_is_told_before_and_taken_back_if_it_failed(void **state)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFree_v2);

	(void)state;
	vs_hooks_note_free(&call, VS_MEMORY_DEVICE, 0x1000);
	vs_event_lines_expect("free device 1000 cuMemFree_v2");
	vs_hooks_note_free_result(&call, CUDA_SUCCESS, VS_MEMORY_DEVICE, 0x1000);
	vs_event_lines_expect_none();
	vs_hooks_note_free_result(&call, CUDA_ERROR_INVALID_VALUE, VS_MEMORY_DEVICE, 0x1000);
	vs_event_lines_expect("unfree device 1000 1");
	/* Freeing nothing is no event, even where CUDA calls it an error. */
	vs_hooks_note_free(&call, VS_MEMORY_PINNED, 0);
	vs_hooks_note_free_result(&call, CUDA_ERROR_INVALID_VALUE, VS_MEMORY_PINNED, 0);
	vs_event_lines_expect_none();
	assert_int_equal(vs_hooks_leave_driver(&call, CUDA_ERROR_INVALID_VALUE),
			 CUDA_ERROR_INVALID_VALUE);
}

static void test_caller_gets_the_errno_of_the_real_function(void **state)
{
	struct vs_runtime_call runtime_call;
	struct vs_call call;
	CUdeviceptr address;

	(void)state;
	vs_event_lines_spoil_errno(1);
	errno = EDOM;
	call = VS_ENTER_DRIVER(cuMemFree_v2);
	assert_int_equal(errno, EDOM);
	vs_hooks_note_free(&call, VS_MEMORY_DEVICE, 0x1000);
	assert_int_equal(errno, EDOM);
	vs_hooks_note_free_result(&call, CUDA_ERROR_INVALID_VALUE, VS_MEMORY_DEVICE, 0x1000);
	assert_int_equal(errno, EDOM);
	vs_hooks_note_alloc_on(&call, CUDA_SUCCESS, VS_MEMORY_ASYNC, 0, 0x6000, 60, 0xa0);
	assert_int_equal(errno, EDOM);
	(void)vs_hooks_leave_driver(&call, CUDA_SUCCESS);
	assert_int_equal(errno, EDOM);
	runtime_call = VS_ENTER_RUNTIME(cudaFree);
	vs_hooks_note_runtime_alloc(&runtime_call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000,
				    1);
	vs_hooks_note_runtime_free(&runtime_call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000);
	(void)vs_hooks_leave_runtime(&runtime_call, cudaSuccess);
	assert_int_equal(errno, EDOM);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	assert_int_equal(errno, ENOTTY);
	vs_event_lines_spoil_errno(0);
}

static void test_call_is_made_when_recording_is_off(void **state)
{
	struct vs_runtime_call runtime_call;
	CUdeviceptr address = 0;

	(void)state;
	assert_int_equal(setenv("HOOKS_OFF", "1", 1), 0);
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	assert_int_equal(address, 0x1000);
	runtime_call = VS_ENTER_RUNTIME(cudaMalloc);
	vs_hooks_note_runtime_alloc(&runtime_call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000,
				    1);
	vs_hooks_note_runtime_free(&runtime_call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000);
	assert_int_equal(vs_hooks_leave_runtime(&runtime_call, cudaErrorInvalidValue),
			 cudaErrorInvalidValue);
	vs_event_lines_expect_none();
	assert_int_equal(unsetenv("HOOKS_OFF"), 0);
}

/* ---- The runtime's ---- */

static void test_runtime_gives_the_name_and_the_driver_tells(void **state)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);
	CUdeviceptr address;

	(void)state;
	assert_int_equal(hooked_alloc(&address, 10), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cudaMalloc",
			      current_context());
	vs_hooks_note_runtime_alloc(&call, cudaSuccess, VS_MEMORY_DEVICE, (void *)address, 10);
	vs_hooks_note_runtime_free(&call, cudaSuccess, VS_MEMORY_DEVICE, (void *)address);
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
}

static void test_runtime_tells_what_no_driver_hook_saw(void **state)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocHost);

	(void)state;
	vs_hooks_note_runtime_alloc(&call, cudaSuccess, VS_MEMORY_PINNED, (void *)0x7000, 70);
	vs_event_lines_expect("alloc pinned 0 7000 70 pool=0 context=%u cudaMallocHost",
			      current_context());
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
	call = VS_ENTER_RUNTIME(cudaFreeHost);
	vs_hooks_note_runtime_free(&call, cudaSuccess, VS_MEMORY_PINNED, (void *)0x7000);
	vs_event_lines_expect("free pinned 7000 cudaFreeHost");
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
}

static void test_runtime_call_that_did_nothing_tells_nothing(void **state)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);

	(void)state;
	vs_hooks_note_runtime_alloc(&call, cudaErrorMemoryAllocation, VS_MEMORY_DEVICE,
				    (void *)0x1000, 10);
	vs_hooks_note_runtime_alloc(&call, cudaSuccess, VS_MEMORY_DEVICE, NULL, 0);
	vs_hooks_note_runtime_free(&call, cudaErrorInvalidValue, VS_MEMORY_DEVICE, (void *)0x1000);
	vs_hooks_note_runtime_free(&call, cudaSuccess, VS_MEMORY_DEVICE, NULL);
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
}

/* cudaMallocManaged of one runtime may be a cudaMalloc of another inside. */
static void test_only_the_outermost_runtime_call_tells(void **state)
{
	struct vs_runtime_call outer = VS_ENTER_RUNTIME(cudaMallocManaged), inner;

	(void)state;
	inner = VS_ENTER_RUNTIME(cudaMalloc);
	vs_hooks_note_runtime_alloc(&inner, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000, 10);
	vs_event_lines_expect_none();
	(void)vs_hooks_leave_runtime(&inner, cudaSuccess);
	vs_hooks_note_runtime_alloc(&outer, cudaSuccess, VS_MEMORY_MANAGED, (void *)0x1000, 10);
	vs_event_lines_expect("alloc managed 0 1000 10 pool=0 context=%u cudaMallocManaged",
			      current_context());
	(void)vs_hooks_leave_runtime(&outer, cudaSuccess);
}

static void test_wrapper_calls_the_runtime_of_its_caller(void **state)
{
	struct vs_loaded_object runtime = vs_paper_loader_load("libcudart.so.13", NULL);
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);

	(void)state;
	assert_non_null(call.runtime);
	assert_ptr_equal(call.runtime->cudaMalloc,
			 vs_loaded_object_get_function(&runtime, "cudaMalloc"));
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
	vs_paper_loader_unload(&runtime);
}

/* ---- Threads ---- */

static void *allocate_elsewhere(void *argument)
{
	CUdeviceptr address;

	(void)argument;
	for (int i = 0; i < 100; i++)
		(void)hooked_alloc(&address, 10);
	return NULL;
}

/* Whether the driver saw a call is asked of the own thread. */
static void test_driver_calls_of_other_threads_do_not_silence_the_runtime(void **state)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_elsewhere, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 400; i++)
		vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cuMemAlloc_v2",
				      current_context());
	vs_hooks_note_runtime_alloc(&call, cudaSuccess, VS_MEMORY_DEVICE, (void *)0x1000, 10);
	vs_event_lines_expect("alloc device 0 1000 10 pool=0 context=%u cudaMalloc",
			      current_context());
	(void)vs_hooks_leave_runtime(&call, cudaSuccess);
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_driver_calls_fail_and_nothing_is_said),
		TEST(test_without_a_driver_the_runtime_may_still_tell),
		TEST(test_allocation_is_told_with_device_context_and_name),
		TEST(test_function_that_the_driver_lacks_is_not_found),
		TEST(test_failure_is_told_with_what_was_free),
		TEST(test_only_the_outermost_call_is_told),
		TEST(test_memory_beyond_contexts_has_the_device_of_the_caller),
		TEST(test_pool_is_told_before_what_comes_from_it),
		TEST(test_default_pool_is_asked_before_an_allocation_is_told),
		TEST(test_pools_are_asked_before_a_failure_is_told),
		TEST(test_free_is_told_before_and_taken_back_if_it_failed),
		TEST(test_caller_gets_the_errno_of_the_real_function),
		TEST(test_call_is_made_when_recording_is_off),
		TEST(test_runtime_gives_the_name_and_the_driver_tells),
		TEST(test_runtime_tells_what_no_driver_hook_saw),
		TEST(test_runtime_call_that_did_nothing_tells_nothing),
		TEST(test_only_the_outermost_runtime_call_tells),
		TEST(test_wrapper_calls_the_runtime_of_its_caller),
		TEST(test_driver_calls_of_other_threads_do_not_silence_the_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
