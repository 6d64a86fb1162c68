/* What nvcc's code registers, and what becomes of it: launches, attributes, symbols. */
#include "runtime_check.h"

#include <elf.h>
#include <stdlib.h>

#include "fake_fatbin.h"
#include "rt_image.h"

/* As in crt/host_runtime.h, which is for C++ only. */
void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_size,
				     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_size, void *stream);
#if CUDART_VERSION >= 12000
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared_size, cudaStream_t stream);
#endif

static const int start_value = 42;
static const dim3 one = {1, 1, 1};
static struct fake_fatbin fatbin;
static void **handle;

/* Only the addresses of these matter. */
static char kernel, other_kernel, unknown;
static char counter, buffer, table;
static void *managed;

static void register_function(const char *host, const char *name)
{
	__cudaRegisterFunction(handle, host, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL,
			       NULL, NULL);
}

static const struct sg_rt_image_code old_code = {.arch = 50, .ptx_arch = 50};

/* Machine code that gives counter its initial value, and PTX for older devices. */
static void add_code(void)
{
	const struct sg_rt_image_symbol symbols[] = {
		{"counter", SG_RT_IMAGE_VARIABLE, sizeof(start_value), &start_value}};
	struct cudaDeviceProp prop;
	size_t size;
	void *image;

	assert_success(cudaGetDeviceProperties(&prop, 0));
	image = sg_rt_image_build(symbols, 1, &old_code, &size);
	assert_non_null(image);
	fake_fatbin_add(&fatbin, FAKE_PTX, 50, "", 1);
	fake_fatbin_add(&fatbin, FAKE_ELF, (uint32_t)(prop.major * 10), image, size);
	free(image);
}

static int register_all(void **state)
{
	(void)state;
	fake_fatbin_init(&fatbin);
	add_code();
	handle = __cudaRegisterFatBinary(&fatbin.wrapper);
	register_function(&kernel, "_Z6kernelPf");
	register_function(&other_kernel, "_Z5otherv");
	__cudaRegisterVar(handle, &counter, &counter, "counter", 0, sizeof(int), 0, 0);
	__cudaRegisterVar(handle, &buffer, &buffer, "buffer", 0, 4000, 0, 0);
	__cudaRegisterVar(handle, &table, &table, "table", 0, 24, 1, 0);
	__cudaRegisterManagedVar(handle, &managed, NULL, "managed", 0, 100, 0, 0);
	__cudaRegisterFatBinaryEnd(handle);
	return !handle;
}

static int unregister_all(void **state)
{
	(void)state;
	__cudaUnregisterFatBinary(handle);
	return 0;
}

static cudaError_t launch(const void *function, dim3 grid, dim3 block, size_t shared_size)
{
	void *args[] = {&managed};

	return cudaLaunchKernel(function, grid, block, args, shared_size, NULL);
}

static void test_registered_kernels_can_be_launched(void **state)
{
	(void)state;
	assert_success(launch(&kernel, one, one, 0));
	assert_success(launch(&other_kernel, (dim3){1000, 20, 3}, (dim3){32, 8, 4}, 1024));
	assert_success(cudaDeviceSynchronize());
}

static void test_an_unknown_kernel_is_an_invalid_device_function(void **state)
{
	struct cudaFuncAttributes attributes;
	int blocks;

	(void)state;
	assert_error(launch(&unknown, one, one, 0), cudaErrorInvalidDeviceFunction);
	assert_error(launch(NULL, one, one, 0), cudaErrorInvalidDeviceFunction);
	assert_error(cudaFuncGetAttributes(&attributes, &unknown), cudaErrorInvalidDeviceFunction);
	assert_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &unknown, 32, 0),
		     cudaErrorInvalidDeviceFunction);
}

static void test_grids_the_device_cannot_run_are_invalid_configurations(void **state)
{
	static const dim3 bad[][2] = {
		{{0, 1, 1}, {1, 1, 1}},        {{1, 0, 1}, {1, 1, 1}},
		{{1, 1, 0}, {1, 1, 1}},        {{1, 1, 1}, {0, 1, 1}},
		{{1, 1, 1}, {1, 0, 1}},        {{1, 1, 1}, {1, 1, 0}},
		{{1, 1, 1}, {2048, 1, 1}},     {{1, 1, 1}, {64, 64, 1}},
		{{1, 1, 1}, {1, 1, 65}},       {{1, 70000, 1}, {1, 1, 1}},
		{{1, 1, 70000}, {1, 1, 1}},    {{0x80000000u, 1, 1}, {1, 1, 1}},
		{{1, 1, 1}, {1u << 31, 2, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_error(launch(&kernel, bad[i][0], bad[i][1], 0),
			     cudaErrorInvalidConfiguration);
	assert_success(launch(&kernel, one, one, 0));
}

static void test_a_configuration_is_pushed_and_popped_in_turn(void **state)
{
	dim3 grid, block;
	size_t shared_size;
	cudaStream_t stream;

	(void)state;
	assert_int_equal(__cudaPushCallConfiguration((dim3){1, 2, 3}, (dim3){4, 5, 6}, 7, NULL), 0);
	assert_int_equal(__cudaPushCallConfiguration(one, one, 8, cudaStreamPerThread), 0);
	assert_success(__cudaPopCallConfiguration(&grid, &block, &shared_size, &stream));
	assert_int_equal(shared_size, 8);
	assert_ptr_equal(stream, cudaStreamPerThread);
	assert_success(__cudaPopCallConfiguration(&grid, &block, &shared_size, &stream));
	assert_int_equal(grid.z, 3);
	assert_int_equal(block.x, 4);
	assert_int_equal(shared_size, 7);
	assert_null(stream);
	assert_error(__cudaPopCallConfiguration(&grid, &block, &shared_size, &stream),
		     cudaErrorMissingConfiguration);
}

static void test_extended_and_cooperative_launches_work(void **state)
{
	cudaLaunchConfig_t config = {.gridDim = {4, 1, 1}, .blockDim = {64, 1, 1}};
	void *args[] = {&managed};

	(void)state;
	assert_success(cudaLaunchKernelExC(&config, &kernel, args));
	assert_success(cudaLaunchCooperativeKernel(&kernel, one, one, args, 0, NULL));
	assert_error(cudaLaunchKernelExC(NULL, &kernel, args), cudaErrorInvalidValue);
	assert_error(cudaLaunchKernelExC(&config, &unknown, args), cudaErrorInvalidDeviceFunction);
	config.blockDim.x = 0;
	assert_error(cudaLaunchKernelExC(&config, &kernel, args), cudaErrorInvalidConfiguration);
	config.blockDim.x = 32;
	config.numAttrs = 1;
	assert_error(cudaLaunchKernelExC(&config, &kernel, args), cudaErrorInvalidValue);
}

static void test_function_attributes_are_plausible(void **state)
{
	struct cudaFuncAttributes attributes;
	struct cudaDeviceProp prop;

	(void)state;
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_success(cudaFuncGetAttributes(&attributes, &kernel));
	assert_true(attributes.maxThreadsPerBlock > 0);
	assert_true(attributes.maxThreadsPerBlock <= prop.maxThreadsPerBlock);
	assert_true(attributes.numRegs > 0);
	/* The newest architecture in the fat binary that the device can run. */
	assert_int_equal(attributes.ptxVersion, prop.major * 10);
	assert_int_equal(attributes.binaryVersion, prop.major * 10);
	assert_error(cudaFuncGetAttributes(NULL, &kernel), cudaErrorInvalidValue);
}

static void test_function_attributes_can_be_set(void **state)
{
	struct cudaFuncAttributes attributes;

	(void)state;
	assert_success(cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
					    32 * 1024));
	assert_success(cudaFuncGetAttributes(&attributes, &kernel));
	assert_int_equal(attributes.maxDynamicSharedSizeBytes, 32 * 1024);
	assert_error(cudaFuncSetAttribute(&kernel, (enum cudaFuncAttribute)1, 0),
		     cudaErrorInvalidValue);
	assert_error(cudaFuncSetAttribute(&unknown, cudaFuncAttributeMaxDynamicSharedMemorySize, 0),
		     cudaErrorInvalidDeviceFunction);
	assert_success(cudaFuncSetCacheConfig(&kernel, cudaFuncCachePreferShared));
}

static void test_occupancy_is_between_one_and_what_fits(void **state)
{
	struct cudaDeviceProp prop;
	size_t shared_size = 0;
	int blocks = 0;

	(void)state;
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_success(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 256, 0));
	assert_true(blocks >= 1 && blocks * 256 <= prop.maxThreadsPerMultiProcessor);
	assert_success(cudaOccupancyAvailableDynamicSMemPerBlock(&shared_size, &kernel, 1, 256));
	assert_true(shared_size > 0);
	assert_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, &kernel, 256, 0),
		     cudaErrorInvalidValue);
	assert_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 0, 0),
		     cudaErrorInvalidValue);
}

/* Variables */

static void test_symbols_have_their_registered_sizes(void **state)
{
	size_t size = 0;
	void *address = NULL;

	(void)state;
	assert_success(cudaGetSymbolSize(&size, &counter));
	assert_int_equal(size, sizeof(int));
	assert_success(cudaGetSymbolSize(&size, &buffer));
	assert_int_equal(size, 4000);
	assert_success(cudaGetSymbolSize(&size, &table));
	assert_int_equal(size, 24);
	assert_success(cudaGetSymbolAddress(&address, &buffer));
	assert_non_null(address);
	assert_success(cudaMemset(address, 0, 4000));
}

static void test_symbols_start_with_their_initial_values(void **state)
{
	int value = 0;
	unsigned char bytes[24];
	static const unsigned char zeros[24];

	(void)state;
	assert_success(
		cudaMemcpyFromSymbol(&value, &counter, sizeof(value), 0, cudaMemcpyDeviceToHost));
	assert_int_equal(value, start_value);
	assert_success(
		cudaMemcpyFromSymbol(bytes, &table, sizeof(bytes), 0, cudaMemcpyDeviceToHost));
	assert_memory_equal(bytes, zeros, sizeof(zeros));
}

static void test_copies_to_symbols_come_back(void **state)
{
	int values[10], back[10] = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		values[i] = i * i;
	assert_success(
		cudaMemcpyToSymbol(&buffer, values, sizeof(values), 100, cudaMemcpyHostToDevice));
	assert_success(
		cudaMemcpyFromSymbol(back, &buffer, sizeof(back), 100, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, values, sizeof(values));
	assert_success(cudaMemcpyToSymbolAsync(&table, values, 24, 0, cudaMemcpyDefault, NULL));
	assert_success(cudaMemcpyFromSymbolAsync(back, &table, 24, 0, cudaMemcpyDefault, NULL));
	assert_success(cudaStreamSynchronize(NULL));
	assert_memory_equal(back, values, 24);
}

static void test_copies_outside_a_symbol_are_refused(void **state)
{
	char bytes[100] = {0};

	(void)state;
	assert_error(cudaMemcpyToSymbol(&counter, bytes, 5, 0, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToSymbol(&counter, bytes, 1, 4, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToSymbol(&counter, bytes, 1, SIZE_MAX, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyFromSymbol(bytes, &counter, 5, 0, cudaMemcpyDeviceToHost),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToSymbol(&counter, bytes, 4, 0, cudaMemcpyDeviceToHost),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaMemcpyFromSymbol(bytes, &counter, 4, 0, cudaMemcpyHostToDevice),
		     cudaErrorInvalidMemcpyDirection);
}

static void test_unknown_symbols_are_invalid_symbols(void **state)
{
	char byte;
	size_t size;
	void *address;

	(void)state;
	assert_error(cudaMemcpyToSymbol(&unknown, &byte, 1, 0, cudaMemcpyHostToDevice),
		     cudaErrorInvalidSymbol);
	assert_error(cudaMemcpyToSymbol(NULL, &byte, 1, 0, cudaMemcpyHostToDevice),
		     cudaErrorInvalidSymbol);
	assert_error(cudaGetSymbolSize(&size, &unknown), cudaErrorInvalidSymbol);
	assert_error(cudaGetSymbolAddress(&address, &unknown), cudaErrorInvalidSymbol);
	assert_error(cudaGetSymbolAddress(&address, &kernel), cudaErrorInvalidSymbol);
	assert_error(cudaGetSymbolAddress(NULL, &counter), cudaErrorInvalidValue);
	assert_error(cudaGetSymbolSize(NULL, &counter), cudaErrorInvalidValue);
}

static void test_managed_variables_get_memory_of_the_host_too(void **state)
{
	struct cudaPointerAttributes attributes;
	void *address = NULL;
	size_t size = 0;

	(void)state;
	assert_int_equal(__cudaInitModule(handle), 1);
	assert_non_null(managed);
	memset(managed, 1, 100);
	assert_success(cudaPointerGetAttributes(&attributes, managed));
	assert_int_equal(attributes.type, cudaMemoryTypeManaged);
	/* A program that names the variable passes its address. */
	assert_success(cudaGetSymbolSize(&size, managed));
	assert_int_equal(size, 100);
	assert_success(cudaGetSymbolAddress(&address, managed));
	assert_ptr_equal(address, managed);
	address = managed;
	assert_int_equal(__cudaInitModule(handle), 1); /* as every use of such a variable does */
	assert_ptr_equal(managed, address);
}

static void test_kernels_and_variables_work_after_a_reset(void **state)
{
	int value = 7;

	(void)state;
	assert_success(
		cudaMemcpyToSymbol(&counter, &value, sizeof(value), 0, cudaMemcpyHostToDevice));
	assert_success(cudaDeviceReset());
	assert_success(launch(&kernel, one, one, 0));
	/* A new context, new variables. */
	assert_success(
		cudaMemcpyFromSymbol(&value, &counter, sizeof(value), 0, cudaMemcpyDeviceToHost));
	assert_int_equal(value, start_value);
}

static void test_each_device_has_its_own_variables(void **state)
{
	int value = 1;

	(void)state;
	assert_success(
		cudaMemcpyToSymbol(&counter, &value, sizeof(value), 0, cudaMemcpyHostToDevice));
	assert_success(cudaSetDevice(1));
	assert_success(launch(&kernel, one, one, 0));
	assert_success(
		cudaMemcpyFromSymbol(&value, &counter, sizeof(value), 0, cudaMemcpyDeviceToHost));
	assert_int_equal(value, start_value);
	assert_success(cudaSetDevice(0));
}

/* Last: it takes the registration apart. */
static void test_nothing_is_left_of_an_unregistered_binary(void **state)
{
	size_t size, before;

	(void)state;
	assert_success(cudaDeviceReset());
	before = free_memory();
	assert_success(cudaGetSymbolSize(&size, &buffer));
	__cudaUnregisterFatBinary(handle);
	assert_error(launch(&kernel, one, one, 0), cudaErrorInvalidDeviceFunction);
	assert_error(cudaGetSymbolSize(&size, &buffer), cudaErrorInvalidSymbol);
	assert_int_equal(free_memory(), before);
	__cudaUnregisterFatBinary(handle); /* twice is harmless */
	__cudaUnregisterFatBinary(NULL);
	assert_int_equal(register_all(state), 0);
	assert_success(launch(&kernel, one, one, 0));
}

static void test_code_for_other_devices_is_no_kernel_image(void **state)
{
	static struct fake_fatbin newer;
	static char newer_kernel;
	void **newer_handle;

	(void)state;
	fake_fatbin_init(&newer);
	fake_fatbin_add(&newer, FAKE_PTX, 250, "", 1);
	newer_handle = __cudaRegisterFatBinary(&newer.wrapper);
	__cudaRegisterFunction(newer_handle, &newer_kernel, NULL, "newer", -1, NULL, NULL, NULL,
			       NULL, NULL);
	assert_error(launch(&newer_kernel, one, one, 0), cudaErrorNoKernelImageForDevice);
	__cudaUnregisterFatBinary(newer_handle);
}

/* The library API */

#if CUDART_VERSION >= 12000 /* libraries, and kernels that are no functions of the program */
static void test_an_unknown_kernel_has_no_handle(void **state)
{
	cudaKernel_t found = NULL;
	const char *name;

	(void)state;
	assert_error(cudaFuncGetName(&name, &unknown), cudaErrorInvalidDeviceFunction);
	assert_error(__cudaGetKernel(&found, &unknown), cudaErrorInvalidDeviceFunction);
	assert_null(found);
	assert_error(__cudaLaunchKernel(NULL, one, one, NULL, 0, NULL),
		     cudaErrorInvalidDeviceFunction);
}

static void test_kernel_handles_stand_for_their_functions(void **state)
{
	cudaKernel_t found = NULL;
	const char *name = NULL;
	cudaFunction_t function = NULL;

	(void)state;
	assert_success(__cudaGetKernel(&found, &kernel));
	assert_non_null(found);
	assert_success(__cudaLaunchKernel(found, one, one, NULL, 0, NULL));
	assert_success(launch(found, one, one, 0));
	assert_success(cudaFuncGetName(&name, found));
	assert_string_equal(name, "_Z6kernelPf");
	assert_success(cudaGetFuncBySymbol(&function, &kernel));
	assert_non_null(function);
	assert_error(cudaGetKernel(NULL, &kernel), cudaErrorInvalidValue);
	assert_error(cudaGetFuncBySymbol(NULL, &kernel), cudaErrorInvalidValue);
}

static void test_a_library_gives_its_kernels_and_variables(void **state)
{
	const struct sg_rt_image_symbol symbols[] = {
		{"first", SG_RT_IMAGE_KERNEL, 0, NULL},
		{"second", SG_RT_IMAGE_KERNEL, 0, NULL},
		{"global", SG_RT_IMAGE_VARIABLE, sizeof(start_value), &start_value},
	};
	cudaKernel_t found = NULL, all[2];
	cudaLibrary_t library = NULL;
	unsigned count = 0;
	void *address, *image;
	size_t size;

	(void)state;
	image = sg_rt_image_build(symbols, 3, &old_code, &size);
	assert_non_null(image);
	assert_success(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	free(image);
	assert_success(cudaLibraryGetKernelCount(&count, library));
	assert_int_equal(count, 2);
	assert_success(cudaLibraryEnumerateKernels(all, 2, library));
	assert_success(cudaLibraryGetKernel(&found, library, "second"));
	assert_true(found == all[0] || found == all[1]);
	assert_success(launch(found, one, one, 0));
	assert_success(cudaLibraryGetGlobal(&address, &size, library, "global"));
	assert_int_equal(size, sizeof(start_value));
	assert_error(cudaLibraryGetKernel(&found, library, "third"), cudaErrorSymbolNotFound);
	assert_error(cudaLibraryGetKernel(NULL, library, "first"), cudaErrorInvalidValue);
	assert_error(cudaLibraryGetKernel(&found, library, NULL), cudaErrorInvalidValue);
	assert_success(cudaLibraryUnload(library));
	assert_error(cudaLibraryUnload(NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaLibraryLoadData(NULL, symbols, NULL, NULL, 0, NULL, NULL, 0),
		     cudaErrorInvalidValue);
	assert_error(cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0),
		     cudaErrorInvalidValue);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registered_kernels_can_be_launched),
		cmocka_unit_test(test_an_unknown_kernel_is_an_invalid_device_function),
		cmocka_unit_test(test_grids_the_device_cannot_run_are_invalid_configurations),
		cmocka_unit_test(test_a_configuration_is_pushed_and_popped_in_turn),
		cmocka_unit_test(test_extended_and_cooperative_launches_work),
		cmocka_unit_test(test_function_attributes_are_plausible),
		cmocka_unit_test(test_function_attributes_can_be_set),
		cmocka_unit_test(test_occupancy_is_between_one_and_what_fits),
		cmocka_unit_test(test_symbols_have_their_registered_sizes),
		cmocka_unit_test(test_symbols_start_with_their_initial_values),
		cmocka_unit_test(test_copies_to_symbols_come_back),
		cmocka_unit_test(test_copies_outside_a_symbol_are_refused),
		cmocka_unit_test(test_unknown_symbols_are_invalid_symbols),
		cmocka_unit_test(test_managed_variables_get_memory_of_the_host_too),
		cmocka_unit_test(test_kernels_and_variables_work_after_a_reset),
		cmocka_unit_test(test_each_device_has_its_own_variables),
		cmocka_unit_test(test_code_for_other_devices_is_no_kernel_image),
#if CUDART_VERSION >= 12000
		cmocka_unit_test(test_an_unknown_kernel_has_no_handle),
		cmocka_unit_test(test_kernel_handles_stand_for_their_functions),
		cmocka_unit_test(test_a_library_gives_its_kernels_and_variables),
#endif
		cmocka_unit_test(test_nothing_is_left_of_an_unregistered_binary),
	};

	return cmocka_run_group_tests(tests, register_all, unregister_all);
}
