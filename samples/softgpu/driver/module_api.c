#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "load.h"
#include "module.h"

static CUresult create(CUmodule *handle, struct sg_image *image, struct sg_context *context)
{
	struct sg_module *module;
	CUresult result = sg_module_create(image, context, &module);

	if (result == CUDA_SUCCESS)
		*handle = (CUmodule)(void *)module;
	return result;
}

SG_API CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	struct sg_context *context;
	struct sg_image *image;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_load_file(fname, &image);
	return result == CUDA_SUCCESS ? create(module, image, context) : result;
}

SG_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
				   CUjit_option *options, void **optionValues)
{
	struct sg_context *context;
	struct sg_image *loaded;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_load_check_options(numOptions, options, optionValues);
	if (result == CUDA_SUCCESS)
		result = sg_load_memory(image, &loaded);
	return result == CUDA_SUCCESS ? create(module, loaded, context) : result;
}

SG_API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

SG_API CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

SG_API CUresult cuModuleUnload(CUmodule hmod)
{
	struct sg_context *context;
	struct sg_module *module;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(hmod);
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (module->library)
		return CUDA_ERROR_NOT_PERMITTED;
	sg_module_destroy(module);
	return CUDA_SUCCESS;
}

SG_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	const char *wanted = getenv("CUDA_MODULE_LOADING");
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING
						   : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

SG_API CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	struct sg_context *context;
	struct sg_module *module;
	struct sg_kernel *kernel;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(hmod);
	if (!hfunc || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_module_find_kernel(module, name, &kernel);
	if (result == CUDA_SUCCESS)
		*hfunc = (CUfunction)(void *)kernel;
	return result;
}

SG_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
				     const char *name)
{
	struct sg_context *context;
	struct sg_module *module;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(hmod);
	if ((!dptr && !bytes) || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_module_find_variable(module, name, dptr, bytes);
}

/* Of an opaque image nobody knows: only the functions that were asked for count. */
SG_API CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	struct sg_module *module;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(mod);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sg_module_count_kernels(module);
	return CUDA_SUCCESS;
}

SG_API CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
					   CUmodule mod)
{
	struct sg_context *context;
	struct sg_module *module;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	module = sg_module_get(mod);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!functions || !numFunctions)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_module_list_kernels(module, functions, numFunctions);
}
