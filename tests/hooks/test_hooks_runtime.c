/* What the hooks record of a program that uses the shared runtime, on softgpu. Preloaded. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cuda_headers.h"
#include "event_lines.h"
#include "hooks_cmocka.h"

#define MIB ((size_t)1 << 20)

typedef unsigned long address;

static int start_runtime(void **state)
{
	(void)state;
	return cudaFree(NULL) == cudaSuccess ? 0 : -1;
}

static int skip_events(void **state)
{
	(void)state;
	vs_event_lines_skip();
	return 0;
}

static void test_start_of_the_runtime_is_the_start_of_a_context(void **state)
{
	(void)state;
	vs_event_lines_expect("device 0 softgpu 1073741824 90 1 73");
	vs_event_lines_expect("context created 1 0");
	vs_event_lines_expect_none();
}

static void test_one_call_is_one_event_with_the_name_people_know(void **state)
{
	void *a, *b;

	(void)state;
	assert_int_equal(cudaMalloc(&a, 1000), cudaSuccess);
	vs_event_lines_expect("alloc device 0 %lx 1000 pool=0 context=1 cudaMalloc", (address)a);
	assert_int_equal(cudaMallocManaged(&b, 5000, cudaMemAttachGlobal), cudaSuccess);
	vs_event_lines_expect("alloc managed 0 %lx 5000 pool=0 context=1 cudaMallocManaged",
			      (address)b);
	assert_int_equal(cudaFree(a), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (address)a);
	assert_int_equal(cudaFree(b), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (address)b);
	assert_int_equal(cudaFree(NULL), cudaSuccess);
	vs_event_lines_expect_none();
}

static void test_pitched_memory_has_the_size_of_its_rows(void **state)
{
	struct cudaExtent extent = {1000, 4, 3};
	struct cudaPitchedPtr cube;
	size_t pitch;
	void *a;

	(void)state;
	assert_int_equal(cudaMallocPitch(&a, &pitch, 1000, 10), cudaSuccess);
	vs_event_lines_expect("alloc device 0 %lx %lu pool=0 context=1 cudaMallocPitch", (address)a,
			      pitch * 10);
	assert_int_equal(cudaMalloc3D(&cube, extent), cudaSuccess);
	vs_event_lines_expect("alloc device 0 %lx %lu pool=0 context=1 cudaMalloc3D",
			      (address)cube.ptr, cube.pitch * 12);
	assert_int_equal(cudaFree(a), cudaSuccess);
	assert_int_equal(cudaFree(cube.ptr), cudaSuccess);
}

static void test_host_memory_is_pinned_or_registered(void **state)
{
	void *a, *b, *page;

	(void)state;
	assert_int_equal(cudaMallocHost(&a, 100), cudaSuccess);
	vs_event_lines_expect("alloc pinned 0 %lx 100 pool=0 context=1 cudaMallocHost", (address)a);
	assert_int_equal(cudaHostAlloc(&b, 200, cudaHostAllocDefault), cudaSuccess);
	vs_event_lines_expect("alloc pinned 0 %lx 200 pool=0 context=1 cudaHostAlloc", (address)b);
	assert_int_equal(cudaFreeHost(a), cudaSuccess);
	vs_event_lines_expect("free pinned %lx cudaFreeHost", (address)a);
	assert_int_equal(cudaFreeHost(b), cudaSuccess);
	vs_event_lines_expect("free pinned %lx cudaFreeHost", (address)b);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(cudaHostRegister(page, 4096, 0), cudaSuccess);
	vs_event_lines_expect("alloc registered 0 %lx 4096 pool=0 context=1 cudaHostRegister",
			      (address)page);
	assert_int_equal(cudaHostUnregister(page), cudaSuccess);
	vs_event_lines_expect("free registered %lx cudaHostUnregister", (address)page);
	vs_event_lines_expect_none();
	munmap(page, 4096);
}

static void test_asynchronous_memory_and_its_pools(void **state)
{
	struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
					 .location = {.type = cudaMemLocationTypeDevice}};
	cudaMemPool_t first, own;
	void *a, *b, *c;

	(void)state;
	assert_int_equal(cudaDeviceGetDefaultMemPool(&first, 0), cudaSuccess);
	assert_int_equal(cudaMallocAsync(&a, 4096, NULL), cudaSuccess);
	vs_event_lines_expect("pool 1 %lx 0", (address)first);
	vs_event_lines_expect("alloc async 0 %lx 4096 pool=1 context=0 cudaMallocAsync",
			      (address)a);
	vs_event_lines_expect("pool-state 1 %lu 4096", 32 * MIB);
	assert_int_equal(cudaMallocAsync_ptsz(&b, 512, NULL), cudaSuccess);
	vs_event_lines_expect("alloc async 0 %lx 512 pool=1 context=0 cudaMallocAsync_ptsz",
			      (address)b);
	assert_int_equal(cudaMemPoolCreate(&own, &props), cudaSuccess);
	vs_event_lines_expect("pool 2 %lx 0", (address)own);
	assert_int_equal(cudaMallocFromPoolAsync(&c, 512, own, NULL), cudaSuccess);
	vs_event_lines_expect("alloc async 0 %lx 512 pool=2 context=0 cudaMallocFromPoolAsync",
			      (address)c);
	vs_event_lines_expect("pool-state 2 %lu 512", 32 * MIB);
	assert_int_equal(cudaFreeAsync(c, NULL), cudaSuccess);
	vs_event_lines_expect("free async %lx cudaFreeAsync", (address)c);
	assert_int_equal(cudaMemPoolDestroy(own), cudaSuccess);
	vs_event_lines_expect("pool-end 2");
	assert_int_equal(cudaFreeAsync_ptsz(b, NULL), cudaSuccess);
	vs_event_lines_expect("free async %lx cudaFreeAsync_ptsz", (address)b);
	assert_int_equal(cudaFree(a), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (address)a);
	vs_event_lines_skip(); /* whether this free lets the pool go is the driver's business */
	assert_int_equal(cudaMemPoolTrimTo(first, 0), cudaSuccess);
	vs_event_lines_skip();
	assert_int_equal(cudaMemPoolTrimTo(first, 0), cudaSuccess);
	vs_event_lines_expect_none();
}

static void test_failures_keep_their_error_and_the_last_error_is_the_programs(void **state)
{
	size_t available, total;
	void *a = &available;

	(void)state;
	assert_int_equal(cudaMemGetInfo(&available, &total), cudaSuccess);
	assert_int_equal(cudaMalloc(&a, 4096 * MIB), cudaErrorMemoryAllocation);
	assert_ptr_equal(a, &available);
	vs_event_lines_expect("fail device 0 %lu 2 %lu/%lu pool=0 cudaMalloc", 4096 * MIB,
			      available, total);
	assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_int_equal(cudaFree((void *)0x777), cudaErrorInvalidValue);
	vs_event_lines_expect("free device 777 cudaFree");
	vs_event_lines_expect("unfree device 777 1");
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	vs_event_lines_expect_none();
}

/* The runtime's word must reach the program unchanged. */
static void test_what_cannot_be_had_stays_so(void **state)
{
	struct cudaChannelFormatDesc element = {3, 0, 0, 0, cudaChannelFormatKindFloat};
	cudaIpcMemHandle_t handle = {{0}};
	cudaArray_t array;
	void *a;

	(void)state;
	assert_int_not_equal(cudaMallocArray(&array, &element, 8, 8, 0), cudaSuccess);
	assert_int_not_equal(cudaIpcOpenMemHandle(&a, handle, 1), cudaSuccess);
	(void)cudaGetLastError();
	vs_event_lines_skip(); /* the driver was asked, or not: that is the runtime's business */
}

static void *look_up_and_allocate(void *argument)
{
	cudaError_t (*found)(void **, size_t) = argument;
	void *a;

	assert_int_equal(found(&a, 64), cudaSuccess);
	vs_event_lines_expect("alloc device 0 %lx 64 pool=0 context=1 cudaMalloc", (address)a);
	assert_int_equal(cudaFree(a), cudaSuccess);
	return NULL;
}

static void test_other_threads_are_recorded_as_well(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, look_up_and_allocate, (void *)cudaMalloc),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_entry_points_of_the_driver_are_hooked_too(void **state)
{
	enum cudaDriverEntryPointQueryResult status;
	CUresult (*allocate)(CUdeviceptr *, size_t) = NULL;
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&allocate, 13000,
							  cudaEnableDefault, &status),
			 cudaSuccess);
	assert_int_equal(status, cudaDriverEntryPointSuccess);
	assert_int_equal(allocate(&a, 64), CUDA_SUCCESS);
	vs_event_lines_expect("alloc device 0 %lx 64 pool=0 context=1 cuMemAlloc_v2", (address)a);
	assert_int_equal(cudaFree((void *)(uintptr_t)a), cudaSuccess);
}

static void test_errno_is_the_callers_whatever_the_recorder_does(void **state)
{
	void *a;

	(void)state;
	vs_event_lines_spoil_errno(1);
	errno = ENOTTY;
	assert_int_equal(cudaMalloc(&a, 64), cudaSuccess);
	assert_int_equal(cudaFree(a), cudaSuccess);
	assert_int_equal(errno, ENOTTY);
	vs_event_lines_spoil_errno(0);
}

/* Must be the last. */
static void test_reset_is_one_event(void **state)
{
	void *a;

	(void)state;
	assert_int_equal(cudaMalloc(&a, 64), cudaSuccess);
	vs_event_lines_skip();
	assert_int_equal(cudaDeviceReset(), cudaSuccess);
	vs_event_lines_expect("context reset 0 0");
	vs_event_lines_expect_none();
	assert_int_equal(cudaMalloc(&a, 64), cudaSuccess);
	vs_event_lines_expect("context created 2 0");
	vs_event_lines_expect("alloc device 0 %lx 64 pool=0 context=2 cudaMalloc", (address)a);
}

#define EVENT_TEST(test) cmocka_unit_test_setup(test, skip_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_of_the_runtime_is_the_start_of_a_context),
		EVENT_TEST(test_one_call_is_one_event_with_the_name_people_know),
		EVENT_TEST(test_pitched_memory_has_the_size_of_its_rows),
		EVENT_TEST(test_host_memory_is_pinned_or_registered),
		EVENT_TEST(test_asynchronous_memory_and_its_pools),
		EVENT_TEST(test_failures_keep_their_error_and_the_last_error_is_the_programs),
		EVENT_TEST(test_what_cannot_be_had_stays_so),
		EVENT_TEST(test_other_threads_are_recorded_as_well),
		EVENT_TEST(test_entry_points_of_the_driver_are_hooked_too),
		EVENT_TEST(test_errno_is_the_callers_whatever_the_recorder_does),
		EVENT_TEST(test_reset_is_one_event),
	};

	return cmocka_run_group_tests(tests, start_runtime, NULL);
}
