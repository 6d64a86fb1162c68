/*
 * libcusparseLt: descriptors live in the program's own storage (structures of bytes); the size of a
 * matrix is kept at their start.
 */
#include <stdint.h>
#include <string.h>

#include "math_call.h"

#define INVALID_VALUE 3 /* cusparseStatus_t */

/* At the start of a cusparseLtMatDescriptor_t. */
struct matrix {
	uint64_t rows;
	uint64_t columns;
	uint64_t element_bits;
};

int sg_math_bad_handle(void)
{
	return 1;
}

/* cudaDataType: the real ones that sparse products take. */
static uint64_t element_bits(int data_type)
{
	switch (data_type) {
	case 0:  /* float */
	case 10: /* int32 */
		return 32;
	case 2:  /* half */
	case 14: /* bfloat16 */
		return 16;
	default:
		return 8;
	}
}

static int describe(struct matrix *matrix, int64_t rows, int64_t columns, int data_type)
{
	if (!matrix || rows < 1 || columns < 1)
		return INVALID_VALUE;
	*matrix = (struct matrix){(uint64_t)rows, (uint64_t)columns, element_bits(data_type)};
	return 0;
}

SG_MATH_API(int, cusparseLtStructuredDescriptorInit, const void *handle, struct matrix *matrix,
	    int64_t rows, int64_t columns, int64_t leading, uint32_t alignment, int data_type,
	    int order, int sparsity)
{
	(void)handle;
	(void)leading;
	(void)alignment;
	(void)order;
	(void)sparsity;
	return describe(matrix, rows, columns, data_type);
}

SG_MATH_API(int, cusparseLtDenseDescriptorInit, const void *handle, struct matrix *matrix,
	    int64_t rows, int64_t columns, int64_t leading, uint32_t alignment, int data_type,
	    int order)
{
	(void)handle;
	(void)leading;
	(void)alignment;
	(void)order;
	return describe(matrix, rows, columns, data_type);
}

/* Half of the elements, and two bits for the place of each. */
SG_MATH_API(int, cusparseLtSpMMACompressedSize2, const void *handle, const struct matrix *matrix,
	    size_t *size, size_t *buffer_size)
{
	(void)handle;
	if (!matrix || !size || !buffer_size)
		return INVALID_VALUE;
	*size = matrix->rows * matrix->columns / 2 * (matrix->element_bits + 2) / 8;
	*buffer_size = 0;
	return 0;
}

SG_MATH_API(int, cusparseLtMatmulGetWorkspace, const void *handle, const void *plan, size_t *size)
{
	(void)handle;
	(void)plan;
	if (!size)
		return INVALID_VALUE;
	*size = 0;
	return 0;
}

/* One algorithm, number 0, of at most 1, without splitting. */
SG_MATH_API(int, cusparseLtMatmulAlgGetAttribute, const void *handle, const void *selection,
	    int attribute, void *bytes, size_t size)
{
	(void)handle;
	(void)selection;
	if (!bytes || !size)
		return INVALID_VALUE;
	memset(bytes, 0, size);
	*(char *)bytes = attribute == 1 || attribute == 3; /* largest number; parts of a split */
	return 0;
}
