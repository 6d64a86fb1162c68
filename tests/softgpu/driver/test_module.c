#include "driver_fixture.h"

#include <stdio.h>
#include <unistd.h>

/* A fat binary of one entry that cannot be read: compressed PTX for sm_50. */
static const unsigned char compressed_fatbin[] = {
	0x50, 0xed, 0x55, 0xba, 1,  0, 16, 0,
	72,   0,    0,    0,    0,  0, 0,  0, /* header, 72 bytes follow */
	1,    0,    1,    1,    64, 0, 0,  0,
	8,    0,    0,    0,    0,  0, 0,  0, /* PTX, payload 8 */
	7,    0,    0,    0,    0,  0, 0,  0,
	0,    0,    0,    0,    50, 0, 0,  0, /* compressed 7, sm_50 */
	0,    0,    0,    0,    0,  0, 0,  0,
	0x11, 0x80, 0,    0,    0,  0, 0,  0, /* flags */
	0,    0,    0,    0,    0,  0, 0,  0,
	100,  0,    0,    0,    0,  0, 0,  0, /* 100 when unpacked */
	0x28, 0xb5, 0x2f, 0xfd, 0,  0, 0,  0,
};

static const char managed_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				  ".global .attribute(.managed) .align 4 .u32 shared_one = 5;\n"
				  ".global .align 4 .u32 own = 6;\n"
				  ".visible .entry kernel()\n{\n\tret;\n}\n";

static CUmodule load(const void *image)
{
	CUmodule module;

	assert_ok(cuModuleLoadData(&module, image));
	return module;
}

static CUlibrary load_library(const void *image)
{
	CUlibrary library;

	assert_ok(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	return library;
}

static unsigned read_word(CUdeviceptr address)
{
	unsigned word = 0;

	assert_ok(cuMemcpyDtoH_v2(&word, address, sizeof(word)));
	return word;
}

static size_t get_free(void)
{
	size_t left, total;

	assert_ok(cuMemGetInfo_v2(&left, &total));
	return left;
}

static void test_bad_images_are_refused(void **state)
{
	static const char newer[] = ".version 9.0\n.target sm_250\n.address_size 64\n";
	CUmodule module;

	(void)state;
	assert_cuda(cuModuleLoadData(NULL, fixture_ptx), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleLoadData(&module, "x"), CUDA_ERROR_INVALID_IMAGE);
	assert_cuda(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
	assert_cuda(cuModuleLoadData(&module, newer), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_cuda(cuModuleLoadFatBinary(&module, "no fat binary"), CUDA_ERROR_INVALID_IMAGE);
	assert_cuda(cuModuleLoadDataEx(&module, fixture_ptx, 1, NULL, NULL),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_compiler_options_are_checked_and_answered(void **state)
{
	char log[16] = "unchanged";
	CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
				  CU_JIT_WALL_TIME};
	void *values[] = {log, (void *)sizeof(log), NOT_A_HANDLE};
	CUmodule module;

	(void)state;
	assert_ok(cuModuleLoadDataEx(&module, fixture_ptx, 3, options, values));
	assert_string_equal(log, "");
	assert_null(values[1]); /* bytes of it that were used */
	assert_null(values[2]); /* 0.0f */
	assert_ok(cuModuleUnload(module));
	options[0] = CU_JIT_NUM_OPTIONS;
	assert_cuda(cuModuleLoadDataEx(&module, fixture_ptx, 1, options, values),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_module_is_loaded_from_a_file(void **state)
{
	char path[] = "/tmp/softgpu-module-XXXXXX";
	int fd = mkstemp(path);
	CUmodule module;
	CUfunction function;
	CUlibrary library;
	CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)1;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, fixture_ptx, sizeof(fixture_ptx) - 1), sizeof(fixture_ptx) - 1);
	close(fd);
	assert_ok(cuModuleLoad(&module, path));
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_ok(cuModuleUnload(module));
	assert_ok(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	assert_ok(cuLibraryUnload(library));
	assert_cuda(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, &preserved, &value, 1),
		    CUDA_ERROR_INVALID_VALUE);
	unlink(path);
	assert_cuda(cuModuleLoad(&module, path), CUDA_ERROR_FILE_NOT_FOUND);
	assert_cuda(cuModuleLoad(&module, "/"), CUDA_ERROR_FILE_NOT_FOUND);
	assert_cuda(cuModuleLoad(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleLoad(NULL, path), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0),
		    CUDA_ERROR_FILE_NOT_FOUND);
}

static void test_functions_are_found_by_name(void **state)
{
	CUmodule module = load(fixture_ptx), owner;
	CUfunction function, again, other;
	const char *name;

	(void)state;
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_ok(cuModuleGetFunction(&again, module, "kernel"));
	assert_ok(cuModuleGetFunction(&other, module, "other"));
	assert_ptr_equal(function, again);
	assert_ptr_not_equal(function, other);
	assert_ok(cuFuncGetName(&name, function));
	assert_string_equal(name, "kernel");
	assert_ok(cuFuncGetModule(&owner, function));
	assert_ptr_equal(owner, module);
	assert_cuda(cuModuleGetFunction(&function, module, "kerne"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuModuleGetFunction(&function, module, "counter"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuModuleGetFunction(&function, module, ""), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuModuleGetFunction(&function, module, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetFunction(NULL, module, "kernel"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetFunction(&function, NOT_A_HANDLE, "kernel"),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetName(NULL, function), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetName(&name, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetModule(NULL, function), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetModule(&owner, NOT_A_HANDLE), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuModuleUnload(module));
	assert_cuda(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_VALUE);
}

static void test_functions_are_counted_and_listed(void **state)
{
	CUmodule module = load(fixture_ptx);
	CUfunction functions[3] = {NULL, NULL, NULL}, function;
	unsigned count;

	(void)state;
	assert_ok(cuModuleGetFunctionCount(&count, module));
	assert_int_equal(count, 2);
	assert_ok(cuModuleEnumerateFunctions(functions, 3, module));
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_ptr_equal(functions[0], function);
	assert_non_null(functions[1]);
	assert_null(functions[2]);
	functions[1] = NULL;
	assert_ok(cuModuleEnumerateFunctions(functions, 1, module));
	assert_null(functions[1]);
	assert_cuda(cuModuleGetFunctionCount(NULL, module), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetFunctionCount(&count, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuModuleEnumerateFunctions(NULL, 3, module), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleEnumerateFunctions(functions, 3, NOT_A_HANDLE),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuModuleUnload(module));
}

static void test_globals_have_size_memory_and_initial_value(void **state)
{
	CUmodule module = load(fixture_ptx);
	CUdeviceptr counter, table;
	unsigned value = 77;
	size_t size;

	(void)state;
	assert_ok(cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
	assert_int_equal(size, 4);
	assert_int_equal(read_word(counter), 42);
	assert_ok(cuModuleGetGlobal_v2(&table, NULL, module, "table"));
	assert_ok(cuModuleGetGlobal_v2(NULL, &size, module, "table"));
	assert_int_equal(size, 64);
	assert_int_equal(read_word(table + 60), 0);
	assert_ok(cuMemcpyHtoD_v2(counter, &value, sizeof(value)));
	assert_int_equal(read_word(counter), 77);
	assert_cuda(cuMemFree_v2(counter), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetGlobal_v2(NULL, NULL, module, "table"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetGlobal_v2(&table, &size, module, "tabl"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuModuleGetGlobal_v2(&table, &size, module, "kernel"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuModuleGetGlobal_v2(&table, &size, module, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleGetGlobal_v2(&table, &size, NULL, "table"), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuModuleUnload(module));
	assert_cuda(cuMemcpyDtoH_v2(&value, counter, 4), CUDA_ERROR_INVALID_VALUE);
}

static void test_large_globals_are_charged_and_may_not_fit(void **state)
{
	static const char format[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				     ".global .align 4 .b8 large[%zu];\n";
	char text[200];
	size_t before = get_free();
	CUmodule module;

	(void)state;
	snprintf(text, sizeof(text), format, (size_t)64 << 20);
	module = load(text);
	assert_int_equal(before - get_free(), (size_t)64 << 20);
	assert_ok(cuModuleUnload(module));
	assert_int_equal(get_free(), before);
	snprintf(text, sizeof(text), format, (size_t)64 << 30);
	assert_cuda(cuModuleLoadData(&module, text), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(get_free(), before);
}

static void test_unloading_twice_is_an_error(void **state)
{
	CUmodule module = load(fixture_ptx);

	(void)state;
	assert_ok(cuModuleUnload(module));
	assert_cuda(cuModuleUnload(module), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleUnload(NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuModuleUnload(NOT_A_HANDLE), CUDA_ERROR_INVALID_VALUE);
}

static void test_modules_need_a_context_and_libraries_do_not(void **state)
{
	CUcontext mine = fixture_exchange_context(NULL);
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	CUfunction function;
	CUdeviceptr address;

	(void)state;
	assert_cuda(cuModuleLoadData(&module, fixture_ptx), CUDA_ERROR_INVALID_CONTEXT);
	assert_cuda(cuModuleLoad(&module, "file"), CUDA_ERROR_INVALID_CONTEXT);
	library = load_library(fixture_ptx);
	assert_ok(cuLibraryGetKernel(&kernel, library, "kernel"));
	assert_cuda(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_CONTEXT);
	assert_cuda(cuLibraryGetModule(&module, library), CUDA_ERROR_INVALID_CONTEXT);
	assert_cuda(cuLibraryGetGlobal(&address, NULL, library, "counter"),
		    CUDA_ERROR_INVALID_CONTEXT);
	fixture_exchange_context(mine);
	assert_ok(cuKernelGetFunction(&function, kernel));
	assert_ok(cuLibraryUnload(library));
}

static void test_modules_go_with_their_context(void **state)
{
	CUcontext context, mine;
	CUmodule module;
	CUfunction function;
	unsigned count;

	(void)state;
	assert_ok(cuCtxGetCurrent(&mine));
	assert_ok(cuCtxCreate_v2(&context, 0, 1));
	module = load(fixture_ptx);
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_ok(cuCtxDestroy_v2(context));
	assert_cuda(cuModuleGetFunctionCount(&count, module), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuFuncLoad(function), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuCtxSetCurrent(mine));
}

static void test_loading_is_lazy_unless_told(void **state)
{
	CUmoduleLoadingMode mode;

	(void)state;
	assert_ok(cuModuleGetLoadingMode(&mode));
	assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	assert_ok(cuModuleGetLoadingMode(&mode));
	assert_int_equal(mode, CU_MODULE_EAGER_LOADING);
	unsetenv("CUDA_MODULE_LOADING");
	assert_cuda(cuModuleGetLoadingMode(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_compressed_images_have_any_kernel_and_no_global(void **state)
{
	CUmodule module = load(compressed_fatbin);
	CUfunction first, again, function;
	CUdeviceptr address;
	const char *name;
	char text[16];
	unsigned count;
	int version;

	(void)state;
	assert_ok(cuModuleGetFunction(&first, module, "whatever"));
	for (int i = 0; i < 1000; i++) { /* the table of names grows meanwhile */
		snprintf(text, sizeof(text), "name%d", i);
		assert_ok(cuModuleGetFunction(&function, module, text));
	}
	assert_ok(cuModuleGetFunction(&again, module, "whatever"));
	assert_ptr_equal(first, again);
	assert_ok(cuFuncGetName(&name, first));
	assert_string_equal(name, "whatever");
	assert_ok(cuModuleGetFunctionCount(&count, module));
	assert_int_equal(count, 1001);
	assert_ok(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, first));
	assert_int_equal(version, 50);
	assert_cuda(cuModuleGetGlobal_v2(&address, NULL, module, "any"), CUDA_ERROR_NOT_FOUND);
	assert_ok(cuModuleUnload(module));
}

static void test_library_options_are_checked(void **state)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)1;
	CUlibrary library;

	(void)state;
	assert_ok(cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, &option, &value, 1));
	assert_ok(cuLibraryUnload(library));
	assert_cuda(cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, NULL, NULL, 1),
		    CUDA_ERROR_INVALID_VALUE);
	option = CU_LIBRARY_NUM_OPTIONS;
	assert_cuda(cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, &option, &value, 1),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryLoadData(NULL, fixture_ptx, NULL, NULL, 0, NULL, NULL, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryLoadData(&library, "?", NULL, NULL, 0, NULL, NULL, 0),
		    CUDA_ERROR_INVALID_IMAGE);
}

static void test_kernels_of_a_library(void **state)
{
	CUlibrary library = load_library(fixture_ptx), owner;
	CUkernel kernel, kernels[2];
	CUfunction function, again;
	CUmodule module, of_function;
	const char *name;
	unsigned count;

	(void)state;
	assert_ok(cuLibraryGetKernelCount(&count, library));
	assert_int_equal(count, 2);
	assert_ok(cuLibraryEnumerateKernels(kernels, 2, library));
	assert_ok(cuLibraryGetKernel(&kernel, library, "other"));
	assert_ptr_equal(kernel, kernels[1]);
	assert_ok(cuKernelGetLibrary(&owner, kernel));
	assert_ptr_equal(owner, library);
	assert_ok(cuKernelGetName(&name, kernel));
	assert_string_equal(name, "other");
	assert_ok(cuKernelGetFunction(&function, kernel));
	assert_ptr_not_equal(function, kernel);
	assert_ok(cuLibraryGetModule(&module, library));
	assert_ok(cuFuncGetModule(&of_function, function));
	assert_ptr_equal(module, of_function);
	assert_ok(cuModuleGetFunction(&again, module, "other"));
	assert_ptr_equal(function, again);
	assert_cuda(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
	assert_ok(cuLibraryUnload(library));
	assert_cuda(cuFuncLoad(function), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuKernelGetLibrary(&owner, kernel), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLibraryUnload(library), CUDA_ERROR_INVALID_VALUE);
}

static void test_bad_arguments_of_library_calls(void **state)
{
	CUlibrary library = load_library(fixture_ptx);
	CUmodule module = load(fixture_ptx), out_module;
	CUkernel kernel;
	CUfunction function;
	CUdeviceptr address;
	void *pointer;
	unsigned count;

	(void)state;
	assert_cuda(cuLibraryGetKernel(&kernel, library, "no"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuLibraryGetKernel(&kernel, library, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetKernel(NULL, library, "kernel"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetKernel(&kernel, NULL, "kernel"), CUDA_ERROR_INVALID_HANDLE);
	/* A module is no library, and the other way round. */
	assert_cuda(cuLibraryGetKernel(&kernel, (CUlibrary)(void *)module, "kernel"),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuModuleGetFunctionCount(&count, (CUmodule)(void *)library),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLibraryGetKernelCount(NULL, library), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetKernelCount(&count, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLibraryEnumerateKernels(NULL, 1, library), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetModule(NULL, library), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetModule(&out_module, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLibraryGetGlobal(&address, NULL, library, "no"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuLibraryGetGlobal(NULL, NULL, library, "counter"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetGlobal(&address, NULL, library, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLibraryGetManaged(&address, NULL, library, "counter"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuLibraryGetUnifiedFunction(&pointer, library, "f"), CUDA_ERROR_NOT_FOUND);
	assert_cuda(cuLibraryGetUnifiedFunction(NULL, library, "f"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuKernelGetFunction(&function, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_cuda(cuKernelGetFunction(&function, (CUkernel)(void *)function),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuModuleUnload(module));
	assert_ok(cuLibraryUnload(library));
}

static void test_library_has_its_globals_once_per_context(void **state)
{
	CUlibrary library = load_library(fixture_ptx);
	CUdeviceptr here, again, there;
	CUcontext other, mine;
	unsigned value = 1;

	(void)state;
	assert_ok(cuLibraryGetGlobal(&here, NULL, library, "counter"));
	assert_ok(cuLibraryGetGlobal(&again, NULL, library, "counter"));
	assert_int_equal(here, again);
	assert_ok(cuMemcpyHtoD_v2(here, &value, sizeof(value)));
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	mine = fixture_exchange_context(other);
	assert_ok(cuLibraryGetGlobal(&there, NULL, library, "counter"));
	assert_int_not_equal(here, there);
	assert_int_equal(read_word(there), 42);
	fixture_exchange_context(mine);
	assert_int_equal(read_word(here), 1);
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_ok(cuLibraryUnload(library));
	assert_cuda(cuMemcpyDtoH_v2(&value, here, 4), CUDA_ERROR_INVALID_VALUE);
}

static void test_library_survives_a_reset_with_fresh_globals(void **state)
{
	CUlibrary library = load_library(managed_ptx);
	CUdeviceptr own, managed;
	CUkernel kernel;
	CUfunction function;
	CUcontext other, mine;
	unsigned value = 1;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	mine = fixture_exchange_context(other);
	assert_ok(cuLibraryGetKernel(&kernel, library, "kernel"));
	assert_ok(cuKernelGetFunction(&function, kernel));
	assert_ok(cuLibraryGetGlobal(&own, NULL, library, "own"));
	assert_ok(cuLibraryGetManaged(&managed, NULL, library, "shared_one"));
	assert_ok(cuMemcpyHtoD_v2(own, &value, sizeof(value)));
	*(unsigned *)managed = 1;
	assert_ok(cuDevicePrimaryCtxReset_v2(1));
	assert_cuda(cuFuncLoad(function), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	assert_ok(cuCtxSetCurrent(other));
	assert_ok(cuKernelGetFunction(&function, kernel)); /* the kernel is still one */
	assert_ok(cuLibraryGetGlobal(&own, NULL, library, "own"));
	assert_int_equal(read_word(own), 6);
	assert_ok(cuLibraryGetManaged(&managed, NULL, library, "shared_one"));
	assert_int_equal(*(unsigned *)managed, 5);
	assert_ok(cuLibraryUnload(library));
	fixture_exchange_context(mine);
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
}

static void test_managed_variable_is_one_for_all_contexts(void **state)
{
	CUlibrary library = load_library(managed_ptx);
	CUdeviceptr here, there;
	CUcontext other, mine;
	size_t size;

	(void)state;
	assert_ok(cuLibraryGetManaged(&here, &size, library, "shared_one"));
	assert_int_equal(size, 4);
	assert_int_equal(*(unsigned *)here, 5); /* the host sees it */
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	mine = fixture_exchange_context(other);
	assert_ok(cuLibraryGetGlobal(&there, NULL, library, "shared_one"));
	assert_int_equal(here, there);
	fixture_exchange_context(mine);
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_int_equal(*(unsigned *)here, 5);
	assert_ok(cuLibraryUnload(library));
}

static void test_attributes_of_functions(void **state)
{
	static const CUfunction_attribute fixed[] = {
		CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_NUM_REGS,
		CU_FUNC_ATTRIBUTE_PTX_VERSION,
		CU_FUNC_ATTRIBUTE_BINARY_VERSION,
		CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
		CU_FUNC_ATTRIBUTE_MAX,
	};
	CUmodule module = load(fixture_ptx);
	CUfunction function;
	int value, optin;

	(void)state;
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
		assert_ok(cuFuncGetAttribute(&value, (CUfunction_attribute)i, function));
	assert_ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
	assert_int_equal(value, 1024);
	assert_ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
	assert_int_equal(value, 50);
	assert_ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
	assert_int_equal(value, 90); /* compiled for the device it runs on */
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		assert_cuda(cuFuncSetAttribute(function, fixed[i], 1), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuDeviceGetAttribute(&optin,
				       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
	assert_ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				     optin));
	assert_cuda(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				       optin + 1),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(
		cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1),
		CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				     function));
	assert_int_equal(value, optin);
	assert_cuda(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, function),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuModuleUnload(module));
}

static void test_attributes_of_kernels_are_per_device_and_functions_override_them(void **state)
{
	const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	CUlibrary library = load_library(fixture_ptx);
	CUkernel kernel;
	CUfunction function;
	int value;

	(void)state;
	assert_ok(cuLibraryGetKernel(&kernel, library, "kernel"));
	assert_ok(cuKernelGetFunction(&function, kernel));
	assert_ok(cuKernelSetAttribute(shared, 50000, kernel, 0));
	assert_ok(cuKernelGetAttribute(&value, shared, kernel, 0));
	assert_int_equal(value, 50000);
	assert_ok(cuKernelGetAttribute(&value, shared, kernel, 1));
	assert_int_equal(value, 49152);
	assert_ok(cuFuncGetAttribute(&value, shared, function));
	assert_int_equal(value, 50000);
	assert_ok(cuFuncSetAttribute(function, shared, 60000));
	assert_ok(cuKernelSetAttribute(shared, 51000, kernel, 0));
	assert_ok(cuFuncGetAttribute(&value, shared, function));
	assert_int_equal(value, 60000);
	assert_ok(cuKernelGetAttribute(&value, shared, kernel, 0));
	assert_int_equal(value, 51000);
	assert_cuda(cuKernelGetAttribute(&value, shared, kernel, 2), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuKernelSetAttribute(shared, 1, kernel, -1), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, kernel, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuKernelGetAttribute(NULL, shared, kernel, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuKernelGetAttribute(&value, shared, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuKernelSetAttribute(shared, 1, NOT_A_HANDLE, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuLibraryUnload(library));
}

static void test_cache_preferences_are_taken_if_they_exist(void **state)
{
	CUlibrary library = load_library(fixture_ptx);
	CUkernel kernel;
	CUfunction function;
	CUfunctionLoadingState loaded;

	(void)state;
	assert_ok(cuLibraryGetKernel(&kernel, library, "kernel"));
	assert_ok(cuKernelGetFunction(&function, kernel));
	assert_ok(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1));
	assert_cuda(cuFuncSetCacheConfig(function, (CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_SHARED, 0));
	assert_cuda(cuKernelSetCacheConfig(kernel, (CUfunc_cache)-1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 5),
		    CUDA_ERROR_INVALID_DEVICE);
	assert_ok(cuFuncSetSharedMemConfig(function, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	assert_cuda(cuFuncSetSharedMemConfig(function, (CUsharedconfig)3),
		    CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuFuncIsLoaded(&loaded, function));
	assert_int_equal(loaded, CU_FUNCTION_LOADING_STATE_LOADED);
	assert_ok(cuFuncLoad(function));
	assert_cuda(cuFuncIsLoaded(NULL, function), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuFuncIsLoaded(&loaded, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuLibraryUnload(library));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_images_are_refused),
		cmocka_unit_test(test_compiler_options_are_checked_and_answered),
		cmocka_unit_test(test_module_is_loaded_from_a_file),
		cmocka_unit_test(test_functions_are_found_by_name),
		cmocka_unit_test(test_functions_are_counted_and_listed),
		cmocka_unit_test(test_globals_have_size_memory_and_initial_value),
		cmocka_unit_test(test_large_globals_are_charged_and_may_not_fit),
		cmocka_unit_test(test_unloading_twice_is_an_error),
		cmocka_unit_test(test_modules_need_a_context_and_libraries_do_not),
		cmocka_unit_test(test_modules_go_with_their_context),
		cmocka_unit_test(test_loading_is_lazy_unless_told),
		cmocka_unit_test(test_compressed_images_have_any_kernel_and_no_global),
		cmocka_unit_test(test_library_options_are_checked),
		cmocka_unit_test(test_kernels_of_a_library),
		cmocka_unit_test(test_bad_arguments_of_library_calls),
		cmocka_unit_test(test_library_has_its_globals_once_per_context),
		cmocka_unit_test(test_library_survives_a_reset_with_fresh_globals),
		cmocka_unit_test(test_managed_variable_is_one_for_all_contexts),
		cmocka_unit_test(test_attributes_of_functions),
		cmocka_unit_test(
			test_attributes_of_kernels_are_per_device_and_functions_override_them),
		cmocka_unit_test(test_cache_preferences_are_taken_if_they_exist),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
