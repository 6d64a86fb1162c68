/* Pinned buffers, several streams, events between them, copies that need not wait. */
#include "e2e_check.cuh"

static const int nr_streams = 4;
static const size_t chunk = 3 << 20;

static __global__ void touch(int *data)
{
	data[threadIdx.x]++;
}

static void count(void *counter)
{
	++*(int *)counter;
}

static void copy_by_streams(unsigned char *to, unsigned char *device, const unsigned char *from)
{
	cudaStream_t streams[nr_streams];
	cudaEvent_t arrived[nr_streams];
	int nr_done = 0;

	for (int i = 0; i < nr_streams; i++) {
		size_t at = i * chunk;

		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&arrived[i], cudaEventDisableTiming));
		CHECK(cudaMemcpyAsync(device + at, from + at, chunk, cudaMemcpyHostToDevice,
				      streams[i]));
		touch<<<1, 32, 0, streams[i]>>>((int *)(device + at));
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(arrived[i], streams[i]));
	}
	/* Each chunk goes back on the stream of its neighbour. */
	for (int i = 0; i < nr_streams; i++) {
		cudaStream_t other = streams[(i + 1) % nr_streams];

		CHECK(cudaStreamWaitEvent(other, arrived[i], 0));
		CHECK(cudaMemcpyAsync(to + i * chunk, device + i * chunk, chunk,
				      cudaMemcpyDeviceToHost, other));
		CHECK(cudaLaunchHostFunc(other, count, &nr_done));
	}
	for (int i = 0; i < nr_streams; i++) {
		CHECK(cudaStreamSynchronize(streams[i]));
		CHECK(cudaStreamQuery(streams[i]));
		CHECK(cudaEventQuery(arrived[i]));
		CHECK(cudaStreamDestroy(streams[i]));
		CHECK(cudaEventDestroy(arrived[i]));
	}
	EXPECT(nr_done == nr_streams);
}

static void check_events()
{
	cudaEvent_t start, stop;
	float ms = -1;

	CHECK(cudaEventCreate(&start));
	CHECK(cudaEventCreate(&stop));
	CHECK(cudaEventRecord(start));
	CHECK(cudaEventRecord(stop));
	CHECK(cudaEventSynchronize(stop));
	CHECK(cudaEventElapsedTime(&ms, start, stop));
	EXPECT(ms >= 0);
	CHECK(cudaEventDestroy(start));
	CHECK(cudaEventDestroy(stop));
}

static void check_priorities()
{
	cudaStream_t stream;
	int least, greatest, priority;

	CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	EXPECT(greatest <= least);
	CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
	CHECK(cudaStreamGetPriority(stream, &priority));
	EXPECT(priority == greatest);
	CHECK(cudaStreamDestroy(stream));
}

/* Memory of the program's own, pinned for a while. */
static void check_registered(unsigned char *device)
{
	const size_t size = 1 << 20;
	unsigned char *own = (unsigned char *)malloc(size);
	cudaPointerAttributes attributes;

	EXPECT(own);
	memset(own, 0x77, size);
	CHECK(cudaPointerGetAttributes(&attributes, own));
	EXPECT(attributes.type == cudaMemoryTypeUnregistered);
	CHECK(cudaHostRegister(own, size, cudaHostRegisterDefault));
	CHECK(cudaPointerGetAttributes(&attributes, own + size - 1));
	EXPECT(attributes.type == cudaMemoryTypeHost);
	EXPECT_ERROR(cudaErrorHostMemoryAlreadyRegistered,
		     cudaHostRegister(own, size, cudaHostRegisterDefault));
	CHECK(cudaMemcpyAsync(device, own, size, cudaMemcpyHostToDevice, 0));
	memset(own, 0, size);
	CHECK(cudaMemcpyAsync(own, device, size, cudaMemcpyDeviceToHost, 0));
	CHECK(cudaDeviceSynchronize());
	EXPECT(own[0] == 0x77 && own[size - 1] == 0x77);
	CHECK(cudaHostUnregister(own));
	EXPECT_ERROR(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
	free(own);
}

int main()
{
	const size_t size = nr_streams * chunk;
	unsigned char *from, *to, *device;
	cudaPointerAttributes attributes;
	size_t before;
	void *mapped;

	CHECK(cudaSetDevice(0));
	before = free_memory();
	CHECK(cudaMallocHost(&from, size));
	CHECK(cudaHostAlloc(&to, size, cudaHostAllocPortable | cudaHostAllocMapped));
	EXPECT(free_memory() == before); /* pinned memory is the host's */
	CHECK(cudaMalloc(&device, size));
	CHECK(cudaPointerGetAttributes(&attributes, to));
	EXPECT(attributes.type == cudaMemoryTypeHost);
	CHECK(cudaHostGetDevicePointer(&mapped, to, 0));
	for (size_t i = 0; i < size; i++)
		from[i] = (unsigned char)(i * 7 + (i >> 16));
	memset(to, 0, size);
	copy_by_streams(to, device, from);
	EXPECT(!memcmp(from, to, size));
	check_registered(device);
	check_events();
	check_priorities();
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(from));
	CHECK(cudaFreeHost(to));
	EXPECT(free_memory() == before);
	check_maps();
	return 0;
}
