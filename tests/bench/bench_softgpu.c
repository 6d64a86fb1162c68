/*
 * What softgpu's calls cost, beside malloc and free of the same sizes in the same run: the machine
 * may be slow today, the ratio is not. Prints tables; decides nothing.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "many_kernels.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NR_PAIRS      100000
#define NR_THREADS    64
#define NR_LIVE_MOST  100000
#define LIVE_SIZE     4096

static const size_t sizes[] = {512, 4096, 65536, 1 << 20, 2 << 20, 5 << 20, 20 << 20};
static void *live[NR_LIVE_MOST], *live_host[NR_LIVE_MOST];

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The first wrong answer ends it: a time for a call that failed says nothing. */
static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "bench_softgpu: %s: %s\n", what, cudaGetErrorName(error));
	exit(1);
}

/* So that the compiler does not see through malloc and free. */
static void keep(void *data)
{
	__asm__ volatile("" : : "r"(data) : "memory");
}

static double time_host_pair(size_t size)
{
	double start = now_ns();

	for (int i = 0; i < NR_PAIRS; i++) {
		void *data = malloc(size);

		keep(data);
		free(data);
	}
	return (now_ns() - start) / NR_PAIRS;
}

static double time_device_pair(size_t size)
{
	double start = now_ns();

	for (int i = 0; i < NR_PAIRS; i++) {
		void *data;

		check(cudaMalloc(&data, size), "cudaMalloc");
		check(cudaFree(data), "cudaFree");
	}
	return (now_ns() - start) / NR_PAIRS;
}

static double time_async_pair(size_t size, cudaStream_t stream)
{
	double start = now_ns();

	for (int i = 0; i < NR_PAIRS; i++) {
		void *data;

		check(cudaMallocAsync(&data, size, stream), "cudaMallocAsync");
		check(cudaFreeAsync(data, stream), "cudaFreeAsync");
	}
	return (now_ns() - start) / NR_PAIRS;
}

static void fill_live(int *nr, int wanted)
{
	for (; *nr < wanted; ++*nr) {
		check(cudaMalloc(&live[*nr], LIVE_SIZE), "cudaMalloc");
		live_host[*nr] = malloc(LIVE_SIZE);
	}
}

static void print_pairs(void)
{
	static const int lives[] = {0, 10000, 100000};
	int nr = 0;

	printf("\nns per pair, KiB     ");
	for (size_t i = 0; i < LENGTH(sizes); i++)
		printf(" %8g", (double)sizes[i] / 1024);
	printf("\n");
	for (size_t l = 0; l < LENGTH(lives); l++) {
		double host[LENGTH(sizes)], device[LENGTH(sizes)];

		fill_live(&nr, lives[l]);
		for (size_t i = 0; i < LENGTH(sizes); i++) {
			host[i] = time_host_pair(sizes[i]);
			device[i] = time_device_pair(sizes[i]);
		}
		printf("%6d live  malloc   ", lives[l]);
		for (size_t i = 0; i < LENGTH(sizes); i++)
			printf(" %8.0f", host[i]);
		printf("\n            cuda     ");
		for (size_t i = 0; i < LENGTH(sizes); i++)
			printf(" %8.0f", device[i]);
		printf("\n            ratio    ");
		for (size_t i = 0; i < LENGTH(sizes); i++)
			printf(" %8.1f", device[i] / host[i]);
		printf("\n");
	}
	while (nr--) {
		check(cudaFree(live[nr]), "cudaFree");
		free(live_host[nr]);
	}
}

static void print_async(void)
{
	cudaStream_t stream;

	check(cudaStreamCreate(&stream), "cudaStreamCreate");
	printf("            async    ");
	for (size_t i = 0; i < LENGTH(sizes); i++)
		printf(" %8.0f", time_async_pair(sizes[i], stream));
	printf("\n");
	check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

static pthread_barrier_t begin;

static void *run_host(void *unused)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < NR_PAIRS / NR_THREADS; i++) {
		void *data = malloc(LIVE_SIZE);

		keep(data);
		free(data);
	}
	return unused;
}

static void *run_device(void *unused)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < NR_PAIRS / NR_THREADS; i++) {
		void *data;

		check(cudaMalloc(&data, LIVE_SIZE), "cudaMalloc");
		check(cudaFree(data), "cudaFree");
	}
	return unused;
}

/* All pairs of all threads over the time from the first to the last. */
static double time_threads(void *(*run)(void *))
{
	pthread_t threads[NR_THREADS];
	double start;

	pthread_barrier_init(&begin, NULL, NR_THREADS + 1);
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			exit(1);
	start = now_ns();
	pthread_barrier_wait(&begin);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&begin);
	return (now_ns() - start) / (NR_PAIRS / NR_THREADS * NR_THREADS);
}

static void print_threads(void)
{
	double host = time_threads(run_host), device = time_threads(run_device);

	printf("\n%d threads, 4K: ns per pair  malloc %.0f, cuda %.0f, ratio %.1f\n", NR_THREADS,
	       host, device, device / host);
}

static double time_copy(void *to, const void *from, size_t size, int kind)
{
	double start = now_ns();

	for (int i = 0; i < NR_PAIRS; i++) {
		if (kind < 0) {
			memcpy(to, from, size);
			keep(to);
		} else {
			check(cudaMemcpy(to, from, size, (enum cudaMemcpyKind)kind), "cudaMemcpy");
		}
	}
	return (now_ns() - start) / NR_PAIRS;
}

static void print_copies(void)
{
	static const size_t copy_sizes[] = {8, 1024, 65536};
	static char from[65536], to[65536];
	void *device;

	check(cudaMalloc(&device, sizeof(from)), "cudaMalloc");
	printf("\nns per copy             8B       1K      64K\n");
	for (int kind = -1; kind <= cudaMemcpyDeviceToHost; kind++) {
		static const char *const names[] = {"memcpy", "", "to device", "from device"};
		const void *source = kind == cudaMemcpyDeviceToHost ? device : from;
		void *target = kind == cudaMemcpyHostToDevice ? device : to;

		if (kind == cudaMemcpyHostToHost)
			continue;
		printf("%-16s", names[kind + 1]);
		for (size_t i = 0; i < LENGTH(copy_sizes); i++)
			printf(" %8.0f", time_copy(target, source, copy_sizes[i], kind));
		printf("\n");
	}
	check(cudaFree(device), "cudaFree");
}

static void print_registration(void)
{
	double start, registered, found;
	void *function;

	sg_many_kernels_init();
	start = now_ns();
	sg_many_kernels_register();
	registered = now_ns();
	for (int i = 0; i < SG_MANY_KERNELS_NR; i++)
		check(cudaGetFuncBySymbol((cudaFunction_t *)&function,
					  sg_many_kernels_get_kernel(i)),
		      "cudaGetFuncBySymbol");
	found = now_ns();
	printf("\n%d kernels and %d variables: registered in %.1f ms, found in %.1f ms\n",
	       SG_MANY_KERNELS_NR, SG_MANY_KERNELS_NR_VARS, (registered - start) / 1e6,
	       (found - registered) / 1e6);
	sg_many_kernels_unregister();
}

int main(void)
{
	double start = now_ns();

	check(cudaFree(NULL), "cudaFree");
	printf("first call: %.1f ms\n", (now_ns() - start) / 1e6);
	print_pairs();
	print_async();
	print_threads();
	print_copies();
	print_registration();
	return 0;
}
