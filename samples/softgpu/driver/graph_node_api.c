/*
 * Nodes by type: adding them, and reading and changing what they do. Each function is a thin coat
 * around the one that takes any node.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph_params.h"

static CUresult add(CUgraphNode *handle, CUgraph hGraph, const CUgraphNode *dependencies,
		    const CUgraphEdgeData *data, size_t nr_dependencies, CUgraphNodeParams *params)
{
	struct sg_graph_node *node;
	struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	result =
		graph ? sg_graph_add_node(graph, dependencies, data, nr_dependencies, params, &node)
		      : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*handle = sg_graph_to_node_handle(node);
	sg_graph_unlock();
	return result;
}

/*
 * Programs look into the arguments of captured kernels, and put others in their place. How many
 * there are nobody told us: these are more than any kernel of theirs has, each a pointer to zeros.
 * Shared by all nodes, because what is written there is only ever given back.
 */
static void **lend_arguments(void)
{
	static const uint64_t zeros[512];
	static void *arguments[512];
	static bool is_filled; /* under the graph lock */

	for (size_t i = 0; i < SG_LENGTH(arguments) && !is_filled; i++)
		arguments[i] = (void *)(uintptr_t)zeros;
	is_filled = true;
	return arguments;
}

/* What the node does, if it is of that type. */
static CUresult get(CUgraphNode handle, CUgraphNodeType type, const void *wanted,
		    CUgraphNodeParams *params)
{
	const struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = sg_graph_get_node(handle);
	if (wanted && node && node->params.type == type)
		*params = node->params;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_KERNEL &&
	    !params->kernel.kernelParams && !params->kernel.extra)
		params->kernel.kernelParams = lend_arguments();
	sg_graph_unlock();
	return result;
}

static bool is_changeable(const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return false;
	default:
		return true;
	}
}

static CUresult set(CUgraphNode handle, const CUgraphNodeParams *params)
{
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = sg_graph_get_node(handle);
	if (!node || node->params.type != params->type)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (!is_changeable(params))
		result = CUDA_ERROR_NOT_SUPPORTED;
	else
		result = sg_graph_params_check(params);
	if (result == CUDA_SUCCESS)
		result = sg_graph_params_set(node, params);
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
				  const CUgraphNode *dependencies,
				  const CUgraphEdgeData *dependencyData, size_t numDependencies,
				  CUgraphNodeParams *nodeParams)
{
	CUresult result = sg_graph_require(nodeParams);

	if (result != CUDA_SUCCESS)
		return result;
	return add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}

SG_API CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			       const CUgraphNode *dependencies, size_t numDependencies,
			       CUgraphNodeParams *nodeParams)
{
	return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies,
				 nodeParams);
}

SG_API CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	CUresult result = sg_graph_require(nodeParams);

	return result == CUDA_SUCCESS ? set(hNode, nodeParams) : result;
}

/*
 * SG_GRAPH_NODE(name, member, TYPE, structure): cuGraphAdd<name>Node and <name>Node{Get,Set}Params
 * of nodes that are described by a structure. The versions of a structure begin alike, so the bytes
 * both have are what is copied.
 */
#define COPY(target, source)         \
	memcpy(&(target), &(source), \
	       sizeof(target) < sizeof(source) ? sizeof(target) : sizeof(source))

#define SG_GRAPH_NODE_ADD(function, member, TYPE, structure)                                   \
	SG_API CUresult function(CUgraphNode *phGraphNode, CUgraph hGraph,                     \
				 const CUgraphNode *dependencies, size_t numDependencies,      \
				 const structure *nodeParams)                                  \
	{                                                                                      \
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_##TYPE};                \
		CUresult result = sg_graph_require(nodeParams);                                \
                                                                                               \
		if (result != CUDA_SUCCESS)                                                    \
			return result;                                                         \
		COPY(params.member, *nodeParams);                                              \
		return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params); \
	}

#define SG_GRAPH_NODE_GET(function, member, TYPE, structure)                                  \
	SG_API CUresult function(CUgraphNode hNode, structure *nodeParams)                    \
	{                                                                                     \
		CUgraphNodeParams params;                                                     \
		CUresult result = get(hNode, CU_GRAPH_NODE_TYPE_##TYPE, nodeParams, &params); \
                                                                                              \
		if (result == CUDA_SUCCESS)                                                   \
			COPY(*nodeParams, params.member);                                     \
		return result;                                                                \
	}

#define SG_GRAPH_NODE_SET(function, member, TYPE, structure)                     \
	SG_API CUresult function(CUgraphNode hNode, const structure *nodeParams) \
	{                                                                        \
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_##TYPE};  \
		CUresult result = sg_graph_require(nodeParams);                  \
                                                                                 \
		if (result != CUDA_SUCCESS)                                      \
			return result;                                           \
		COPY(params.member, *nodeParams);                                \
		return set(hNode, &params);                                      \
	}

#define SG_GRAPH_NODE(name, version, member, TYPE, structure)                             \
	SG_GRAPH_NODE_ADD(cuGraphAdd##name##Node##version, member, TYPE, structure)       \
	SG_GRAPH_NODE_GET(cuGraph##name##NodeGetParams##version, member, TYPE, structure) \
	SG_GRAPH_NODE_SET(cuGraph##name##NodeSetParams##version, member, TYPE, structure)

SG_GRAPH_NODE(Kernel, , kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v1)
SG_GRAPH_NODE(Kernel, _v2, kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v2)
SG_GRAPH_NODE(Host, , host, HOST, CUDA_HOST_NODE_PARAMS)
SG_GRAPH_NODE(ExternalSemaphoresSignal, , extSemSignal, EXT_SEMAS_SIGNAL,
	      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)
SG_GRAPH_NODE(ExternalSemaphoresWait, , extSemWait, EXT_SEMAS_WAIT, CUDA_EXT_SEM_WAIT_NODE_PARAMS)
SG_GRAPH_NODE(BatchMemOp, , memOp, BATCH_MEM_OP, CUDA_BATCH_MEM_OP_NODE_PARAMS)
SG_GRAPH_NODE_GET(cuGraphMemcpyNodeGetParams, memcpy.copyParams, MEMCPY, CUDA_MEMCPY3D)
SG_GRAPH_NODE_GET(cuGraphMemsetNodeGetParams, memset, MEMSET, CUDA_MEMSET_NODE_PARAMS)
SG_GRAPH_NODE_GET(cuGraphMemAllocNodeGetParams, alloc, MEM_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS)
SG_GRAPH_NODE_GET(cuGraphMemFreeNodeGetParams, free.dptr, MEM_FREE, CUdeviceptr)
SG_GRAPH_NODE_GET(cuGraphChildGraphNodeGetGraph, graph.graph, GRAPH, CUgraph)
SG_GRAPH_NODE_GET(cuGraphEventRecordNodeGetEvent, eventRecord.event, EVENT_RECORD, CUevent)
SG_GRAPH_NODE_GET(cuGraphEventWaitNodeGetEvent, eventWait.event, WAIT_EVENT, CUevent)

SG_API CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				     const CUgraphNode *dependencies, size_t numDependencies,
				     const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	CUresult result = sg_graph_require(copyParams);

	if (result != CUDA_SUCCESS)
		return result;
	params.memcpy.copyParams = *copyParams;
	params.memcpy.copyCtx = ctx;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	CUgraphNodeParams params;
	CUresult result = get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &params);

	if (result != CUDA_SUCCESS)
		return result;
	params.memcpy.copyParams = *nodeParams;
	return set(hNode, &params);
}

SG_API CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				     const CUgraphNode *dependencies, size_t numDependencies,
				     const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUresult result = sg_graph_require(memsetParams);

	if (result != CUDA_SUCCESS)
		return result;
	COPY(params.memset, *memsetParams);
	params.memset.ctx = ctx;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode,
					   const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	CUgraphNodeParams params;
	CUresult result = get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &params);

	if (result != CUDA_SUCCESS)
		return result;
	COPY(params.memset, *nodeParams);
	return set(hNode, &params);
}

SG_API CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
					 const CUgraphNode *dependencies, size_t numDependencies,
					 CUgraph childGraph)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	params.graph.graph = childGraph;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				    const CUgraphNode *dependencies, size_t numDependencies)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
					  const CUgraphNode *dependencies, size_t numDependencies,
					  CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	params.eventRecord.event = event;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	params.eventRecord.event = event;
	return set(hNode, &params);
}

SG_API CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
					const CUgraphNode *dependencies, size_t numDependencies,
					CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	params.eventWait.event = event;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

SG_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	params.eventWait.event = event;
	return set(hNode, &params);
}

SG_API CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				       const CUgraphNode *dependencies, size_t numDependencies,
				       CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult result = sg_graph_require(nodeParams);

	if (result != CUDA_SUCCESS)
		return result;
	COPY(params.alloc, *nodeParams);
	result = add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
	if (result == CUDA_SUCCESS)
		nodeParams->dptr = params.alloc.dptr;
	return result;
}

SG_API CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				      const CUgraphNode *dependencies, size_t numDependencies,
				      CUdeviceptr dptr)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};

	params.free.dptr = dptr;
	return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

/* ---- Attributes of kernel nodes ---- */

static struct sg_graph_node *find_kernel(CUgraphNode handle)
{
	struct sg_graph_node *node = sg_graph_get_node(handle);

	return node && node->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? node : NULL;
}

static bool is_attribute(CUkernelNodeAttrID attr)
{
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		return true;
	default:
		return false;
	}
}

SG_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					      CUkernelNodeAttrValue *value_out)
{
	const struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = find_kernel(hNode);
	if (!node || !value_out || !is_attribute(attr)) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		memset(value_out, 0, sizeof(*value_out));
		if (node->attributes && (node->attributes->is_set & 1u << attr))
			*value_out = node->attributes->values[attr];
	}
	sg_graph_unlock();
	return result;
}

static CUresult get_attributes(struct sg_graph_node *node)
{
	if (!node->attributes)
		node->attributes = calloc(1, sizeof(*node->attributes));
	return node->attributes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					      const CUkernelNodeAttrValue *value)
{
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = find_kernel(hNode);
	result = node && value && is_attribute(attr) ? get_attributes(node)
						     : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		node->attributes->values[attr] = *value;
		node->attributes->is_set |= 1u << attr;
	}
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	struct sg_graph_node *target;
	const struct sg_graph_node *source;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	target = find_kernel(dst);
	source = find_kernel(src);
	if (!target || !source)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (source->attributes)
		result = get_attributes(target);
	if (result == CUDA_SUCCESS && source->attributes)
		*target->attributes = *source->attributes;
	else if (result == CUDA_SUCCESS && target->attributes)
		target->attributes->is_set = 0;
	sg_graph_unlock();
	return result;
}
