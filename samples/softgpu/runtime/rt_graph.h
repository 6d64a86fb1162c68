#ifndef SG_RT_GRAPH_H
#define SG_RT_GRAPH_H

#include "runtime.h"

/*
 * From the runtime's descriptions of graph nodes to the driver's and back. Kernels are named by
 * host functions here and by handles there; copies say what is where in different words; the rest
 * is laid out alike. The context is current. Any thread.
 */
#pragma GCC visibility push(hidden)

cudaError_t sg_rt_graph_kernel(const struct cudaKernelNodeParams *given,
			       CUDA_KERNEL_NODE_PARAMS_v2 *params);
void sg_rt_graph_kernel_back(const CUDA_KERNEL_NODE_PARAMS_v2 *params,
			     struct cudaKernelNodeParams *given);

cudaError_t sg_rt_graph_copy(const struct cudaMemcpy3DParms *given, CUDA_MEMCPY3D *params);
cudaError_t sg_rt_graph_copy_back(const CUDA_MEMCPY3D *params, struct cudaMemcpy3DParms *given);

/* A copy of bytes in a row, and those from and to variables. */
cudaError_t sg_rt_graph_line(void *target, const void *source, size_t count,
			     enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params);
cudaError_t sg_rt_graph_to_symbol(const void *symbol, const void *source, size_t count,
				  size_t offset, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params);
cudaError_t sg_rt_graph_from_symbol(void *target, const void *symbol, size_t count, size_t offset,
				    enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params);

/* Any node. What adding one gives is handed back by the second. */
cudaError_t sg_rt_graph_node(const struct cudaGraphNodeParams *given, CUgraphNodeParams *params);
void sg_rt_graph_node_back(const CUgraphNodeParams *params, struct cudaGraphNodeParams *given);

/* The current context, for nodes that are told where to run. */
cudaError_t sg_rt_graph_context(CUcontext *context);

#pragma GCC visibility pop

#endif
