/* Graphs of the driver, as far as they hold memory, and the captures they are made from. */
#include "hooks.h"

#include "captures.h"
#include "graphs.h"

static inline void before_cuGraphAddMemAllocNode(struct vs_call *call,
						 const cuGraphAddMemAllocNode_params *args)
{
	(void)call;
	(void)args;
	vs_graphs_expect_memory();
}
VS_DRIVER_HOOK_BEFORE(cuGraphAddMemAllocNode,
		      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
		       size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams),
		      phGraphNode, hGraph, dependencies, numDependencies, nodeParams)

static inline void before_cuGraphAddMemFreeNode(struct vs_call *call,
						const cuGraphAddMemFreeNode_params *args)
{
	(void)call;
	(void)args;
	vs_graphs_expect_memory();
}
VS_DRIVER_HOOK_BEFORE(cuGraphAddMemFreeNode,
		      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
		       size_t numDependencies, CUdeviceptr dptr),
		      phGraphNode, hGraph, dependencies, numDependencies, dptr)

static void expect_by_type(const CUgraphNodeParams *params)
{
	if (params && (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
		       params->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
		vs_graphs_expect_memory();
}

static inline void before_cuGraphAddNode(struct vs_call *call, const cuGraphAddNode_params *args)
{
	(void)call;
	expect_by_type(args->nodeParams);
}
VS_DRIVER_HOOK_BEFORE(cuGraphAddNode,
		      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
		       size_t numDependencies, CUgraphNodeParams *nodeParams),
		      phGraphNode, hGraph, dependencies, numDependencies, nodeParams)

static inline void before_cuGraphAddNode_v2(struct vs_call *call,
					    const cuGraphAddNode_v2_params *args)
{
	(void)call;
	expect_by_type(args->nodeParams);
}
VS_DRIVER_HOOK_BEFORE(cuGraphAddNode_v2,
		      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
		       const CUgraphEdgeData *dependencyData, size_t numDependencies,
		       CUgraphNodeParams *nodeParams),
		      phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
		      nodeParams)

static inline void before_cuGraphAddNode_v3(struct vs_call *call,
					    const cuGraphAddNode_v3_params *args)
{
	(void)call;
	expect_by_type(args->nodeParams);
}
VS_DRIVER_HOOK_BEFORE(cuGraphAddNode_v3,
		      (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
		       const CUgraphEdgeData *dependencyData, size_t numDependencies,
		       CUgraphNodeParams *nodeParams),
		      phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
		      nodeParams)

static inline void after_cuGraphInstantiate(struct vs_call *call, CUresult result,
					    const cuGraphInstantiate_params *args)
{
	vs_graphs_note_instantiate(call, result, args->phGraphExec, args->hGraph, 0);
}
VS_DRIVER_HOOK_AFTER(cuGraphInstantiate,
		     (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
		      char *logBuffer, size_t bufferSize),
		     phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)

static inline void after_cuGraphInstantiate_v2(struct vs_call *call, CUresult result,
					       const cuGraphInstantiate_v2_params *args)
{
	vs_graphs_note_instantiate(call, result, args->phGraphExec, args->hGraph, 0);
}
VS_DRIVER_HOOK_AFTER(cuGraphInstantiate_v2,
		     (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
		      char *logBuffer, size_t bufferSize),
		     phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)

static inline void after_cuGraphInstantiateWithFlags(struct vs_call *call, CUresult result,
						     const cuGraphInstantiateWithFlags_params *args)
{
	vs_graphs_note_instantiate(call, result, args->phGraphExec, args->hGraph, args->flags);
}
VS_DRIVER_HOOK_AFTER(cuGraphInstantiateWithFlags,
		     (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
		     phGraphExec, hGraph, flags)

static inline void after_cuGraphInstantiateWithParams(
	struct vs_call *call, CUresult result, const cuGraphInstantiateWithParams_params *args)
{
	vs_graphs_note_instantiate(call, result, args->phGraphExec, args->hGraph,
				   result == CUDA_SUCCESS ? args->instantiateParams->flags : 0);
}
VS_DRIVER_HOOK_AFTER(cuGraphInstantiateWithParams,
		     (CUgraphExec * phGraphExec, CUgraph hGraph,
		      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
		     phGraphExec, hGraph, instantiateParams)

static inline void after_cuGraphInstantiateWithParams_ptsz(
	struct vs_call *call, CUresult result, const cuGraphInstantiateWithParams_ptsz_params *args)
{
	vs_graphs_note_instantiate(call, result, args->phGraphExec, args->hGraph,
				   result == CUDA_SUCCESS ? args->instantiateParams->flags : 0);
}
VS_DRIVER_HOOK_AFTER(cuGraphInstantiateWithParams_ptsz,
		     (CUgraphExec * phGraphExec, CUgraph hGraph,
		      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
		     phGraphExec, hGraph, instantiateParams)

static inline void before_cuGraphExecDestroy(struct vs_call *call,
					     const cuGraphExecDestroy_params *args)
{
	vs_graphs_note_destroy(call, args->hGraphExec);
}
VS_DRIVER_HOOK_BEFORE(cuGraphExecDestroy, (CUgraphExec hGraphExec), hGraphExec)

static inline void before_cuGraphLaunch(struct vs_call *call, const cuGraphLaunch_params *args)
{
	vs_graphs_note_launch(call, args->hGraph);
}
static inline void after_cuGraphLaunch(struct vs_call *call, CUresult result,
				       const cuGraphLaunch_params *args)
{
	vs_graphs_note_launched(call, result, args->hGraph);
}
VS_DRIVER_HOOK(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)

static inline void before_cuGraphLaunch_ptsz(struct vs_call *call,
					     const cuGraphLaunch_ptsz_params *args)
{
	vs_graphs_note_launch(call, args->hGraphExec);
}
static inline void after_cuGraphLaunch_ptsz(struct vs_call *call, CUresult result,
					    const cuGraphLaunch_ptsz_params *args)
{
	vs_graphs_note_launched(call, result, args->hGraphExec);
}
VS_DRIVER_HOOK(cuGraphLaunch_ptsz, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)

/* ---- Captures ---- */

/* Counted before the call, so that no other thread's hook asks for anything once it has begun. */
static void note_begun(CUresult result)
{
	if (result != CUDA_SUCCESS)
		vs_captures_end();
}

/* A capture that was found invalid is over as well. */
static void note_ended(CUresult result)
{
	if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
	    result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		vs_captures_end();
}

static inline void before_cuStreamBeginCapture(struct vs_call *call,
					       const cuStreamBeginCapture_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCapture(struct vs_call *call, CUresult result,
					      const cuStreamBeginCapture_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCapture, (CUstream hStream), hStream)

static inline void before_cuStreamBeginCapture_ptsz(struct vs_call *call,
						    const cuStreamBeginCapture_ptsz_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCapture_ptsz(struct vs_call *call, CUresult result,
						   const cuStreamBeginCapture_ptsz_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCapture_ptsz, (CUstream hStream), hStream)

static inline void before_cuStreamBeginCapture_v2(struct vs_call *call,
						  const cuStreamBeginCapture_v2_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCapture_v2(struct vs_call *call, CUresult result,
						 const cuStreamBeginCapture_v2_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCapture_v2, (CUstream hStream, CUstreamCaptureMode mode), hStream, mode)

static inline void before_cuStreamBeginCapture_v2_ptsz(
	struct vs_call *call, const cuStreamBeginCapture_v2_ptsz_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCapture_v2_ptsz(
	struct vs_call *call, CUresult result, const cuStreamBeginCapture_v2_ptsz_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCapture_v2_ptsz, (CUstream hStream, CUstreamCaptureMode mode), hStream,
	       mode)

static inline void before_cuStreamBeginCaptureToGraph(
	struct vs_call *call, const cuStreamBeginCaptureToGraph_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCaptureToGraph(struct vs_call *call, CUresult result,
						     const cuStreamBeginCaptureToGraph_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCaptureToGraph,
	       (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
		const CUgraphEdgeData *dependencyData, size_t numDependencies,
		CUstreamCaptureMode mode),
	       hStream, hGraph, dependencies, dependencyData, numDependencies, mode)

static inline void before_cuStreamBeginCaptureToGraph_ptsz(
	struct vs_call *call, const cuStreamBeginCaptureToGraph_ptsz_params *args)
{
	(void)call;
	(void)args;
	vs_captures_begin();
}
static inline void after_cuStreamBeginCaptureToGraph_ptsz(
	struct vs_call *call, CUresult result, const cuStreamBeginCaptureToGraph_ptsz_params *args)
{
	(void)call;
	(void)args;
	note_begun(result);
}
VS_DRIVER_HOOK(cuStreamBeginCaptureToGraph_ptsz,
	       (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
		const CUgraphEdgeData *dependencyData, size_t numDependencies,
		CUstreamCaptureMode mode),
	       hStream, hGraph, dependencies, dependencyData, numDependencies, mode)

static inline void after_cuStreamEndCapture(struct vs_call *call, CUresult result,
					    const cuStreamEndCapture_params *args)
{
	(void)call;
	(void)args;
	note_ended(result);
}
VS_DRIVER_HOOK_AFTER(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), hStream, phGraph)

static inline void after_cuStreamEndCapture_ptsz(struct vs_call *call, CUresult result,
						 const cuStreamEndCapture_ptsz_params *args)
{
	(void)call;
	(void)args;
	note_ended(result);
}
VS_DRIVER_HOOK_AFTER(cuStreamEndCapture_ptsz, (CUstream hStream, CUgraph *phGraph), hStream,
		     phGraph)
