/* Memory and semaphores of other APIs, and multicast objects: what there is of them, and is not. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* A descriptor of shareable memory that nothing else holds. */
static int make_fd(size_t size)
{
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .requestedHandleTypes =
						   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	int fd;

	assert_ok(cuMemCreate(&handle, size, &props, 0));
	assert_ok(cuMemExportToShareableHandle(&fd, handle,
					       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	assert_ok(cuMemRelease(handle));
	return fd;
}

static CUDA_EXTERNAL_MEMORY_HANDLE_DESC describe(int fd, size_t size)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
						 .size = size};

	desc.handle.fd = fd;
	return desc;
}

static void test_exported_memory_is_imported_as_external(void **state)
{
	int fd = make_fd(4 * MIB);
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = describe(fd, 4 * MIB);
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = MIB, .size = MIB};
	CUexternalMemory memory;
	CUdeviceptr first, second;
	uint32_t value = 0;

	(void)state;
	assert_ok(cuImportExternalMemory(&memory, &desc));
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* the driver has it now */
	assert_ok(cuExternalMemoryGetMappedBuffer(&first, memory, &part));
	assert_invalid(cuExternalMemoryGetMappedBuffer(&second, memory, &part));
	part.offset = 2 * MIB;
	assert_ok(cuExternalMemoryGetMappedBuffer(&second, memory, &part));
	assert_ok(cuMemsetD32(first, 9, 1));
	assert_ok(cuMemcpyDtoH(&value, first, sizeof(value)));
	assert_int_equal(value, 9);
	assert_int_equal(sg_rig_get_free(), ROOM - 4 * MIB);
	/* "must be explicitly freed", also afterwards */
	assert_ok(cuDestroyExternalMemory(memory));
	assert_ok(cuMemFree(first));
	assert_int_equal(sg_rig_get_free(), ROOM - 4 * MIB);
	assert_ok(cuMemFree(second));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_result(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
}

static void test_reset_frees_external_memory(void **state)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = describe(make_fd(4 * MIB), 4 * MIB);
	CUexternalMemory memory;

	(void)state;
	assert_ok(cuImportExternalMemory(&memory, &desc));
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_result(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
}

static void test_descriptors_that_are_no_memory(void **state)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = describe(file, MIB);
	CUexternalMemory memory;

	(void)state;
	assert_result(cuImportExternalMemory(&memory, &desc), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC); /* still the program's */
	desc.handle.fd = -1;
	assert_result(cuImportExternalMemory(&memory, &desc), CUDA_ERROR_INVALID_HANDLE);
	desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
	assert_invalid(cuImportExternalMemory(&memory, &desc));
	close(file);
}

static void test_bad_arguments_of_external_memory(void **state)
{
	int fd = make_fd(2 * MIB);
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = describe(fd, 2 * MIB), bad = desc;
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 0, .size = 4 * MIB};
	CUexternalMemory memory;
	CUdeviceptr address;

	(void)state;
	assert_invalid(cuImportExternalMemory(NULL, &desc));
	assert_invalid(cuImportExternalMemory(&memory, NULL));
	bad.size = 0;
	assert_invalid(cuImportExternalMemory(&memory, &bad));
	bad.size = 3 * MIB; /* more than there is */
	assert_invalid(cuImportExternalMemory(&memory, &bad));
	bad = desc;
	bad.flags = 64;
	assert_invalid(cuImportExternalMemory(&memory, &bad));
	assert_ok(cuImportExternalMemory(&memory, &desc));
	assert_invalid(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
	part.size = 0;
	assert_invalid(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
	assert_invalid(cuExternalMemoryGetMappedBuffer(&address, memory, NULL));
	assert_invalid(cuExternalMemoryGetMappedBuffer(NULL, memory, &part));
	assert_result(cuExternalMemoryGetMappedBuffer(&address, NULL, &part),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuDestroyExternalMemory(memory));
}

static void test_there_are_no_semaphores(void **state)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
		.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD};
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
	CUexternalSemaphore semaphore = NULL;

	(void)state;
	memset(&signal, 0, sizeof(signal));
	memset(&wait, 0, sizeof(wait));
	assert_invalid(cuImportExternalSemaphore(&semaphore, NULL));
	assert_result(cuImportExternalSemaphore(&semaphore, &desc), CUDA_ERROR_INVALID_HANDLE);
	desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
	assert_result(cuImportExternalSemaphore(&semaphore, &desc), CUDA_ERROR_NOT_SUPPORTED);
	assert_result(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, NULL),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, NULL),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuWaitExternalSemaphoresAsync(NULL, &wait, 1, NULL));
	assert_result(cuDestroyExternalSemaphore(semaphore), CUDA_ERROR_INVALID_HANDLE);
}

static void test_multicast_is_refused_as_the_device_says(void **state)
{
	CUmulticastObjectProp prop = {.numDevices = 1, .size = 2 * MIB};
	CUmemGenericAllocationHandle object = 0;
	int is_supported = -1;
	size_t size;

	(void)state;
	assert_ok(cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	assert_int_equal(is_supported, 0);
	assert_result(cuMulticastCreate(&object, &prop), CUDA_ERROR_NOT_SUPPORTED);
	assert_result(cuMulticastGetGranularity(&size, &prop, CU_MULTICAST_GRANULARITY_MINIMUM),
		      CUDA_ERROR_NOT_SUPPORTED);
	assert_invalid(cuMulticastCreate(NULL, &prop));
	prop.size = 0;
	assert_invalid(cuMulticastCreate(&object, &prop));
	assert_invalid(cuMulticastGetGranularity(NULL, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
	assert_invalid(cuMulticastAddDevice(object, 0));
	assert_result(cuMulticastAddDevice(object, 7), CUDA_ERROR_INVALID_DEVICE);
	assert_invalid(cuMulticastBindMem(object, 0, 0, 0, 2 * MIB, 0));
	assert_invalid(cuMulticastBindAddr(object, 0, 0x1000, 2 * MIB, 0));
	assert_invalid(cuMulticastUnbind(object, 0, 0, 2 * MIB));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_exported_memory_is_imported_as_external),
		TEST(test_reset_frees_external_memory),
		TEST(test_descriptors_that_are_no_memory),
		TEST(test_bad_arguments_of_external_memory),
		TEST(test_there_are_no_semaphores),
		TEST(test_multicast_is_refused_as_the_device_says),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
