/* Everything done wrong: the code that CUDA documents, no crash, and life goes on. */
#include "e2e_check.cuh"

#include <thread>

static __global__ void nothing(int *data)
{
	data[0] = 0;
}

static void not_a_kernel()
{
}

/* A launch returns nothing; its error waits for cudaGetLastError(). */
#define EXPECT_LAUNCH_ERROR(expected, ...)                   \
	do {                                                 \
		nothing<<<__VA_ARGS__>>>(nullptr);           \
		EXPECT(cudaPeekAtLastError() == (expected)); \
		EXPECT(cudaGetLastError() == (expected));    \
		EXPECT(cudaGetLastError() == cudaSuccess);   \
	} while (0)

static void check_launches()
{
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidConfiguration, 0, 32);
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidConfiguration, 1, 0);
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidConfiguration, 1, 1025);
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidConfiguration, 1, dim3(1, 1, 65));
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidConfiguration, dim3(1, 65536), 32);
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidValue, 1, 32, 1 << 30);
	EXPECT_LAUNCH_ERROR(cudaErrorInvalidResourceHandle, 1, 32, 0, (cudaStream_t)0x1234560);
	EXPECT_ERROR(cudaErrorInvalidDeviceFunction,
		     cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), nullptr, 0, 0));
	nothing<<<1, 32>>>(nullptr);
	CHECK(cudaGetLastError());
}

static void check_memory()
{
	static char host[64];
	char *device, *other;
	size_t before = free_memory();

	CHECK(cudaMalloc(&device, 1000));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 10));
	EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&other, (size_t)1 << 60));
	EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&other, SIZE_MAX));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(host));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(device + 1));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeHost(host));
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaMemcpy(device, nullptr, 10, cudaMemcpyHostToDevice));
	EXPECT_ERROR(cudaErrorInvalidMemcpyDirection,
		     cudaMemcpy(device, host, 10, (cudaMemcpyKind)99));
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaMemcpy(device + 990, host, 64, cudaMemcpyHostToDevice));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(device + 990, 0, 64));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(host, 0, 64));
	CHECK(cudaMalloc(&other, 0));
	EXPECT(other == nullptr);
	CHECK(cudaFree(nullptr));
	CHECK(cudaFree(device));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(device));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(device, 0, 10));
	EXPECT(free_memory() == before);
}

static void check_handles()
{
	cudaStream_t stream;
	cudaEvent_t event;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaEventDestroy(event));
	EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventRecord(event));
	EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
	EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize((cudaStream_t)0x40));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
	EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(1));
	EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(-1));
	EXPECT_ERROR(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
}

static void check_texts()
{
	EXPECT(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
	EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
	EXPECT(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
	EXPECT(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
}

int main()
{
	void *data;

	CHECK(cudaFree(0));
	check_launches();
	check_memory();
	check_handles();
	check_texts();
	/* The last error belongs to the thread. */
	EXPECT(cudaMalloc(&data, (size_t)1 << 60) == cudaErrorMemoryAllocation);
	std::thread([] { EXPECT(cudaGetLastError() == cudaSuccess); }).join();
	EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
	CHECK(cudaMalloc(&data, 1 << 20));
	CHECK(cudaFree(data));
	check_maps();
	return 0;
}
