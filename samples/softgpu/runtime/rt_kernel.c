/* Kernels: launches, attributes, occupancy. */
#include "runtime.h"

#include <string.h>

#define MAX_PUSHED 16 /* launches whose arguments contain launches */

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute),
	       "launch attributes have one layout");

/* <<<...>>> pushes, the stub of the kernel pops. */
struct configuration {
	dim3 grid, block;
	size_t shared_size;
	cudaStream_t stream;
};

static _Thread_local struct configuration pushed[MAX_PUSHED];
static _Thread_local unsigned nr_pushed;

SG_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_size,
					    struct CUstream_st *stream)
{
	if (nr_pushed == MAX_PUSHED)
		return sg_rt_error_set(cudaErrorLaunchOutOfResources);
	pushed[nr_pushed++] = (struct configuration){grid, block, shared_size, stream};
	return 0;
}

SG_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_size,
					      void *stream)
{
	struct configuration *top;

	if (!nr_pushed)
		return sg_rt_error_set(cudaErrorMissingConfiguration);
	top = &pushed[--nr_pushed];
	*grid = top->grid;
	*block = top->block;
	*shared_size = top->shared_size;
	memcpy(stream, &top->stream, sizeof(top->stream));
	return cudaSuccess;
}

/* The function of a kernel in the current context. */
static cudaError_t function_of(const void *symbol, CUfunction *function)
{
	CUkernel kernel;
	cudaError_t error = sg_rt_module_kernel(symbol, &kernel);

	return error ? error : SG_DRIVER(cuKernelGetFunction_v12000, function, kernel);
}

static cudaError_t launch(CUkernel kernel, const struct configuration *how, void **args,
			  bool cooperative)
{
	CUfunction function;
	cudaError_t error;

	error = sg_rt_device_check_launch(how->grid, how->block);
	if (error)
		return error;
	if (how->shared_size > UINT32_MAX)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuKernelGetFunction_v12000, &function, kernel);
	if (error)
		return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction
							       : error;
	if (cooperative)
		return SG_DRIVER(cuLaunchCooperativeKernel_v9000, function, how->grid.x,
				 how->grid.y, how->grid.z, how->block.x, how->block.y, how->block.z,
				 (unsigned)how->shared_size, how->stream, args);
	return SG_DRIVER(cuLaunchKernel_v4000, function, how->grid.x, how->grid.y, how->grid.z,
			 how->block.x, how->block.y, how->block.z, (unsigned)how->shared_size,
			 how->stream, args, NULL);
}

static cudaError_t launch_symbol(const void *symbol, const struct configuration *how, void **args,
				 bool cooperative)
{
	CUkernel kernel;
	cudaError_t error = sg_rt_module_kernel(symbol, &kernel);

	return error ? error : launch(kernel, how, args, cooperative);
}

/* What __cudaGetKernel gave: a kernel, a host function instead, or NULL for one nobody knows. */
static cudaError_t launch_handle(cudaKernel_t kernel, const struct configuration *how, void **args)
{
	cudaError_t error = cudaErrorInvalidDeviceFunction;

	if (kernel)
		error = launch((CUkernel)kernel, how, args, false);
	return error == cudaErrorInvalidDeviceFunction ? launch_symbol(kernel, how, args, false)
						       : error;
}

SG_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				      size_t shared_size, cudaStream_t stream)
{
	struct configuration how = {grid, block, shared_size, stream};

	return SG_IN_CONTEXT(launch_handle(kernel, &how, args));
}

SG_API cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
				    size_t sharedMem, cudaStream_t stream)
{
	struct configuration how = {gridDim, blockDim, sharedMem, stream};

	return SG_IN_CONTEXT(launch_symbol(func, &how, args, false));
}

SG_API cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
					       void **args, size_t sharedMem, cudaStream_t stream)
{
	struct configuration how = {gridDim, blockDim, sharedMem, stream};

	return SG_IN_CONTEXT(launch_symbol(func, &how, args, true));
}

/* The driver's form of a launch configuration. */
static cudaError_t convert(const cudaLaunchConfig_t *config, CUlaunchConfig *out)
{
	if (!config || (config->numAttrs && !config->attrs) ||
	    config->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	*out = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
	return cudaSuccess;
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *symbol, void **args)
{
	CUlaunchConfig converted;
	CUfunction function;
	cudaError_t error = convert(config, &converted);

	if (!error)
		error = function_of(symbol, &function);
	if (!error)
		error = sg_rt_device_check_launch(config->gridDim, config->blockDim);
	return error ? error : SG_DRIVER(cuLaunchKernelEx_v11060, &converted, function, args, NULL);
}

SG_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
				       void **args)
{
	return SG_IN_CONTEXT(launch_ex(config, func, args));
}

/* Attributes: a kernel has them per device. */

static cudaError_t kernel_and_device(const void *symbol, CUkernel *kernel, int *device)
{
	cudaError_t error = sg_rt_module_kernel(symbol, kernel);

	return error ? error : sg_rt_context_device(device);
}

static cudaError_t get_attributes(struct cudaFuncAttributes *attributes, const void *symbol)
{
	int values[CU_FUNC_ATTRIBUTE_MAX] = {0};
	CUkernel kernel;
	cudaError_t error;
	int device, i;

	if (!attributes)
		return cudaErrorInvalidValue;
	error = kernel_and_device(symbol, &kernel, &device);
	if (error)
		return error;
	for (i = 0; i < CU_FUNC_ATTRIBUTE_MAX && !error; i++)
		error = SG_DRIVER(cuKernelGetAttribute_v12000, &values[i], (CUfunction_attribute)i,
				  kernel, device);
	if (error)
		return error;
	memset(attributes, 0, sizeof(*attributes));
	attributes->sharedSizeBytes = (size_t)values[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	attributes->constSizeBytes = (size_t)values[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
	attributes->localSizeBytes = (size_t)values[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
	attributes->maxThreadsPerBlock = values[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	attributes->numRegs = values[CU_FUNC_ATTRIBUTE_NUM_REGS];
	attributes->ptxVersion = values[CU_FUNC_ATTRIBUTE_PTX_VERSION];
	attributes->binaryVersion = values[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
	attributes->cacheModeCA = values[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
	attributes->maxDynamicSharedSizeBytes =
		values[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	attributes->preferredShmemCarveout =
		values[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
#if CUDART_VERSION >= 12000
	attributes->clusterDimMustBeSet = values[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET];
	attributes->requiredClusterWidth = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
	attributes->requiredClusterHeight = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
	attributes->requiredClusterDepth = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
	attributes->clusterSchedulingPolicyPreference =
		values[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE];
	attributes->nonPortableClusterSizeAllowed =
		values[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
#endif
	return cudaSuccess;
}

static bool may_be_set(enum cudaFuncAttribute attribute)
{
	return attribute >= cudaFuncAttributeMaxDynamicSharedMemorySize &&
	       attribute < cudaFuncAttributeMax;
}

static cudaError_t set_attribute(const void *symbol, enum cudaFuncAttribute attribute, int value)
{
	CUkernel kernel;
	cudaError_t error;
	int device;

	error = kernel_and_device(symbol, &kernel, &device);
	if (error)
		return error;
	if (!may_be_set(attribute))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuKernelSetAttribute_v12000, (CUfunction_attribute)attribute, value,
			 kernel, device);
}

static cudaError_t set_for_device(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
				  int device)
{
	if (!kernel)
		return cudaErrorInvalidResourceHandle;
	if (!may_be_set(attribute))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuKernelSetAttribute_v12000, (CUfunction_attribute)attribute, value,
			 (CUkernel)kernel, device);
}

static cudaError_t set_cache_config(const void *symbol, enum cudaFuncCache config)
{
	CUkernel kernel;
	cudaError_t error;
	int device;

	error = kernel_and_device(symbol, &kernel, &device);
	return error ? error
		     : SG_DRIVER(cuKernelSetCacheConfig_v12000, kernel, (CUfunc_cache)config,
				 device);
}

static cudaError_t set_shared_config(const void *symbol, enum cudaSharedMemConfig config)
{
	CUfunction function;
	cudaError_t error = function_of(symbol, &function);

	return error ? error
		     : SG_DRIVER(cuFuncSetSharedMemConfig_v4020, function, (CUsharedconfig)config);
}

static cudaError_t get_name(const char **name, const void *symbol)
{
	CUkernel kernel;
	cudaError_t error;

	if (!name)
		return cudaErrorInvalidValue;
	error = sg_rt_module_kernel(symbol, &kernel);
	return error ? error : SG_DRIVER(cuKernelGetName_v12030, name, kernel);
}

static cudaError_t get_param_info(const void *symbol, size_t index, size_t *offset, size_t *size)
{
	CUkernel kernel;
	cudaError_t error;

	if (!offset)
		return cudaErrorInvalidValue;
	error = sg_rt_module_kernel(symbol, &kernel);
	return error ? error : SG_DRIVER(cuKernelGetParamInfo_v12040, kernel, index, offset, size);
}

static cudaError_t get_function(cudaFunction_t *out, const void *symbol)
{
	CUfunction function;
	cudaError_t error;

	if (!out)
		return cudaErrorInvalidValue;
	error = function_of(symbol, &function);
	if (!error)
		*out = function;
	return error;
}

SG_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	return SG_IN_CONTEXT(get_attributes(attr, func));
}

SG_API cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	return SG_IN_CONTEXT(set_attribute(func, attr, value));
}

SG_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
						   int value, int device)
{
	return SG_IN_CONTEXT(set_for_device(kernel, attr, value, device));
}

SG_API cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	return SG_IN_CONTEXT(set_cache_config(func, cacheConfig));
}

SG_API cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	return SG_IN_CONTEXT(set_shared_config(func, config));
}

SG_API cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	return SG_IN_CONTEXT(get_name(name, func));
}

SG_API cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
					size_t *paramSize)
{
	return SG_IN_CONTEXT(get_param_info(func, paramIndex, paramOffset, paramSize));
}

SG_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	return SG_IN_CONTEXT(get_function(functionPtr, symbolPtr));
}

/* Occupancy */

static cudaError_t max_blocks(int *blocks, const void *symbol, int block_size, size_t shared_size,
			      unsigned flags)
{
	CUfunction function;
	cudaError_t error;

	if (!blocks)
		return cudaErrorInvalidValue;
	error = function_of(symbol, &function);
	return error ? error
		     : SG_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000, blocks,
				 function, block_size, shared_size, flags);
}

static cudaError_t available_shared(size_t *size, const void *symbol, int blocks, int block_size)
{
	CUfunction function;
	cudaError_t error;

	if (!size)
		return cudaErrorInvalidValue;
	error = function_of(symbol, &function);
	return error ? error
		     : SG_DRIVER(cuOccupancyAvailableDynamicSMemPerBlock_v10020, size, function,
				 blocks, block_size);
}

static cudaError_t cluster_size(int *size, const void *symbol, const cudaLaunchConfig_t *config)
{
	CUlaunchConfig converted;
	CUfunction function;
	cudaError_t error = size ? convert(config, &converted) : cudaErrorInvalidValue;

	if (!error)
		error = function_of(symbol, &function);
	return error ? error
		     : SG_DRIVER(cuOccupancyMaxPotentialClusterSize_v11070, size, function,
				 &converted);
}

static cudaError_t max_clusters(int *clusters, const void *symbol, const cudaLaunchConfig_t *config)
{
	CUlaunchConfig converted;
	CUfunction function;
	cudaError_t error = clusters ? convert(config, &converted) : cudaErrorInvalidValue;

	if (!error)
		error = function_of(symbol, &function);
	return error ? error
		     : SG_DRIVER(cuOccupancyMaxActiveClusters_v11070, clusters, function,
				 &converted);
}

SG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
								 int blockSize,
								 size_t dynamicSMemSize)
{
	return SG_IN_CONTEXT(
		max_blocks(numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault));
}

SG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	return SG_IN_CONTEXT(max_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags));
}

SG_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
							     const void *func, int numBlocks,
							     int blockSize)
{
	return SG_IN_CONTEXT(available_shared(dynamicSmemSize, func, numBlocks, blockSize));
}

SG_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
							const cudaLaunchConfig_t *launchConfig)
{
	return SG_IN_CONTEXT(cluster_size(clusterSize, func, launchConfig));
}

SG_API cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
						  const cudaLaunchConfig_t *launchConfig)
{
	return SG_IN_CONTEXT(max_clusters(numClusters, func, launchConfig));
}
