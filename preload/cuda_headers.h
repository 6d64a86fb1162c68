#ifndef VS_CUDA_HEADERS_H
#define VS_CUDA_HEADERS_H

/*
 * NVIDIA's headers with every function under its own name: cuMemAlloc_v2 next to cuMemAlloc,
 * cuMemAllocAsync_ptsz next to cuMemAllocAsync. Whoever wraps or calls CUDA includes them from
 * here, so that no macro renames a function behind our back.
 */
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cuda_runtime_api.h>

/* Of releases that are newer than the headers. */
#if CUDA_VERSION < 13040
CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph,
				   const CUgraphNode *dependencies,
				   const CUgraphEdgeData *dependencyData, size_t numDependencies,
				   CUgraphNodeParams *nodeParams);
#endif

#endif
