/* Two devices: each has its memory, its streams, its variables; copies go between them. */
#include "e2e_check.cuh"

__device__ int value = 5;

static __global__ void work(int *data)
{
	data[0] = value;
}

static size_t free_on(int device)
{
	CHECK(cudaSetDevice(device));
	return free_memory();
}

int main()
{
	const size_t size = 8 << 20;
	unsigned char *a, *b, *from, *to;
	int count, current, number, first = 11, second = 22;
	size_t before[2];
	cudaPointerAttributes attributes;
	cudaDeviceProp properties[2];
	cudaStream_t stream;

	CHECK(cudaGetDeviceCount(&count));
	EXPECT(count == 2);
	CHECK(cudaGetDeviceProperties(&properties[0], 0));
	CHECK(cudaGetDeviceProperties(&properties[1], 1));
	EXPECT(properties[0].pciBusID != properties[1].pciBusID);
	EXPECT(memcmp(&properties[0].uuid, &properties[1].uuid, sizeof(cudaUUID_t)));
	before[0] = free_on(0);
	before[1] = free_on(1);
	CHECK(cudaGetDevice(&current));
	EXPECT(current == 1);
	CHECK(cudaMalloc(&b, size));
	EXPECT(free_on(0) == before[0] && free_on(1) == before[1] - size);
	CHECK(cudaSetDevice(0));
	CHECK(cudaMalloc(&a, size));
	EXPECT(free_on(0) == before[0] - size && free_on(1) == before[1] - size);
	CHECK(cudaPointerGetAttributes(&attributes, a));
	EXPECT(attributes.device == 0);
	CHECK(cudaPointerGetAttributes(&attributes, b));
	EXPECT(attributes.device == 1);
	/* One variable on each. */
	CHECK(cudaMemcpyToSymbol(value, &second, sizeof(second))); /* device 1 is current */
	CHECK(cudaSetDevice(0));
	CHECK(cudaMemcpyToSymbol(value, &first, sizeof(first)));
	CHECK(cudaSetDevice(1));
	CHECK(cudaMemcpyFromSymbol(&number, value, sizeof(number)));
	EXPECT(number == 22);
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	CHECK(cudaSetDevice(0));
	CHECK(cudaMemcpyFromSymbol(&number, value, sizeof(number)));
	EXPECT(number == 11);
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	/* Up on one, across, down from the other. */
	CHECK(cudaMallocHost(&from, size));
	CHECK(cudaMallocHost(&to, size));
	for (size_t i = 0; i < size; i++)
		from[i] = (unsigned char)(i * 31);
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMemcpyAsync(a, from, size, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyPeerAsync(b, 1, a, 0, size, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(to, b, size, cudaMemcpyDefault));
	EXPECT(!memcmp(from, to, size));
	/* A reset is of one device alone. */
	CHECK(cudaSetDevice(1));
	CHECK(cudaDeviceReset());
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(b));
	CHECK(cudaSetDevice(0));
	memset(to, 0, size);
	CHECK(cudaMemcpy(to, a, size, cudaMemcpyDeviceToHost));
	EXPECT(!memcmp(from, to, size));
	CHECK(cudaFree(a));
	CHECK(cudaStreamDestroy(stream));
	EXPECT(free_on(1) == before[1]);
	check_maps();
	return 0;
}
