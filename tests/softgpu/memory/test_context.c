#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define CAPACITY   (256 * MIB)
#define OVERHEAD   (20 * MIB)
#define NR_DEVICES 3
#define NR_THREADS 64

static size_t get_used_on(CUdevice device)
{
	CUcontext context;
	size_t free_size, total;

	/* Asking needs a context; its own overhead is not what the caller asks for. */
	assert_ok(cuCtxCreate(&context, NULL, 0, device));
	assert_ok(cuMemGetInfo(&free_size, &total));
	assert_int_equal(total, CAPACITY);
	assert_ok(cuCtxDestroy(context));
	return total - free_size - OVERHEAD;
}

static CUcontext create_on(CUdevice device)
{
	CUcontext context = NULL;

	assert_ok(cuCtxCreate(&context, NULL, 0, device));
	assert_non_null(context);
	return context;
}

static CUcontext get_current(void)
{
	CUcontext context;

	assert_ok(cuCtxGetCurrent(&context));
	return context;
}

/* No test leaves anything behind: neither memory nor an entry on the stack. */
static int end(void **state)
{
	(void)state;
	while (get_current())
		assert_ok(cuCtxPopCurrent(NULL));
	for (CUdevice d = 0; d < NR_DEVICES; d++)
		assert_int_equal(get_used_on(d), 0);
	return 0;
}

static void test_created_context_is_current(void **state)
{
	CUcontext first = create_on(0), second;
	CUdevice device;

	(void)state;
	assert_ptr_equal(get_current(), first);
	second = create_on(1);
	assert_ptr_equal(get_current(), second);
	assert_ok(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	assert_ok(cuCtxDestroy(second));
	assert_ptr_equal(get_current(), first);
	assert_ok(cuCtxDestroy(first));
	assert_null(get_current());
}

static void test_stack_pushes_and_pops(void **state)
{
	CUcontext a = create_on(0), b = create_on(0), popped;

	(void)state;
	assert_ok(cuCtxPopCurrent(&popped));
	assert_ptr_equal(popped, b);
	assert_ptr_equal(get_current(), a);
	assert_ok(cuCtxPushCurrent(b));
	assert_ok(cuCtxPushCurrent(b));
	assert_ok(cuCtxPushCurrent(a));
	assert_ptr_equal(get_current(), a);
	assert_ok(cuCtxPopCurrent(NULL));
	assert_ptr_equal(get_current(), b);
	assert_ok(cuCtxSetCurrent(a));
	assert_ptr_equal(get_current(), a);
	assert_ok(cuCtxPopCurrent(&popped));
	assert_ptr_equal(popped, a);
	assert_ptr_equal(get_current(), b);
	assert_ok(cuCtxSetCurrent(NULL));
	assert_ptr_equal(get_current(), a);
	assert_ok(cuCtxPopCurrent(NULL));
	assert_result(cuCtxPopCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuCtxDestroy(a));
	assert_ok(cuCtxDestroy(b));
}

static void test_set_current_on_empty_stack_pushes(void **state)
{
	CUcontext context = create_on(0);

	(void)state;
	assert_ok(cuCtxPopCurrent(NULL));
	assert_ok(cuCtxSetCurrent(NULL));
	assert_null(get_current());
	assert_ok(cuCtxSetCurrent(context));
	assert_ptr_equal(get_current(), context);
	assert_ok(cuCtxDestroy(context));
}

static void test_bad_handles_are_invalid_context(void **state)
{
	CUcontext context = create_on(0);
	int on_stack = 0;

	(void)state;
	assert_result(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxPushCurrent((CUcontext)&on_stack), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxSetCurrent((CUcontext)&on_stack), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxDestroy((CUcontext)&on_stack), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxDestroy(NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuCtxDestroy(context));
	assert_result(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_bad_arguments_of_create(void **state)
{
	CUcontext context;

	(void)state;
	assert_invalid(cuCtxCreate(NULL, NULL, 0, 0));
	assert_invalid(cuCtxCreate(&context, NULL, 0xffff0000, 0));
	assert_invalid(cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0));
	assert_result(cuCtxCreate(&context, NULL, 0, NR_DEVICES), CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuCtxCreate(&context, NULL, 0, -1), CUDA_ERROR_INVALID_DEVICE);
	assert_null(get_current());
}

static void test_overhead_is_taken_once_and_given_back(void **state)
{
	CUcontext a = create_on(0), b;

	(void)state;
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	b = create_on(0);
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	assert_ok(cuCtxDestroy(a));
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	assert_ok(cuCtxDestroy(b));
	a = create_on(1);
	assert_int_equal(get_used_on(0), 0);
	assert_ok(cuCtxDestroy(a));
}

static void test_context_that_does_not_fit_is_out_of_memory(void **state)
{
	CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemGenericAllocationHandle handle;
	CUcontext context;
	int is_active = -1;

	(void)state;
	/* physical memory needs no context */
	assert_ok(cuMemCreate(&handle, CAPACITY - OVERHEAD + PAGE, &props, 0));
	assert_result(cuCtxCreate(&context, NULL, 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_null(get_current());
	assert_result(cuDevicePrimaryCtxRetain(&context, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_ok(cuDevicePrimaryCtxGetState(1, &(unsigned){0}, &is_active));
	assert_false(is_active);
	assert_ok(cuMemRelease(handle));
	assert_ok(cuCtxCreate(&context, NULL, 0, 1));
	assert_ok(cuCtxDestroy(context));
}

static void test_destroy_frees_memory_of_the_context(void **state)
{
	CUcontext other = create_on(0), context;
	CUdeviceptr kept, address;
	size_t before, pitch;
	void *host;
	char own[100];

	(void)state;
	assert_ok(cuMemAlloc(&kept, 10 * MIB));
	before = sg_rig_get_free();
	context = create_on(0);
	assert_ok(cuMemAlloc(&address, 100));
	assert_ok(cuMemAlloc(&address, 5 * MIB));
	assert_ok(cuMemAllocPitch(&address, &pitch, 1000, 1000, 4));
	assert_ok(cuMemAllocManaged(&address, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAllocHost(&host, 5 * MIB));
	assert_ok(cuMemHostRegister(own, sizeof(own), 0));
	assert_true(sg_rig_get_free() < before);
	assert_ok(cuCtxDestroy(context));
	assert_int_equal(sg_rig_get_free(), before);
	assert_invalid(cuMemFree(address));
	assert_invalid(cuMemFreeHost(host));
	assert_result(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	/* what another context made stays */
	assert_ok(cuMemFree(kept));
	assert_ok(cuCtxDestroy(other));
}

static void test_destroy_leaves_pools_and_physical_memory(void **state)
{
	CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUcontext other = create_on(0), context;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	char byte = 7;

	(void)state;
	context = create_on(0);
	assert_ok(cuMemAllocAsync(&address, 100, NULL));
	assert_ok(cuMemcpyHtoD(address, &byte, 1));
	assert_ok(cuMemCreate(&handle, PAGE, &props, 0));
	assert_ok(cuCtxDestroy(context));
	/* a piece of the pool, and a page */
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD - 32 * MIB - PAGE);
	byte = 0;
	assert_ok(cuMemcpyDtoH(&byte, address, 1));
	assert_int_equal(byte, 7);
	assert_ok(cuMemFreeAsync(address, NULL));
	assert_ok(cuCtxSynchronize());
	assert_ok(cuMemRelease(handle));
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD);
	assert_ok(cuCtxDestroy(other));
}

static void test_destroy_takes_streams_and_events_along(void **state)
{
	CUcontext context = create_on(0);
	CUstream stream;
	CUevent event;

	(void)state;
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuEventCreate(&event, 0));
	assert_ok(cuCtxDestroy(context));
	assert_result(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuEventSynchronize(event), CUDA_ERROR_INVALID_HANDLE);
}

/* Two threads take turns. */
static pthread_barrier_t barrier;
static CUcontext shared_context;

static void *use_until_destroyed(void *argument)
{
	CUresult *results = argument;
	CUdeviceptr address;

	results[0] = cuCtxSetCurrent(shared_context);
	results[1] = cuMemAlloc(&address, 100);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* destroyed now */
	results[2] = cuMemAlloc(&address, 100);
	results[3] = cuCtxSynchronize();
	results[4] = cuCtxPopCurrent(NULL);
	results[5] = cuMemAlloc(&address, 100);
	return NULL;
}

static void test_context_destroyed_elsewhere_is_destroyed_here(void **state)
{
	static const CUresult expected[] = {
		CUDA_SUCCESS,
		CUDA_SUCCESS,
		CUDA_ERROR_CONTEXT_IS_DESTROYED,
		CUDA_ERROR_CONTEXT_IS_DESTROYED,
		CUDA_SUCCESS,
		CUDA_ERROR_INVALID_CONTEXT,
	};
	CUresult results[6];
	pthread_t thread;
	CUcontext next;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	shared_context = create_on(0);
	pthread_create(&thread, NULL, use_until_destroyed, results);
	pthread_barrier_wait(&barrier);
	assert_ok(cuCtxDestroy(shared_context));
	/* one that may be at the same address is another one all the same */
	next = create_on(0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	assert_memory_equal(results, expected, sizeof(expected));
	assert_ok(cuCtxDestroy(next));
}

static void test_context_deep_in_the_stack_is_destroyed_when_it_surfaces(void **state)
{
	CUcontext below = create_on(0), above = create_on(0);

	(void)state;
	assert_ok(cuCtxDestroy(below));
	assert_ptr_equal(get_current(), above);
	assert_ok(cuCtxSynchronize());
	assert_ok(cuCtxDestroy(above));
	assert_result(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_ok(cuCtxPopCurrent(NULL));
	assert_result(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_primary_context_lives_while_it_is_retained(void **state)
{
	CUcontext first, second;
	unsigned flags;
	int is_active = -1;

	(void)state;
	assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	assert_false(is_active);
	assert_ok(cuDevicePrimaryCtxRetain(&first, 0));
	assert_ok(cuDevicePrimaryCtxRetain(&second, 0));
	assert_ptr_equal(first, second);
	assert_null(get_current()); /* retaining does not push it */
	assert_ok(cuDevicePrimaryCtxRelease(0));
	assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	assert_true(is_active);
	assert_ok(cuCtxPushCurrent(first));
	assert_ok(cuCtxSynchronize());
	assert_ok(cuDevicePrimaryCtxRelease(0));
	assert_result(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_ok(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	assert_false(is_active);
	assert_result(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_released_primary_context_frees_its_memory(void **state)
{
	CUcontext context;
	CUdeviceptr address;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 2));
	assert_ok(cuCtxPushCurrent(context));
	assert_ok(cuMemAlloc(&address, 10 * MIB));
	assert_int_equal(sg_rig_get_free(), CAPACITY - OVERHEAD - 10 * MIB);
	assert_ok(cuDevicePrimaryCtxRelease(2));
	assert_int_equal(get_used_on(2), 0);
}

static void test_primary_context_cannot_be_destroyed(void **state)
{
	CUcontext context;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 0));
	assert_result(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuDevicePrimaryCtxRelease(0));
}

static void test_reset_frees_everything_of_the_device(void **state)
{
	CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemGenericAllocationHandle handle, mapped;
	CUdeviceptr address, range;
	CUcontext context;
	int is_active = -1;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 1));
	assert_ok(cuCtxPushCurrent(context));
	assert_ok(cuMemAlloc(&address, 10 * MIB));
	assert_ok(cuMemAllocAsync(&address, 10 * MIB, NULL));
	assert_ok(cuMemCreate(&handle, PAGE, &props, 0));
	assert_ok(cuMemCreate(&mapped, PAGE, &props, 0));
	assert_ok(cuMemAddressReserve(&range, PAGE, 0, 0, 0));
	assert_ok(cuMemMap(range, PAGE, 0, mapped, 0));
	assert_ok(cuMemRelease(mapped));
	assert_ok(cuDevicePrimaryCtxReset(1));
	assert_int_equal(get_used_on(1), 0);
	assert_ok(cuDevicePrimaryCtxGetState(1, &(unsigned){0}, &is_active));
	assert_false(is_active);
	assert_invalid(cuMemRelease(handle));
	/* the address is only reserved again */
	assert_invalid(cuMemUnmap(range, PAGE));
	assert_ok(cuMemAddressFree(range, PAGE));
	/* who retained it still has to release it */
	assert_ok(cuDevicePrimaryCtxRelease(1));
	assert_result(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_reset_leaves_other_devices_alone(void **state)
{
	CUcontext first, second;
	CUdeviceptr address;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&first, 0));
	assert_ok(cuDevicePrimaryCtxRetain(&second, 1));
	assert_ok(cuCtxPushCurrent(second));
	assert_ok(cuMemAllocAsync(&address, MIB, NULL));
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_ok(cuMemsetD8(address, 1, MIB));
	assert_ok(cuMemFreeAsync(address, NULL));
	assert_ok(cuCtxSynchronize());
	assert_ok(cuDevicePrimaryCtxRelease(0));
	assert_ok(cuDevicePrimaryCtxRelease(1));
}

static void test_reset_without_use_is_fine(void **state)
{
	(void)state;
	assert_ok(cuDevicePrimaryCtxReset(2));
	assert_result(cuDevicePrimaryCtxReset(NR_DEVICES), CUDA_ERROR_INVALID_DEVICE);
}

static void test_primary_context_comes_back_after_a_reset(void **state)
{
	CUcontext context, again;
	CUdeviceptr address;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 0));
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_ok(cuDevicePrimaryCtxRetain(&again, 0));
	assert_ok(cuCtxPushCurrent(again));
	assert_ok(cuMemAlloc(&address, 100));
	assert_ok(cuMemFree(address));
	assert_ok(cuDevicePrimaryCtxRelease(0));
	assert_ok(cuDevicePrimaryCtxRelease(0));
}

static void test_each_device_has_its_own_capacity(void **state)
{
	CUcontext contexts[NR_DEVICES];
	CUdeviceptr address;

	(void)state;
	for (CUdevice d = 0; d < NR_DEVICES; d++) {
		contexts[d] = create_on(d);
		assert_ok(cuMemAlloc(&address, CAPACITY - OVERHEAD));
		assert_int_equal(sg_rig_get_free(), 0);
		assert_result(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
	}
	for (CUdevice d = NR_DEVICES; d-- > 0;)
		assert_ok(cuCtxDestroy(contexts[d]));
}

static void test_context_has_number_flags_and_version(void **state)
{
	unsigned long long first_id, second_id;
	CUcontext first, second;
	unsigned flags, version;

	(void)state;
	assert_ok(cuCtxCreate(&first, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	assert_ok(cuCtxGetFlags(&flags));
	assert_int_equal(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_BLOCKING_SYNC);
	second = create_on(0);
	assert_ok(cuCtxGetId(first, &first_id));
	assert_ok(cuCtxGetId(NULL, &second_id));
	assert_true(first_id != second_id);
	assert_ok(cuCtxGetApiVersion(first, &version));
	assert_true(version >= 3020);
	assert_ok(cuCtxDestroy(second));
	assert_ok(cuCtxDestroy(first));
}

static void test_limits_are_kept_per_context(void **state)
{
	CUcontext first = create_on(0), second;
	size_t value, other;

	(void)state;
	assert_ok(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
	assert_ok(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, value + 1024));
	second = create_on(0);
	assert_ok(cuCtxGetLimit(&other, CU_LIMIT_STACK_SIZE));
	assert_int_equal(other, value);
	assert_ok(cuCtxDestroy(second));
	assert_ok(cuCtxGetLimit(&other, CU_LIMIT_STACK_SIZE));
	assert_int_equal(other, value + 1024);
	assert_result(cuCtxGetLimit(&value, CU_LIMIT_MAX), CUDA_ERROR_UNSUPPORTED_LIMIT);
	assert_result(cuCtxSetLimit(CU_LIMIT_MAX, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
	assert_invalid(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
	assert_ok(cuCtxDestroy(first));
}

static void test_limits_of_the_l2_cache_are_hints(void **state)
{
	CUcontext context = create_on(0);
	size_t value;
	int most;

	(void)state;
	assert_ok(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0));
	assert_true(most > 0);
	assert_ok(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, SIZE_MAX));
	assert_ok(cuCtxGetLimit(&value, CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
	assert_int_equal(value, most);
	assert_ok(cuCtxResetPersistingL2Cache());
	assert_ok(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128));
	assert_invalid(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129));
	assert_ok(cuCtxDestroy(context));
}

static void play_kernels_that_can_wait(void **state)
{
	CUcontext context;
	size_t value;

	(void)state;
	context = sg_rig_open();
	assert_ok(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
	assert_int_equal(value, 2);
	assert_ok(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 24));
	assert_invalid(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 25));
	assert_ok(cuCtxDestroy(context));
}

static void test_kernels_wait_for_kernels_before_9_0_only(void **state)
{
	CUcontext context = create_on(0);
	size_t value;

	(void)state;
	assert_result(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4),
		      CUDA_ERROR_UNSUPPORTED_LIMIT);
	assert_result(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH),
		      CUDA_ERROR_UNSUPPORTED_LIMIT);
	assert_ok(cuCtxDestroy(context));
	SG_RIG_RUN("kernels_that_can_wait", "SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=20M",
		   "SOFTGPU_CC=80", NULL);
}

static void test_stack_is_deep_but_not_endless(void **state)
{
	CUcontext context = create_on(0);
	int depth = 1;

	(void)state;
	while (depth < 100000 && cuCtxPushCurrent(context) == CUDA_SUCCESS)
		depth++;
	assert_true(depth >= 16);
	assert_true(depth < 100000);
	for (int i = 0; i < depth; i++)
		assert_ok(cuCtxPopCurrent(NULL));
	assert_null(get_current());
	assert_ok(cuCtxDestroy(context));
}

/* Contexts of its own on every device, and the primary ones shared with everybody. */
static void *live_in_contexts(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;
	CUcontext context, primary;
	CUdeviceptr address;

	for (int i = 0; i < 40; i++) {
		CUdevice device = (CUdevice)sg_rig_draw_below(&seed, NR_DEVICES), found;

		if (cuCtxCreate(&context, NULL, 0, device) != CUDA_SUCCESS ||
		    cuMemAlloc(&address, 1000) != CUDA_SUCCESS ||
		    cuCtxGetDevice(&found) != CUDA_SUCCESS || found != device)
			return "own context";
		if (cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS ||
		    cuCtxPushCurrent(primary) != CUDA_SUCCESS ||
		    cuMemAlloc(&address, 1000) != CUDA_SUCCESS ||
		    cuMemFree(address) != CUDA_SUCCESS || cuCtxPopCurrent(NULL) != CUDA_SUCCESS ||
		    cuDevicePrimaryCtxRelease(device) != CUDA_SUCCESS)
			return "primary context";
		if (cuCtxDestroy(context) != CUDA_SUCCESS)
			return "destroy";
	}
	return NULL;
}

static void test_64_threads_have_contexts_of_their_own(void **state)
{
	pthread_t threads[NR_THREADS];

	(void)state;
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, live_in_contexts, (void *)(i + 1)), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		if (failed)
			fail_msg("thread %d: %s", i, (const char *)failed);
	}
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"kernels_that_can_wait", play_kernels_that_can_wait},
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_created_context_is_current, end),
		cmocka_unit_test_teardown(test_stack_pushes_and_pops, end),
		cmocka_unit_test_teardown(test_set_current_on_empty_stack_pushes, end),
		cmocka_unit_test_teardown(test_bad_handles_are_invalid_context, end),
		cmocka_unit_test_teardown(test_bad_arguments_of_create, end),
		cmocka_unit_test_teardown(test_overhead_is_taken_once_and_given_back, end),
		cmocka_unit_test_teardown(test_context_that_does_not_fit_is_out_of_memory, end),
		cmocka_unit_test_teardown(test_destroy_frees_memory_of_the_context, end),
		cmocka_unit_test_teardown(test_destroy_leaves_pools_and_physical_memory, end),
		cmocka_unit_test_teardown(test_destroy_takes_streams_and_events_along, end),
		cmocka_unit_test_teardown(test_context_destroyed_elsewhere_is_destroyed_here, end),
		cmocka_unit_test_teardown(
			test_context_deep_in_the_stack_is_destroyed_when_it_surfaces, end),
		cmocka_unit_test_teardown(test_primary_context_lives_while_it_is_retained, end),
		cmocka_unit_test_teardown(test_released_primary_context_frees_its_memory, end),
		cmocka_unit_test_teardown(test_primary_context_cannot_be_destroyed, end),
		cmocka_unit_test_teardown(test_reset_frees_everything_of_the_device, end),
		cmocka_unit_test_teardown(test_reset_leaves_other_devices_alone, end),
		cmocka_unit_test_teardown(test_reset_without_use_is_fine, end),
		cmocka_unit_test_teardown(test_primary_context_comes_back_after_a_reset, end),
		cmocka_unit_test_teardown(test_each_device_has_its_own_capacity, end),
		cmocka_unit_test_teardown(test_context_has_number_flags_and_version, end),
		cmocka_unit_test_teardown(test_limits_are_kept_per_context, end),
		cmocka_unit_test_teardown(test_limits_of_the_l2_cache_are_hints, end),
		cmocka_unit_test_teardown(test_kernels_wait_for_kernels_before_9_0_only, end),
		cmocka_unit_test_teardown(test_stack_is_deep_but_not_endless, end),
		cmocka_unit_test_teardown(test_64_threads_have_contexts_of_their_own, end),
	};
	int status = SG_RIG_PLAY(argc, argv, scenes);

	if (status >= 0)
		return status;
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=20M", "SOFTGPU_DEVICES=3",
			       NULL);
	if (cuInit(0) != CUDA_SUCCESS)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
