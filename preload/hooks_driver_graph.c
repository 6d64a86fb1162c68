/* Graphs of the driver, as far as they hold memory, and the captures they are made from. */
#include "hooks.h"

#include "captures.h"
#include "graphs.h"

VS_API CUresult CUDAAPI cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
					       const CUgraphNode *dependencies,
					       size_t numDependencies,
					       CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphAddMemAllocNode);

	vs_graphs_expect_memory();
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuGraphAddMemAllocNode,
							   phGraphNode, hGraph, dependencies,
							   numDependencies, nodeParams));
}

VS_API CUresult CUDAAPI cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
					      const CUgraphNode *dependencies,
					      size_t numDependencies, CUdeviceptr dptr)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphAddMemFreeNode);

	vs_graphs_expect_memory();
	return vs_hooks_leave_driver(&call,
				     VS_CALL_DRIVER(&call, cuGraphAddMemFreeNode, phGraphNode,
						    hGraph, dependencies, numDependencies, dptr));
}

static void expect_by_type(const CUgraphNodeParams *params)
{
	if (params && (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
		       params->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
		vs_graphs_expect_memory();
}

VS_API CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				       const CUgraphNode *dependencies, size_t numDependencies,
				       CUgraphNodeParams *nodeParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphAddNode);

	expect_by_type(nodeParams);
	return vs_hooks_leave_driver(&call,
				     VS_CALL_DRIVER(&call, cuGraphAddNode, phGraphNode, hGraph,
						    dependencies, numDependencies, nodeParams));
}

VS_API CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
					  const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData,
					  size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphAddNode_v2);

	expect_by_type(nodeParams);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuGraphAddNode_v2, phGraphNode,
							   hGraph, dependencies, dependencyData,
							   numDependencies, nodeParams));
}

VS_API CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph,
					  const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData,
					  size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphAddNode_v3);

	expect_by_type(nodeParams);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuGraphAddNode_v3, phGraphNode,
							   hGraph, dependencies, dependencyData,
							   numDependencies, nodeParams));
}

VS_API CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
					   CUgraphNode *phErrorNode, char *logBuffer,
					   size_t bufferSize)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphInstantiate);
	CUresult result = VS_CALL_DRIVER(&call, cuGraphInstantiate, phGraphExec, hGraph,
					 phErrorNode, logBuffer, bufferSize);

	vs_graphs_note_instantiate(&call, result, phGraphExec, hGraph, 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
					      CUgraphNode *phErrorNode, char *logBuffer,
					      size_t bufferSize)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphInstantiate_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuGraphInstantiate_v2, phGraphExec, hGraph,
					 phErrorNode, logBuffer, bufferSize);

	vs_graphs_note_instantiate(&call, result, phGraphExec, hGraph, 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
						    unsigned long long flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphInstantiateWithFlags);
	CUresult result =
		VS_CALL_DRIVER(&call, cuGraphInstantiateWithFlags, phGraphExec, hGraph, flags);

	vs_graphs_note_instantiate(&call, result, phGraphExec, hGraph, flags);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphInstantiateWithParams(
	CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphInstantiateWithParams);
	CUresult result = VS_CALL_DRIVER(&call, cuGraphInstantiateWithParams, phGraphExec, hGraph,
					 instantiateParams);

	vs_graphs_note_instantiate(&call, result, phGraphExec, hGraph,
				   result == CUDA_SUCCESS ? instantiateParams->flags : 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(
	CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphInstantiateWithParams_ptsz);
	CUresult result = VS_CALL_DRIVER(&call, cuGraphInstantiateWithParams_ptsz, phGraphExec,
					 hGraph, instantiateParams);

	vs_graphs_note_instantiate(&call, result, phGraphExec, hGraph,
				   result == CUDA_SUCCESS ? instantiateParams->flags : 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphExecDestroy);

	vs_graphs_note_destroy(&call, hGraphExec);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuGraphExecDestroy, hGraphExec));
}

VS_API CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphLaunch);
	CUresult result;

	vs_graphs_note_launch(&call, hGraphExec);
	result = VS_CALL_DRIVER(&call, cuGraphLaunch, hGraphExec, hStream);
	vs_graphs_note_launched(&call, result, hGraphExec);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuGraphLaunch_ptsz);
	CUresult result;

	vs_graphs_note_launch(&call, hGraphExec);
	result = VS_CALL_DRIVER(&call, cuGraphLaunch_ptsz, hGraphExec, hStream);
	vs_graphs_note_launched(&call, result, hGraphExec);
	return vs_hooks_leave_driver(&call, result);
}

/* ---- Captures ---- */

/* Counted before the call, so that no other thread's hook asks for anything once it has begun. */
static CUresult leave_begin(struct vs_call *call, CUresult result)
{
	if (result != CUDA_SUCCESS)
		vs_captures_end();
	return vs_hooks_leave_driver(call, result);
}

/* A capture that was found invalid is over as well. */
static CUresult leave_end(struct vs_call *call, CUresult result)
{
	if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
	    result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		vs_captures_end();
	return vs_hooks_leave_driver(call, result);
}

VS_API CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCapture);

	vs_captures_begin();
	return leave_begin(&call, VS_CALL_DRIVER(&call, cuStreamBeginCapture, hStream));
}

VS_API CUresult CUDAAPI cuStreamBeginCapture_ptsz(CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCapture_ptsz);

	vs_captures_begin();
	return leave_begin(&call, VS_CALL_DRIVER(&call, cuStreamBeginCapture_ptsz, hStream));
}

VS_API CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCapture_v2);

	vs_captures_begin();
	return leave_begin(&call, VS_CALL_DRIVER(&call, cuStreamBeginCapture_v2, hStream, mode));
}

VS_API CUresult CUDAAPI cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCapture_v2_ptsz);

	vs_captures_begin();
	return leave_begin(&call,
			   VS_CALL_DRIVER(&call, cuStreamBeginCapture_v2_ptsz, hStream, mode));
}

VS_API CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
						    const CUgraphNode *dependencies,
						    const CUgraphEdgeData *dependencyData,
						    size_t numDependencies,
						    CUstreamCaptureMode mode)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCaptureToGraph);

	vs_captures_begin();
	return leave_begin(&call,
			   VS_CALL_DRIVER(&call, cuStreamBeginCaptureToGraph, hStream, hGraph,
					  dependencies, dependencyData, numDependencies, mode));
}

VS_API CUresult CUDAAPI cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
							 const CUgraphNode *dependencies,
							 const CUgraphEdgeData *dependencyData,
							 size_t numDependencies,
							 CUstreamCaptureMode mode)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamBeginCaptureToGraph_ptsz);

	vs_captures_begin();
	return leave_begin(&call,
			   VS_CALL_DRIVER(&call, cuStreamBeginCaptureToGraph_ptsz, hStream, hGraph,
					  dependencies, dependencyData, numDependencies, mode));
}

VS_API CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamEndCapture);

	return leave_end(&call, VS_CALL_DRIVER(&call, cuStreamEndCapture, hStream, phGraph));
}

VS_API CUresult CUDAAPI cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	struct vs_call call = VS_ENTER_DRIVER(cuStreamEndCapture_ptsz);

	return leave_end(&call, VS_CALL_DRIVER(&call, cuStreamEndCapture_ptsz, hStream, phGraph));
}
