#include "graph_params.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "event.h"
#include "kernel.h"
#include "launch.h"

#define MAX_MEM_OPS    256
#define MAX_SEMAPHORES 4096

CUresult sg_graph_params_get_context(const CUgraphNodeParams *params, struct sg_context **context)
{
	const struct sg_kernel *kernel;

	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel = sg_kernel_find(params->kernel.func ? (const void *)params->kernel.func
							    : (const void *)params->kernel.kern);
		if (kernel && kernel->module->context) {
			*context = kernel->module->context;
			return CUDA_SUCCESS;
		}
		return sg_context_get(params->kernel.ctx, context);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sg_context_get(params->memcpy.copyCtx, context);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sg_context_get(params->memset.ctx, context);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return sg_context_get(params->memOp.ctx, context);
	default:
		return sg_context_get_current(context);
	}
}

static CUresult check_kernel(const CUgraphNodeParams *params)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &params->kernel;
	const CUlaunchConfig config = {kernel->gridDimX,
				       kernel->gridDimY,
				       kernel->gridDimZ,
				       kernel->blockDimX,
				       kernel->blockDimY,
				       kernel->blockDimZ,
				       kernel->sharedMemBytes,
				       NULL,
				       NULL,
				       0};
	CUfunction function = kernel->func;
	struct sg_context *context;
	CUresult result;

	/* One of them, whichever. */
	if (!function)
		function = (CUfunction)(void *)kernel->kern;
	if (!sg_kernel_find(function))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_graph_params_get_context(params, &context);
	if (result != CUDA_SUCCESS)
		return result;
	return sg_launch_check(context, function, &config, kernel->kernelParams, kernel->extra);
}

static bool is_side(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		return host;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		return device;
	case CU_MEMORYTYPE_ARRAY:
		return array;
	default:
		return false;
	}
}

static CUresult check_memcpy(const CUDA_MEMCPY_NODE_PARAMS *memcpy_params)
{
	const CUDA_MEMCPY3D *copy = &memcpy_params->copyParams;

	if (memcpy_params->flags || memcpy_params->reserved || copy->srcLOD || copy->dstLOD ||
	    copy->reserved0 || copy->reserved1 || !copy->WidthInBytes || !copy->Height ||
	    !copy->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_side(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcArray) ||
	    !is_side(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstArray))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *fill)
{
	size_t row;

	if (!fill->dst || !fill->width || !fill->height ||
	    (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4) ||
	    fill->dst % fill->elementSize ||
	    __builtin_mul_overflow(fill->width, fill->elementSize, &row) ||
	    (fill->height > 1 && (fill->pitch < row || fill->pitch % fill->elementSize)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_event(CUevent handle)
{
	struct sg_event *event;

	return sg_event_get(handle, &event) == CUDA_SUCCESS ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc)
{
	const CUmemPoolProps *props = &alloc->poolProps;

	if (!alloc->bytesize || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    sg_init_check_device(props->location.id) != CUDA_SUCCESS ||
	    (alloc->accessDescCount && !alloc->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < alloc->accessDescCount; i++)
		if (alloc->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    sg_init_check_device(alloc->accessDescs[i].location.id) != CUDA_SUCCESS)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_conditional(const CUDA_CONDITIONAL_NODE_PARAMS *conditional)
{
	const unsigned size = conditional->size;

	if (!sg_graph_get_condition(conditional->handle))
		return CUDA_ERROR_INVALID_VALUE;
	switch (conditional->type) {
	case CU_GRAPH_COND_TYPE_IF:
		return size == 1 || size == 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_COND_TYPE_WHILE:
		return size == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return size && size <= UINT16_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult check_semaphores(const void *semaphores, const void *params, unsigned count)
{
	return count && count <= MAX_SEMAPHORES && semaphores && params ? CUDA_SUCCESS
									: CUDA_ERROR_INVALID_VALUE;
}

CUresult sg_graph_params_check(const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return check_kernel(params);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return check_memcpy(&params->memcpy);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return check_memset(&params->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return sg_graph_get(params->graph.graph) &&
				       (unsigned)params->graph.ownership <=
					       CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return check_event(params->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return check_event(params->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
		return check_semaphores(params->extSemSignal.extSemArray,
					params->extSemSignal.paramsArray,
					params->extSemSignal.numExtSems);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return check_semaphores(params->extSemWait.extSemArray,
					params->extSemWait.paramsArray,
					params->extSemWait.numExtSems);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return check_alloc(&params->alloc);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return params->memOp.paramArray && params->memOp.count &&
				       params->memOp.count <= MAX_MEM_OPS && !params->memOp.flags
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return check_conditional(&params->conditional);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- Copies ---- */

static void *duplicate(const void *bytes, size_t size, bool *is_complete)
{
	void *copy = size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, bytes, size);
	else if (size)
		*is_complete = false;
	return copy;
}

/* Arguments packed into one buffer: pairs up to CU_LAUNCH_PARAM_END, checked before. */
static void **duplicate_extra(void **extra, bool *is_complete)
{
	struct packed {
		void *pairs[5];
		size_t size;
		char bytes[];
	} * packed;
	const void *buffer = NULL;
	size_t size = 0;

	for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else
			size = *(const size_t *)extra[i + 1];
	}
	packed = calloc(1, sizeof(*packed) + size);
	if (!packed) {
		*is_complete = false;
		return NULL;
	}
	if (size)
		memcpy(packed->bytes, buffer, size);
	packed->size = size;
	packed->pairs[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	packed->pairs[1] = packed->bytes;
	packed->pairs[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	packed->pairs[3] = &packed->size;
	packed->pairs[4] = CU_LAUNCH_PARAM_END;
	return packed->pairs;
}

static bool duplicate_arrays(CUgraphNodeParams *copy)
{
	bool is_complete = true;

	switch (copy->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (copy->kernel.extra)
			copy->kernel.extra = duplicate_extra(copy->kernel.extra, &is_complete);
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: {
		CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 *p = &copy->extSemSignal;

		p->extSemArray = duplicate(
			p->extSemArray, p->numExtSems * sizeof(CUexternalSemaphore), &is_complete);
		p->paramsArray = duplicate(p->paramsArray, p->numExtSems * sizeof(*p->paramsArray),
					   &is_complete);
		break;
	}
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
		CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 *p = &copy->extSemWait;

		p->extSemArray = duplicate(
			p->extSemArray, p->numExtSems * sizeof(CUexternalSemaphore), &is_complete);
		p->paramsArray = duplicate(p->paramsArray, p->numExtSems * sizeof(*p->paramsArray),
					   &is_complete);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		copy->alloc.accessDescs =
			duplicate(copy->alloc.accessDescs,
				  copy->alloc.accessDescCount * sizeof(*copy->alloc.accessDescs),
				  &is_complete);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		copy->memOp.paramArray = duplicate(
			copy->memOp.paramArray, copy->memOp.count * sizeof(*copy->memOp.paramArray),
			&is_complete);
		break;
	default:
		break;
	}
	return is_complete;
}

static void free_arrays(const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		free((void *)params->kernel.extra);
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
		free((void *)params->extSemSignal.extSemArray);
		free((void *)(uintptr_t)params->extSemSignal.paramsArray);
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		free((void *)params->extSemWait.extSemArray);
		free((void *)(uintptr_t)params->extSemWait.paramsArray);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		free((void *)(uintptr_t)params->alloc.accessDescs);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		free(params->memOp.paramArray);
		break;
	default:
		break;
	}
}

/* A function of a library is known by the library's kernel, too. */
static void name_kernel(CUDA_KERNEL_NODE_PARAMS_v3 *params)
{
	const struct sg_kernel *kernel = sg_kernel_find(params->func);

	if (!kernel)
		return;
	if (!kernel->module->context)
		params->kern = (CUkernel)(void *)params->func;
	else
		params->kern = (CUkernel)(void *)kernel->library_kernel;
}

CUresult sg_graph_params_set(struct sg_graph_node *node, const CUgraphNodeParams *params)
{
	CUgraphNodeParams copy = *params, before = node->params;

	if (copy.type == CU_GRAPH_NODE_TYPE_KERNEL)
		name_kernel(&copy.kernel);
	if (!duplicate_arrays(&copy)) {
		free_arrays(&copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node->params = copy;
	free_arrays(&before);
	return CUDA_SUCCESS;
}

void sg_graph_params_free(struct sg_graph_node *node)
{
	free_arrays(&node->params);
}
