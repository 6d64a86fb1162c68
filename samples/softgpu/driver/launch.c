#include "launch.h"

#include "capture.h"
#include "device_attribute.h"
#include "event.h"
#include "kernel.h"
#include "occupancy.h"
#include "stream.h"
#include "truth.h"

/*
 * Launches: everything is checked as if the kernel would run, and then it does not. In what a
 * program can observe, it has run and written nothing.
 */
struct launch {
	struct sg_kernel *kernel;
	CUdevice device;
	const CUlaunchConfig *config;
	uint64_t nr_threads; /* of a block */
	uint64_t nr_blocks;
	bool is_cooperative;
};

/* More settings than exist: a list that goes on is not one. */
#define MAX_EXTRA 8

static bool is_extent(unsigned size, CUdevice device, CUdevice_attribute limit)
{
	return size && size <= (unsigned)sg_device_attribute_get(device, limit);
}

static CUresult check_shape(struct launch *launch)
{
	const CUlaunchConfig *config = launch->config;
	CUdevice device = launch->device;

	if (!is_extent(config->gridDimX, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
	    !is_extent(config->gridDimY, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) ||
	    !is_extent(config->gridDimZ, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) ||
	    !is_extent(config->blockDimX, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
	    !is_extent(config->blockDimY, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) ||
	    !is_extent(config->blockDimZ, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z))
		return CUDA_ERROR_INVALID_VALUE;
	launch->nr_threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	/* 31 + 16 + 16 bits at most */
	launch->nr_blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
	return launch->nr_threads <= SG_MAX_THREADS_PER_BLOCK ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_resources(const struct launch *launch)
{
	int shared = sg_kernel_get_attribute(
		launch->kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch->device);
	int threads = sg_kernel_get_attribute(
		launch->kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, launch->device);
	int resident;

	if (launch->config->sharedMemBytes > (unsigned)shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (launch->nr_threads > (uint64_t)threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	resident = sg_occupancy_get_blocks(launch->kernel, launch->device, (int)launch->nr_threads,
					   launch->config->sharedMemBytes);
	if (!resident)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	/* All blocks wait for each other, so all must be on the device at once. */
	if (launch->is_cooperative &&
	    launch->nr_blocks >
		    (uint64_t)resident * (uint64_t)sg_config_get()->profile.nr_multiprocessors)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static CUresult check_cluster(const struct launch *launch, unsigned x, unsigned y, unsigned z)
{
	const CUlaunchConfig *config = launch->config;
	bool is_large_allowed = sg_kernel_get_attribute(
		launch->kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
		launch->device);
	unsigned limit = is_large_allowed ? SG_MAX_CLUSTER_SIZE : SG_PORTABLE_CLUSTER_SIZE;

	if (!x || !y || !z)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_attribute_get(launch->device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
		limit = 1;
	if (x > limit || y > limit || z > limit || x * y * z > limit)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (config->gridDimX % x || config->gridDimY % y || config->gridDimZ % z)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* An event that a launch may record: without timing, and of this process only. */
static CUresult check_event(CUevent handle, int flags)
{
	struct sg_event *event;
	CUresult result = sg_event_get(handle, &event);

	if (result != CUDA_SUCCESS)
		return result;
	if (!(event->flags & CU_EVENT_DISABLE_TIMING) || (event->flags & CU_EVENT_INTERPROCESS) ||
	    flags != CU_EVENT_RECORD_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_attribute(struct launch *launch, const CUlaunchAttribute *attribute)
{
	const CUlaunchAttributeValue *value = &attribute->value;

	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		launch->is_cooperative = value->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return check_cluster(launch, value->clusterDim.x, value->clusterDim.y,
				     value->clusterDim.z);
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return check_event(value->programmaticEvent.event, value->programmaticEvent.flags);
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return check_event(value->launchCompletionEvent.event,
				   value->launchCompletionEvent.flags);
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return sg_capture_is_on(launch->config->hStream) ? CUDA_SUCCESS
								 : CUDA_ERROR_INVALID_VALUE;
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return value->sharedMemCarveout <= CU_SHAREDMEM_CARVEOUT_MAX_SHARED
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	default:
		/* Hints about time and caches. */
		return (int)attribute->id >= 0 && attribute->id < CU_LAUNCH_ATTRIBUTE_MAX
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult check_attributes(struct launch *launch)
{
	CUresult result = CUDA_SUCCESS;

	if (launch->config->numAttrs && !launch->config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < launch->config->numAttrs && result == CUDA_SUCCESS; i++)
		result = check_attribute(launch, &launch->config->attrs[i]);
	return result;
}

/* Pairs of a name and a value, up to CU_LAUNCH_PARAM_END. */
static CUresult check_extra(void **extra)
{
	bool has_buffer = false, has_size = false;

	for (unsigned i = 0; i < MAX_EXTRA; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_END)
			return has_size && !has_buffer ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER && extra[i + 1])
			has_buffer = true;
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
			has_size |= *(const size_t *)extra[i + 1] != 0;
		else if (extra[i] != CU_LAUNCH_PARAM_BUFFER_POINTER)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static void record_events(const CUlaunchConfig *config)
{
	struct sg_event *event;

	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];
		CUevent handle = NULL;

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			handle = attribute->value.programmaticEvent.event;
		else if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			handle = attribute->value.launchCompletionEvent.event;
		if (handle && sg_event_get(handle, &event) == CUDA_SUCCESS)
			sg_event_record(event);
	}
}

/*
 * Kernel and context. A function runs in the current context and its stream must be of it; a
 * kernel of a library runs in the context of its stream.
 */
static CUresult open_launch(struct launch *launch, CUfunction function)
{
	struct sg_context *context, *current;
	CUresult result = sg_stream_get_context(launch->config->hStream, NULL, &context);

	if (result == CUDA_ERROR_INVALID_HANDLE &&
	    sg_context_get_current(&current) == CUDA_ERROR_INVALID_CONTEXT)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (result != CUDA_SUCCESS)
		return result;
	launch->kernel = sg_kernel_find(function);
	if (!launch->kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (launch->kernel->module->context) {
		result = sg_context_get_current(&current);
		if (result != CUDA_SUCCESS)
			return result;
		if (context != current)
			return CUDA_ERROR_INVALID_HANDLE;
	}
	launch->device = context->device;
	return sg_kernel_load(launch->kernel, context);
}

/* Everything but the kernel itself, which is open. */
static CUresult check_launch(struct launch *launch, void **params, void **extra)
{
	CUresult result = CUDA_SUCCESS;

	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		result = check_extra(extra);
	if (result == CUDA_SUCCESS)
		result = check_shape(launch);
	if (result == CUDA_SUCCESS)
		result = check_attributes(launch);
	if (result == CUDA_SUCCESS)
		result = check_resources(launch);
	return result;
}

CUresult sg_launch_check(struct sg_context *context, CUfunction function,
			 const CUlaunchConfig *config, void **params, void **extra)
{
	struct launch launch = {
		.config = config, .device = context->device, .kernel = sg_kernel_find(function)};
	CUresult result =
		launch.kernel ? sg_kernel_load(launch.kernel, context) : CUDA_ERROR_INVALID_HANDLE;

	return result == CUDA_SUCCESS ? check_launch(&launch, params, extra) : result;
}

static CUresult launch_kernel(const CUlaunchConfig *config, CUfunction function, void **params,
			      void **extra, bool is_cooperative)
{
	struct launch launch = {.config = config, .is_cooperative = is_cooperative};
	CUresult result = open_launch(&launch, function);
	bool is_captured = false;

	if (result == CUDA_SUCCESS)
		result = check_launch(&launch, params, extra);
	if (result == CUDA_SUCCESS)
		result = sg_capture_enqueue_launch(config, function, extra, is_cooperative,
						   &is_captured);
	if (result == CUDA_SUCCESS && !is_captured) {
		record_events(config);
		sg_truth_set_last(launch.kernel->is_conjunction);
	}
	return result;
}

SG_API CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
			       unsigned int gridDimZ, unsigned int blockDimX,
			       unsigned int blockDimY, unsigned int blockDimZ,
			       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
			       void **extra)
{
	CUlaunchConfig config = {gridDimX,  gridDimY,       gridDimZ, blockDimX, blockDimY,
				 blockDimZ, sharedMemBytes, hStream,  NULL,      0};

	return launch_kernel(&config, f, kernelParams, extra, false);
}

SG_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
				 void **extra)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	return launch_kernel(config, f, kernelParams, extra, false);
}

SG_API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
					  unsigned int gridDimY, unsigned int gridDimZ,
					  unsigned int blockDimX, unsigned int blockDimY,
					  unsigned int blockDimZ, unsigned int sharedMemBytes,
					  CUstream hStream, void **kernelParams)
{
	CUlaunchConfig config = {gridDimX,  gridDimY,       gridDimZ, blockDimX, blockDimY,
				 blockDimZ, sharedMemBytes, hStream,  NULL,      0};

	return launch_kernel(&config, f, kernelParams, NULL, true);
}
