#include "kernel.h"

#include <stdlib.h>

#include "device_attribute.h"
#include "object.h"
#include "truth.h"

/* What a kernel uses, for lack of a compiler's word: enough to make occupancy plausible. */
#define REGISTERS_PER_THREAD 32

/* A multiprocessor hands out registers to warps, in units, and has four parts that take warps. */
#define REGISTER_UNIT 256
#define WARP_UNIT     4

struct sg_kernel_settings {
	_Atomic unsigned is_set; /* bit per attribute */
	_Atomic int values[CU_FUNC_ATTRIBUTE_MAX];
};

struct sg_kernel *sg_kernel_find(const void *handle)
{
	return sg_object_get(SG_OBJECT_KERNEL, handle);
}

struct sg_kernel *sg_kernel_create(struct sg_module *module, const char *name)
{
	struct sg_kernel *kernel = sg_object_create(SG_OBJECT_KERNEL, sizeof(*kernel));

	if (kernel) {
		kernel->module = module;
		kernel->name = name;
		kernel->is_conjunction = sg_truth_is_conjunction(name);
	}
	return kernel;
}

void sg_kernel_destroy(struct sg_kernel *kernel)
{
	free(atomic_load(&kernel->settings));
	sg_object_destroy(SG_OBJECT_KERNEL, kernel);
}

static bool is_function(const struct sg_kernel *kernel)
{
	return kernel->module->context;
}

CUresult sg_kernel_load(struct sg_kernel *kernel, struct sg_context *context)
{
	struct sg_module *module;

	if (is_function(kernel))
		return kernel->module->context == context ? CUDA_SUCCESS
							  : CUDA_ERROR_INVALID_HANDLE;
	return sg_module_load_library(kernel->module, context, &module);
}

static bool find_setting(struct sg_kernel *kernel, CUfunction_attribute attribute, CUdevice device,
			 int *value)
{
	struct sg_kernel_settings *settings =
		atomic_load_explicit(&kernel->settings, memory_order_acquire);

	if (!settings)
		return false;
	if (!is_function(kernel))
		settings += device;
	if (!(atomic_load_explicit(&settings->is_set, memory_order_acquire) & 1u << attribute))
		return false;
	*value = atomic_load_explicit(&settings->values[attribute], memory_order_relaxed);
	return true;
}

/* What the image says, or what is as good as nothing. */
static struct sg_image_kernel get_needs(const struct sg_kernel *kernel)
{
	const struct sg_image_kernel *known =
		sg_image_find_needs(kernel->module->image, kernel->name);

	return known ? *known : (struct sg_image_kernel){.registers = REGISTERS_PER_THREAD};
}

/* By the bounds it was compiled with, or else by its registers. */
static int get_max_threads(const struct sg_image_kernel *needs)
{
	int per_warp = (needs->registers * SG_WARP_SIZE + REGISTER_UNIT - 1) / REGISTER_UNIT *
		       REGISTER_UNIT;
	int warps = sg_config_get()->profile.registers_per_block / per_warp / WARP_UNIT * WARP_UNIT;
	int threads = warps * SG_WARP_SIZE;

	if (needs->max_threads)
		return needs->max_threads;
	return threads < SG_MAX_THREADS_PER_BLOCK ? threads : SG_MAX_THREADS_PER_BLOCK;
}

/* What is left of the shared memory of a block for what is asked for at the launch. */
static int get_dynamic_shared(const struct sg_kernel *kernel, int shared_size)
{
	int left = shared_size - get_needs(kernel).shared_size;

	return left > 0 ? left : 0;
}

static int get_known(const struct sg_kernel *kernel, CUfunction_attribute attribute)
{
	const struct sg_image_kernel needs = get_needs(kernel);

	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		return get_max_threads(&needs);
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		return needs.registers;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		return needs.shared_size;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		return needs.local_size;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		return kernel->module->image->constant_size;
	default:
		return 0;
	}
}

int sg_kernel_get_attribute(struct sg_kernel *kernel, CUfunction_attribute attribute,
			    CUdevice device)
{
	int value;

	/* What was set on the function counts, then what was set on its kernel. */
	if (find_setting(kernel, attribute, device, &value))
		return value;
	if (kernel->library_kernel &&
	    find_setting(kernel->library_kernel, attribute, device, &value))
		return value;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		return kernel->module->image->ptx_version;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		return kernel->module->image->binary_version;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		return get_dynamic_shared(kernel, sg_config_get()->profile.shared_per_block);
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return CU_SHAREDMEM_CARVEOUT_DEFAULT;
	default:
		return get_known(kernel, attribute);
	}
}

/* Whether a program may set an attribute to a value. All others are read-only. */
static bool is_settable(const struct sg_kernel *kernel, CUfunction_attribute attribute, int value)
{
	const struct sg_profile *profile = &sg_config_get()->profile;

	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		return value >= 0 &&
		       value <= get_dynamic_shared(kernel, profile->shared_per_block_optin);
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return value >= CU_SHAREDMEM_CARVEOUT_DEFAULT &&
		       value <= CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		return value >= 0 && profile->cc >= 90;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return value == 0 || value == 1;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
		       value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
	default:
		return false;
	}
}

/* The settings of a kernel, made when the first one is set; NULL when memory is out. */
static struct sg_kernel_settings *get_settings(struct sg_kernel *kernel)
{
	struct sg_kernel_settings *mine, *there = NULL;

	there = atomic_load_explicit(&kernel->settings, memory_order_acquire);
	if (there)
		return there;
	mine = calloc(is_function(kernel) ? 1 : SG_MAX_DEVICES, sizeof(*mine));
	if (!mine)
		return NULL;
	if (atomic_compare_exchange_strong(&kernel->settings, &there, mine))
		return mine;
	free(mine);
	return there;
}

static CUresult set_attribute(struct sg_kernel *kernel, CUfunction_attribute attribute, int value,
			      CUdevice device)
{
	struct sg_kernel_settings *settings;

	if (!is_settable(kernel, attribute, value))
		return CUDA_ERROR_INVALID_VALUE;
	settings = get_settings(kernel);
	if (!settings)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!is_function(kernel))
		settings += device;
	atomic_store_explicit(&settings->values[attribute], value, memory_order_relaxed);
	atomic_fetch_or_explicit(&settings->is_set, 1u << attribute, memory_order_release);
	return CUDA_SUCCESS;
}

static bool is_attribute(CUfunction_attribute attribute)
{
	return (int)attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX;
}

static bool is_cache_config(CUfunc_cache config)
{
	return (int)config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/* A kernel of a library by handle, in an initialised driver. */
static CUresult get_kernel(CUkernel handle, struct sg_kernel **kernel)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	*kernel = sg_kernel_find(handle);
	return *kernel && !is_function(*kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_API CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct sg_kernel *found, *function;
	struct sg_context *context;
	struct sg_module *module;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pFunc)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_context_get_current(&context);
	if (result == CUDA_SUCCESS)
		result = sg_module_load_library(found->module, context, &module);
	if (result == CUDA_SUCCESS)
		result = sg_module_find_kernel(module, found->name, &function);
	if (result == CUDA_SUCCESS)
		*pFunc = (CUfunction)(void *)function;
	return result;
}

SG_API CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	struct sg_kernel *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pLib)
		return CUDA_ERROR_INVALID_VALUE;
	*pLib = (CUlibrary)(void *)found->module;
	return CUDA_SUCCESS;
}

SG_API CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
	struct sg_kernel *found;
	CUresult result = get_kernel(hfunc, &found);

	if (result == CUDA_ERROR_INVALID_HANDLE || (result == CUDA_SUCCESS && !name))
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*name = found->name;
	return result;
}

SG_API CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
				     CUdevice dev)
{
	struct sg_kernel *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi || !is_attribute(attrib))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_init_check_device(dev);
	if (result == CUDA_SUCCESS)
		*pi = sg_kernel_get_attribute(found, attrib, dev);
	return result;
}

SG_API CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
				     CUdevice dev)
{
	struct sg_kernel *found;
	CUresult result = get_kernel(kernel, &found);

	if (result == CUDA_SUCCESS)
		result = sg_init_check_device(dev);
	return result == CUDA_SUCCESS ? set_attribute(found, attrib, val, dev) : result;
}

SG_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	struct sg_kernel *found;
	CUresult result = get_kernel(kernel, &found);

	if (result == CUDA_SUCCESS)
		result = sg_init_check_device(dev);
	if (result == CUDA_SUCCESS && !is_cache_config(config))
		result = CUDA_ERROR_INVALID_VALUE;
	return result; /* a preference, and no cache to prefer it for */
}

/*
 * A function by handle, and the device it is on. A kernel of a library is taken for its function in
 * the current context, as the API allows. bad: what an unknown handle is called here.
 */
static CUresult get_function(CUfunction handle, CUresult bad, struct sg_kernel **kernel,
			     struct sg_context **context)
{
	CUresult result = sg_context_get_current(context);

	if (result != CUDA_SUCCESS)
		return result;
	*kernel = sg_kernel_find(handle);
	if (!*kernel)
		return bad;
	if (is_function(*kernel))
		*context = (*kernel)->module->context;
	return CUDA_SUCCESS;
}

SG_API CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct sg_kernel *kernel;
	struct sg_context *context;
	CUresult result = get_function(hfunc, CUDA_ERROR_INVALID_HANDLE, &kernel, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi || !is_attribute(attrib))
		return CUDA_ERROR_INVALID_VALUE;
	*pi = sg_kernel_get_attribute(kernel, attrib, context->device);
	return CUDA_SUCCESS;
}

SG_API CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct sg_kernel *kernel;
	struct sg_context *context;
	CUresult result = get_function(hfunc, CUDA_ERROR_INVALID_HANDLE, &kernel, &context);

	return result == CUDA_SUCCESS ? set_attribute(kernel, attrib, value, context->device)
				      : result;
}

SG_API CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	struct sg_kernel *kernel;
	struct sg_context *context;
	CUresult result = get_function(hfunc, CUDA_ERROR_INVALID_VALUE, &kernel, &context);

	if (result == CUDA_SUCCESS && !is_cache_config(config))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

SG_API CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	struct sg_kernel *kernel;
	struct sg_context *context;
	CUresult result = get_function(hfunc, CUDA_ERROR_INVALID_VALUE, &kernel, &context);

	if (result == CUDA_SUCCESS && ((int)config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE ||
				       config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

SG_API CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	struct sg_kernel *kernel;
	struct sg_context *context;
	struct sg_module *module;
	CUresult result = get_function(hfunc, CUDA_ERROR_INVALID_VALUE, &kernel, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!hmod)
		return CUDA_ERROR_INVALID_VALUE;
	module = kernel->module;
	if (!is_function(kernel))
		result = sg_module_load_library(kernel->module, context, &module);
	if (result == CUDA_SUCCESS)
		*hmod = (CUmodule)(void *)module;
	return result;
}

SG_API CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
	struct sg_kernel *kernel;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	kernel = sg_kernel_find(hfunc);
	if (!name || !kernel)
		return CUDA_ERROR_INVALID_VALUE;
	*name = kernel->name;
	return CUDA_SUCCESS;
}

/* There is no code to load, so nothing is ever only partly loaded. */
SG_API CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!sg_kernel_find(function))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

SG_API CUresult cuFuncLoad(CUfunction function)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	return sg_kernel_find(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
