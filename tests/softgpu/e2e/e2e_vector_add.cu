/* The first program of every course: managed memory, one kernel, one check. */
#include "e2e_check.cuh"

static __global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	const int n = 1 << 20;
	const size_t size = n * sizeof(float);
	cudaPointerAttributes attributes;
	cudaDeviceProp properties;
	float *a, *b, *c;
	size_t before;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	EXPECT(properties.multiProcessorCount > 0 && properties.maxThreadsPerBlock >= 256);
	EXPECT(properties.warpSize == 32 && properties.managedMemory == 1);
	EXPECT(properties.name[0] != '\0');
	CHECK(cudaFree(0));
	before = free_memory();
	CHECK(cudaMallocManaged(&a, size));
	CHECK(cudaMallocManaged(&b, size));
	CHECK(cudaMallocManaged(&c, size));
	EXPECT(before - free_memory() == 3 * size); /* whole pages, so to the byte */
	CHECK(cudaPointerGetAttributes(&attributes, a));
	EXPECT(attributes.type == cudaMemoryTypeManaged);
	EXPECT(attributes.hostPointer == a && attributes.devicePointer == a);
	for (int i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = (float)(2 * i);
	}
	add<<<(n + 255) / 256, 256>>>(a, b, c, n);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++)
		EXPECT(a[i] == (float)i && b[i] == (float)(2 * i) && c[i] == 0);
	/* What the host wrote is what the device has. */
	CHECK(cudaMemcpy(c, a, size, cudaMemcpyDefault));
	EXPECT(!memcmp(a, c, size));
	CHECK(cudaMemset(c, 0x11, size));
	EXPECT(((unsigned char *)c)[0] == 0x11 && ((unsigned char *)c)[size - 1] == 0x11);
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
	EXPECT(free_memory() == before);
	check_maps();
	return 0;
}
