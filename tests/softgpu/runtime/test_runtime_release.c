/*
 * What is of one release: how its structs are laid out, and the forms its functions have. Compiled
 * against the headers of each release and linked with its runtime.
 */
#include "runtime_check.h"

#include <cuda_profiler_api.h>
#include <dlfcn.h>

/* What older releases alone have was deprecated before it went. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* As in crt/host_runtime.h, which is for C++ only. */
void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);

#define PROPERTIES_SIZE_11 728

/* Sizes and places in NVIDIA's headers; a stand-in that was compiled with others would not do. */
static void test_headers_are_those_of_the_release(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct cudaDeviceProp, uuid), 256);
	assert_int_equal(offsetof(struct cudaDeviceProp, totalGlobalMem), 288);
	assert_int_equal(offsetof(struct cudaDeviceProp, major), 360);
#if CUDART_VERSION >= 13000
	assert_int_equal(sizeof(struct cudaDeviceProp), 1008);
	assert_int_equal(offsetof(struct cudaDeviceProp, multiProcessorCount), 384);
	assert_int_equal(offsetof(struct cudaDeviceProp, reservedSharedMemPerBlock), 696);
	assert_int_equal(sizeof(struct cudaFuncAttributes), 144);
	assert_int_equal(sizeof(struct cudaPointerAttributes), 88);
#elif CUDART_VERSION >= 12000
	assert_int_equal(sizeof(struct cudaDeviceProp), 1032);
	assert_int_equal(offsetof(struct cudaDeviceProp, multiProcessorCount), 388);
	assert_int_equal(offsetof(struct cudaDeviceProp, reservedSharedMemPerBlock), 720);
	assert_int_equal(offsetof(struct cudaDeviceProp, hostRegisterSupported),
			 PROPERTIES_SIZE_11);
	assert_int_equal(sizeof(struct cudaFuncAttributes), 144);
	assert_int_equal(sizeof(struct cudaPointerAttributes), 24);
#else
	assert_int_equal(sizeof(struct cudaDeviceProp), PROPERTIES_SIZE_11);
	assert_int_equal(offsetof(struct cudaDeviceProp, multiProcessorCount), 388);
	assert_int_equal(offsetof(struct cudaDeviceProp, reservedSharedMemPerBlock), 720);
	assert_int_equal(sizeof(struct cudaFuncAttributes), 56);
	assert_int_equal(sizeof(struct cudaPointerAttributes), 24);
#endif
}

struct guarded_properties {
	struct cudaDeviceProp properties;
	unsigned char beyond[512];
};

static void assert_untouched(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], 0xa5);
}

static void test_properties_fill_the_struct_and_nothing_beyond(void **state)
{
	struct guarded_properties found;

	(void)state;
	memset(&found, 0xa5, sizeof(found));
	assert_success(cudaGetDeviceProperties(&found.properties, 0));
	assert_untouched(found.beyond, sizeof(found.beyond));
	assert_int_equal(found.properties.reservedSharedMemPerBlock, KIB);
}

/* Each field at its place: it says what the attribute of that meaning says. */
static void test_properties_stand_where_the_headers_have_them(void **state)
{
	struct cudaDeviceProp prop;
#define FIELD(field, attribute)                                                 \
	{                                                                       \
		cudaDevAttr##attribute, offsetof(struct cudaDeviceProp, field), \
			sizeof(((struct cudaDeviceProp *)0)->field)             \
	}
	static const struct {
		enum cudaDeviceAttr attribute;
		size_t offset, size;
	} fields[] = {
		FIELD(warpSize, WarpSize),
		FIELD(sharedMemPerBlock, MaxSharedMemoryPerBlock),
		FIELD(regsPerBlock, MaxRegistersPerBlock),
		FIELD(maxThreadsDim[2], MaxBlockDimZ),
		FIELD(maxGridSize[0], MaxGridDimX),
		FIELD(major, ComputeCapabilityMajor),
		FIELD(minor, ComputeCapabilityMinor),
		FIELD(textureAlignment, TextureAlignment),
		FIELD(multiProcessorCount, MultiProcessorCount),
		FIELD(maxTexture3D[2], MaxTexture3DDepth),
		FIELD(maxSurfaceCubemap, MaxSurfaceCubemapWidth),
		FIELD(concurrentKernels, ConcurrentKernels),
		FIELD(pciBusID, PciBusId),
		FIELD(asyncEngineCount, AsyncEngineCount),
		FIELD(memoryBusWidth, GlobalMemoryBusWidth),
		FIELD(l2CacheSize, L2CacheSize),
		FIELD(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
		FIELD(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
		FIELD(managedMemory, ManagedMemory),
		FIELD(concurrentManagedAccess, ConcurrentManagedAccess),
		FIELD(cooperativeLaunch, CooperativeLaunch),
		FIELD(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
		FIELD(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
		FIELD(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock),
#if CUDART_VERSION >= 12000
		FIELD(hostRegisterSupported, HostRegisterSupported),
		FIELD(memoryPoolsSupported, MemoryPoolsSupported),
		FIELD(clusterLaunch, ClusterLaunch),
#endif
#if CUDART_VERSION >= 13000
		FIELD(gpuPciDeviceID, GpuPciDeviceId),
#else
		FIELD(clockRate, ClockRate),
		FIELD(computeMode, ComputeMode),
		FIELD(memoryClockRate, MemoryClockRate),
		FIELD(maxTexture1DLinear, MaxTexture1DLinearWidth),
		FIELD(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio),
#endif
	};
#undef FIELD

	(void)state;
	assert_success(cudaGetDeviceProperties(&prop, 0));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		long long value = 0;
		int expected = -1;

		memcpy(&value, (const char *)&prop + fields[i].offset, fields[i].size);
		assert_success(cudaDeviceGetAttribute(&expected, fields[i].attribute, 0));
		assert_int_equal(value, expected);
	}
}

static void test_function_and_pointer_attributes_stay_in_their_structs(void **state)
{
	struct {
		struct cudaPointerAttributes attributes;
		unsigned char beyond[128];
	} pointer;
	void *memory;

	(void)state;
	memset(&pointer, 0xa5, sizeof(pointer));
	assert_success(cudaMalloc(&memory, KIB));
	assert_success(cudaPointerGetAttributes(&pointer.attributes, memory));
	assert_int_equal(pointer.attributes.type, cudaMemoryTypeDevice);
	assert_ptr_equal(pointer.attributes.devicePointer, memory);
	assert_untouched(pointer.beyond, sizeof(pointer.beyond));
	assert_success(cudaFree(memory));
}

/* Whether it works is the driver's business: here, that it is asked for the form there is. */
static void test_advice_reaches_the_driver(void **state)
{
	cudaError_t advised, prefetched;
	void *memory;

	(void)state;
	assert_success(cudaMallocManaged(&memory, MIB, cudaMemAttachGlobal));
#if CUDART_VERSION >= 13000
	struct cudaMemLocation place = {.type = cudaMemLocationTypeDevice, .id = 0};

	advised = cudaMemAdvise(memory, MIB, cudaMemAdviseSetReadMostly, place);
	prefetched = cudaMemPrefetchAsync(memory, MIB, place, 0, NULL);
#else
	advised = cudaMemAdvise(memory, MIB, cudaMemAdviseSetReadMostly, 0);
	prefetched = cudaMemPrefetchAsync(memory, MIB, 0, NULL);
#endif
	assert_int_not_equal(advised, cudaErrorCallRequiresNewerDriver);
	assert_int_not_equal(prefetched, cudaErrorCallRequiresNewerDriver);
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
	struct cudaMemLocation place = {.type = cudaMemLocationTypeDevice, .id = 0};

	/* A form by any name: the answer is the same. */
	assert_int_equal(cudaMemAdvise_v2(memory, MIB, cudaMemAdviseSetReadMostly, place), advised);
	assert_int_equal(cudaMemPrefetchAsync_v2(memory, MIB, place, 0, NULL), prefetched);
#endif
	(void)cudaGetLastError();
	assert_success(cudaFree(memory));
}

#if CUDART_VERSION < 13000

/* Two devices, one kernel. It is registered without code, which is code for any device. */
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);

static const struct {
	uint32_t magic, version;
	const void *data;
	void *unused;
} no_code = {.magic = 0x466243b1, .version = 1};

static char kernel;

static void make_launches(struct cudaLaunchParams *launches)
{
	for (int i = 0; i < 2; i++) {
		launches[i] = (struct cudaLaunchParams){
			.func = &kernel, .gridDim = {2, 1, 1}, .blockDim = {32, 1, 1}};
		assert_success(cudaSetDevice(i));
		assert_success(cudaStreamCreate(&launches[i].stream));
	}
	assert_success(cudaSetDevice(0));
}

static void test_a_kernel_is_launched_on_several_devices(void **state)
{
	void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)&no_code);
	struct cudaLaunchParams launches[2];
	int device = -1;

	(void)state;
	__cudaRegisterFunction(handle, &kernel, &kernel, "kernel", -1, NULL, NULL, NULL, NULL,
			       NULL);
	make_launches(launches);
	assert_success(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 0));
	assert_success(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_error(cudaLaunchCooperativeKernelMultiDevice(NULL, 2, 0), cudaErrorInvalidValue);
	assert_error(cudaLaunchCooperativeKernelMultiDevice(launches, 0, 0), cudaErrorInvalidValue);
	assert_error(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 8), cudaErrorInvalidValue);
	launches[1].gridDim.x++;
	assert_error(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 0), cudaErrorInvalidValue);
	launches[1] = launches[0];
	assert_error(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 0), cudaErrorInvalidValue);
	launches[1].stream = NULL;
	assert_error(cudaLaunchCooperativeKernelMultiDevice(launches, 2, 0),
		     cudaErrorInvalidResourceHandle);
	__cudaUnregisterFatBinary(handle);
}

static void test_functions_named_after_threads_mean_the_device(void **state)
{
	enum cudaFuncCache config = cudaFuncCachePreferNone;
	size_t before, limit = 0;
	double number = 0.5;
	void *memory;

	(void)state;
	before = free_memory();
	assert_success(cudaMalloc(&memory, 8 * MIB));
	assert_success(cudaThreadSetLimit(cudaLimitStackSize, 4096));
	assert_success(cudaThreadGetLimit(&limit, cudaLimitStackSize));
	assert_int_equal(limit, 4096);
	assert_success(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
	assert_success(cudaThreadGetCacheConfig(&config));
	assert_int_equal(config, cudaFuncCachePreferL1);
	assert_success(cudaThreadSynchronize());
	assert_success(cudaThreadExit());
	assert_int_equal(free_memory(), before);
	assert_success(cudaSetDoubleForDevice(&number));
	assert_success(cudaSetDoubleForHost(&number));
	assert_true(number > 0.4 && number < 0.6);
}

#endif

#if CUDART_VERSION < 13000

/* The plain names of 11.0 and 11.1; since then programs have others in their place. */
static void test_semaphores_are_refused_by_either_name(void **state)
{
	typedef cudaError_t (*act)(const cudaExternalSemaphore_t *semaphores, const void *params,
				   unsigned count, cudaStream_t stream);
	static const char *const names[][2] = {
		{"cudaSignalExternalSemaphoresAsync", "cudaSignalExternalSemaphoresAsync_v2"},
		{"cudaWaitExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync_v2"},
	};
	static const long long nothing[64];
	cudaExternalSemaphore_t unknown = (cudaExternalSemaphore_t)(uintptr_t)&nothing;

	(void)state;
	for (int i = 0; i < 2; i++) {
		act older = (act)dlsym(RTLD_DEFAULT, names[i][0]);
		act newer = (act)dlsym(RTLD_DEFAULT, names[i][1]);

		assert_non_null(older);
		assert_non_null(newer);
		assert_success(older(&unknown, nothing, 0, NULL));
		assert_error(older(NULL, nothing, 1, NULL), cudaErrorInvalidValue);
		assert_int_not_equal(older(&unknown, nothing, 1, NULL), cudaSuccess);
		assert_int_equal(cudaGetLastError(), newer(&unknown, nothing, 1, NULL));
		(void)cudaGetLastError();
	}
}

/* Edges as they were before they carried data: a -> b -> c. */
static void make_chain(cudaGraph_t graph, cudaGraphNode_t *nodes)
{
	for (int i = 0; i < 3; i++)
		assert_success(cudaGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
	assert_success(cudaGraphAddDependencies(graph, nodes, nodes + 1, 2));
}

static void test_edges_of_a_graph_have_no_data(void **state)
{
	cudaGraphNode_t nodes[3], from[4], to[4];
	size_t count = 4;
	cudaGraph_t graph;

	(void)state;
	if (cudaGraphCreate(&graph, 0) == cudaErrorNotSupported)
		skip();
	make_chain(graph, nodes);
	assert_success(cudaGraphGetEdges(graph, from, to, &count));
	assert_int_equal(count, 2);
	assert_true((from[0] == nodes[0] && to[0] == nodes[1]) ||
		    (from[1] == nodes[0] && to[1] == nodes[1]));
	count = 4;
	assert_success(cudaGraphNodeGetDependencies(nodes[2], from, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(from[0], nodes[1]);
	count = 4;
	assert_success(cudaGraphNodeGetDependentNodes(nodes[0], to, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(to[0], nodes[1]);
	assert_success(cudaGraphRemoveDependencies(graph, nodes, nodes + 1, 1));
	count = 4;
	assert_success(cudaGraphGetEdges(graph, from, to, &count));
	assert_int_equal(count, 1);
	assert_success(cudaGraphDestroy(graph));
}

static void test_graphs_are_instantiated_and_updated(void **state)
{
	cudaGraphNode_t nodes[3];
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	(void)state;
	if (cudaGraphCreate(&graph, 0) == cudaErrorNotSupported)
		skip();
	make_chain(graph, nodes);
#if CUDART_VERSION >= 12000
	cudaGraphExecUpdateResultInfo info;

	assert_success(cudaGraphInstantiate(&exec, graph, 0));
	assert_success(cudaGraphExecUpdate(exec, graph, &info));
	assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
#else
	enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
	cudaGraphNode_t culprit = nodes[0];
	char log[16] = "something";

	assert_success(cudaGraphInstantiate(&exec, graph, &culprit, log, sizeof(log)));
	assert_null(culprit);
	assert_string_equal(log, "");
	assert_success(cudaGraphExecUpdate(exec, graph, &culprit, &result));
	assert_int_equal(result, cudaGraphExecUpdateSuccess);
#endif
	assert_success(cudaGraphLaunch(exec, NULL));
	assert_success(cudaGraphExecDestroy(exec));
	assert_success(cudaGraphDestroy(graph));
}

/* Both that have no word of edges; 12 calls the longer one by the plain name. */
static void test_capture_can_be_asked_about_in_older_words(void **state)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	const cudaGraphNode_t *nodes;
	cudaGraph_t graph, captured;
	unsigned long long id = 0;
	cudaStream_t stream;
	size_t count = 9;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) ==
	    cudaErrorNotSupported)
		skip();
	assert_success(
		cudaStreamGetCaptureInfo_v2(stream, &status, &id, &captured, &nodes, &count));
	assert_int_equal(status, cudaStreamCaptureStatusActive);
	assert_int_equal(count, 0);
#if CUDART_VERSION < 12000
	unsigned long long same = 0;

	assert_success(cudaStreamGetCaptureInfo(stream, &status, &same));
	assert_true(same == id);
#endif
	assert_success(cudaStreamUpdateCaptureDependencies(stream, NULL, 0,
							   cudaStreamSetCaptureDependencies));
	assert_success(cudaStreamEndCapture(stream, &graph));
	assert_ptr_equal(graph, captured);
	assert_success(cudaGraphDestroy(graph));
	assert_success(cudaStreamDestroy(stream));
}

#endif

#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000

/* A program of 11 finds that name without a suffix, and has room for its own struct. */
static void test_properties_without_a_suffix_are_those_of_11(void **state)
{
	typedef cudaError_t (*get_properties)(void *properties, int device);
	get_properties older = (get_properties)dlsym(RTLD_DEFAULT, "cudaGetDeviceProperties");
	unsigned char found[PROPERTIES_SIZE_11 + 512];
	struct cudaDeviceProp prop;

	(void)state;
	assert_non_null(older);
	memset(found, 0xa5, sizeof(found));
	assert_success(older(found, 0));
	assert_untouched(found + PROPERTIES_SIZE_11, sizeof(found) - PROPERTIES_SIZE_11);
	assert_success(cudaGetDeviceProperties(&prop, 0));
	assert_memory_equal(found, &prop, PROPERTIES_SIZE_11);
	assert_error(older(NULL, 0), cudaErrorInvalidValue);
	assert_error(older(found, 9), cudaErrorInvalidDevice);
}

/* The runtime of 12 says in a last word which copy failed. */
static void test_copies_of_a_batch_say_which_failed(void **state)
{
	struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
	size_t sizes[] = {KIB, KIB}, first = 0, failed = 9;
	static char from[2][1024] = {"one", "two"}, back[1024];
	void *to[2], *sources[] = {from[0], from[1]};
	struct cudaMemcpy3DBatchOp nothing;
	cudaStream_t stream;

	(void)state;
	memset(&nothing, 0, sizeof(nothing));
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMalloc(&to[0], KIB));
	assert_success(cudaMalloc(&to[1], KIB));
	if (cudaMemcpyBatchAsync(to, sources, sizes, 2, &attributes, &first, 1, &failed, stream) ==
	    cudaErrorNotSupported)
		skip();
	assert_success(cudaMemcpy(back, to[1], KIB, cudaMemcpyDeviceToHost));
	assert_string_equal(back, "two");
	assert_error(cudaMemcpyBatchAsync(to, sources, sizes, 2, &attributes, &first, 0, &failed,
					  stream),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy3DBatchAsync(1, NULL, &failed, 0, stream), cudaErrorInvalidValue);
	assert_error(cudaMemcpy3DBatchAsync(1, &nothing, &failed, 0, stream),
		     cudaErrorInvalidValue);
	assert_int_equal(failed, 0);
	assert_success(cudaFree(to[0]));
	assert_success(cudaFree(to[1]));
	assert_success(cudaStreamDestroy(stream));
}

static void test_both_ways_to_measure_time_measure_it(void **state)
{
	float ms = -1, other = -1;
	cudaEvent_t start, end;

	(void)state;
	assert_success(cudaEventCreate(&start));
	assert_success(cudaEventCreate(&end));
	assert_success(cudaEventRecord(start, NULL));
	assert_success(cudaEventRecord(end, NULL));
	assert_success(cudaEventElapsedTime(&ms, start, end));
	assert_success(cudaEventElapsedTime_v2(&other, start, end));
	assert_true(ms >= 0 && ms == other);
	assert_success(cudaEventDestroy(start));
	assert_success(cudaEventDestroy(end));
}

#endif

#if CUDART_VERSION < 12000

void __cudaRegisterTexture(void **handle, const struct textureReference *host, const void **device,
			   const char *name, int dim, int norm, int ext);
void __cudaRegisterSurface(void **handle, const struct surfaceReference *host, const void **device,
			   const char *name, int dim, int ext);

static struct textureReference texture, unknown_texture;
static struct surfaceReference surface, unknown_surface;

static void test_texture_references_are_bound_to_memory(void **state)
{
	struct cudaChannelFormatDesc format =
		cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)&no_code);
	const struct textureReference *found = NULL;
	size_t offset = 99;
	char *memory;
	int host = 0;

	(void)state;
	__cudaRegisterTexture(handle, &texture, NULL, "texture", 1, 0, 0);
	__cudaRegisterFatBinaryEnd(handle);
	assert_success(cudaMalloc((void **)&memory, MIB));
	assert_success(cudaGetTextureReference(&found, &texture));
	assert_ptr_equal(found, &texture);
	assert_error(cudaGetTextureAlignmentOffset(&offset, &texture),
		     cudaErrorInvalidTextureBinding);
	assert_success(cudaBindTexture(NULL, &texture, memory, &format, MIB));
	assert_success(cudaGetTextureAlignmentOffset(&offset, &texture));
	assert_int_equal(offset, 0);
	assert_success(cudaBindTexture(&offset, &texture, memory + 16, &format, KIB));
	assert_int_equal(offset, 16);
	assert_error(cudaBindTexture(NULL, &texture, memory + 16, &format, KIB),
		     cudaErrorInvalidValue);
	assert_success(cudaBindTexture2D(&offset, &texture, memory, &format, 64, 4, 512));
	assert_error(cudaBindTexture2D(&offset, &texture, memory, &format, 64, 4, 513),
		     cudaErrorInvalidValue);
	assert_error(cudaBindTexture(&offset, &texture, &host, &format, 4), cudaErrorInvalidValue);
	assert_error(cudaBindTexture(&offset, &unknown_texture, memory, &format, 4),
		     cudaErrorInvalidTexture);
	assert_error(cudaBindTextureToArray(&texture, NULL, &format),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaBindTextureToArray(&texture, (cudaArray_const_t)&host, &format),
		     cudaErrorInvalidResourceHandle);
	assert_error(cudaBindTextureToMipmappedArray(&texture, (cudaMipmappedArray_const_t)&host,
						     &format),
		     cudaErrorInvalidResourceHandle);
	assert_success(cudaUnbindTexture(&texture));
	assert_error(cudaGetTextureAlignmentOffset(&offset, &texture),
		     cudaErrorInvalidTextureBinding);
	assert_error(cudaUnbindTexture(&unknown_texture), cudaErrorInvalidTexture);
	assert_success(cudaFree(memory));
	__cudaUnregisterFatBinary(handle);
	assert_error(cudaUnbindTexture(&texture), cudaErrorInvalidTexture);
}

static void test_the_old_profiler_can_be_set_up(void **state)
{
	(void)state;
	assert_success(cudaProfilerInitialize("in", "out", cudaCSV));
	assert_error(cudaProfilerInitialize(NULL, "out", cudaCSV), cudaErrorInvalidValue);
	assert_error(cudaProfilerInitialize("in", "out", (cudaOutputMode_t)7),
		     cudaErrorInvalidValue);
	assert_success(cudaProfilerStart());
	assert_success(cudaProfilerStop());
}

static void test_references_are_bound_to_arrays(void **state)
{
	struct cudaChannelFormatDesc format =
		cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)&no_code);
	cudaArray_t array;
	size_t offset = 99;

	(void)state;
	if (cudaMallocArray(&array, &format, 64, 64, cudaArraySurfaceLoadStore) ==
	    cudaErrorNotSupported)
		skip();
	__cudaRegisterTexture(handle, &texture, NULL, "texture", 2, 0, 0);
	__cudaRegisterSurface(handle, &surface, NULL, "surface", 2, 0);
	assert_success(cudaBindTextureToArray(&texture, array, &format));
	assert_success(cudaGetTextureAlignmentOffset(&offset, &texture));
	assert_int_equal(offset, 0);
	assert_error(cudaBindTextureToArray(&unknown_texture, array, &format),
		     cudaErrorInvalidTexture);
	assert_error(cudaBindTextureToArray(&texture, array, NULL), cudaErrorInvalidValue);
	assert_success(cudaBindSurfaceToArray(&surface, array, &format));
	assert_error(cudaBindSurfaceToArray(&unknown_surface, array, &format),
		     cudaErrorInvalidSurface);
	assert_success(cudaFreeArray(array));
	__cudaUnregisterFatBinary(handle);
}

static void test_surface_references_are_known(void **state)
{
	struct cudaChannelFormatDesc format =
		cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)&no_code);
	const struct surfaceReference *found = NULL;

	(void)state;
	__cudaRegisterSurface(handle, &surface, NULL, "surface", 2, 0);
	assert_success(cudaGetSurfaceReference(&found, &surface));
	assert_ptr_equal(found, &surface);
	assert_error(cudaGetSurfaceReference(&found, &unknown_surface), cudaErrorInvalidSurface);
	assert_error(cudaBindSurfaceToArray(&surface, NULL, &format),
		     cudaErrorInvalidResourceHandle);
	__cudaUnregisterFatBinary(handle);
	assert_error(cudaGetSurfaceReference(&found, &surface), cudaErrorInvalidSurface);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers_are_those_of_the_release),
		cmocka_unit_test(test_properties_fill_the_struct_and_nothing_beyond),
		cmocka_unit_test(test_properties_stand_where_the_headers_have_them),
		cmocka_unit_test(test_function_and_pointer_attributes_stay_in_their_structs),
		cmocka_unit_test(test_advice_reaches_the_driver),
#if CUDART_VERSION < 13000
		cmocka_unit_test(test_a_kernel_is_launched_on_several_devices),
		cmocka_unit_test(test_functions_named_after_threads_mean_the_device),
		cmocka_unit_test(test_semaphores_are_refused_by_either_name),
		cmocka_unit_test(test_edges_of_a_graph_have_no_data),
		cmocka_unit_test(test_graphs_are_instantiated_and_updated),
		cmocka_unit_test(test_capture_can_be_asked_about_in_older_words),
#endif
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
		cmocka_unit_test(test_properties_without_a_suffix_are_those_of_11),
		cmocka_unit_test(test_copies_of_a_batch_say_which_failed),
		cmocka_unit_test(test_both_ways_to_measure_time_measure_it),
#endif
#if CUDART_VERSION < 12000
		cmocka_unit_test(test_texture_references_are_bound_to_memory),
		cmocka_unit_test(test_references_are_bound_to_arrays),
		cmocka_unit_test(test_surface_references_are_known),
		cmocka_unit_test(test_the_old_profiler_can_be_set_up),
#endif
	};

	return cmocka_run_group_tests(tests, reset_device, NULL);
}
