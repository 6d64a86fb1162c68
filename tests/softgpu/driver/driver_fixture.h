#ifndef SG_DRIVER_FIXTURE_H
#define SG_DRIVER_FIXTURE_H

/*
 * For tests of libcuda.so.1 through its API: cmocka, cuda.h under the names the library exports,
 * and a driver with a context. These tests run with two devices (CMakeLists.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

/* Sentences instead of two integers. */
#define assert_cuda(call, expected) assert_int_equal((call), (expected))
#define assert_ok(call)             assert_int_equal((call), CUDA_SUCCESS)

/* Aligned like a handle, and nothing one may read. */
#define NOT_A_HANDLE ((void *)0x12340)

/* One kernel, two variables, for any device from 5.0 on. */
static const char fixture_ptx[] = ".version 7.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .global .align 4 .u32 counter = 42;\n"
				  ".visible .const .align 4 .b8 table[64];\n"
				  ".visible .entry kernel(.param .u64 p)\n"
				  "{\n\tret;\n}\n"
				  ".visible .entry other()\n"
				  "{\n\tret;\n}\n";

/* Group set-up: cuInit, and the primary context of device 0 is current. */
static inline int fixture_setup(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static inline int fixture_teardown(void **state)
{
	(void)state;
	return cuCtxSetCurrent(NULL) || cuDevicePrimaryCtxRelease_v2(0);
}

/* Run the rest of a test with another context current, and give the old one back. */
static inline CUcontext fixture_exchange_context(CUcontext context)
{
	CUcontext previous;

	assert_ok(cuCtxGetCurrent(&previous));
	assert_ok(cuCtxSetCurrent(context));
	return previous;
}

#endif
