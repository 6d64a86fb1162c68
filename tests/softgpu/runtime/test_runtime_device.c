/* Devices: which is current, what it is like, what a reset and a fork do. */
#include "runtime_check.h"

#include <cudaTypedefs.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_both_devices_are_there(void **state)
{
	int count = 0;

	(void)state;
	assert_success(cudaGetDeviceCount(&count));
	assert_int_equal(count, 2);
	assert_error(cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
}

static void *device_of_thread(void *data)
{
	int device = -1;

	(void)data;
	if (cudaGetDevice(&device))
		return (void *)-1L;
	return (void *)(long)device;
}

static void test_the_device_belongs_to_the_thread(void **state)
{
	pthread_t thread;
	int device = -1;
	void *other;

	(void)state;
	assert_success(cudaSetDevice(1));
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 1);
	assert_int_equal(pthread_create(&thread, NULL, device_of_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, &other), 0);
	assert_int_equal((long)other, 0);
	assert_success(cudaSetDevice(0));
	assert_error(cudaGetDevice(NULL), cudaErrorInvalidValue);
}

static void test_a_device_that_is_not_there_changes_nothing(void **state)
{
	int device = -1;

	(void)state;
	assert_error(cudaSetDevice(2), cudaErrorInvalidDevice);
	assert_error(cudaSetDevice(-1), cudaErrorInvalidDevice);
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 0);
#if CUDART_VERSION >= 12000
	assert_error(cudaInitDevice(7, 0, 0), cudaErrorInvalidDevice);
	assert_error(cudaInitDevice(0, 0, 0x80), cudaErrorInvalidValue);
	assert_success(cudaInitDevice(1, 0, 0));
#endif
}

static void test_memory_is_allocated_on_the_current_device(void **state)
{
	struct cudaPointerAttributes attributes;
	void *memory;

	(void)state;
	assert_success(cudaSetDevice(1));
	assert_success(cudaMalloc(&memory, KIB));
	assert_success(cudaSetDevice(0));
	assert_success(cudaPointerGetAttributes(&attributes, memory));
	assert_int_equal(attributes.device, 1);
	assert_success(cudaFree(memory));
}

/* Zeros here have made programs divide by zero. */
static void test_properties_are_filled(void **state)
{
	struct cudaDeviceProp prop;
	size_t free_bytes, total;

	(void)state;
	memset(&prop, 0xee, sizeof(prop));
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_success(cudaMemGetInfo(&free_bytes, &total));
	assert_true(prop.name[0]);
	assert_int_equal(prop.totalGlobalMem, total);
	assert_true(prop.sharedMemPerBlock >= 16 * KIB);
	assert_true(prop.regsPerBlock > 0);
	assert_int_equal(prop.warpSize, 32);
	assert_true(prop.memPitch > 0);
	assert_true(prop.maxThreadsPerBlock >= 512);
	for (int i = 0; i < 3; i++) {
		assert_true(prop.maxThreadsDim[i] > 0);
		assert_true(prop.maxGridSize[i] > 0);
	}
	assert_true(prop.totalConstMem >= 64 * KIB);
	assert_true(prop.major >= 5);
	assert_true(prop.textureAlignment > 0);
	assert_true(prop.multiProcessorCount > 0);
	assert_true(prop.maxThreadsPerMultiProcessor > 0);
	assert_true(prop.maxBlocksPerMultiProcessor > 0);
	assert_true(prop.sharedMemPerMultiprocessor >= prop.sharedMemPerBlock);
	assert_true(prop.sharedMemPerBlockOptin >= prop.sharedMemPerBlock);
	assert_true(prop.regsPerMultiprocessor > 0);
	assert_true(prop.l2CacheSize > 0);
	assert_true(prop.memoryBusWidth > 0);
	assert_true(prop.maxTexture1D > 0 && prop.maxTexture2D[1] > 0 && prop.maxTexture3D[2] > 0);
	assert_int_equal(prop.unifiedAddressing, 1);
	assert_int_equal(prop.managedMemory, 1);
#if CUDART_VERSION >= 12000
	assert_int_equal(prop.memoryPoolsSupported, 1);
#endif
	assert_error(cudaGetDeviceProperties(&prop, 9), cudaErrorInvalidDevice);
	assert_error(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
}

static void test_attributes_agree_with_properties(void **state)
{
	struct cudaDeviceProp prop;
	int value = 0;

	(void)state;
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_success(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	assert_int_equal(value, prop.multiProcessorCount);
	assert_success(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
	assert_int_equal(value, prop.major);
	assert_error(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
	assert_error(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 5),
		     cudaErrorInvalidDevice);
	assert_error(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 0),
		     cudaErrorInvalidValue);
}

static void test_the_best_device_is_chosen(void **state)
{
	struct cudaDeviceProp want;
	int device = -1;

	(void)state;
	memset(&want, 0, sizeof(want));
	assert_success(cudaChooseDevice(&device, &want));
	assert_true(device == 0 || device == 1);
	assert_error(cudaChooseDevice(NULL, &want), cudaErrorInvalidValue);
	assert_error(cudaChooseDevice(&device, NULL), cudaErrorInvalidValue);
}

static void test_bus_addresses_lead_back_to_their_devices(void **state)
{
	char address[32];

	(void)state;
	for (int i = 0; i < 2; i++) {
		int device = -1;

		assert_success(cudaDeviceGetPCIBusId(address, sizeof(address), i));
		assert_success(cudaDeviceGetByPCIBusId(&device, address));
		assert_int_equal(device, i);
	}
	assert_error(cudaDeviceGetPCIBusId(NULL, 32, 0), cudaErrorInvalidValue);
	assert_error(cudaDeviceGetPCIBusId(address, 0, 0), cudaErrorInvalidValue);
	assert_error(cudaDeviceGetByPCIBusId(NULL, address), cudaErrorInvalidValue);
}

static void test_limits_and_preferences_are_kept(void **state)
{
	enum cudaFuncCache cache;
	int least = 0, greatest = 0;
	size_t value = 0;

	(void)state;
	assert_success(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
	assert_success(cudaDeviceGetLimit(&value, cudaLimitStackSize));
	assert_int_equal(value, 4096);
	assert_error(cudaDeviceGetLimit(&value, (enum cudaLimit)77), cudaErrorUnsupportedLimit);
	assert_error(cudaDeviceGetLimit(NULL, cudaLimitStackSize), cudaErrorInvalidValue);
	assert_success(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
	assert_success(cudaDeviceGetCacheConfig(&cache));
	assert_int_equal(cache, cudaFuncCachePreferL1);
	assert_error(cudaDeviceGetCacheConfig(NULL), cudaErrorInvalidValue);
	assert_success(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	assert_true(greatest <= least);
	assert_success(cudaDeviceGetStreamPriorityRange(NULL, NULL));
}

static void test_device_flags_are_kept(void **state)
{
	unsigned flags = 0;

	(void)state;
	assert_success(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
	assert_success(cudaGetDeviceFlags(&flags));
	assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleBlockingSync);
	assert_error(cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield),
		     cudaErrorInvalidValue);
	assert_error(cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
	assert_error(cudaGetDeviceFlags(NULL), cudaErrorInvalidValue);
	assert_success(cudaSetDeviceFlags(cudaDeviceMapHost)); /* old programs do */
	assert_success(cudaSetDeviceFlags(0));
}

static void test_versions_are_those_of_the_headers(void **state)
{
	int version = 0;

	(void)state;
	assert_success(cudaRuntimeGetVersion(&version));
	assert_int_equal(version, CUDART_VERSION);
	assert_success(cudaDriverGetVersion(&version));
	assert_true(version >= CUDART_VERSION / 1000 * 1000);
	assert_error(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
	assert_error(cudaDriverGetVersion(NULL), cudaErrorInvalidValue);
}

#if CUDART_VERSION >= 12000
static void test_driver_functions_can_be_asked_for(void **state)
{
	enum cudaDriverEntryPointQueryResult status;
	void *function = NULL;

	(void)state;
	assert_success(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000,
							cudaEnableDefault, &status));
	assert_non_null(function);
	assert_int_equal(status, cudaDriverEntryPointSuccess);
	assert_success(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000,
							cudaEnableDefault, &status));
	assert_null(function);
	assert_int_equal(status, cudaDriverEntryPointSymbolNotFound);
	assert_success(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &function, 10000,
							cudaEnableLegacyStream, &status));
	assert_null(function);
	assert_int_equal(status, cudaDriverEntryPointVersionNotSufficent);
	assert_error(cudaGetDriverEntryPointByVersion(NULL, &function, 13000, 0, NULL),
		     cudaErrorInvalidValue);
	assert_error(cudaGetDriverEntryPointByVersion("cuInit", NULL, 13000, 0, NULL),
		     cudaErrorInvalidValue);
	assert_error(cudaGetDriverEntryPointByVersion("cuInit", &function, 13000, 17, NULL),
		     cudaErrorInvalidValue);
}
#else
static void test_driver_functions_can_be_asked_for(void **state)
{
	void *function = NULL;

	(void)state;
	assert_success(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault));
	assert_non_null(function);
	assert_error(cudaGetDriverEntryPoint("cuNoSuchThing", &function, cudaEnableDefault),
		     cudaErrorSymbolNotFound);
	/* Of 12. */
	assert_error(cudaGetDriverEntryPoint("cuLibraryLoadData", &function, cudaEnableDefault),
		     cudaErrorSymbolNotFound);
	assert_error(cudaGetDriverEntryPoint(NULL, &function, 0), cudaErrorInvalidValue);
	assert_error(cudaGetDriverEntryPoint("cuInit", NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaGetDriverEntryPoint("cuInit", &function, 17), cudaErrorInvalidValue);
}
#endif

static void test_there_are_no_undocumented_tables(void **state)
{
	const void *table = &table;
	cudaUUID_t id = {{0}};

	(void)state;
	assert_error(cudaGetExportTable(&table, &id), cudaErrorSymbolNotFound);
	assert_null(table);
	assert_error(cudaGetExportTable(NULL, &id), cudaErrorInvalidValue);
}

static void test_a_reset_frees_everything_and_the_device_works_again(void **state)
{
	size_t before;
	cudaStream_t stream;
	void *memory;

	(void)state;
	assert_success(cudaDeviceReset());
	before = free_memory();
	assert_success(cudaMalloc(&memory, 10 * MIB));
	assert_success(cudaMallocAsync(&memory, 10 * MIB, NULL));
	assert_success(cudaMallocManaged(&memory, 10 * MIB, cudaMemAttachGlobal));
	assert_success(cudaStreamCreate(&stream));
	assert_true(free_memory() < before);
	assert_success(cudaDeviceReset());
	assert_int_equal(free_memory(), before);
	assert_error(cudaFree(memory), cudaErrorInvalidValue);
	assert_success(cudaMalloc(&memory, 10 * MIB));
	assert_success(cudaMemset(memory, 1, 10 * MIB));
	assert_success(cudaFree(memory));
}

static void test_a_reset_leaves_other_devices_alone(void **state)
{
	char *memory, byte = 0;

	(void)state;
	assert_success(cudaSetDevice(1));
	assert_success(cudaMalloc((void **)&memory, KIB));
	assert_success(cudaMemset(memory, 5, KIB));
	assert_success(cudaSetDevice(0));
	assert_success(cudaDeviceReset());
	assert_success(cudaMemcpy(&byte, memory + KIB - 1, 1, cudaMemcpyDefault));
	assert_int_equal(byte, 5);
	assert_success(cudaFree(memory));
}

struct other_thread {
	pthread_barrier_t barrier;
	cudaError_t first, second;
};

static void *use_before_and_after(void *data)
{
	struct other_thread *other = data;
	void *memory;

	other->first = cudaMalloc(&memory, KIB);
	pthread_barrier_wait(&other->barrier); /* now the main thread resets */
	pthread_barrier_wait(&other->barrier);
	other->second = cudaMalloc(&memory, KIB);
	return NULL;
}

static void test_other_threads_go_on_after_a_reset(void **state)
{
	struct other_thread other = {.first = cudaErrorUnknown, .second = cudaErrorUnknown};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_barrier_init(&other.barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, use_before_and_after, &other), 0);
	pthread_barrier_wait(&other.barrier);
	assert_success(cudaDeviceReset());
	pthread_barrier_wait(&other.barrier);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&other.barrier);
	assert_success(other.first);
	assert_success(other.second);
	assert_success(cudaDeviceReset());
}

static void test_a_forked_child_gets_an_initialization_error(void **state)
{
	void *memory;
	int status, count;
	pid_t child;

	(void)state;
	assert_success(cudaFree(NULL));
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool good = cudaMalloc(&memory, 1) == cudaErrorInitializationError &&
			    cudaGetDeviceCount(&count) == cudaErrorInitializationError &&
			    cudaSetDevice(0) == cudaErrorInitializationError;

		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_success(cudaMalloc(&memory, 1)); /* the parent does not notice */
	assert_success(cudaFree(memory));
}

/* As 11.8 knows it, whatever the release. */
static void *driver_function(const char *name)
{
	void *function = NULL;

#if CUDART_VERSION >= 12000
	assert_success(cudaGetDriverEntryPointByVersion(name, &function, 11080, 0, NULL));
#else
	assert_success(cudaGetDriverEntryPoint(name, &function, 0));
#endif
	assert_non_null(function);
	return function;
}

static void test_the_runtime_works_in_the_drivers_current_context(void **state)
{
	PFN_cuDevicePrimaryCtxRetain_v7000 retain = driver_function("cuDevicePrimaryCtxRetain");
	PFN_cuDevicePrimaryCtxRelease_v11000 release = driver_function("cuDevicePrimaryCtxRelease");
	PFN_cuCtxSetCurrent_v4000 set_current = driver_function("cuCtxSetCurrent");
	struct cudaPointerAttributes attributes;
	CUcontext context;
	void *memory;
	int device = -1;

	(void)state;
	assert_int_equal(retain(&context, 1), CUDA_SUCCESS);
	assert_int_equal(set_current(context), CUDA_SUCCESS);
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 1);
	assert_success(cudaMalloc(&memory, KIB));
	assert_success(cudaPointerGetAttributes(&attributes, memory));
	assert_int_equal(attributes.device, 1);
	assert_success(cudaFree(memory));
	/* With none current it is the thread's own device again. */
	assert_int_equal(set_current(NULL), CUDA_SUCCESS);
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_success(cudaMalloc(&memory, KIB));
	assert_success(cudaPointerGetAttributes(&attributes, memory));
	assert_int_equal(attributes.device, 0);
	assert_success(cudaFree(memory));
	assert_int_equal(release(1), CUDA_SUCCESS);
}

static void test_the_runtime_works_in_a_context_of_the_programs_own(void **state)
{
	PFN_cuCtxCreate_v11040 create = driver_function("cuCtxCreate");
	PFN_cuCtxDestroy_v4000 destroy = driver_function("cuCtxDestroy");
	PFN_cuCtxGetCurrent_v4000 get_current = driver_function("cuCtxGetCurrent");
	CUcontext context, current;
	void *memory;
	int device = -1;

	(void)state;
	assert_int_equal(create(&context, NULL, 0, 0, 1), CUDA_SUCCESS);
	assert_success(cudaMalloc(&memory, KIB));
	assert_int_equal(get_current(&current), CUDA_SUCCESS);
	assert_ptr_equal(current, context);
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 1);
	assert_success(cudaFree(memory));
	/* cudaSetDevice leaves it for the primary context. */
	assert_success(cudaSetDevice(0));
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_int_equal(destroy(context), CUDA_SUCCESS);
}

static void test_peers_that_are_not_there_are_refused(void **state)
{
	(void)state;
	assert_error(cudaDeviceCanAccessPeer(NULL, 0, 1), cudaErrorInvalidValue);
	assert_error(cudaDeviceEnablePeerAccess(9, 0), cudaErrorInvalidDevice);
	assert_error(cudaDeviceEnablePeerAccess(-1, 0), cudaErrorInvalidDevice);
	assert_error(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
	assert_error(cudaDeviceDisablePeerAccess(9), cudaErrorInvalidDevice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_devices_are_there),
		cmocka_unit_test(test_the_device_belongs_to_the_thread),
		cmocka_unit_test(test_a_device_that_is_not_there_changes_nothing),
		cmocka_unit_test(test_memory_is_allocated_on_the_current_device),
		cmocka_unit_test(test_properties_are_filled),
		cmocka_unit_test(test_attributes_agree_with_properties),
		cmocka_unit_test(test_the_best_device_is_chosen),
		cmocka_unit_test(test_bus_addresses_lead_back_to_their_devices),
		cmocka_unit_test(test_limits_and_preferences_are_kept),
		cmocka_unit_test(test_device_flags_are_kept),
		cmocka_unit_test(test_versions_are_those_of_the_headers),
		cmocka_unit_test(test_driver_functions_can_be_asked_for),
		cmocka_unit_test(test_there_are_no_undocumented_tables),
		cmocka_unit_test(test_a_reset_frees_everything_and_the_device_works_again),
		cmocka_unit_test(test_a_reset_leaves_other_devices_alone),
		cmocka_unit_test(test_other_threads_go_on_after_a_reset),
		cmocka_unit_test(test_a_forked_child_gets_an_initialization_error),
		cmocka_unit_test(test_the_runtime_works_in_the_drivers_current_context),
		cmocka_unit_test(test_the_runtime_works_in_a_context_of_the_programs_own),
		cmocka_unit_test(test_peers_that_are_not_there_are_refused),
	};

	return cmocka_run_group_tests(tests, reset_device, NULL);
}
