/* What the hooks of the driver record, on softgpu. Preloaded: the library whose recorder prints. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cuda_headers.h"
#include "event_lines.h"
#include "hooks_cmocka.h"

#define MIB ((size_t)1 << 20)

/* Long lines otherwise: what is printed for the address of a CUdeviceptr. */
typedef unsigned long address;

static CUcontext context;

static address at(CUdeviceptr pointer)
{
	return (address)pointer;
}

static int start_driver(void **state)
{
	(void)state;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return -1;
	return 0;
}

static int skip_events(void **state)
{
	(void)state;
	vs_event_lines_skip();
	return 0;
}

/* Must be the first: it looks at what the start of the driver left. */
static void test_first_use_defines_device_then_context(void **state)
{
	(void)state;
	vs_event_lines_expect("device 0 softgpu 1073741824 90 1 73");
	vs_event_lines_expect("context created 1 0");
	vs_event_lines_expect_none();
}

static void test_allocation_is_recorded_after_and_free_before_the_call(void **state)
{
	CUdeviceptr a, b;

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&a, 1000), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 0 %lx 1000 pool=0 context=1 cuMemAlloc_v2", at(a));
	assert_int_equal(cuMemAllocManaged(&b, 3 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	vs_event_lines_expect("alloc managed 0 %lx %lu pool=0 context=1 cuMemAllocManaged", at(b),
			      3 * MIB);
	assert_int_equal(cuMemFree_v2(a), CUDA_SUCCESS);
	vs_event_lines_expect("free device %lx cuMemFree_v2", at(a));
	assert_int_equal(cuMemFree_v2(b), CUDA_SUCCESS);
	vs_event_lines_expect("free device %lx cuMemFree_v2", at(b));
	vs_event_lines_expect_none();
}

static void test_pitched_allocation_has_the_size_of_its_rows(void **state)
{
	CUdeviceptr a;
	size_t pitch;

	(void)state;
	assert_int_equal(cuMemAllocPitch_v2(&a, &pitch, 1000, 10, 4), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 0 %lx %lu pool=0 context=1 cuMemAllocPitch_v2", at(a),
			      pitch * 10);
	assert_int_equal(cuMemFree_v2(a), CUDA_SUCCESS);
}

static void test_freeing_nothing_is_no_event(void **state)
{
	(void)state;
	assert_int_equal(cuMemFree_v2(0), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeHost(NULL), CUDA_SUCCESS);
	assert_int_equal(cuMemHostUnregister(NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_not_equal(cuMemFreeAsync(0, NULL), CUDA_SUCCESS);
	vs_event_lines_expect_none();
}

static void test_failed_free_is_taken_back(void **state)
{
	(void)state;
	assert_int_equal(cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_expect("free device 1234 cuMemFree_v2");
	vs_event_lines_expect("unfree device 1234 1");
	vs_event_lines_expect_none();
}

static void test_failed_request_tells_what_was_free(void **state)
{
	size_t available, total;
	CUdeviceptr a = 77;

	(void)state;
	assert_int_equal(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
	assert_int_equal(cuMemAlloc_v2(&a, 2048 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail device 0 %lu 2 %lu/%lu pool=0 cuMemAlloc_v2", 2048 * MIB,
			      available, total);
	assert_int_equal(a, 77);
	assert_int_equal(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_expect("fail device 0 0 1 %lu/%lu pool=0 cuMemAlloc_v2", available, total);
	assert_int_equal(cuMemAlloc_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_expect("fail device 0 1 1 %lu/%lu pool=0 cuMemAlloc_v2", available, total);
	vs_event_lines_expect_none();
}

static void test_host_memory_is_pinned_or_registered(void **state)
{
	void *a, *b, *page;

	(void)state;
	assert_int_equal(cuMemHostAlloc(&a, 4096, 0), CUDA_SUCCESS);
	vs_event_lines_expect("alloc pinned 0 %lx 4096 pool=0 context=1 cuMemHostAlloc",
			      (address)a);
	assert_int_equal(cuMemAllocHost_v2(&b, 100), CUDA_SUCCESS);
	vs_event_lines_expect("alloc pinned 0 %lx 100 pool=0 context=1 cuMemAllocHost_v2",
			      (address)b);
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(cuMemHostRegister_v2(page, 8192, 0), CUDA_SUCCESS);
	vs_event_lines_expect("alloc registered 0 %lx 8192 pool=0 context=1 cuMemHostRegister_v2",
			      (address)page);
	assert_int_not_equal(cuMemHostRegister(page, 8192, 0), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuMemHostUnregister(page), CUDA_SUCCESS);
	vs_event_lines_expect("free registered %lx cuMemHostUnregister", (address)page);
	assert_int_not_equal(cuMemHostUnregister(page), CUDA_SUCCESS);
	vs_event_lines_expect("free registered %lx cuMemHostUnregister", (address)page);
	vs_event_lines_expect("unfree registered %lx 713", (address)page);
	assert_int_equal(cuMemFreeHost(a), CUDA_SUCCESS);
	vs_event_lines_expect("free pinned %lx cuMemFreeHost", (address)a);
	assert_int_equal(cuMemFreeHost(b), CUDA_SUCCESS);
	vs_event_lines_expect("free pinned %lx cuMemFreeHost", (address)b);
	vs_event_lines_expect_none();
	munmap(page, 8192);
}

static void test_asynchronous_memory_names_its_pool_and_samples_it(void **state)
{
	CUmemoryPool pool;
	CUdeviceptr a, b;

	(void)state;
	assert_int_equal(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemAllocAsync(&a, MIB, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("pool 1 %lx 0", (address)pool);
	vs_event_lines_expect("alloc async 0 %lx %lu pool=1 context=0 cuMemAllocAsync", at(a), MIB);
	vs_event_lines_expect("pool-state 1 %lu %lu", 32 * MIB, MIB);
	/* What the pool holds has not changed: no further sample. */
	assert_int_equal(cuMemAllocAsync_ptsz(&b, MIB, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("alloc async 0 %lx %lu pool=1 context=0 cuMemAllocAsync_ptsz", at(b),
			      MIB);
	vs_event_lines_expect_none();
	assert_int_equal(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("free async %lx cuMemFreeAsync", at(a));
	/* The synchronous free takes memory of pools, too: by the address it is the same. */
	assert_int_equal(cuMemFree_v2(b), CUDA_SUCCESS);
	vs_event_lines_expect("free device %lx cuMemFree_v2", at(b));
	vs_event_lines_expect_none();
	assert_int_equal(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
	vs_event_lines_expect("pool-state 1 0 0");
	vs_event_lines_expect_none();
}

static void test_failed_asynchronous_request_names_the_pool(void **state)
{
	size_t available, total;
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
	assert_int_equal(cuMemAllocAsync(&a, 4096 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail async 0 %lu 2 %lu/%lu pool=1 cuMemAllocAsync", 4096 * MIB,
			      available, total);
	vs_event_lines_expect_none();
}

static void test_pool_that_let_go_is_seen_before_the_next_allocation(void **state)
{
	CUdeviceptr a, b;

	(void)state;
	assert_int_equal(cuMemAllocAsync(&a, MIB, NULL), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
	assert_int_equal(cuStreamSynchronize(NULL), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuMemAlloc_v2(&b, MIB), CUDA_SUCCESS);
	vs_event_lines_expect("pool-state 1 0 0");
	vs_event_lines_expect("alloc device 0 %lx %lu pool=0 context=1 cuMemAlloc_v2", at(b), MIB);
	assert_int_equal(cuMemFree_v2(b), CUDA_SUCCESS);
}

static void test_pool_that_let_go_is_seen_before_the_failure(void **state)
{
	size_t available, total;
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuMemAllocAsync(&a, MIB, NULL), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
	vs_event_lines_skip();
	/* It gives back what it does not use, and it is still too little. */
	assert_int_equal(cuMemAllocAsync(&a, 4096 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
	vs_event_lines_expect("pool-state 1 0 0");
	vs_event_lines_expect("fail async 0 %lu 2 %lu/%lu pool=1 cuMemAllocAsync", 4096 * MIB,
			      available, total);
	vs_event_lines_expect_none();
}

static void test_own_pool_is_defined_used_and_ended(void **state)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemoryPool pool;
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
	vs_event_lines_expect("pool 2 %lx 0", (address)pool);
	assert_int_equal(cuMemAllocFromPoolAsync(&a, 512, pool, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("alloc async 0 %lx 512 pool=2 context=0 cuMemAllocFromPoolAsync",
			      at(a));
	vs_event_lines_expect("pool-state 2 %lu 512", 32 * MIB);
	assert_int_equal(cuMemFreeAsync_ptsz(a, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("free async %lx cuMemFreeAsync_ptsz", at(a));
	assert_int_equal(cuMemPoolDestroy(pool), CUDA_SUCCESS);
	vs_event_lines_expect("pool-end 2");
	assert_int_not_equal(cuMemPoolDestroy(NULL), CUDA_SUCCESS);
	vs_event_lines_expect_none();
}

static void test_own_pool_is_defined_with_its_limit(void **state)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				.maxSize = 64 * MIB};
	CUmemoryPool pool;

	(void)state;
	assert_int_equal(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
	vs_event_lines_expect("pool 3 %lx 0 limit=%lu", (address)pool, 64 * MIB);
	assert_int_equal(cuMemPoolDestroy(pool), CUDA_SUCCESS);
	vs_event_lines_expect("pool-end 3");
	vs_event_lines_expect_none();
}

static CUmemAllocationProp on_device(int device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
}

static void test_virtual_memory_is_recorded_step_by_step(void **state)
{
	CUmemAllocationProp prop = on_device(0);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;

	(void)state;
	assert_int_equal(cuMemAddressReserve(&base, 8 * MIB, 0, 0, 0), CUDA_SUCCESS);
	vs_event_lines_expect("reserve %lx %lu", at(base), 8 * MIB);
	assert_int_equal(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	vs_event_lines_expect("alloc vmm 0 %lx %lu pool=0 context=0 cuMemCreate", (address)handle,
			      2 * MIB);
	assert_int_equal(cuMemMap(base, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	vs_event_lines_expect("map %lx %lu %lx 0", at(base), 2 * MIB, (address)handle);
	assert_int_equal(cuMemRelease(handle), CUDA_SUCCESS);
	vs_event_lines_expect("free vmm %lx cuMemRelease", (address)handle);
	assert_int_equal(cuMemUnmap(base, 2 * MIB), CUDA_SUCCESS);
	vs_event_lines_expect("unmap %lx %lu", at(base), 2 * MIB);
	assert_int_equal(cuMemAddressFree(base, 8 * MIB), CUDA_SUCCESS);
	vs_event_lines_expect("unreserve %lx %lu", at(base), 8 * MIB);
	vs_event_lines_expect_none();
}

static void test_retained_handle_is_not_a_second_allocation(void **state)
{
	CUmemAllocationProp prop = on_device(0);
	CUmemGenericAllocationHandle handle, retained;
	CUdeviceptr base;

	(void)state;
	assert_int_equal(cuMemAddressReserve(&base, 2 * MIB, 0, 0, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(base, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)base),
			 CUDA_SUCCESS);
	assert_int_equal(cuMemRelease(retained), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuMemRelease(handle), CUDA_SUCCESS);
	vs_event_lines_expect("free vmm %lx cuMemRelease", (address)handle);
	assert_int_equal(cuMemUnmap(base, 2 * MIB), CUDA_SUCCESS);
	assert_int_equal(cuMemAddressFree(base, 2 * MIB), CUDA_SUCCESS);
}

static void test_failed_steps_of_virtual_memory_leave_things_as_they_are(void **state)
{
	CUmemAllocationProp prop = on_device(0), elsewhere = on_device(99);
	CUmemGenericAllocationHandle handle = 0;
	size_t available, total;
	CUdeviceptr base;

	(void)state;
	assert_int_equal(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
	assert_int_equal(cuMemCreate(&handle, 4096 * MIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail vmm 0 %lu 2 %lu/%lu pool=0 cuMemCreate", 4096 * MIB, available,
			      total);
	assert_int_not_equal(cuMemCreate(&handle, 2 * MIB, &elsewhere, 0), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_not_equal(cuMemCreate(&handle, 2 * MIB, NULL, 0), CUDA_SUCCESS);
	vs_event_lines_expect("fail vmm -1 %lu 1 0/0 pool=0 cuMemCreate", 2 * MIB);
	assert_int_equal(cuMemAddressReserve(&base, 4 * MIB, 0, 0, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(base, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_not_equal(cuMemMap(base, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_not_equal(cuMemUnmap(base, MIB), CUDA_SUCCESS);
	vs_event_lines_expect("unmap %lx %lu", at(base), MIB);
	vs_event_lines_expect("map %lx %lu %lx 0", at(base), MIB, (address)handle);
	assert_int_not_equal(cuMemAddressFree(base, 4 * MIB), CUDA_SUCCESS);
	vs_event_lines_expect("unreserve %lx %lu", at(base), 4 * MIB);
	vs_event_lines_expect("reserve %lx %lu", at(base), 4 * MIB);
	assert_int_equal(cuMemUnmap(base, 2 * MIB), CUDA_SUCCESS);
	assert_int_equal(cuMemRelease(handle), CUDA_SUCCESS);
	assert_int_equal(cuMemAddressFree(base, 4 * MIB), CUDA_SUCCESS);
}

static void test_memory_of_the_other_device_is_told_apart(void **state)
{
	CUmemAllocationProp prop = on_device(1);
	CUmemGenericAllocationHandle handle;
	CUcontext other;
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	vs_event_lines_expect("device 1 softgpu 1073741824 90 1 73");
	vs_event_lines_expect("alloc vmm 1 %lx %lu pool=0 context=0 cuMemCreate", (address)handle,
			      2 * MIB);
	assert_int_equal(cuMemRelease(handle), CUDA_SUCCESS);
	assert_int_equal(cuCtxCreate_v4(&other, NULL, 0, 1), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuMemAlloc_v2(&a, 512), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 1 %lx 512 pool=0 context=2 cuMemAlloc_v2", at(a));
	/* It goes with its context; the record stands before the call. */
	assert_int_equal(cuCtxDestroy_v2(other), CUDA_SUCCESS);
	vs_event_lines_expect("context destroyed 2 1");
	vs_event_lines_expect_none();
	assert_int_not_equal(cuCtxDestroy_v2(other), CUDA_SUCCESS);
	assert_int_not_equal(cuCtxDestroy_v2(NULL), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static void *allocate_without_context(void *argument)
{
	CUdeviceptr a;

	(void)argument;
	assert_int_equal(cuMemAlloc_v2(&a, 512), CUDA_ERROR_INVALID_CONTEXT);
	return NULL;
}

static void test_thread_without_a_context_has_no_device(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, allocate_without_context, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	vs_event_lines_expect("fail device -1 512 201 0/0 pool=0 cuMemAlloc_v2");
	vs_event_lines_expect_none();
}

static void test_every_way_to_make_a_context_is_seen(void **state)
{
	CUcontext made;

	(void)state;
	assert_int_equal(cuCtxCreate(&made, 0, 0), CUDA_SUCCESS);
	vs_event_lines_expect("context created 3 0");
	assert_int_equal(cuCtxDestroy(made), CUDA_SUCCESS);
	vs_event_lines_expect("context destroyed 3 0");
	assert_int_equal(cuCtxCreate_v2(&made, 0, 0), CUDA_SUCCESS);
	vs_event_lines_expect("context created 4 0");
	assert_int_equal(cuCtxDestroy_v2(made), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuCtxCreate_v3(&made, NULL, 0, 0, 0), CUDA_SUCCESS);
	vs_event_lines_expect("context created 5 0");
	assert_int_equal(cuCtxDestroy_v2(made), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_not_equal(cuCtxCreate_v2(&made, 0, 99), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static void test_errno_is_the_callers_whatever_the_recorder_does(void **state)
{
	CUdeviceptr a = 0, b;
	CUmemoryPool pool;

	(void)state;
	vs_event_lines_spoil_errno(1);
	errno = ENOTTY;
	assert_int_equal(cuMemAlloc_v2(&a, 512), CUDA_SUCCESS);
	assert_int_equal(cuMemFree_v2(a), CUDA_SUCCESS);
	assert_int_equal(cuMemAllocAsync(&b, 512, NULL), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeAsync(b, NULL), CUDA_SUCCESS);
	assert_int_equal(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemFree_v2(0x77), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(errno, ENOTTY);
	vs_event_lines_spoil_errno(0);
}

/* Must be the last: there is nothing left after it. */
static void test_release_and_reset_end_what_the_primary_context_held(void **state)
{
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuMemAlloc_v2(&a, 512), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	vs_event_lines_expect("context reset 0 0");
	vs_event_lines_expect_none();
	assert_int_not_equal(cuDevicePrimaryCtxReset_v2(99), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuDevicePrimaryCtxRetain(&context, 1), CUDA_SUCCESS);
	vs_event_lines_expect("context created 6 1");
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
	vs_event_lines_expect("context destroyed 6 1");
	vs_event_lines_expect_none();
}

#define EVENT_TEST(test) cmocka_unit_test_setup(test, skip_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_use_defines_device_then_context),
		EVENT_TEST(test_allocation_is_recorded_after_and_free_before_the_call),
		EVENT_TEST(test_pitched_allocation_has_the_size_of_its_rows),
		EVENT_TEST(test_freeing_nothing_is_no_event),
		EVENT_TEST(test_failed_free_is_taken_back),
		EVENT_TEST(test_failed_request_tells_what_was_free),
		EVENT_TEST(test_host_memory_is_pinned_or_registered),
		EVENT_TEST(test_asynchronous_memory_names_its_pool_and_samples_it),
		EVENT_TEST(test_failed_asynchronous_request_names_the_pool),
		EVENT_TEST(test_pool_that_let_go_is_seen_before_the_next_allocation),
		EVENT_TEST(test_pool_that_let_go_is_seen_before_the_failure),
		EVENT_TEST(test_own_pool_is_defined_used_and_ended),
		EVENT_TEST(test_own_pool_is_defined_with_its_limit),
		EVENT_TEST(test_virtual_memory_is_recorded_step_by_step),
		EVENT_TEST(test_retained_handle_is_not_a_second_allocation),
		EVENT_TEST(test_failed_steps_of_virtual_memory_leave_things_as_they_are),
		EVENT_TEST(test_memory_of_the_other_device_is_told_apart),
		EVENT_TEST(test_thread_without_a_context_has_no_device),
		EVENT_TEST(test_every_way_to_make_a_context_is_seen),
		EVENT_TEST(test_errno_is_the_callers_whatever_the_recorder_does),
		EVENT_TEST(test_release_and_reset_end_what_the_primary_context_held),
	};

	return cmocka_run_group_tests(tests, start_driver, NULL);
}
