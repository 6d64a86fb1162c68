/* Nodes that copy, fill, allocate and free. */
#include "rt_graph.h"

/* ---- Copies: whatever describes one, the driver is told the same way ---- */

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph,
			    const cudaGraphNode_t *dependencies, size_t nr_dependencies,
			    const CUDA_MEMCPY3D *copy)
{
	CUcontext context;
	cudaError_t error = sg_rt_graph_context(&context);

	return error ? error
		     : SG_DRIVER(cuGraphAddMemcpyNode_v10000, node, graph, dependencies,
				 nr_dependencies, copy, context);
}

static cudaError_t set_copy(cudaGraphNode_t node, const CUDA_MEMCPY3D *copy)
{
	return SG_DRIVER(cuGraphMemcpyNodeSetParams_v10000, node, copy);
}

static cudaError_t set_exec_copy(cudaGraphExec_t exec, cudaGraphNode_t node,
				 const CUDA_MEMCPY3D *copy)
{
	CUcontext context;
	cudaError_t error = sg_rt_graph_context(&context);

	return error ? error
		     : SG_DRIVER(cuGraphExecMemcpyNodeSetParams_v10020, exec, node, copy, context);
}

/* Evaluate use(..., &copy) once describe, an expression that fills copy, succeeded. */
#define WITH_COPY(describe, use)                    \
	__extension__({                             \
		CUDA_MEMCPY3D copy;                 \
		cudaError_t described = (describe); \
		described ? described : (use);      \
	})

SG_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					  const cudaGraphNode_t *pDependencies,
					  size_t numDependencies,
					  const struct cudaMemcpy3DParms *pCopyParams)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_copy(pCopyParams, &copy),
			  add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy)));
}

SG_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					    const cudaGraphNode_t *pDependencies,
					    size_t numDependencies, void *dst, const void *src,
					    size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_line(dst, src, count, kind, &copy),
			  add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy)));
}

SG_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
						  const cudaGraphNode_t *pDependencies,
						  size_t numDependencies, const void *symbol,
						  const void *src, size_t count, size_t offset,
						  enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_to_symbol(symbol, src, count, offset, kind, &copy),
			  add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy)));
}

SG_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
						    const cudaGraphNode_t *pDependencies,
						    size_t numDependencies, void *dst,
						    const void *symbol, size_t count, size_t offset,
						    enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_from_symbol(dst, symbol, count, offset, kind, &copy),
			  add_copy(pGraphNode, graph, pDependencies, numDependencies, &copy)));
}

static cudaError_t get_copy(cudaGraphNode_t node, struct cudaMemcpy3DParms *given)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error;

	if (!given)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuGraphMemcpyNodeGetParams_v10000, node, &copy);
	return error ? error : sg_rt_graph_copy_back(&copy, given);
}

SG_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
						struct cudaMemcpy3DParms *pNodeParams)
{
	return SG_IN_CONTEXT(get_copy(node, pNodeParams));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
						const struct cudaMemcpy3DParms *pNodeParams)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_copy(pNodeParams, &copy), set_copy(node, &copy)));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
						  size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_line(dst, src, count, kind, &copy), set_copy(node, &copy)));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
							const void *src, size_t count,
							size_t offset, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_to_symbol(symbol, src, count, offset, kind, &copy),
			  set_copy(node, &copy)));
}

SG_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
							  const void *symbol, size_t count,
							  size_t offset, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_from_symbol(dst, symbol, count, offset, kind, &copy),
			  set_copy(node, &copy)));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec,
						    cudaGraphNode_t node,
						    const struct cudaMemcpy3DParms *pNodeParams)
{
	return SG_IN_CONTEXT(WITH_COPY(sg_rt_graph_copy(pNodeParams, &copy),
				       set_exec_copy(hGraphExec, node, &copy)));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
						      cudaGraphNode_t node, void *dst,
						      const void *src, size_t count,
						      enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(WITH_COPY(sg_rt_graph_line(dst, src, count, kind, &copy),
				       set_exec_copy(hGraphExec, node, &copy)));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
							    cudaGraphNode_t node,
							    const void *symbol, const void *src,
							    size_t count, size_t offset,
							    enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_to_symbol(symbol, src, count, offset, kind, &copy),
			  set_exec_copy(hGraphExec, node, &copy)));
}

SG_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
							      cudaGraphNode_t node, void *dst,
							      const void *symbol, size_t count,
							      size_t offset,
							      enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(
		WITH_COPY(sg_rt_graph_from_symbol(dst, symbol, count, offset, kind, &copy),
			  set_exec_copy(hGraphExec, node, &copy)));
}

/* ---- Fills: the structures are laid out alike ---- */

#define FILL(params) ((CUDA_MEMSET_NODE_PARAMS *)(void *)(uintptr_t)(params))
_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "layout");

static cudaError_t add_fill(cudaGraphNode_t *node, cudaGraph_t graph,
			    const cudaGraphNode_t *dependencies, size_t nr_dependencies,
			    const struct cudaMemsetParams *params)
{
	CUcontext context;
	cudaError_t error = sg_rt_graph_context(&context);

	return error ? error
		     : SG_DRIVER(cuGraphAddMemsetNode_v10000, node, graph, dependencies,
				 nr_dependencies, FILL(params), context);
}

static cudaError_t set_exec_fill(cudaGraphExec_t exec, cudaGraphNode_t node,
				 const struct cudaMemsetParams *params)
{
	CUcontext context;
	cudaError_t error = sg_rt_graph_context(&context);

	return error ? error
		     : SG_DRIVER(cuGraphExecMemsetNodeSetParams_v10020, exec, node, FILL(params),
				 context);
}

SG_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					  const cudaGraphNode_t *pDependencies,
					  size_t numDependencies,
					  const struct cudaMemsetParams *pMemsetParams)
{
	return SG_IN_CONTEXT(
		add_fill(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams));
}

SG_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
						struct cudaMemsetParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphMemsetNodeGetParams_v10000, node, FILL(pNodeParams)));
}

SG_API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
						const struct cudaMemsetParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphMemsetNodeSetParams_v10000, node, FILL(pNodeParams)));
}

SG_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec,
						    cudaGraphNode_t node,
						    const struct cudaMemsetParams *pNodeParams)
{
	return SG_IN_CONTEXT(set_exec_fill(hGraphExec, node, pNodeParams));
}

/* ---- Allocations: the structures are laid out alike ---- */

#define ALLOC(params) ((CUDA_MEM_ALLOC_NODE_PARAMS *)(void *)(params))
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
	       "layout");

SG_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					    const cudaGraphNode_t *pDependencies,
					    size_t numDependencies,
					    struct cudaMemAllocNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddMemAllocNode_v11040, pGraphNode, graph,
				       pDependencies, numDependencies, ALLOC(nodeParams)));
}

SG_API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
						  struct cudaMemAllocNodeParams *params_out)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphMemAllocNodeGetParams_v11040, node, ALLOC(params_out)));
}

SG_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					   const cudaGraphNode_t *pDependencies,
					   size_t numDependencies, void *dptr)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddMemFreeNode_v11040, pGraphNode, graph,
				       pDependencies, numDependencies, (CUdeviceptr)dptr));
}

SG_API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphMemFreeNodeGetParams_v11040, node, (CUdeviceptr *)dptr_out));
}
