/* cuIpc* in one process; between processes: e2e/test_sharing.c. */
#include <pthread.h>
#include <string.h>

#include "rig.h"

#define ROOM (256 * MIB - 16 * MIB)

static CUcontext context;

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_int_equal(sg_rig_get_free(), ROOM);
	return 0;
}

static int end(void **state)
{
	size_t free_size = sg_rig_get_free();

	(void)state;
	assert_ok(cuCtxDestroy(context));
	assert_int_equal(free_size, ROOM);
	return 0;
}

static CUdeviceptr allocate(size_t size)
{
	CUdeviceptr address;

	assert_ok(cuMemAlloc(&address, size));
	return address;
}

static void test_memory_with_a_handle_costs_no_more_and_is_freed_as_ever(void **state)
{
	CUdeviceptr address = allocate(10 * MIB);
	CUipcMemHandle handle;

	(void)state;
	assert_ok(cuIpcGetMemHandle(&handle, address));
	assert_int_equal(sg_rig_get_free(), ROOM - 10 * MIB);
	assert_ok(cuMemFree(address));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_handle_is_that_of_the_whole_allocation(void **state)
{
	CUdeviceptr address = allocate(10 * MIB), other = allocate(10 * MIB);
	CUipcMemHandle first, again, inside, of_other;

	(void)state;
	assert_ok(cuIpcGetMemHandle(&first, address));
	assert_ok(cuIpcGetMemHandle(&again, address));
	assert_ok(cuIpcGetMemHandle(&inside, address + MIB));
	assert_ok(cuIpcGetMemHandle(&of_other, other));
	assert_memory_equal(&first, &again, sizeof(first));
	assert_memory_equal(&first, &inside, sizeof(first));
	assert_memory_not_equal(&first, &of_other, sizeof(first));
	assert_ok(cuMemFree(address));
	assert_ok(cuMemFree(other));
}

/* "cuIpcGetMemHandle will return a unique handle for the new memory" */
static void test_address_used_again_has_another_handle(void **state)
{
	CUdeviceptr address = allocate(10 * MIB);
	CUipcMemHandle first, second;

	(void)state;
	assert_ok(cuIpcGetMemHandle(&first, address));
	assert_ok(cuMemFree(address));
	assert_int_equal(allocate(10 * MIB), address);
	assert_ok(cuIpcGetMemHandle(&second, address));
	assert_memory_not_equal(&first, &second, sizeof(first));
	assert_ok(cuMemFree(address));
}

static void test_process_cannot_open_what_it_has_made(void **state)
{
	CUdeviceptr address = allocate(MIB), opened;
	CUevent event, other;
	CUipcMemHandle handle;
	CUipcEventHandle event_handle;

	(void)state;
	assert_ok(cuIpcGetMemHandle(&handle, address));
	assert_result(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		      CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	assert_ok(cuIpcGetEventHandle(&event_handle, event));
	assert_result(cuIpcOpenEventHandle(&other, event_handle), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuEventDestroy(event));
	assert_result(cuIpcOpenEventHandle(&other, event_handle), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuMemFree(address));
	assert_result(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		      CUDA_ERROR_INVALID_HANDLE);
}

static void test_memory_of_other_kinds_has_no_handle(void **state)
{
	CUdeviceptr managed, pooled;
	CUipcMemHandle handle;
	void *pinned;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAllocAsync(&pooled, MIB, NULL));
	assert_ok(cuMemHostAlloc(&pinned, MIB, 0));
	assert_invalid(cuIpcGetMemHandle(&handle, managed));
	assert_invalid(cuIpcGetMemHandle(&handle, pooled));
	assert_invalid(cuIpcGetMemHandle(&handle, (CUdeviceptr)(uintptr_t)pinned));
	assert_invalid(cuIpcGetMemHandle(&handle, (CUdeviceptr)(uintptr_t)&handle));
	assert_invalid(cuIpcGetMemHandle(&handle, 0));
	assert_ok(cuMemFree(managed));
	assert_ok(cuMemFreeAsync(pooled, NULL));
	assert_ok(cuCtxSynchronize());
	assert_ok(cuMemFreeHost(pinned));
}

static void test_bad_arguments(void **state)
{
	CUdeviceptr address = allocate(MIB), opened;
	CUipcMemHandle handle, broken;
	CUipcEventHandle event_handle = {{0}};
	CUevent event;

	(void)state;
	assert_invalid(cuIpcGetMemHandle(NULL, address));
	assert_ok(cuIpcGetMemHandle(&handle, address));
	assert_invalid(cuIpcOpenMemHandle(NULL, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	assert_invalid(cuIpcOpenMemHandle(&opened, handle, 0));
	assert_invalid(cuIpcOpenMemHandle(&opened, handle, 2));
	assert_invalid(cuIpcCloseMemHandle(address));
	assert_invalid(cuIpcCloseMemHandle(0));
	for (size_t i = 0; i < sizeof(handle.reserved) / 2; i++) { /* the rest is unused */
		broken = handle;
		broken.reserved[i] = (char)(broken.reserved[i] ^ 0x55);
		assert_true(cuIpcOpenMemHandle(&opened, broken,
					       CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
	}
	assert_invalid(cuIpcGetEventHandle(NULL, NULL));
	assert_result(cuIpcGetEventHandle(&event_handle, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuIpcOpenEventHandle(NULL, event_handle));
	assert_invalid(cuIpcOpenEventHandle(&event, event_handle));
	assert_ok(cuMemFree(address));
}

static void test_context_is_wanted(void **state)
{
	CUdeviceptr address = allocate(MIB);
	CUipcMemHandle handle = {{0}};

	(void)state;
	assert_ok(cuCtxSetCurrent(NULL));
	assert_result(cuIpcGetMemHandle(&handle, address), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuIpcOpenMemHandle(&address, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuCtxSetCurrent(context));
	assert_ok(cuMemFree(address));
}

static void *copy_many_times(void *address)
{
	CUdeviceptr target = *(CUdeviceptr *)address;

	assert_ok(cuCtxSetCurrent(context));
	for (uint64_t value = 1; value <= 2000; value++) {
		uint64_t found;

		assert_ok(cuMemcpyHtoD(target, &value, sizeof(value)));
		assert_ok(cuMemcpyDtoH(&found, target, sizeof(found)));
		assert_int_equal(found, value);
	}
	return NULL;
}

/* Lending a page must not lose what another thread writes to its neighbour in it. */
static void test_pages_are_lent_while_others_write_to_them(void **state)
{
	CUdeviceptr mine, theirs = allocate(512);
	CUipcMemHandle handle;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, copy_many_times, &theirs), 0);
	for (int i = 0; i < 200; i++) {
		mine = allocate(512);
		assert_ok(cuIpcGetMemHandle(&handle, mine));
		assert_ok(cuMemFree(mine));
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_ok(cuMemFree(theirs));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_memory_with_a_handle_costs_no_more_and_is_freed_as_ever),
		TEST(test_handle_is_that_of_the_whole_allocation),
		TEST(test_address_used_again_has_another_handle),
		TEST(test_process_cannot_open_what_it_has_made),
		TEST(test_memory_of_other_kinds_has_no_handle),
		TEST(test_bad_arguments),
		TEST(test_context_is_wanted),
		TEST(test_pages_are_lent_while_others_write_to_them),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
