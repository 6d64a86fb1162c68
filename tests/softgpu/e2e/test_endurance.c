/*
 * Ten million times from live to dead: neither the process nor the card grows. Counted, not timed;
 * tests/bench measures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "host_usage.h"

/* A sanitizer makes each call many times slower, and finds what it finds early. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NR_CYCLES (300 * 1000)
#define MAY_GROW  ((uint64_t)128 << 20) /* its own quarantine */
#else
#define NR_CYCLES (10 * 1000 * 1000)
#define MAY_GROW  ((uint64_t)4 << 20)
#endif
#define NR_LIVE 512

#define assert_cuda(call) assert_int_equal((call), cudaSuccess)

static void *live[NR_LIVE];

static size_t get_free(void)
{
	size_t free_size, total;

	assert_cuda(cudaMemGetInfo(&free_size, &total));
	return free_size;
}

/* 512 B to 20 MiB, mostly small, as programs have them. */
static size_t choose_size(unsigned *seed)
{
	static const size_t sizes[] = {1,      512,    1000,    4096,    65536,   65537,
				       100000, 524288, 1 << 20, 2 << 20, 5 << 20, 20 << 20};

	return sizes[(unsigned)rand_r(seed) % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void cycle(unsigned nr, unsigned *seed)
{
	for (unsigned i = 0; i < nr; i++) {
		unsigned slot = (unsigned)rand_r(seed) % NR_LIVE;

		assert_cuda(cudaFree(live[slot]));
		assert_cuda(cudaMalloc(&live[slot], choose_size(seed)));
	}
}

static void free_all(void)
{
	for (unsigned i = 0; i < NR_LIVE; i++) {
		assert_cuda(cudaFree(live[i]));
		live[i] = NULL;
	}
}

static void test_ten_million_cycles_leave_process_and_card_as_they_were(void **state)
{
	uint64_t resident, grown, files;
	unsigned seed = 1;
	size_t before;

	(void)state;
	assert_cuda(cudaFree(NULL));
	before = get_free();
	cycle(NR_CYCLES / 20, &seed); /* whatever is made once is made now */
	resident = sg_host_usage_get_resident();
	cycle(NR_CYCLES - NR_CYCLES / 20, &seed);
	grown = sg_host_usage_get_resident();
	files = sg_host_usage_get_files();
	free_all();
	assert_int_equal(get_free(), before);
	assert_true(resident > 0);
	assert_true(grown < resident + MAY_GROW);
	assert_true(files < 1 << 20);
}

static void test_async_cycles_leave_process_and_card_as_they_were(void **state)
{
	uint64_t resident = 0;
	cudaStream_t stream;
	unsigned seed = 2;
	size_t before;

	(void)state;
	assert_cuda(cudaStreamCreate(&stream));
	before = get_free();
	for (unsigned i = 0; i < NR_CYCLES / 5; i++) {
		unsigned slot = i % 64;

		if (live[slot])
			assert_cuda(cudaFreeAsync(live[slot], stream));
		assert_cuda(cudaMallocAsync(&live[slot], choose_size(&seed), stream));
		if (i % 1000 == 0)
			assert_cuda(cudaStreamSynchronize(stream));
		if (i == NR_CYCLES / 100)
			resident = sg_host_usage_get_resident();
	}
	assert_true(sg_host_usage_get_resident() < resident + MAY_GROW);
	free_all();
	assert_cuda(cudaStreamSynchronize(stream));
	assert_cuda(cudaStreamDestroy(stream));
	assert_int_equal(get_free(), before);
}

static void test_streams_and_events_do_not_pile_up(void **state)
{
	uint64_t resident = 0;
	cudaStream_t stream;
	cudaEvent_t event;

	(void)state;
	for (unsigned i = 0; i < NR_CYCLES / 20; i++) {
		assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
		assert_cuda(cudaEventRecord(event, stream));
		assert_cuda(cudaEventDestroy(event));
		assert_cuda(cudaStreamDestroy(stream));
		if (i == NR_CYCLES / 100)
			resident = sg_host_usage_get_resident();
	}
	assert_true(sg_host_usage_get_resident() < resident + MAY_GROW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ten_million_cycles_leave_process_and_card_as_they_were),
		cmocka_unit_test(test_async_cycles_leave_process_and_card_as_they_were),
		cmocka_unit_test(test_streams_and_events_do_not_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
