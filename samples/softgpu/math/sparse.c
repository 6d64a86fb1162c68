/* libcusparse: the generic API's descriptors keep their sizes and pointers; streams and versions.
 */
#include <stdint.h>

#include "math_call.h"

/* cusparseStatus_t */
#define NOT_INITIALIZED 1
#define ALLOC_FAILED    2
#define INVALID_VALUE   3

/* Sparse and dense vectors and matrices alike. */
#define KIND_ARRAY SG_MATH_FIRST_OWN

struct handle {
	void *stream;
	int pointer_mode;
};

struct array {
	int64_t rows;
	int64_t columns;
	int64_t nr_nonzero;
	int64_t leading;
	int data_type;
	int order;
	int format;
	int index_base;
	int batch_count;
	void *offsets; /* row or column offsets; row indices of COO */
	void *indices;
	void *values;
};

/* cusparseFormat_t */
enum format {
	FORMAT_CSR = 1,
	FORMAT_CSC = 2,
	FORMAT_COO = 3
};

int sg_math_bad_handle(void)
{
	return NOT_INITIALIZED;
}

static struct array *get(const void *handle)
{
	return sg_math_object_get(KIND_ARRAY, handle);
}

static int create(void **place, struct array contents)
{
	struct array *array;

	if (!place || contents.rows < 0 || contents.columns < 0 || contents.nr_nonzero < 0)
		return INVALID_VALUE;
	array = sg_math_object_create(KIND_ARRAY, sizeof(*array));
	if (!array)
		return ALLOC_FAILED;
	*array = contents;
	*place = array;
	return 0;
}

/* Each function that makes a descriptor has a twin for data that is only read. */
#define SPARSE_MATRIX(name, code)                                                                \
	SG_MATH_API(int, name, void **place, int64_t rows, int64_t columns, int64_t nr_nonzero,  \
		    void *offsets, void *indices, void *values, int offset_type, int index_type, \
		    int index_base, int data_type)                                               \
	{                                                                                        \
		(void)offset_type;                                                               \
		(void)index_type;                                                                \
		return create(place, (struct array){.rows = rows,                                \
						    .columns = columns,                          \
						    .nr_nonzero = nr_nonzero,                    \
						    .offsets = offsets,                          \
						    .indices = indices,                          \
						    .values = values,                            \
						    .index_base = index_base,                    \
						    .data_type = data_type,                      \
						    .format = code});                            \
	}

SPARSE_MATRIX(cusparseCreateCsr, FORMAT_CSR)
SPARSE_MATRIX(cusparseCreateConstCsr, FORMAT_CSR)
SPARSE_MATRIX(cusparseCreateCsc, FORMAT_CSC)
SPARSE_MATRIX(cusparseCreateConstCsc, FORMAT_CSC)

#define COORDINATE_MATRIX(name)                                                                 \
	SG_MATH_API(int, name, void **place, int64_t rows, int64_t columns, int64_t nr_nonzero, \
		    void *row_indices, void *column_indices, void *values, int index_type,      \
		    int index_base, int data_type)                                              \
	{                                                                                       \
		(void)index_type;                                                               \
		return create(place, (struct array){.rows = rows,                               \
						    .columns = columns,                         \
						    .nr_nonzero = nr_nonzero,                   \
						    .offsets = row_indices,                     \
						    .indices = column_indices,                  \
						    .values = values,                           \
						    .index_base = index_base,                   \
						    .data_type = data_type,                     \
						    .format = FORMAT_COO});                     \
	}

COORDINATE_MATRIX(cusparseCreateCoo)
COORDINATE_MATRIX(cusparseCreateConstCoo)

#define DENSE_MATRIX(name)                                                                   \
	SG_MATH_API(int, name, void **place, int64_t rows, int64_t columns, int64_t leading, \
		    void *values, int data_type, int order)                                  \
	{                                                                                    \
		return create(place, (struct array){.rows = rows,                            \
						    .columns = columns,                      \
						    .leading = leading,                      \
						    .values = values,                        \
						    .data_type = data_type,                  \
						    .order = order});                        \
	}

DENSE_MATRIX(cusparseCreateDnMat)
DENSE_MATRIX(cusparseCreateConstDnMat)

#define DENSE_VECTOR(name)                                                              \
	SG_MATH_API(int, name, void **place, int64_t size, void *values, int data_type) \
	{                                                                               \
		return create(place, (struct array){.rows = size,                       \
						    .columns = 1,                       \
						    .values = values,                   \
						    .data_type = data_type});           \
	}

DENSE_VECTOR(cusparseCreateDnVec)
DENSE_VECTOR(cusparseCreateConstDnVec)

SG_MATH_API(int, cusparseSpMatGetSize, const void *handle, int64_t *rows, int64_t *columns,
	    int64_t *nr_nonzero)
{
	const struct array *array = get(handle);

	if (!array || !rows || !columns || !nr_nonzero)
		return INVALID_VALUE;
	*rows = array->rows;
	*columns = array->columns;
	*nr_nonzero = array->nr_nonzero;
	return 0;
}

SG_MATH_API(int, cusparseSpMatGetFormat, const void *handle, int *format)
{
	const struct array *array = get(handle);

	if (!array || !format)
		return INVALID_VALUE;
	*format = array->format;
	return 0;
}

SG_MATH_API(int, cusparseSpMatGetIndexBase, const void *handle, int *index_base)
{
	const struct array *array = get(handle);

	if (!array || !index_base)
		return INVALID_VALUE;
	*index_base = array->index_base;
	return 0;
}

static int get_values(const void *handle, void **values)
{
	const struct array *array = get(handle);

	if (!array || !values)
		return INVALID_VALUE;
	*values = array->values;
	return 0;
}

static int set_values(void *handle, void *values)
{
	struct array *array = get(handle);

	if (!array)
		return INVALID_VALUE;
	array->values = values;
	return 0;
}

#define VALUES(name)                                                         \
	SG_MATH_API(int, name##GetValues, const void *handle, void **values) \
	{                                                                    \
		return get_values(handle, values);                           \
	}                                                                    \
	SG_MATH_API(int, name##SetValues, void *handle, void *values)        \
	{                                                                    \
		return set_values(handle, values);                           \
	}

VALUES(cusparseSpMat)
VALUES(cusparseDnMat)
VALUES(cusparseDnVec)

#define POINTERS(name)                                                                   \
	SG_MATH_API(int, name, void *handle, void *offsets, void *indices, void *values) \
	{                                                                                \
		struct array *array = get(handle);                                       \
                                                                                         \
		if (!array)                                                              \
			return INVALID_VALUE;                                            \
		array->offsets = offsets;                                                \
		array->indices = indices;                                                \
		array->values = values;                                                  \
		return 0;                                                                \
	}

POINTERS(cusparseCsrSetPointers)
POINTERS(cusparseCscSetPointers)
POINTERS(cusparseCooSetPointers)

SG_MATH_API(int, cusparseSetStream, void *handle, void *stream)
{
	struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state)
		return NOT_INITIALIZED;
	state->stream = stream;
	return 0;
}

SG_MATH_API(int, cusparseGetStream, const void *handle, void **stream)
{
	const struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state || !stream)
		return state ? INVALID_VALUE : NOT_INITIALIZED;
	*stream = state->stream;
	return 0;
}

SG_MATH_API(int, cusparseSetPointerMode, void *handle, int mode)
{
	struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state)
		return NOT_INITIALIZED;
	state->pointer_mode = mode;
	return 0;
}

SG_MATH_API(int, cusparseGetPointerMode, const void *handle, int *mode)
{
	const struct handle *state = sg_math_object_get(SG_MATH_LIBRARY, handle);

	if (!state || !mode)
		return state ? INVALID_VALUE : NOT_INITIALIZED;
	*mode = state->pointer_mode;
	return 0;
}

SG_MATH_API(int, cusparseGetVersion, const void *handle, int *version)
{
	if (sg_math_call_check(handle) != 0)
		return NOT_INITIALIZED;
	if (!version)
		return INVALID_VALUE;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 1000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(int, cusparseGetProperty, int property, int *value)
{
	return sg_math_call_put_property(property, value) ? INVALID_VALUE : 0;
}

SG_MATH_API(const char *, cusparseGetErrorName, int status)
{
	static const char *const names[] = {
		"CUSPARSE_STATUS_SUCCESS",
		"CUSPARSE_STATUS_NOT_INITIALIZED",
		"CUSPARSE_STATUS_ALLOC_FAILED",
		"CUSPARSE_STATUS_INVALID_VALUE",
	};

	if (status < 0 || (size_t)status >= sizeof(names) / sizeof(names[0]))
		return "CUSPARSE_STATUS_UNKNOWN";
	return names[status];
}

SG_MATH_API(const char *, cusparseGetErrorString, int status)
{
	return cusparseGetErrorName(status);
}
