/*
 * What simulated memory costs the host. The same program is registered twice, once for each
 * backing; SOFTGPU_BACKING says which one this is. Stops at the first step over the limit, so that
 * a failure does not eat the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "host_usage.h"

#define MIB         ((size_t)1 << 20)
#define GIB         ((size_t)1 << 30)
#define TENSOR      (256 * MIB)
#define BUFFER      (32 * MIB)
#define MAX_TENSORS 320
#define LIMIT       GIB

#define assert_cuda(call) assert_int_equal((call), cudaSuccess)

static char *tensors[MAX_TENSORS];
static size_t nr_tensors;
static char *buffer;

static void check_host(void)
{
	uint64_t resident = sg_host_usage_get_resident(), files = sg_host_usage_get_files();

	assert_true(resident > 0);
	if (resident + files >= LIMIT)
		fail_msg("%llu MiB resident and %llu MiB in memory files",
			 (unsigned long long)(resident / MIB), (unsigned long long)(files / MIB));
}

static int take_device(void **state)
{
	size_t free_size, total;

	(void)state;
	buffer = malloc(BUFFER);
	if (!buffer || cudaMemGetInfo(&free_size, &total) != cudaSuccess || total != 80 * GIB)
		return -1;
	memset(buffer, 0x5a, BUFFER);
	while (nr_tensors < MAX_TENSORS &&
	       cudaMalloc((void **)&tensors[nr_tensors], TENSOR) == cudaSuccess)
		nr_tensors++;
	(void)cudaGetLastError();
	return 0;
}

static int give_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_tensors; i++)
		if (cudaFree(tensors[i]) != cudaSuccess)
			return -1;
	free(buffer);
	return 0;
}

static void test_untouched_memory_costs_nothing(void **state)
{
	(void)state;
	/* All but the context of 80 GiB. */
	assert_true(nr_tensors > 315);
	assert_true(sg_host_usage_get_files() < MIB);
	assert_true(sg_host_usage_get_resident() < LIMIT / 4);
}

static void test_reading_untouched_memory_costs_nothing(void **state)
{
	static const char zeroes[4096];

	(void)state;
	for (size_t i = 0; i < nr_tensors; i += 10) {
		assert_cuda(
			cudaMemcpy(buffer, tensors[i] + i * 4096, BUFFER, cudaMemcpyDeviceToHost));
		assert_memory_equal(buffer, zeroes, sizeof(zeroes));
		assert_memory_equal(buffer + BUFFER - 4096, zeroes, sizeof(zeroes));
		check_host();
	}
	assert_true(sg_host_usage_get_files() < MIB);
	memset(buffer, 0x5a, BUFFER);
}

/* Zeroing what is zero: cudaMemset(0) and copies of untouched memory write nothing. */
static void test_clearing_memory_costs_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < nr_tensors; i += 2) {
		assert_cuda(cudaMemset(tensors[i], 0, TENSOR));
		assert_cuda(
			cudaMemcpy(tensors[i + 1], tensors[i], TENSOR, cudaMemcpyDeviceToDevice));
		check_host();
	}
	assert_true(sg_host_usage_get_files() < MIB);
}

static void test_device_full_of_written_tensors_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_tensors; i++) {
		assert_cuda(cudaMemset(tensors[i], 0xff, TENSOR));
		for (size_t at = 0; at < TENSOR; at += BUFFER)
			assert_cuda(cudaMemcpy(tensors[i] + at, buffer, BUFFER,
					       cudaMemcpyHostToDevice));
		if (i)
			assert_cuda(cudaMemcpy(tensors[i], tensors[i - 1], TENSOR,
					       cudaMemcpyDeviceToDevice));
		check_host();
	}
}

static void test_rows_and_async_writes_fit(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_tensors; i++) {
		assert_cuda(cudaMemcpy2DAsync(tensors[i], 64 * 1024, buffer, 32 * 1024, 32 * 1024,
					      1024, cudaMemcpyHostToDevice, NULL));
		assert_cuda(cudaMemset2DAsync(tensors[i], 64 * 1024, 3, 48 * 1024, 4096, NULL));
		check_host();
	}
}

/* Small copies are kept, but a device full of them would not fit either. */
static void test_device_full_of_small_writes_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_tensors; i++) {
		for (size_t at = 0; at < TENSOR; at += 256 * 1024)
			assert_cuda(
				cudaMemcpy(tensors[i] + at, buffer, 4096, cudaMemcpyHostToDevice));
		check_host();
	}
}

static void test_large_writes_read_as_zero(void **state)
{
	(void)state;
	assert_cuda(cudaMemcpy(tensors[0], buffer, BUFFER, cudaMemcpyHostToDevice));
	memset(buffer, 0x5a, BUFFER);
	assert_cuda(cudaMemcpy(buffer, tensors[0], BUFFER, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < BUFFER; i++)
		assert_int_equal(buffer[i], 0);
	memset(buffer, 0x5a, BUFFER);
}

static void test_small_copies_stay_exact(void **state)
{
	char from[1000], to[1000] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 13);
	assert_cuda(cudaMemcpy(tensors[3] + 12345, from, sizeof(from), cudaMemcpyHostToDevice));
	assert_cuda(cudaMemcpy(tensors[4] + 1, tensors[3] + 12345, sizeof(from),
			       cudaMemcpyDeviceToDevice));
	assert_cuda(cudaMemcpy(to, tensors[4] + 1, sizeof(to), cudaMemcpyDeviceToHost));
	assert_memory_equal(from, to, sizeof(to));
}

/* What is written in exact mode is there, costs what it is, and goes when it is freed. */
static void test_freed_memory_is_given_back_to_the_host(void **state)
{
	uint64_t before = sg_host_usage_get_files();
	char *back = malloc(BUFFER);
	void *data;

	(void)state;
	assert_non_null(back);
	assert_cuda(cudaFree(tensors[--nr_tensors]));
	assert_cuda(cudaMalloc(&data, TENSOR));
	for (size_t at = 0; at < TENSOR; at += BUFFER)
		assert_cuda(cudaMemcpy((char *)data + at, buffer, BUFFER, cudaMemcpyHostToDevice));
	assert_true(sg_host_usage_get_files() >= before + TENSOR);
	assert_cuda(
		cudaMemcpy(back, (char *)data + TENSOR - BUFFER, BUFFER, cudaMemcpyDeviceToHost));
	assert_memory_equal(back, buffer, BUFFER);
	assert_cuda(cudaFree(data));
	assert_true(sg_host_usage_get_files() <= before);
	/* The next owner of these pages finds zeroes. */
	assert_cuda(cudaMalloc(&data, TENSOR));
	assert_cuda(cudaMemcpy(back, data, BUFFER, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < BUFFER; i += 4096)
		assert_int_equal(back[i], 0);
	assert_cuda(cudaFree(data));
	free(back);
}

static void test_peak_was_below_the_limit(void **state)
{
	(void)state;
	assert_true(sg_host_usage_get_peak() > 0);
	assert_true(sg_host_usage_get_peak() < LIMIT);
}

int main(void)
{
	const struct CMUnitTest in_zero[] = {
		cmocka_unit_test(test_untouched_memory_costs_nothing),
		cmocka_unit_test(test_reading_untouched_memory_costs_nothing),
		cmocka_unit_test(test_device_full_of_written_tensors_fits),
		cmocka_unit_test(test_rows_and_async_writes_fit),
		cmocka_unit_test(test_device_full_of_small_writes_fits),
		cmocka_unit_test(test_large_writes_read_as_zero),
		cmocka_unit_test(test_small_copies_stay_exact),
		cmocka_unit_test(test_peak_was_below_the_limit),
	};
	const struct CMUnitTest in_exact[] = {
		cmocka_unit_test(test_untouched_memory_costs_nothing),
		cmocka_unit_test(test_reading_untouched_memory_costs_nothing),
		cmocka_unit_test(test_clearing_memory_costs_nothing),
		cmocka_unit_test(test_small_copies_stay_exact),
		cmocka_unit_test(test_freed_memory_is_given_back_to_the_host),
		cmocka_unit_test(test_peak_was_below_the_limit),
	};
	const char *backing = getenv("SOFTGPU_BACKING");

	if (backing && !strcmp(backing, "exact"))
		return cmocka_run_group_tests_name("exact", in_exact, take_device, give_device);
	return cmocka_run_group_tests_name("zero", in_zero, take_device, give_device);
}
