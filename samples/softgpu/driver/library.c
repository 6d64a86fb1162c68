#include "kernel.h"
#include "load.h"
#include "module.h"

static CUresult check_options(unsigned nr_options, const CUlibraryOption *options, void **values,
			      bool is_file)
{
	if (nr_options && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < nr_options; i++) {
		if ((int)options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
		if (is_file && options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult create(CUlibrary *handle, struct sg_image *image)
{
	struct sg_module *library;
	CUresult result = sg_module_create(image, NULL, &library);

	if (result == CUDA_SUCCESS)
		*handle = (CUlibrary)(void *)library;
	return result;
}

SG_API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
				  void **jitOptionsValues, unsigned int numJitOptions,
				  CUlibraryOption *libraryOptions, void **libraryOptionValues,
				  unsigned int numLibraryOptions)
{
	struct sg_image *image;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_options(numLibraryOptions, libraryOptions, libraryOptionValues, false);
	if (result == CUDA_SUCCESS)
		result = sg_load_check_options(numJitOptions, jitOptions, jitOptionsValues);
	if (result == CUDA_SUCCESS)
		result = sg_load_memory(code, &image);
	return result == CUDA_SUCCESS ? create(library, image) : result;
}

SG_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
				      CUjit_option *jitOptions, void **jitOptionsValues,
				      unsigned int numJitOptions, CUlibraryOption *libraryOptions,
				      void **libraryOptionValues, unsigned int numLibraryOptions)
{
	struct sg_image *image;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!library || !fileName)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_options(numLibraryOptions, libraryOptions, libraryOptionValues, true);
	if (result == CUDA_SUCCESS)
		result = sg_load_check_options(numJitOptions, jitOptions, jitOptionsValues);
	if (result == CUDA_SUCCESS)
		result = sg_load_file(fileName, &image);
	return result == CUDA_SUCCESS ? create(library, image) : result;
}

/* Initialised, a library, and something to write to. */
static CUresult get_library(CUlibrary handle, const void *output, struct sg_module **library)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	*library = sg_module_get_library(handle);
	if (!*library)
		return CUDA_ERROR_INVALID_HANDLE;
	return output ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuLibraryUnload(CUlibrary library)
{
	struct sg_module *module;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get_library(library);
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	sg_module_destroy(module);
	return CUDA_SUCCESS;
}

SG_API CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct sg_module *module;
	struct sg_kernel *kernel;
	CUresult result = get_library(library, pKernel, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_module_find_kernel(module, name, &kernel);
	if (result == CUDA_SUCCESS)
		*pKernel = (CUkernel)(void *)kernel;
	return result;
}

SG_API CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	struct sg_module *module;
	CUresult result = get_library(lib, count, &module);

	if (result == CUDA_SUCCESS)
		*count = sg_module_count_kernels(module);
	return result;
}

SG_API CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	struct sg_module *module;
	CUresult result = get_library(lib, kernels, &module);

	if (result != CUDA_SUCCESS)
		return result;
	return numKernels ? sg_module_list_kernels(module, kernels, numKernels)
			  : CUDA_ERROR_INVALID_VALUE;
}

/* A library's module in the current context. */
static CUresult load_in_current(CUlibrary handle, const void *output, struct sg_module **module)
{
	struct sg_context *context;
	struct sg_module *library;
	CUresult result = get_library(handle, output, &library);

	if (result != CUDA_SUCCESS)
		return result;
	result = sg_context_get_current(&context);
	if (result != CUDA_SUCCESS)
		return result;
	return sg_module_load_library(library, context, module);
}

SG_API CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	struct sg_module *module;
	CUresult result = load_in_current(library, pMod, &module);

	if (result == CUDA_SUCCESS)
		*pMod = (CUmodule)(void *)module;
	return result;
}

SG_API CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
				   const char *name)
{
	struct sg_module *module;
	CUresult result = load_in_current(library, dptr ? (void *)dptr : (void *)bytes, &module);

	if (result != CUDA_SUCCESS)
		return result;
	return name ? sg_module_find_variable(module, name, dptr, bytes) : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
				    const char *name)
{
	struct sg_context *context;
	struct sg_module *module, *loaded;
	CUresult result = get_library(library, dptr ? (void *)dptr : (void *)bytes, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	/* It exists once the library is loaded anywhere; here and now if nowhere else. */
	if (module->image->managed_size && sg_context_get_current(&context) == CUDA_SUCCESS) {
		result = sg_module_load_library(module, context, &loaded);
		if (result != CUDA_SUCCESS)
			return result;
	}
	return sg_module_find_managed(module, name, dptr, bytes);
}

SG_API CUresult cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
	struct sg_module *module;
	CUresult result = get_library(library, fptr, &module);

	if (result != CUDA_SUCCESS)
		return result;
	/* CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS is 0. */
	return symbol ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}
