/* Sharing through the runtime, in one process; between processes: e2e/test_sharing.c. */
#include <fcntl.h>
#include <unistd.h>

#include "runtime_check.h"

static void test_handles_of_memory(void **state)
{
	cudaIpcMemHandle_t handle = {{0}};
	void *memory, *opened;

	(void)state;
	assert_success(cudaMalloc(&memory, MIB));
	assert_error(cudaIpcGetMemHandle(NULL, memory), cudaErrorInvalidValue);
	assert_error(cudaIpcGetMemHandle(&handle, NULL), cudaErrorInvalidValue);
	assert_error(cudaIpcGetMemHandle(&handle, &handle), cudaErrorInvalidValue);
	assert_error(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
		     cudaErrorInvalidValue);
	assert_success(cudaIpcGetMemHandle(&handle, memory));
	assert_error(cudaIpcOpenMemHandle(NULL, handle, cudaIpcMemLazyEnablePeerAccess),
		     cudaErrorInvalidValue);
	assert_error(cudaIpcOpenMemHandle(&opened, handle, 0), cudaErrorInvalidValue);
	/* in the process that made it */
	assert_error(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
		     cudaErrorDeviceUninitialized);
	assert_error(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
	assert_success(cudaFree(memory));
	assert_error(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
		     cudaErrorInvalidResourceHandle);
}

static void test_handles_of_events(void **state)
{
	cudaIpcEventHandle_t handle = {{0}};
	cudaEvent_t event, plain, opened;

	(void)state;
	assert_success(cudaEventCreate(&plain));
	assert_success(
		cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
	assert_error(cudaIpcGetEventHandle(NULL, event), cudaErrorInvalidValue);
	assert_error(cudaIpcGetEventHandle(&handle, plain), cudaErrorInvalidResourceHandle);
	assert_error(cudaIpcOpenEventHandle(&opened, handle), cudaErrorInvalidValue);
	assert_success(cudaIpcGetEventHandle(&handle, event));
	assert_error(cudaIpcOpenEventHandle(NULL, handle), cudaErrorInvalidValue);
	assert_error(cudaIpcOpenEventHandle(&opened, handle), cudaErrorDeviceUninitialized);
	assert_success(cudaEventDestroy(event));
	assert_success(cudaEventDestroy(plain));
	assert_error(cudaIpcOpenEventHandle(&opened, handle), cudaErrorInvalidResourceHandle);
}

#if CUDART_VERSION >= 12000
static void test_devices_say_what_can_be_shared(void **state)
{
	struct cudaDeviceProp prop;
	int value = 0;

	(void)state;
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_true(prop.ipcEventSupported);
	assert_int_equal(prop.memoryPoolSupportedHandleTypes, cudaMemHandleTypePosixFileDescriptor);
	assert_success(cudaDeviceGetAttribute(&value, cudaDevAttrIpcEventSupport, 0));
	assert_int_equal(value, 1);
}
#endif

static void test_pool_is_imported_by_its_descriptor(void **state)
{
	const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
					       .handleTypes = cudaMemHandleTypePosixFileDescriptor,
					       .location = {.type = cudaMemLocationTypeDevice}};
	const enum cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
	cudaMemPool_t pool, imported;
	void *memory;
	int fd = -1;

	(void)state;
	assert_success(cudaMemPoolCreate(&pool, &props));
	assert_success(cudaMemPoolExportToShareableHandle(&fd, pool, type, 0));
	assert_success(
		cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, type, 0));
	close(fd);
	assert_error(cudaMallocFromPoolAsync(&memory, MIB, imported, NULL), cudaErrorInvalidValue);
	assert_success(cudaMemPoolDestroy(imported));
	assert_success(cudaMemPoolDestroy(pool));
}

static void test_external_memory_and_semaphores(void **state)
{
	struct cudaExternalMemoryHandleDesc memory = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
						      .size = MIB};
	struct cudaExternalSemaphoreHandleDesc semaphore = {
		.type = cudaExternalSemaphoreHandleTypeOpaqueFd};
	const struct cudaExternalMemoryBufferDesc part = {.size = MIB};
	struct cudaExternalSemaphoreSignalParams signal = {0};
	struct cudaExternalSemaphoreWaitParams wait = {0};
	cudaExternalSemaphore_t no_semaphore = NULL;
	cudaExternalMemory_t no_memory = NULL;
	void *buffer;

	(void)state;
	memory.handle.fd = open("/dev/null", O_RDWR);
	semaphore.handle.fd = memory.handle.fd;
	assert_error(cudaImportExternalMemory(&no_memory, &memory), cudaErrorInvalidResourceHandle);
	assert_error(cudaImportExternalMemory(&no_memory, NULL), cudaErrorInvalidValue);
	assert_error(cudaExternalMemoryGetMappedBuffer(&buffer, no_memory, &part),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaDestroyExternalMemory(no_memory), cudaErrorInvalidResourceHandle);
	assert_error(cudaImportExternalSemaphore(&no_semaphore, &semaphore),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaSignalExternalSemaphoresAsync(&no_semaphore, &signal, 1, NULL),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaWaitExternalSemaphoresAsync(&no_semaphore, &wait, 1, NULL),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaDestroyExternalSemaphore(no_semaphore), cudaErrorInvalidResourceHandle);
	close(memory.handle.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles_of_memory),
		cmocka_unit_test(test_handles_of_events),
#if CUDART_VERSION >= 12000
		cmocka_unit_test(test_devices_say_what_can_be_shared),
#endif
		cmocka_unit_test(test_pool_is_imported_by_its_descriptor),
		cmocka_unit_test(test_external_memory_and_semaphores),
	};

	return cmocka_run_group_tests(tests, reset_device, NULL);
}
