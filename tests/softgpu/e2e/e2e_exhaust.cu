/* Takes all there is, is told so, gives some back and goes on: as programs sized by free memory do.
 */
#include "e2e_check.cuh"

static const size_t page = 2 << 20;

static __global__ void touch(char *data)
{
	data[0] = 1;
}

/* As many pieces as fit; the last error is left in place, as by a program that does not look. */
static int take_all(void **pieces, int most, size_t size)
{
	int n = 0;

	while (n < most && cudaMalloc(&pieces[n], size) == cudaSuccess)
		n++;
	return n;
}

/* Managed memory may be more than there is, and gives way to what may not. */
static void check_managed(size_t before)
{
	const size_t size = (size_t)3 << 30;
	char *managed;
	void *data;

	CHECK(cudaMallocManaged(&managed, size));
	managed[0] = 'a';
	managed[size - 1] = 'z';
	EXPECT(free_memory() == 0);
	CHECK(cudaMalloc(&data, before / 2 / page * page));
	touch<<<1, 1>>>(managed);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	EXPECT(managed[0] == 'a' && managed[1] == 0 && managed[size - 1] == 'z');
	CHECK(cudaFree(managed));
	CHECK(cudaFree(data));
	EXPECT(free_memory() == before);
}

int main()
{
	static void *pieces[4096];
	size_t free_bytes, total, before, block = 64 << 20;
	char text[32] = "";
	void *small, *whole;
	int n;

	CHECK(cudaFree(0));
	CHECK(cudaMemGetInfo(&free_bytes, &total));
	EXPECT(total == (size_t)1 << 30); /* SOFTGPU_MEMORY=1G */
	EXPECT(free_bytes < total);       /* the context costs something */
	before = free_bytes;
	n = take_all(pieces, 4096, block);
	EXPECT((size_t)n == before / block);
	EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
	EXPECT(free_memory() == before - n * block);
	/* The rest, to the last page. */
	while (free_memory())
		CHECK(cudaMalloc(&pieces[n++], page));
	EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&small, 1));
	/* Nothing is broken by it. */
	CHECK(cudaMemcpy(pieces[0], "still here", 11, cudaMemcpyHostToDevice));
	touch<<<1, 1>>>((char *)pieces[0]);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(text, pieces[0], 11, cudaMemcpyDeviceToHost));
	EXPECT(!strcmp(text, "still here"));
	CHECK(cudaFree(pieces[1]));
	EXPECT(free_memory() == block);
	CHECK(cudaMalloc(&pieces[1], block));
	EXPECT(free_memory() == 0);
	/* Small ones share a page. */
	CHECK(cudaFree(pieces[--n]));
	for (int i = 0; i < 4; i++) {
		CHECK(cudaMalloc(&pieces[n + i], 500));
		EXPECT((size_t)pieces[n + i] % 512 == 0);
	}
	EXPECT(free_memory() == 0);
	for (int i = 0; i < n + 4; i++)
		CHECK(cudaFree(pieces[i]));
	EXPECT(free_memory() == before);
	CHECK(cudaMalloc(&whole, before)); /* in one piece: nothing is fragmented */
	EXPECT(free_memory() == 0);
	CHECK(cudaDeviceReset());
	EXPECT(free_memory() == before);
	check_managed(before);
	check_maps();
	return 0;
}
