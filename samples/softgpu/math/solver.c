/* libcusolver: streams and versions. Sizes of buffers are filled by the generated functions. */
#include <stdint.h>

#include "math_call.h"

/* cusolverStatus_t */
#define NOT_INITIALIZED 1
#define INVALID_VALUE   3

struct handle {
	void *stream;
	int is_deterministic;
};

int sg_math_bad_handle(void)
{
	return NOT_INITIALIZED;
}

static int set_stream(void *handle, void *stream)
{
	struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state)
		return NOT_INITIALIZED;
	state->stream = stream;
	return 0;
}

static int get_stream(const void *handle, void **stream)
{
	const struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state)
		return NOT_INITIALIZED;
	if (!stream)
		return INVALID_VALUE;
	*stream = state->stream;
	return 0;
}

SG_MATH_API(int, cusolverDnSetStream, void *handle, void *stream)
{
	return set_stream(handle, stream);
}

SG_MATH_API(int, cusolverDnGetStream, const void *handle, void **stream)
{
	return get_stream(handle, stream);
}

SG_MATH_API(int, cusolverSpSetStream, void *handle, void *stream)
{
	return set_stream(handle, stream);
}

SG_MATH_API(int, cusolverSpGetStream, const void *handle, void **stream)
{
	return get_stream(handle, stream);
}

SG_MATH_API(int, cusolverGetVersion, int *version)
{
	if (!version)
		return INVALID_VALUE;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 1000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(int, cusolverGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? INVALID_VALUE : 0;
}
