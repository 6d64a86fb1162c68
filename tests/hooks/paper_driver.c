/*
 * A driver on paper: libcuda.so.1 with what softgpu does not have, and with habits that real
 * drivers may have. It holds no memory; its answers are fixed. cuGetProcAddress answers with
 * addresses that are not those of the exported functions, and knows a cuMemAlloc of its own for
 * versions above the headers'.
 */
#include <stdbool.h>
#include <string.h>

#include "cuda_headers.h"

#define EXPORT __attribute__((visibility("default")))

#define ARRAY_HANDLE ((CUarray)0xa1)
#define GRAPH_EXEC   ((CUgraphExec)0xe1)

/* Nodes of the one graph: an allocation of its own that it frees, one that it keeps, a child, and a
 * free of memory from elsewhere. */
enum node {
	NODE_ALLOC = 1,
	NODE_FREE,
	NODE_KEPT,
	NODE_CHILD,
	NODE_FOREIGN,
	NODE_IN_CHILD,
};
#define NODE(n)     ((CUgraphNode)(uintptr_t)(n))
#define GRAPH       ((CUgraph)0x61)
#define CHILD_GRAPH ((CUgraph)0x62)

static bool is_capturing;

static CUresult hidden_alloc(CUdeviceptr *dptr, size_t size)
{
	*dptr = 0x1000 + size;
	return CUDA_SUCCESS;
}

static CUresult hidden_instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)graph, (void)flags;
	*exec = GRAPH_EXEC;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	return hidden_alloc(dptr, bytesize);
}

EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
					    cuuint64_t flags,
					    CUdriverProcAddressQueryResult *symbolStatus)
{
	(void)cudaVersion, (void)flags, (void)symbolStatus;
	*pfn = NULL;
	if (!strcmp(symbol, "cuMemAlloc"))
		*pfn = (void *)hidden_alloc;
	else if (!strcmp(symbol, "cuGraphInstantiate"))
		*pfn = (void *)hidden_instantiate;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
	*pctx = (CUcontext)0xc1;
	return CUDA_SUCCESS;
}

/* Arrays */

EXPORT CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	*pHandle = ARRAY_HANDLE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	*pHandle = ARRAY_HANDLE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
	return hArray == ARRAY_HANDLE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
					       const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels)
{
	(void)desc, (void)levels;
	*pHandle = (CUmipmappedArray)(void *)ARRAY_HANDLE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
	(void)hMipmappedArray;
	return CUDA_SUCCESS;
}

/* Memory of other processes */

EXPORT CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
					      unsigned int Flags)
{
	(void)handle, (void)Flags;
	*pdptr = 0x9000;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	(void)pbase, (void)dptr;
	*psize = 4096;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	(void)dptr;
	return CUDA_SUCCESS;
}

/* Captures: one at a time, and every stream takes part. */

EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	(void)hStream, (void)mode;
	if (is_capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	is_capturing = true;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	(void)hStream;
	is_capturing = false;
	*phGraph = GRAPH;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *status)
{
	(void)hStream;
	*status = is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	(void)hStream;
	*dptr = 0x2000 + bytesize;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	(void)dptr, (void)hStream;
	return CUDA_SUCCESS;
}

/* Nothing of ours may be asked while a stream captures. */
EXPORT CUresult CUDAAPI cuMemGetInfo_v2(size_t *available, size_t *total)
{
	if (is_capturing)
		__builtin_trap();
	*available = 1;
	*total = 2;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	(void)dptr, (void)bytesize, (void)flags;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* Graphs */

EXPORT CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	size_t nr_nodes = hGraph == CHILD_GRAPH ? 1 : 5;

	for (size_t i = 0; nodes && i < nr_nodes; i++)
		nodes[i] = hGraph == CHILD_GRAPH ? NODE(NODE_IN_CHILD) : NODE(i + 1);
	*numNodes = nr_nodes;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	static const CUgraphNodeType types[] = {
		[NODE_ALLOC] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		[NODE_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[NODE_KEPT] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		[NODE_CHILD] = CU_GRAPH_NODE_TYPE_GRAPH,
		[NODE_FOREIGN] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[NODE_IN_CHILD] = CU_GRAPH_NODE_TYPE_KERNEL,
	};

	*type = types[(uintptr_t)hNode];
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
						     CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	memset(params, 0, sizeof(*params));
	params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	params->dptr = hNode == NODE(NODE_ALLOC) ? 0x7000 : 0x8000;
	params->bytesize = hNode == NODE(NODE_ALLOC) ? 70 : 80;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr)
{
	*dptr = hNode == NODE(NODE_FREE) ? 0x7000 : 0x2100;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	(void)hNode;
	*phGraph = CHILD_GRAPH;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
						    unsigned long long flags)
{
	return hidden_instantiate(phGraphExec, hGraph, flags);
}

/* Older, and still exported. */
EXPORT CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
					      CUgraphNode *phErrorNode, char *logBuffer,
					      size_t bufferSize)
{
	(void)phErrorNode, (void)logBuffer, (void)bufferSize;
	return hidden_instantiate(phGraphExec, hGraph, 0);
}

EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	(void)hStream;
	return hGraphExec == GRAPH_EXEC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	(void)hGraphExec;
	return CUDA_SUCCESS;
}
