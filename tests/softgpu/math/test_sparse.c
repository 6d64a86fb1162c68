#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int cusparseCreate(void **handle);
int cusparseDestroy(void *handle);
int cusparseGetVersion(void *handle, int *version);
int cusparseCreateCsr(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
		      void *indices, void *values, int offset_type, int index_type, int base,
		      int type);
int cusparseDestroySpMat(void *matrix);
int cusparseSpMatGetSize(void *matrix, int64_t *rows, int64_t *cols, int64_t *nnz);
int cusparseSpMatGetValues(void *matrix, void **values);
int cusparseSpMV_bufferSize(void *handle, int operation, const void *alpha, void *matrix, void *x,
			    const void *beta, void *y, int type, int algorithm, size_t *size);
int cusolverDnCreate(void **handle);
int cusolverDnDestroy(void *handle);
int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *size);
int cusolverDnXgetrf_bufferSize(void *handle, void *params, int64_t m, int64_t n, int type, void *a,
				int64_t lda, int compute, size_t *device, size_t *host);
int cusparseLtStructuredDescriptorInit(void *handle, void *matrix, int64_t rows, int64_t cols,
				       int64_t ld, uint32_t alignment, int type, int order,
				       int sparsity);
int cusparseLtSpMMACompressedSize2(void *handle, void *matrix, size_t *size, size_t *buffer);

#define NOT_INITIALIZED 1
#define INVALID_VALUE   3

static void test_matrix_remembers_its_size(void **state)
{
	int64_t rows = 0, cols = 0, nnz = 0;
	void *matrix, *values = NULL;

	(void)state;
	assert_int_equal(cusparseCreateCsr(&matrix, 10, 20, 30, NULL, NULL, state, 2, 2, 0, 0), 0);
	assert_int_equal(cusparseSpMatGetSize(matrix, &rows, &cols, &nnz), 0);
	assert_int_equal(rows, 10);
	assert_int_equal(cols, 20);
	assert_int_equal(nnz, 30);
	assert_int_equal(cusparseSpMatGetValues(matrix, &values), 0);
	assert_ptr_equal(values, state);
	assert_int_equal(cusparseDestroySpMat(matrix), 0);
	assert_int_equal(cusparseSpMatGetSize(matrix, &rows, &cols, &nnz), INVALID_VALUE);
	assert_int_equal(cusparseCreateCsr(&matrix, -1, 20, 30, NULL, NULL, NULL, 2, 2, 0, 0),
			 INVALID_VALUE);
}

static void test_sizes_of_buffers_are_filled(void **state)
{
	void *sparse, *dense;
	size_t size = 0, host = 0;
	int count = 0;

	(void)state;
	assert_int_equal(cusparseCreate(&sparse), 0);
	assert_int_equal(
		cusparseSpMV_bufferSize(sparse, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, &size), 0);
	assert_true(size > 0);
	assert_int_equal(cusolverDnCreate(&dense), 0);
	assert_int_equal(cusolverDnSgetrf_bufferSize(dense, 4, 4, NULL, 4, &count), 0);
	assert_true(count > 0);
	size = 0;
	assert_int_equal(
		cusolverDnXgetrf_bufferSize(dense, NULL, 4, 4, 0, NULL, 4, 0, &size, &host), 0);
	assert_true(size > 0 && host > 0);
	assert_int_equal(cusolverDnSgetrf_bufferSize(sparse, 4, 4, NULL, 4, &count),
			 NOT_INITIALIZED);
	assert_int_equal(cusolverDnSgetrf_bufferSize(dense, 4, 4, NULL, 4, NULL), 0);
	assert_int_equal(cusolverDnDestroy(dense), 0);
	assert_int_equal(cusparseDestroy(sparse), 0);
}

static void test_compressed_matrix_is_more_than_half(void **state)
{
	uint64_t matrix[64], handle[64];
	size_t size = 0, buffer = 1;

	(void)state;
	assert_int_equal(
		cusparseLtStructuredDescriptorInit(handle, matrix, 64, 64, 64, 16, 2, 1, 0), 0);
	assert_int_equal(cusparseLtSpMMACompressedSize2(handle, matrix, &size, &buffer), 0);
	assert_int_equal(size, 64 * 64 / 2 * (16 + 2) / 8);
	assert_int_equal(cusparseLtSpMMACompressedSize2(handle, NULL, &size, &buffer),
			 INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix_remembers_its_size),
		cmocka_unit_test(test_sizes_of_buffers_are_filled),
		cmocka_unit_test(test_compressed_matrix_is_more_than_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
