/* 64 threads on one device: nobody gets memory that is another's, and the sums come out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#define NR_THREADS 64
#define NR_LIVE    16
#ifdef __SANITIZE_THREAD__
#define NR_STEPS 300
#else
#define NR_STEPS 3000
#endif

struct block {
	void *data;
	uint64_t tag; /* what this thread wrote to the start of it */
};

struct worker {
	pthread_t thread;
	unsigned number;
	const char *failed; /* what went wrong first; asserts work in the first thread only */
	bool is_async;
};

static pthread_barrier_t start;

static bool is_intact(const struct block *block)
{
	uint64_t tag = 0;

	return cudaMemcpy(&tag, block->data, sizeof(tag), cudaMemcpyDeviceToHost) == cudaSuccess &&
	       tag == block->tag;
}

static const char *drop(struct block *block, cudaStream_t stream)
{
	cudaError_t error;

	if (!is_intact(block))
		return "memory of this thread was written by another";
	error = stream ? cudaFreeAsync(block->data, stream) : cudaFree(block->data);
	block->data = NULL;
	return error == cudaSuccess ? NULL : "free failed";
}

static const char *take(struct block *block, cudaStream_t stream, size_t size, uint64_t tag)
{
	cudaError_t error = stream ? cudaMallocAsync(&block->data, size, stream)
				   : cudaMalloc(&block->data, size);

	if (error != cudaSuccess)
		return "malloc failed";
	block->tag = tag;
	error = cudaMemcpy(block->data, &tag, sizeof(tag), cudaMemcpyHostToDevice);
	return error == cudaSuccess ? NULL : "memcpy failed";
}

static const char *work(struct worker *self, cudaStream_t stream)
{
	static const size_t sizes[] = {8, 512, 4096, 100000, 1 << 20, 3 << 20};
	struct block live[NR_LIVE] = {{0}};
	unsigned seed = self->number;
	const char *failed = NULL;

	for (uint64_t i = 0; i < NR_STEPS && !failed; i++) {
		struct block *block = &live[(unsigned)rand_r(&seed) % NR_LIVE];

		if (block->data)
			failed = drop(block, stream);
		else
			failed = take(block, stream, sizes[(unsigned)rand_r(&seed) % 6],
				      (uint64_t)self->number << 32 | i);
	}
	for (unsigned i = 0; i < NR_LIVE && !failed; i++)
		if (live[i].data)
			failed = drop(&live[i], stream);
	return failed;
}

static void *run(void *argument)
{
	struct worker *self = argument;
	cudaStream_t stream = NULL;

	pthread_barrier_wait(&start);
	if (self->is_async && cudaStreamCreate(&stream) != cudaSuccess) {
		self->failed = "no stream";
		return NULL;
	}
	self->failed = work(self, stream);
	if (stream && (cudaStreamSynchronize(stream) != cudaSuccess ||
		       cudaStreamDestroy(stream) != cudaSuccess))
		self->failed = "stream failed";
	return NULL;
}

static void run_all(bool is_async)
{
	static struct worker workers[NR_THREADS];
	size_t before, after, total;

	assert_int_equal(cudaMemGetInfo(&before, &total), cudaSuccess);
	assert_int_equal(pthread_barrier_init(&start, NULL, NR_THREADS), 0);
	for (unsigned i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.number = i + 1, .is_async = is_async};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
	}
	for (unsigned i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
	for (unsigned i = 0; i < NR_THREADS; i++)
		if (workers[i].failed)
			fail_msg("thread %u: %s", i, workers[i].failed);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_int_equal(cudaMemGetInfo(&after, &total), cudaSuccess);
	assert_int_equal(after, before);
}

static void test_64_threads_allocate_write_and_free(void **state)
{
	(void)state;
	run_all(false);
}

static void test_64_threads_with_streams_allocate_write_and_free(void **state)
{
	(void)state;
	run_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_64_threads_allocate_write_and_free),
		cmocka_unit_test(test_64_threads_with_streams_allocate_write_and_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
