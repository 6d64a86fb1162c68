/* libcublas: what its handle keeps, its versions, and results that go to host memory. */
#include <stdint.h>
#include <string.h>

#include "math_call.h"

/* cublasStatus_t */
#define NOT_INITIALIZED 1
#define ALLOC_FAILED    3
#define INVALID_VALUE   7

#define POINTER_MODE_HOST 0

struct handle {
	void *stream;
	int pointer_mode;
	int atomics_mode;
	int math_mode;
	int sm_count;
	int emulation;
};

int sg_math_bad_handle(void)
{
	return NOT_INITIALIZED;
}

static struct handle *get(void *handle)
{
	return sg_math_object_get(SG_MATH_LIBRARY, handle);
}

SG_MATH_API(int, cublasCreate_v2, void **handle)
{
	if (!handle)
		return INVALID_VALUE;
	*handle = sg_math_object_create(SG_MATH_LIBRARY, sizeof(struct handle));
	return *handle ? 0 : ALLOC_FAILED;
}

#define SETTER(name, type, field)                        \
	SG_MATH_API(int, name, void *handle, type value) \
	{                                                \
		struct handle *state = get(handle);      \
                                                         \
		if (!state)                              \
			return NOT_INITIALIZED;          \
		state->field = value;                    \
		return 0;                                \
	}

#define GETTER(name, type, field)                         \
	SG_MATH_API(int, name, void *handle, type *value) \
	{                                                 \
		struct handle *state = get(handle);       \
                                                          \
		if (!state)                               \
			return NOT_INITIALIZED;           \
		if (!value)                               \
			return INVALID_VALUE;             \
		*value = state->field;                    \
		return 0;                                 \
	}

SETTER(cublasSetStream_v2, void *, stream)
GETTER(cublasGetStream_v2, void *, stream)
SETTER(cublasSetPointerMode_v2, int, pointer_mode)
GETTER(cublasGetPointerMode_v2, int, pointer_mode)
SETTER(cublasSetAtomicsMode, int, atomics_mode)
GETTER(cublasGetAtomicsMode, int, atomics_mode)
SETTER(cublasSetMathMode, int, math_mode)
GETTER(cublasGetMathMode, int, math_mode)
SETTER(cublasSetSmCountTarget, int, sm_count)
GETTER(cublasGetSmCountTarget, int, sm_count)
SETTER(cublasSetEmulationStrategy, int, emulation)
GETTER(cublasGetEmulationStrategy, int, emulation)

SG_MATH_API(int, cublasGetVersion_v2, void *handle, int *version)
{
	(void)handle; /* nobody needs one for this, in practice not even the real library */
	if (!version)
		return INVALID_VALUE;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 10000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(int, cublasGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? INVALID_VALUE : 0;
}

SG_MATH_API(size_t, cublasGetCudartVersion, void)
{
	return (size_t)sg_math_version[SG_MATH_MAJOR_VERSION] * 1000;
}

static const char *const status_names[] = {
	[0] = "CUBLAS_STATUS_SUCCESS",           [1] = "CUBLAS_STATUS_NOT_INITIALIZED",
	[3] = "CUBLAS_STATUS_ALLOC_FAILED",      [7] = "CUBLAS_STATUS_INVALID_VALUE",
	[8] = "CUBLAS_STATUS_ARCH_MISMATCH",     [11] = "CUBLAS_STATUS_MAPPING_ERROR",
	[13] = "CUBLAS_STATUS_EXECUTION_FAILED", [14] = "CUBLAS_STATUS_INTERNAL_ERROR",
	[15] = "CUBLAS_STATUS_NOT_SUPPORTED",    [16] = "CUBLAS_STATUS_LICENSE_ERROR",
};

SG_MATH_API(const char *, cublasGetStatusName, int status)
{
	size_t nr = sizeof(status_names) / sizeof(status_names[0]);

	if (status < 0 || (size_t)status >= nr || !status_names[status])
		return "CUBLAS_STATUS_UNKNOWN";
	return status_names[status];
}

SG_MATH_API(const char *, cublasGetStatusString, int status)
{
	return cublasGetStatusName(status);
}

/*
 * Results of one number. Where they go to host memory the program reads them at once: zero, or the
 * first element for a search. In device memory they stay what they are, as after any kernel.
 */
static int put_result(void *handle, void *result, const void *value, size_t size)
{
	struct handle *state = get(handle);

	if (!state)
		return NOT_INITIALIZED;
	if (!result)
		return INVALID_VALUE;
	if (state->pointer_mode == POINTER_MODE_HOST)
		memcpy(result, value, size);
	return 0;
}

static const char zero[16];

#define ONE_VECTOR(name, value, size)                                                        \
	SG_MATH_API(int, name, void *handle, long n, const void *x, long incx, void *result) \
	{                                                                                    \
		(void)n;                                                                     \
		(void)x;                                                                     \
		(void)incx;                                                                  \
		return put_result(handle, result, value, size);                              \
	}

#define TWO_VECTORS(name, size)                                                               \
	SG_MATH_API(int, name, void *handle, long n, const void *x, long incx, const void *y, \
		    long incy, void *result)                                                  \
	{                                                                                     \
		(void)n;                                                                      \
		(void)x;                                                                      \
		(void)incx;                                                                   \
		(void)y;                                                                      \
		(void)incy;                                                                   \
		return put_result(handle, result, zero, size);                                \
	}

/* Each with its 64-bit twin, whose arguments are the same to the machine. */
#define NORM(name, size)                  \
	ONE_VECTOR(name##_v2, zero, size) \
	ONE_VECTOR(name##_v2_64, zero, size)
#define DOT(name, size)              \
	TWO_VECTORS(name##_v2, size) \
	TWO_VECTORS(name##_v2_64, size)

static const int first = 1; /* indices count from one */
static const int64_t first_64 = 1;

#define SEARCH(name)                                 \
	ONE_VECTOR(name##_v2, &first, sizeof(first)) \
	ONE_VECTOR(name##_v2_64, &first_64, sizeof(first_64))

NORM(cublasSnrm2, 4)
NORM(cublasDnrm2, 8)
NORM(cublasScnrm2, 4)
NORM(cublasDznrm2, 8)
NORM(cublasSasum, 4)
NORM(cublasDasum, 8)
NORM(cublasScasum, 4)
NORM(cublasDzasum, 8)
DOT(cublasSdot, 4)
DOT(cublasDdot, 8)
DOT(cublasCdotu, 8)
DOT(cublasCdotc, 8)
DOT(cublasZdotu, 16)
DOT(cublasZdotc, 16)
SEARCH(cublasIsamax)
SEARCH(cublasIdamax)
SEARCH(cublasIcamax)
SEARCH(cublasIzamax)
SEARCH(cublasIsamin)
SEARCH(cublasIdamin)
SEARCH(cublasIcamin)
SEARCH(cublasIzamin)
