/* Graphs as programs use them: captured steps, nodes by hand, updates, memory that is shared. */
#include <vector>

#include "e2e_check.cuh"

static const size_t size = 64 << 20;

static __constant__ float scale[4];
static __device__ float result[4];

static __global__ void forward(float *data)
{
	data[0] = 1;
}

static __global__ void backward(float *data)
{
	data[0] = 2;
}

static unsigned long long attribute(cudaGraphMemAttributeType which)
{
	unsigned long long value = ~0ull;

	CHECK(cudaDeviceGetGraphMemAttribute(0, which, &value));
	return value;
}

static unsigned long long footprint()
{
	return attribute(cudaGraphMemAttrReservedMemCurrent);
}

/* What frameworks do: warm up, capture, replay with new data in the same buffers. */
static void check_capture(cudaStream_t stream)
{
	float in[4] = {1, 2, 3, 4}, out[4] = {};
	float *data;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t nr_nodes = 0;

	CHECK(cudaMalloc(&data, sizeof(in)));
	forward<<<1, 1, 0, stream>>>(data);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemcpyAsync(data, in, sizeof(in), cudaMemcpyHostToDevice, stream));
	forward<<<1, 1, 0, stream>>>(data);
	backward<<<1, 1, 0, stream>>>(data);
	CHECK(cudaMemcpyAsync(out, data, sizeof(out), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaGetLastError());
	CHECK(cudaStreamEndCapture(stream, &graph));
	EXPECT(out[0] == 0);
	CHECK(cudaGraphGetNodes(graph, nullptr, &nr_nodes));
	EXPECT(nr_nodes == 4);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	for (int i = 0; i < 3; i++) {
		in[3] = (float)i;
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		EXPECT(out[3] == (float)i);
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaFree(data));
}

static void check_kernel_nodes(cudaStream_t stream)
{
	float *data;
	void *arguments[] = {&data};
	cudaKernelNodeParams params = {}, found = {};
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	CHECK(cudaMalloc(&data, 16));
	params.func = (void *)forward;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
	CHECK(cudaGraphKernelNodeGetParams(node, &found));
	EXPECT(found.func == (void *)forward);
	EXPECT(found.blockDim.x == 32);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	params.func = (void *)backward;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	params.func = (void *)check_kernel_nodes;
	EXPECT_ERROR(cudaErrorInvalidDeviceFunction,
		     cudaGraphKernelNodeSetParams(node, &params));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	/* Captured ones are known by the same name. */
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	backward<<<3, 2, 0, stream>>>(data);
	CHECK(cudaStreamEndCapture(stream, &graph));
	size_t one = 1;
	CHECK(cudaGraphGetNodes(graph, &node, &one));
	CHECK(cudaGraphKernelNodeGetParams(node, &found));
	EXPECT(found.func == (void *)backward);
	EXPECT(found.gridDim.x == 3 && found.blockDim.x == 2);
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFree(data));
}

static void check_symbols(cudaStream_t stream)
{
	float in[4] = {5, 6, 7, 8}, out[4] = {};
	cudaGraph_t graph;
	cudaGraphNode_t first, second, third;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemcpyNodeToSymbol(&first, graph, nullptr, 0, scale, in, sizeof(in), 0,
					     cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddMemcpyNodeToSymbol(&second, graph, &first, 1, result, in, 8, 8,
					     cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddMemcpyNodeFromSymbol(&third, graph, &second, 1, out, result, sizeof(out),
					       0, cudaMemcpyDeviceToHost));
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaGraphAddMemcpyNodeToSymbol(&first, graph, nullptr, 0, scale, in,
						    sizeof(in), 4, cudaMemcpyHostToDevice));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(out[0] == 0 && out[2] == 5 && out[3] == 6);
	CHECK(cudaMemcpyFromSymbol(out, scale, sizeof(out)));
	EXPECT(out[3] == 8);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static cudaGraphNode_t add_alloc(cudaGraph_t graph, const cudaGraphNode_t *after, void **memory)
{
	cudaMemAllocNodeParams params = {};
	cudaGraphNode_t node;

	params.poolProps.allocType = cudaMemAllocationTypePinned;
	params.poolProps.location.type = cudaMemLocationTypeDevice;
	params.bytesize = size;
	CHECK(cudaGraphAddMemAllocNode(&node, graph, after, after ? 1 : 0, &params));
	*memory = params.dptr;
	return node;
}

/* The footprints that NVIDIA's guide describes. */
static void check_footprints(cudaStream_t stream)
{
	std::vector<cudaGraphExec_t> execs;
	std::vector<void *> pointers;
	size_t before = free_memory();
	void *first, *second;
	cudaGraph_t graph;
	cudaGraphNode_t node, next;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&graph, 0));
	node = add_alloc(graph, nullptr, &first);
	CHECK(cudaGraphAddMemFreeNode(&next, graph, &node, 1, first));
	node = add_alloc(graph, &next, &second);
	CHECK(cudaGraphAddMemFreeNode(&next, graph, &node, 1, second));
	EXPECT(first == second);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	EXPECT(footprint() == 0);
	CHECK(cudaGraphLaunch(exec, stream));
	EXPECT(footprint() == size && before - free_memory() == size);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaDeviceGraphMemTrim(0));
	EXPECT(footprint() == 0 && free_memory() == before);
	/* Graphs that do not free need memory of their own. */
	for (size_t i = 1; i <= 4; i++) {
		CHECK(cudaGraphCreate(&graph, 0));
		add_alloc(graph, nullptr, &first);
		pointers.push_back(first);
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		CHECK(cudaGraphDestroy(graph));
		execs.push_back(exec);
		CHECK(cudaGraphLaunch(exec, stream));
		EXPECT(footprint() == i * size);
	}
	EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(execs[0], stream));
	CHECK(cudaDeviceGraphMemTrim(0));
	EXPECT(footprint() == 4 * size);
	for (void *pointer : pointers)
		CHECK(cudaFreeAsync(pointer, stream));
	EXPECT(footprint() == 4 * size);
	CHECK(cudaDeviceGraphMemTrim(0));
	EXPECT(footprint() == 0 && free_memory() == before);
	for (cudaGraphExec_t one : execs)
		CHECK(cudaGraphExecDestroy(one));
}

int main()
{
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	check_capture(stream);
	check_kernel_nodes(stream);
	check_symbols(stream);
	check_footprints(stream);
	CHECK(cudaStreamDestroy(stream));
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	/* The default stream captures like any other if it is the thread's own. */
	check_capture(0);
	check_kernel_nodes(0);
#else
	EXPECT_ERROR(cudaErrorStreamCaptureUnsupported,
		     cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
#endif
	check_maps();
	return 0;
}
