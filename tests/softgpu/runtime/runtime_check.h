#ifndef SG_RUNTIME_CHECK_H
#define SG_RUNTIME_CHECK_H

/* For tests of the runtime's API: what all of them include, and asserts on error codes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

#define assert_success(call) assert_string_equal(cudaGetErrorName(call), "cudaSuccess")

/* The call fails with that code, and the code is the last error, which is then taken. */
#define assert_error(call, code)                                                  \
	do {                                                                      \
		assert_string_equal(cudaGetErrorName(call), #code);               \
		assert_string_equal(cudaGetErrorName(cudaGetLastError()), #code); \
	} while (0)

/* A group of tests starts where the last one ended: on device 0, with nothing allocated. */
static inline int reset_device(void **state)
{
	(void)state;
	if (cudaSetDevice(0) || cudaDeviceReset())
		return -1;
	return (int)cudaGetLastError();
}

static inline size_t free_memory(void)
{
	size_t free_bytes = 0, total = 0;

	assert_success(cudaMemGetInfo(&free_bytes, &total));
	assert_true(free_bytes <= total);
	return free_bytes;
}

#endif
