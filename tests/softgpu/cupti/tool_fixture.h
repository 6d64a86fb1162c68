#ifndef SG_TOOL_FIXTURE_H
#define SG_TOOL_FIXTURE_H

/*
 * For tests of a libcupti through its API, over the driver: cmocka, the headers of the release, and
 * a context that is current. Each test is compiled once for each release.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cupti.h>

#define assert_ok(call)              assert_int_equal((call), CUDA_SUCCESS)
#define assert_cupti(call, expected) assert_int_equal((call), (expected))
#define assert_done(call)            assert_int_equal((call), CUPTI_SUCCESS)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char fixture_ptx[] = ".version 7.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .entry kernel()\n"
				  "{\n\tret;\n}\n";

static inline int fixture_setup(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

#endif
