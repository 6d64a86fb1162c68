/*
 * usage: bench_cupti PAIRS
 *
 * Allocations and frees by the runtime, on softgpu, whose CUPTI is there to be asked. Prints "loop
 * NS": processor time of its thread, from the first pair to the last.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long get_ns(void)
{
	struct timespec now;

	/* Of this thread alone: the recorder has one of its own. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long nr_pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	long long start;
	void *memory;

	if (!nr_pairs || cudaMalloc(&memory, 1 << 20) != cudaSuccess)
		return 1;
	start = get_ns();
	for (unsigned long i = 0; i < nr_pairs; i++) {
		if (cudaFree(memory) != cudaSuccess || cudaMalloc(&memory, 1 << 20) != cudaSuccess)
			return 1;
	}
	printf("loop %lld\n", get_ns() - start);
	return 0;
}
