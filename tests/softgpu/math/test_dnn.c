#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
size_t cudnnGetVersion(void);
void cudnnGetLastErrorString(char *message, size_t size);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnSetTensor4dDescriptor(void *tensor, int format, int type, int n, int c, int h, int w);
int cudnnGetTensorNdDescriptor(void *tensor, int requested, int *type, int *nr, int *dims,
			       int *strides);
int cudnnGetTensorSizeInBytes(void *tensor, size_t *size);
int cudnnGetTensor4dDescriptor(void *tensor, int *type, int *n, int *c, int *h, int *w,
			       int *n_stride, int *c_stride, int *h_stride, int *w_stride);
int cudnnCreatePoolingDescriptor(void **pooling);
int cudnnDestroyPoolingDescriptor(void *pooling);
int cudnnSetPooling2dDescriptor(void *pooling, int mode, int nan, int window_h, int window_w,
				int pad_h, int pad_w, int stride_h, int stride_w);
int cudnnGetPooling2dForwardOutputDim(void *pooling, void *input, int *n, int *c, int *h, int *w);
int cudnnCreateFilterDescriptor(void **filter);
int cudnnDestroyFilterDescriptor(void *filter);
int cudnnSetFilter4dDescriptor(void *filter, int type, int format, int k, int c, int h, int w);
int cudnnCreateConvolutionDescriptor(void **convolution);
int cudnnDestroyConvolutionDescriptor(void *convolution);
int cudnnSetConvolution2dDescriptor(void *convolution, int pad_h, int pad_w, int u, int v,
				    int dilation_h, int dilation_w, int mode, int type);
int cudnnGetConvolution2dForwardOutputDim(void *convolution, void *input, void *filter, int *n,
					  int *c, int *h, int *w);
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *a, void *b, void *c, void *d,
					   int requested, int *returned, void *results);
int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *a, void *b, void *c, void *d,
					    int algorithm, size_t *size);
int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
			     const void *elements);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested,
			     int64_t *count, void *elements);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

#define BAD_PARAM 2000

#define TYPE_INT64      3
#define TYPE_DESCRIPTOR 15
#define TYPE_CHAR       24

static void *handle;

static int create(void **state)
{
	(void)state;
	return cudnnCreate(&handle);
}

static int destroy(void **state)
{
	(void)state;
	return cudnnDestroy(handle);
}

static void test_tensor_remembers_its_shape(void **state)
{
	int type = -1, nr = 0, dims[4] = {0}, strides[4] = {0};
	size_t size = 0;
	void *tensor;

	(void)state;
	assert_int_equal(cudnnCreateTensorDescriptor(&tensor), 0);
	assert_int_equal(cudnnSetTensor4dDescriptor(tensor, 1, 2, 2, 3, 4, 5), 0); /* NHWC, half */
	assert_int_equal(cudnnGetTensorNdDescriptor(tensor, 4, &type, &nr, dims, strides), 0);
	assert_int_equal(type, 2);
	assert_int_equal(nr, 4);
	assert_memory_equal(dims, ((int[]){2, 3, 4, 5}), sizeof(dims));
	assert_memory_equal(strides, ((int[]){60, 1, 15, 3}), sizeof(strides));
	assert_int_equal(cudnnGetTensorSizeInBytes(tensor, &size), 0);
	assert_int_equal(size, 2 * 3 * 4 * 5 * 2);
	assert_int_equal(cudnnSetTensor4dDescriptor(tensor, 0, 0, 0, 1, 1, 1), BAD_PARAM);
	assert_int_equal(cudnnDestroyTensorDescriptor(tensor), 0);
	assert_int_equal(cudnnSetTensor4dDescriptor(tensor, 0, 0, 1, 1, 1, 1), BAD_PARAM);
	assert_int_equal(cudnnDestroyTensorDescriptor(NULL), 0);
}

static void test_shape_of_a_convolution_follows(void **state)
{
	void *input, *filter, *convolution;
	int n = 0, c = 0, h = 0, w = 0;

	(void)state;
	assert_int_equal(cudnnCreateTensorDescriptor(&input), 0);
	assert_int_equal(cudnnCreateFilterDescriptor(&filter), 0);
	assert_int_equal(cudnnCreateConvolutionDescriptor(&convolution), 0);
	assert_int_equal(cudnnSetTensor4dDescriptor(input, 0, 0, 8, 3, 224, 224), 0);
	assert_int_equal(cudnnSetFilter4dDescriptor(filter, 0, 0, 64, 3, 7, 7), 0);
	assert_int_equal(cudnnSetConvolution2dDescriptor(convolution, 3, 3, 2, 2, 1, 1, 1, 0), 0);
	assert_int_equal(
		cudnnGetConvolution2dForwardOutputDim(convolution, input, filter, &n, &c, &h, &w),
		0);
	assert_int_equal(n, 8);
	assert_int_equal(c, 64);
	assert_int_equal(h, 112);
	assert_int_equal(w, 112);
	cudnnDestroyTensorDescriptor(input);
	cudnnDestroyFilterDescriptor(filter);
	cudnnDestroyConvolutionDescriptor(convolution);
}

static void test_shape_of_a_pooling_follows(void **state)
{
	int n = 0, c = 0, h = 0, w = 0, type, strides[4];
	void *input, *pooling;

	(void)state;
	assert_int_equal(cudnnCreateTensorDescriptor(&input), 0);
	assert_int_equal(cudnnCreatePoolingDescriptor(&pooling), 0);
	assert_int_equal(cudnnSetTensor4dDescriptor(input, 0, 0, 1, 20, 24, 22), 0);
	assert_int_equal(cudnnSetPooling2dDescriptor(pooling, 0, 0, 2, 2, 0, 1, 2, 2), 0);
	assert_int_equal(cudnnGetPooling2dForwardOutputDim(pooling, input, &n, &c, &h, &w), 0);
	assert_int_equal(n, 1);
	assert_int_equal(c, 20);
	assert_int_equal(h, 12);
	assert_int_equal(w, 12);
	assert_int_equal(cudnnSetPooling2dDescriptor(pooling, 0, 0, 0, 2, 0, 0, 2, 2), BAD_PARAM);
	assert_int_equal(cudnnGetTensor4dDescriptor(input, &type, &n, &c, &h, &w, &strides[0],
						    &strides[1], &strides[2], &strides[3]),
			 0);
	assert_int_equal(w, 22);
	assert_int_equal(strides[0], 20 * 24 * 22);
	cudnnDestroyPoolingDescriptor(pooling);
	cudnnDestroyTensorDescriptor(input);
}

static void test_one_algorithm_with_the_configured_workspace(void **state)
{
	struct {
		int algorithm, status;
		float time;
		size_t memory;
		int rest[5];
	} results[2];
	size_t size = 1;
	int found = 0;

	(void)state;
	assert_int_equal(cudnnGetConvolutionForwardAlgorithm_v7(handle, NULL, NULL, NULL, NULL, 2,
								&found, results),
			 0);
	assert_int_equal(found, 1);
	assert_int_equal(results[0].status, 0);
	assert_int_equal(results[0].memory, 0);
	assert_int_equal(
		cudnnGetConvolutionForwardWorkspaceSize(handle, NULL, NULL, NULL, NULL, 1, &size),
		0);
	assert_int_equal(size, 0);
	setenv("SOFTGPU_CUDNN_WORKSPACE", "3M", 1);
	assert_int_equal(
		cudnnGetConvolutionForwardWorkspaceSize(handle, NULL, NULL, NULL, NULL, 1, &size),
		0);
	assert_int_equal(size, 3 << 20);
	unsetenv("SOFTGPU_CUDNN_WORKSPACE");
	assert_int_equal(
		cudnnGetConvolutionForwardWorkspaceSize(NULL, NULL, NULL, NULL, NULL, 1, &size),
		BAD_PARAM);
}

static void *backend(int type)
{
	void *descriptor = NULL;

	assert_int_equal(cudnnBackendCreateDescriptor(type, &descriptor), 0);
	return descriptor;
}

static void test_graph_finds_a_plan(void **state)
{
	void *graph = backend(15), *heuristic = backend(4), *config = backend(3);
	void *engine = backend(2), *plan = backend(5), *pack = backend(16);
	int64_t count = 0, workspace = -1, index = -1;

	(void)state;
	assert_int_equal(cudnnBackendFinalize(graph), 0);
	assert_int_equal(cudnnBackendSetAttribute(heuristic, 201, TYPE_DESCRIPTOR, 1, &graph), 0);
	assert_int_equal(cudnnBackendFinalize(heuristic), 0);
	assert_int_equal(cudnnBackendGetAttribute(heuristic, 202, TYPE_DESCRIPTOR, 0, &count, NULL),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(
		cudnnBackendGetAttribute(heuristic, 202, TYPE_DESCRIPTOR, 1, &count, &config), 0);
	assert_int_equal(cudnnBackendGetAttribute(config, 300, TYPE_DESCRIPTOR, 1, &count, &engine),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(cudnnBackendGetAttribute(engine, 1301, TYPE_INT64, 1, &count, &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(cudnnBackendGetAttribute(engine, 1303, 11, 0, &count, NULL), 0);
	assert_int_equal(count, 0); /* no numerical notes */
	assert_int_equal(cudnnBackendSetAttribute(plan, 401, TYPE_DESCRIPTOR, 1, &config), 0);
	assert_int_equal(cudnnBackendFinalize(plan), 0);
	assert_int_equal(cudnnBackendGetAttribute(plan, 402, TYPE_INT64, 1, &count, &workspace), 0);
	assert_int_equal(workspace, 0);
	assert_int_equal(cudnnBackendExecute(handle, plan, pack), 0);
	assert_int_equal(cudnnBackendExecute(NULL, plan, pack), BAD_PARAM);
	assert_int_equal(cudnnBackendDestroyDescriptor(plan), 0);
	assert_int_equal(cudnnBackendExecute(handle, plan, pack), BAD_PARAM);
	assert_int_equal(cudnnBackendDestroyDescriptor(plan), BAD_PARAM);
	cudnnBackendDestroyDescriptor(graph);
	cudnnBackendDestroyDescriptor(heuristic);
	cudnnBackendDestroyDescriptor(config);
	cudnnBackendDestroyDescriptor(engine);
	cudnnBackendDestroyDescriptor(pack);
}

static void test_attributes_are_read_back_by_their_type(void **state)
{
	int64_t dims[] = {2, 3, 4}, read[3] = {0}, count = 0;
	void *tensor = backend(17);

	(void)state;
	assert_int_equal(cudnnBackendSetAttribute(tensor, 901, TYPE_INT64, 3, dims), 0);
	assert_int_equal(cudnnBackendGetAttribute(tensor, 901, TYPE_INT64, 2, &count, read), 0);
	assert_int_equal(count, 3);
	assert_int_equal(read[1], 3);
	assert_int_equal(read[2], 0);
	assert_int_equal(cudnnBackendGetAttribute(tensor, 901, TYPE_CHAR, 1, &count, read),
			 BAD_PARAM);
	assert_int_equal(cudnnBackendSetAttribute(tensor, 901, TYPE_INT64, -1, dims), BAD_PARAM);
	assert_int_equal(cudnnBackendSetAttribute(tensor, 901, TYPE_INT64, 1, NULL), BAD_PARAM);
	cudnnBackendDestroyDescriptor(tensor);
}

static void test_version_is_nine(void **state)
{
	char text[8] = "xxxxxxx";

	(void)state;
	assert_int_equal(cudnnGetVersion() / 10000, 9);
	cudnnGetLastErrorString(text, sizeof(text));
	assert_string_equal(text, "");
	cudnnGetLastErrorString(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensor_remembers_its_shape),
		cmocka_unit_test(test_shape_of_a_convolution_follows),
		cmocka_unit_test(test_shape_of_a_pooling_follows),
		cmocka_unit_test(test_one_algorithm_with_the_configured_workspace),
		cmocka_unit_test(test_graph_finds_a_plan),
		cmocka_unit_test(test_attributes_are_read_back_by_their_type),
		cmocka_unit_test(test_version_is_nine),
	};

	return cmocka_run_group_tests(tests, create, destroy);
}
