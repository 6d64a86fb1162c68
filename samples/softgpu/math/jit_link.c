/*
 * libnvJitLink: what comes out is what went in first. Kernels are only names to the driver, and the
 * programs that link at run time put one file with kernels in.
 */
#include <stdlib.h>
#include <string.h>

#include "math_call.h"

#define KIND_LINK SG_MATH_FIRST_OWN

/* nvJitLinkResult */
#define UNRECOGNIZED_OPTION 1
#define INVALID_INPUT       3
#define INTERNAL            6

struct link {
	char *code;
	size_t size;
};

int sg_math_bad_handle(void)
{
	return INVALID_INPUT;
}

static struct link *get(const void *handle)
{
	return sg_math_object_get(KIND_LINK, handle);
}

SG_MATH_API(int, nvJitLinkCreate, void **handle, unsigned nr_options, const char **options)
{
	(void)nr_options;
	(void)options;
	if (!handle)
		return INVALID_INPUT;
	*handle = sg_math_object_create(KIND_LINK, sizeof(struct link));
	return *handle ? 0 : INTERNAL;
}

SG_MATH_API(int, nvJitLinkDestroy, void **handle)
{
	struct link *link = handle ? get(*handle) : NULL;

	if (!link)
		return INVALID_INPUT;
	free(link->code);
	sg_math_object_destroy(KIND_LINK, link);
	*handle = NULL;
	return 0;
}

SG_MATH_API(int, nvJitLinkAddData, void *handle, int type, const void *data, size_t size,
	    const char *name)
{
	struct link *link = get(handle);

	(void)type;
	(void)name;
	if (!link || !data || !size)
		return INVALID_INPUT;
	if (link->code)
		return 0;
	link->code = malloc(size);
	if (!link->code)
		return INTERNAL;
	memcpy(link->code, data, size);
	link->size = size;
	return 0;
}

SG_MATH_API(int, nvJitLinkAddFile, void *handle, int type, const char *path)
{
	(void)type;
	return get(handle) && path ? 0 : INVALID_INPUT;
}

SG_MATH_API(int, nvJitLinkComplete, void *handle)
{
	return get(handle) ? 0 : INVALID_INPUT;
}

static int put_size(const void *handle, size_t *size)
{
	const struct link *link = get(handle);

	if (!link || !size)
		return INVALID_INPUT;
	*size = link->size;
	return 0;
}

static int put_code(const void *handle, void *code)
{
	const struct link *link = get(handle);

	if (!link || !code)
		return INVALID_INPUT;
	if (link->size)
		memcpy(code, link->code, link->size);
	return 0;
}

/* The logs are empty texts. */
static int put_log_size(const void *handle, size_t *size)
{
	if (!get(handle) || !size)
		return INVALID_INPUT;
	*size = 1;
	return 0;
}

static int put_log(const void *handle, char *log)
{
	if (!get(handle) || !log)
		return INVALID_INPUT;
	*log = '\0';
	return 0;
}

SG_MATH_API(int, nvJitLinkGetLinkedCubinSize, const void *handle, size_t *size)
{
	return put_size(handle, size);
}

SG_MATH_API(int, nvJitLinkGetLinkedCubin, const void *handle, void *code)
{
	return put_code(handle, code);
}

SG_MATH_API(int, nvJitLinkGetLinkedPtxSize, const void *handle, size_t *size)
{
	return put_size(handle, size);
}

SG_MATH_API(int, nvJitLinkGetLinkedPtx, const void *handle, char *code)
{
	return put_code(handle, code);
}

SG_MATH_API(int, nvJitLinkGetErrorLogSize, const void *handle, size_t *size)
{
	return put_log_size(handle, size);
}

SG_MATH_API(int, nvJitLinkGetErrorLog, const void *handle, char *log)
{
	return put_log(handle, log);
}

SG_MATH_API(int, nvJitLinkGetInfoLogSize, const void *handle, size_t *size)
{
	return put_log_size(handle, size);
}

SG_MATH_API(int, nvJitLinkGetInfoLog, const void *handle, char *log)
{
	return put_log(handle, log);
}

SG_MATH_API(int, nvJitLinkVersion, unsigned *major, unsigned *minor)
{
	if (!major || !minor)
		return INVALID_INPUT;
	*major = (unsigned)sg_math_version[SG_MATH_MAJOR_VERSION];
	*minor = (unsigned)sg_math_version[SG_MATH_MINOR_VERSION];
	return 0;
}

/* nvJitLink.h of each release calls the functions by names of its own. */
#define RELEASE(name, release) SG_MATH_ALIAS(__##name##_##release, name)
/* clang-format off */
#define RELEASES(name) \
	RELEASE(name, 12_0) RELEASE(name, 12_1) RELEASE(name, 12_2) RELEASE(name, 12_3) \
	RELEASE(name, 12_4) RELEASE(name, 12_5) RELEASE(name, 12_6) RELEASE(name, 12_7) \
	RELEASE(name, 12_8) RELEASE(name, 12_9) RELEASE(name, 13_0) RELEASE(name, 13_1) \
	RELEASE(name, 13_2) RELEASE(name, 13_3)
/* clang-format on */

RELEASES(nvJitLinkCreate)
RELEASES(nvJitLinkDestroy)
RELEASES(nvJitLinkAddData)
RELEASES(nvJitLinkAddFile)
RELEASES(nvJitLinkComplete)
RELEASES(nvJitLinkGetLinkedCubinSize)
RELEASES(nvJitLinkGetLinkedCubin)
RELEASES(nvJitLinkGetLinkedPtxSize)
RELEASES(nvJitLinkGetLinkedPtx)
RELEASES(nvJitLinkGetErrorLogSize)
RELEASES(nvJitLinkGetErrorLog)
RELEASES(nvJitLinkGetInfoLogSize)
RELEASES(nvJitLinkGetInfoLog)
