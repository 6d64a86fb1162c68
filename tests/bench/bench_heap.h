#ifndef VS_BENCH_HEAP_H
#define VS_BENCH_HEAP_H

/*
 * The same program twice: its memory is the host's (BENCH_MALLOC, for heaptrack) or the device's.
 * Inline, so that both have the same stacks. The first failure ends the program: a time for a call
 * that failed says nothing.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef BENCH_MALLOC
#include <cuda.h>
#endif

static inline void bench_heap_check(int is_good)
{
	if (is_good)
		return;
	fprintf(stderr, "an allocation failed\n");
	exit(1);
}

static inline uint64_t bench_heap_take(size_t size)
{
#ifdef BENCH_MALLOC
	void *data = malloc(size);

	/* So that the compiler does not see through malloc and free. */
	__asm__ volatile("" : "+r"(data) : : "memory");
	bench_heap_check(data != NULL);
	return (uintptr_t)data;
#else
	CUdeviceptr data = 0;

	bench_heap_check(cuMemAlloc(&data, size) == CUDA_SUCCESS);
	return data;
#endif
}

static inline void bench_heap_give_back(uint64_t address)
{
#ifdef BENCH_MALLOC
	free((void *)(uintptr_t)address);
#else
	bench_heap_check(cuMemFree(address) == CUDA_SUCCESS);
#endif
}

#endif
