/* Stream-ordered memory: the default pool, one of the program's own, what they keep and give up. */
#include "e2e_check.cuh"

static const size_t size = 10 << 20;

static __global__ void fill(char *data)
{
	data[0] = 1;
}

static unsigned long long attribute(cudaMemPool_t pool, cudaMemPoolAttr which)
{
	unsigned long long value = ~0ull;

	CHECK(cudaMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void check_content(cudaStream_t stream)
{
	char from[256], to[256] = {};
	char *data;

	memset(from, 0x3c, sizeof(from));
	CHECK(cudaMallocAsync(&data, size, stream));
	CHECK(cudaMemcpyAsync(data, from, sizeof(from), cudaMemcpyHostToDevice, stream));
	fill<<<1, 1, 0, stream>>>(data);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(to, data, sizeof(to), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaFreeAsync(data, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(!memcmp(from, to, sizeof(to)));
}

static void check_default_pool(cudaStream_t stream)
{
	cudaMemPool_t pool, current;
	unsigned long long threshold = ~0ull, reserved;
	size_t before = free_memory();
	void *a, *b;

	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaDeviceGetMemPool(&current, 0));
	EXPECT(pool == current);
	EXPECT(attribute(pool, cudaMemPoolAttrReleaseThreshold) == 0);
	CHECK(cudaMallocAsync(&a, size, stream));
	CHECK(cudaMallocAsync(&b, size, stream));
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= 2 * size);
	reserved = attribute(pool, cudaMemPoolAttrReservedMemCurrent);
	EXPECT(reserved >= 2 * size && before - free_memory() == reserved);
	CHECK(cudaFreeAsync(a, stream));
	CHECK(cudaFreeAsync(b, stream));
	CHECK(cudaStreamSynchronize(stream));
	/* Threshold 0: all goes back at the next synchronisation. */
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
	EXPECT(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
	EXPECT(free_memory() == before);
	/* With a threshold the pool keeps it, until it is trimmed. */
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	CHECK(cudaMallocAsync(&a, size, stream));
	CHECK(cudaFreeAsync(a, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= size);
	EXPECT(before - free_memory() >= size);
	CHECK(cudaMallocAsync(&b, size, stream));
	EXPECT(a == b); /* what was kept is used again */
	CHECK(cudaFreeAsync(b, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemPoolTrimTo(pool, 0));
	EXPECT(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
	EXPECT(free_memory() == before);
	threshold = 0;
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

static void check_own_pool(cudaStream_t stream)
{
	cudaMemPoolProps properties = {};
	size_t before = free_memory();
	cudaMemPool_t pool;
	void *a, *b;

	properties.allocType = cudaMemAllocationTypePinned;
	properties.location.type = cudaMemLocationTypeDevice;
	properties.location.id = 0;
	CHECK(cudaMemPoolCreate(&pool, &properties));
	CHECK(cudaMallocFromPoolAsync(&a, size, pool, stream));
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= size);
	CHECK(cudaDeviceSetMemPool(0, pool));
	CHECK(cudaMallocAsync(&b, size, stream)); /* from the pool that is current now */
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= 2 * size);
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemHigh) >= 2 * size);
	CHECK(cudaFree(a)); /* as good as cudaFreeAsync */
	CHECK(cudaFreeAsync(b, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
	CHECK(cudaMemPoolDestroy(pool));
	EXPECT(free_memory() == before);
}

int main()
{
	cudaStream_t stream;
	int supported = 0;
	void *data;

	CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
	EXPECT(supported == 1);
	CHECK(cudaStreamCreate(&stream));
	check_content(stream);
	check_default_pool(stream);
	check_own_pool(stream);
	EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMallocAsync(&data, (size_t)1 << 50, stream));
	CHECK(cudaStreamDestroy(stream));
	check_maps();
	return 0;
}
