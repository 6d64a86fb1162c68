/*
 * What cudaFuncGetAttributes says of a program with code for several architectures. CUB and others
 * choose their tuning, and so the size of their temporaries, by it. E2E_BINARY and E2E_PTX: the
 * versions that the card is expected to take.
 */
#include "e2e_check.cuh"

#include <cuda_occupancy.h>

#include <cstdlib>
#include <cstring>

static __constant__ float table[100];

static __global__ void plain(float *data)
{
	data[threadIdx.x] = table[threadIdx.x % 100];
}

static __global__ void __launch_bounds__(256, 2) bounded(float *data)
{
	__shared__ float part[512];

	part[threadIdx.x] = data[threadIdx.x];
	__syncthreads();
	data[threadIdx.x] = part[511 - threadIdx.x];
}

/* An array that no compiler can keep in registers. */
static __global__ void heavy(float *data, int n)
{
	float array[300];

	for (int i = 0; i < 300; i++)
		array[i] = data[i * n];
	for (int i = 0; i < n; i++)
		array[i * 7 % 300] += array[i * 13 % 300];
	for (int i = 0; i < 300; i++)
		data[i] = array[i];
}

static void check_versions(const cudaFuncAttributes &attributes)
{
	EXPECT(attributes.binaryVersion == atoi(getenv("E2E_BINARY")));
	EXPECT(attributes.ptxVersion == atoi(getenv("E2E_PTX")));
}

/* Where PTX is all there is, nobody has compiled it: what the code will need is not known. */
static bool is_compiled()
{
	return !strcmp(getenv("E2E_BINARY"), getenv("E2E_PTX")) || atoi(getenv("E2E_BINARY")) == 86;
}

static void check_needs()
{
	cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, plain));
	check_versions(attributes);
	if (!is_compiled())
		return;
	EXPECT(attributes.numRegs > 0 && attributes.numRegs < 32);
	EXPECT(attributes.maxThreadsPerBlock == 1024);
	EXPECT(attributes.sharedSizeBytes == 0 && attributes.localSizeBytes == 0);
	EXPECT(attributes.constSizeBytes == sizeof(table));
	EXPECT(attributes.maxDynamicSharedSizeBytes == 48 << 10);

	CHECK(cudaFuncGetAttributes(&attributes, bounded));
	check_versions(attributes);
	EXPECT(attributes.maxThreadsPerBlock == 256);
	EXPECT(attributes.sharedSizeBytes == 2048);
	EXPECT(attributes.maxDynamicSharedSizeBytes == (48 << 10) - 2048);

	CHECK(cudaFuncGetAttributes(&attributes, heavy));
	EXPECT(attributes.localSizeBytes >= 300 * sizeof(float));
}

/* What is fixed and what is asked for share one limit. */
static void check_limits()
{
	int optin = 0, reserved = 0;

	CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	CHECK(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0));
	EXPECT(reserved == (atoi(getenv("E2E_BINARY")) >= 80 ? 1024 : 0));
	if (!is_compiled())
		return;
	CHECK(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   optin - 2048));
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize,
					  optin - 2047));
	bounded<<<1, 257>>>(nullptr);
	EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
}

static void check_occupancy()
{
	cudaFuncAttributes attributes;
	cudaDeviceProp card;
	int blocks = 0;

	CHECK(cudaGetDeviceProperties(&card, 0));
	CHECK(cudaFuncGetAttributes(&attributes, plain));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1024, 0));
	EXPECT(blocks == card.maxThreadsPerMultiProcessor / 1024);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 32, 0));
	EXPECT(blocks == card.maxBlocksPerMultiProcessor);
}

/* NVIDIA's own calculator, a header of the toolkit, must come to the same. */
template <class Kernel> static void compare_occupancy(Kernel *kernel)
{
	static const size_t dynamic[] = {0, 1, 1000, 20000, 40000};
	cudaFuncAttributes attributes;
	cudaOccDeviceState state;
	cudaDeviceProp card;

	CHECK(cudaGetDeviceProperties(&card, 0));
	CHECK(cudaFuncGetAttributes(&attributes, kernel));
	/* What cannot be launched the calculator does not know. */
	for (int size = 1; size <= attributes.maxThreadsPerBlock; size += size % 3 ? 31 : 17) {
		for (size_t shared : dynamic) {
			cudaOccDeviceProp device = card;
			cudaOccFuncAttributes function = attributes;
			cudaOccResult expected;
			int blocks = -1;

			EXPECT(cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &device, &function,
								       &state, size, shared) ==
			       CUDA_OCC_SUCCESS);
			CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size,
									    shared));
			EXPECT(blocks == expected.activeBlocksPerMultiprocessor);
		}
	}
}

int main()
{
	check_needs();
	compare_occupancy(plain);
	compare_occupancy(bounded);
	compare_occupancy(heavy);
	check_limits();
	check_occupancy();
	check_maps();
	return 0;
}
