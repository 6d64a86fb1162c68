#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As the public headers have them, by what the arguments are to the machine. */
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGetStream_v2(void *handle, void **stream);
int cublasSetMathMode(void *handle, int mode);
int cublasGetMathMode(void *handle, int *mode);
int cublasSetPointerMode_v2(void *handle, int mode);
int cublasGetVersion_v2(void *handle, int *version);
int cublasGetProperty(int type, int *value);
const char *cublasGetStatusName(int status);
int cublasSdot_v2(void *handle, int n, const float *x, int incx, const float *y, int incy,
		  float *result);
int cublasIsamax_v2(void *handle, int n, const float *x, int incx, int *result);
int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc);
int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
size_t cublasLtGetVersion(void);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *bytes, size_t size,
				     size_t *written);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *bytes, size_t size);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
				   void *d, void *preference, int requested, void *results,
				   int *returned);

#define NOT_INITIALIZED 1
#define INVALID_VALUE   7

static void *handle;

static int create(void **state)
{
	(void)state;
	return cublasCreate_v2(&handle);
}

static int destroy(void **state)
{
	(void)state;
	return cublasDestroy_v2(handle);
}

static void test_handle_remembers_its_settings(void **state)
{
	void *stream = &handle;
	int mode = -1;

	(void)state;
	assert_int_equal(cublasGetStream_v2(handle, &stream), 0);
	assert_null(stream);
	assert_int_equal(cublasSetStream_v2(handle, state), 0);
	assert_int_equal(cublasGetStream_v2(handle, &stream), 0);
	assert_ptr_equal(stream, state);
	assert_int_equal(cublasSetMathMode(handle, 3), 0);
	assert_int_equal(cublasGetMathMode(handle, &mode), 0);
	assert_int_equal(mode, 3);
}

static void test_handle_that_is_none_is_refused(void **state)
{
	char strange[64] = {0};
	float one = 1;

	(void)state;
	assert_int_equal(cublasSetStream_v2(NULL, NULL), NOT_INITIALIZED);
	assert_int_equal(cublasDestroy_v2(strange), NOT_INITIALIZED);
	assert_int_equal(cublasDestroy_v2(NULL), NOT_INITIALIZED);
	assert_int_equal(cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1),
			 NOT_INITIALIZED);
	assert_int_equal(
		cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1), 0);
	assert_int_equal(cublasCreate_v2(NULL), INVALID_VALUE);
}

static void test_destroyed_handle_is_refused(void **state)
{
	void *other;

	(void)state;
	assert_int_equal(cublasCreate_v2(&other), 0);
	assert_int_equal(cublasDestroy_v2(other), 0);
	assert_int_equal(cublasDestroy_v2(other), NOT_INITIALIZED);
}

static void test_versions_agree(void **state)
{
	int version = 0, major = 0, minor = 0, patch = 0;

	(void)state;
	assert_int_equal(cublasGetVersion_v2(handle, &version), 0);
	assert_int_equal(cublasGetProperty(0, &major), 0);
	assert_int_equal(cublasGetProperty(1, &minor), 0);
	assert_int_equal(cublasGetProperty(2, &patch), 0);
	assert_int_equal(major, 13);
	assert_int_equal(version, major * 10000 + minor * 100 + patch);
	assert_int_equal(cublasLtGetVersion(), version);
	assert_int_equal(cublasGetProperty(3, &patch), INVALID_VALUE);
	assert_int_equal(cublasGetProperty(0, NULL), INVALID_VALUE);
	assert_string_equal(cublasGetStatusName(15), "CUBLAS_STATUS_NOT_SUPPORTED");
	assert_string_equal(cublasGetStatusName(2), "CUBLAS_STATUS_UNKNOWN");
}

static void test_results_reach_host_memory_only(void **state)
{
	float x = 1, result = 5;
	int index = -1;

	(void)state;
	assert_int_equal(cublasSdot_v2(handle, 1, &x, 1, &x, 1, &result), 0);
	assert_true(result == 0);
	assert_int_equal(cublasIsamax_v2(handle, 1, &x, 1, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(cublasSetPointerMode_v2(handle, 1), 0);
	result = 5;
	assert_int_equal(cublasSdot_v2(handle, 1, &x, 1, &x, 1, &result), 0);
	assert_true(result == 5);
	assert_int_equal(cublasSetPointerMode_v2(handle, 0), 0);
	assert_int_equal(cublasSdot_v2(handle, 1, &x, 1, &x, 1, NULL), INVALID_VALUE);
}

static void test_heuristic_finds_one_algorithm(void **state)
{
	unsigned char results[2][96];
	size_t workspace = 1;
	void *lt;
	int found = 0, status = -1;

	(void)state;
	memset(results, 0xff, sizeof(results));
	assert_int_equal(cublasLtCreate(&lt), 0);
	assert_int_equal(cublasLtMatmulAlgoGetHeuristic(lt, NULL, NULL, NULL, NULL, NULL, NULL, 2,
							results, &found),
			 0);
	assert_int_equal(found, 1);
	memcpy(&workspace, results[0] + 64, sizeof(workspace));
	memcpy(&status, results[0] + 72, sizeof(status));
	assert_int_equal(workspace, 0);
	assert_int_equal(status, 0);
	assert_int_equal(results[1][0], 0xff);
	/* A cublasHandle_t will do as well. */
	assert_int_equal(cublasLtMatmulAlgoGetHeuristic(handle, NULL, NULL, NULL, NULL, NULL, NULL,
							1, results, &found),
			 0);
	assert_int_equal(cublasLtMatmulAlgoGetHeuristic(lt, NULL, NULL, NULL, NULL, NULL, NULL, 0,
							results, &found),
			 INVALID_VALUE);
	assert_int_equal(cublasLtDestroy(lt), 0);
}

static void test_layout_remembers(void **state)
{
	uint64_t rows = 0;
	size_t written = 0;
	int count = 8, read = 0;
	void *layout;

	(void)state;
	assert_int_equal(cublasLtMatrixLayoutCreate(&layout, 0, 30, 40, 30), 0);
	assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 2, &rows, sizeof(rows), &written),
			 0);
	assert_int_equal(rows, 30);
	assert_int_equal(written, sizeof(rows));
	assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, 5, &count, sizeof(count)), 0);
	assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 5, &read, sizeof(read), NULL), 0);
	assert_int_equal(read, 8);
	assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 2, &read, sizeof(read), NULL),
			 INVALID_VALUE);
	assert_int_equal(cublasLtMatrixLayoutDestroy(layout), 0);
	assert_int_equal(cublasLtMatrixLayoutDestroy(layout), INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handle_remembers_its_settings),
		cmocka_unit_test(test_handle_that_is_none_is_refused),
		cmocka_unit_test(test_destroyed_handle_is_refused),
		cmocka_unit_test(test_versions_agree),
		cmocka_unit_test(test_results_reach_host_memory_only),
		cmocka_unit_test(test_heuristic_finds_one_algorithm),
		cmocka_unit_test(test_layout_remembers),
	};

	return cmocka_run_group_tests(tests, create, destroy);
}
