/* libcublasLt: descriptors that remember, and one algorithm for every product. */
#include <stdint.h>
#include <string.h>

#include "math_attributes.h"
#include "math_call.h"

/* cublasStatus_t */
#define NOT_INITIALIZED 1
#define ALLOC_FAILED    3
#define INVALID_VALUE   7

#define KIND_DESCRIPTOR SG_MATH_FIRST_OWN

/* cublasLtMatmulHeuristicResult_t */
struct heuristic {
	uint64_t algorithm[8];
	size_t workspace_size;
	int state;
	float nr_waves;
	int reserved[4];
};

/* Attributes by cublasLtMatrixLayoutAttribute_t, ...DescAttributes_t, ...PreferenceAttributes_t. */
struct descriptor {
	struct sg_math_attributes attributes;
};

int sg_math_bad_handle(void)
{
	return NOT_INITIALIZED;
}

static int create(void **place, struct descriptor **made)
{
	struct descriptor *descriptor;

	if (!place)
		return INVALID_VALUE;
	descriptor = sg_math_object_create(KIND_DESCRIPTOR, sizeof(*descriptor));
	if (!descriptor)
		return ALLOC_FAILED;
	*place = descriptor;
	*made = descriptor;
	return 0;
}

static int destroy(void *handle)
{
	struct descriptor *descriptor = sg_math_object_get(KIND_DESCRIPTOR, handle);

	if (!descriptor)
		return handle ? INVALID_VALUE : 0;
	sg_math_attributes_clear(&descriptor->attributes);
	sg_math_object_destroy(KIND_DESCRIPTOR, handle);
	return 0;
}

static void keep(struct descriptor *descriptor, int name, const void *bytes, size_t size)
{
	/* Out of memory: it will read as zero, as one that was never set. */
	if (sg_math_attributes_set(&descriptor->attributes, name, 0, 1, bytes, size) != 0)
		return;
}

/* A descriptor in the program's own storage (xxxInit) is none of ours and remembers nothing. */
static int set(void *handle, int name, const void *bytes, size_t size)
{
	struct descriptor *descriptor = sg_math_object_get(KIND_DESCRIPTOR, handle);

	if (!handle || (!bytes && size))
		return INVALID_VALUE;
	if (descriptor)
		keep(descriptor, name, bytes, size);
	return 0;
}

static int get(void *handle, int name, void *bytes, size_t size, size_t *written)
{
	struct descriptor *descriptor = sg_math_object_get(KIND_DESCRIPTOR, handle);
	const struct sg_math_attribute *attribute = NULL;
	size_t kept = size;

	if (!handle || (!bytes && size))
		return INVALID_VALUE;
	if (descriptor)
		attribute = sg_math_attributes_get(&descriptor->attributes, name);
	if (size)
		memset(bytes, 0, size);
	if (attribute) {
		if (size && size < attribute->size)
			return INVALID_VALUE;
		kept = attribute->size;
		if (size)
			memcpy(bytes, attribute->bytes, kept);
	}
	sg_math_call_put_size(written, kept);
	return 0;
}

#define SET_AND_GET(name)                                                                       \
	SG_MATH_API(int, name##SetAttribute, void *handle, int which, const void *bytes,        \
		    size_t size)                                                                \
	{                                                                                       \
		return set(handle, which, bytes, size);                                         \
	}                                                                                       \
	SG_MATH_API(int, name##GetAttribute, void *handle, int which, void *bytes, size_t size, \
		    size_t *written)                                                            \
	{                                                                                       \
		return get(handle, which, bytes, size, written);                                \
	}

#define DESTROY(name)                                 \
	SG_MATH_API(int, name##Destroy, void *handle) \
	{                                             \
		return destroy(handle);               \
	}

SET_AND_GET(cublasLtMatrixLayout)
SET_AND_GET(cublasLtMatmulDesc)
SET_AND_GET(cublasLtMatrixTransformDesc)
SET_AND_GET(cublasLtMatmulPreference)
DESTROY(cublasLtMatrixLayout)
DESTROY(cublasLtMatmulDesc)
DESTROY(cublasLtMatrixTransformDesc)
DESTROY(cublasLtMatmulPreference)

SG_MATH_API(int, cublasLtMatrixLayoutCreate, void **handle, int type, uint64_t rows,
	    uint64_t columns, int64_t leading)
{
	struct descriptor *descriptor;
	uint32_t order = 0;
	int err = create(handle, &descriptor);

	if (err)
		return err;
	keep(descriptor, 0, &type, sizeof(type));
	keep(descriptor, 1, &order, sizeof(order));
	keep(descriptor, 2, &rows, sizeof(rows));
	keep(descriptor, 3, &columns, sizeof(columns));
	keep(descriptor, 4, &leading, sizeof(leading));
	return 0;
}

SG_MATH_API(int, cublasLtMatmulDescCreate, void **handle, int compute, int scale)
{
	struct descriptor *descriptor;
	int err = create(handle, &descriptor);

	if (err)
		return err;
	keep(descriptor, 0, &compute, sizeof(compute));
	keep(descriptor, 1, &scale, sizeof(scale));
	return 0;
}

SG_MATH_API(int, cublasLtMatrixTransformDescCreate, void **handle, int scale)
{
	struct descriptor *descriptor;
	int err = create(handle, &descriptor);

	if (err)
		return err;
	keep(descriptor, 0, &scale, sizeof(scale));
	return 0;
}

SG_MATH_API(int, cublasLtMatmulPreferenceCreate, void **handle)
{
	struct descriptor *descriptor;

	return create(handle, &descriptor);
}

static int put_heuristic(struct heuristic *result)
{
	*result = (struct heuristic){.algorithm = {1}, .nr_waves = 1};
	return 0;
}

/* A cublasHandle_t may be passed for the handle; it is another library's, so it is not checked. */
SG_MATH_API(int, cublasLtMatmulAlgoGetHeuristic, void *handle, void *operation, void *a, void *b,
	    void *c, void *d, void *preference, int requested, struct heuristic *results,
	    int *returned)
{
	static int noted;

	(void)operation;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)preference;
	if (!handle)
		return NOT_INITIALIZED;
	if (requested < 1 || !results || !returned)
		return INVALID_VALUE;
	sg_math_call_note_size("cuBLASLt-workspace", 0, &noted);
	*returned = 1;
	return put_heuristic(results);
}

SG_MATH_API(int, cublasLtMatmulAlgoCheck, void *handle, void *operation, void *a, void *b, void *c,
	    void *d, const void *algorithm, struct heuristic *result)
{
	(void)operation;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)algorithm;
	if (!handle)
		return NOT_INITIALIZED;
	return result ? put_heuristic(result) : INVALID_VALUE;
}

SG_MATH_API(int, cublasLtMatmulAlgoGetIds, void *handle, int compute, int scale, int a, int b,
	    int c, int d, int requested, int *ids, int *returned)
{
	(void)compute;
	(void)scale;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	if (!handle)
		return NOT_INITIALIZED;
	if (requested < 1 || !ids || !returned)
		return INVALID_VALUE;
	ids[0] = 1;
	*returned = 1;
	return 0;
}

SG_MATH_API(int, cublasLtMatmulAlgoInit, void *handle, int compute, int scale, int a, int b, int c,
	    int d, int id, uint64_t *algorithm)
{
	(void)compute;
	(void)scale;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	if (!handle)
		return NOT_INITIALIZED;
	if (!algorithm)
		return INVALID_VALUE;
	memset(algorithm, 0, 8 * sizeof(*algorithm));
	algorithm[0] = (uint64_t)id;
	return 0;
}

/* Capabilities of an algorithm and its configuration: all zero, none offered. */
static int put_zeros(void *bytes, size_t size, size_t *written)
{
	if (!bytes && size)
		return INVALID_VALUE;
	if (size)
		memset(bytes, 0, size);
	sg_math_call_put_size(written, size);
	return 0;
}

SG_MATH_API(int, cublasLtMatmulAlgoCapGetAttribute, const void *algorithm, int which, void *bytes,
	    size_t size, size_t *written)
{
	(void)algorithm;
	(void)which;
	return put_zeros(bytes, size, written);
}

SG_MATH_API(int, cublasLtMatmulAlgoConfigGetAttribute, const void *algorithm, int which,
	    void *bytes, size_t size, size_t *written)
{
	(void)algorithm;
	(void)which;
	return put_zeros(bytes, size, written);
}

SG_MATH_API(size_t, cublasLtGetVersion, void)
{
	return (size_t)(sg_math_version[SG_MATH_MAJOR_VERSION] * 10000 +
			sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
			sg_math_version[SG_MATH_PATCH_LEVEL]);
}

SG_MATH_API(size_t, cublasLtGetCudartVersion, void)
{
	return (size_t)sg_math_version[SG_MATH_MAJOR_VERSION] * 1000;
}

SG_MATH_API(int, cublasLtGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? INVALID_VALUE : 0;
}
