#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
int cudnnCreateRNNDescriptor(void **rnn);
int cudnnDestroyRNNDescriptor(void *rnn);
int cudnnSetRNNDescriptor_v8(void *rnn, int algorithm, int cell, int bias, int direction, int input,
			     int type, int precision, int math, int input_size, int hidden_size,
			     int projection_size, int nr_layers, void *dropout, unsigned flags);
int cudnnGetRNNWeightSpaceSize(void *handle, void *rnn, size_t *size);
int cudnnGetRNNWeightParams(void *handle, void *rnn, int pseudo_layer, size_t size, void *space,
			    int id, void *matrix_descriptor, void **matrix, void *bias_descriptor,
			    void **bias);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnGetTensorNdDescriptor(void *tensor, int requested, int *type, int *nr, int *dims,
			       int *strides);
int cudnnSetTensorNdDescriptor(void *tensor, int type, int nr, const int *dims, const int *strides);
int cudnnCreateFilterDescriptor(void **filter);
int cudnnDestroyFilterDescriptor(void *filter);
int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int nr, const int *dims);
int cudnnSetRNNDescriptor_v6(void *handle, void *rnn, int hidden_size, int nr_layers, void *dropout,
			     int input, int direction, int cell, int algorithm, int precision);
int cudnnSetRNNBiasMode(void *rnn, int bias);
int cudnnSetRNNProjectionLayers(void *handle, void *rnn, int recurrent, int output);
int cudnnGetRNNParamsSize(void *handle, void *rnn, void *x, size_t *size, int type);
int cudnnGetRNNLinLayerMatrixParams(void *handle, void *rnn, int pseudo_layer, void *x,
				    void *weights, void *space, int id, void *descriptor,
				    void **matrix);
int cudnnGetRNNLinLayerBiasParams(void *handle, void *rnn, int pseudo_layer, void *x, void *weights,
				  void *space, int id, void *descriptor, void **bias);
int cudnnGetRNNWorkspaceSize(void *handle, void *rnn, int length, void **x, size_t *size);
int cudnnGetRNNTrainingReserveSize(void *handle, void *rnn, int length, void **x, size_t *size);

#define BAD_PARAM 2000
#define LSTM      2
#define DOUBLE    2
#define INPUT     5
#define HIDDEN    3
#define LAYERS    2

static void *handle, *rnn, *matrix_descriptor, *bias_descriptor;
static float space[4000];

static int create(void **state)
{
	(void)state;
	return cudnnCreate(&handle) || cudnnCreateRNNDescriptor(&rnn) ||
	       cudnnCreateTensorDescriptor(&matrix_descriptor) ||
	       cudnnCreateTensorDescriptor(&bias_descriptor);
}

static int destroy(void **state)
{
	(void)state;
	return cudnnDestroyTensorDescriptor(matrix_descriptor) ||
	       cudnnDestroyTensorDescriptor(bias_descriptor) || cudnnDestroyRNNDescriptor(rnn) ||
	       cudnnDestroy(handle);
}

static int set(int bias, int direction)
{
	return cudnnSetRNNDescriptor_v8(rnn, 0, LSTM, bias, direction, 0, 0, 0, 0, INPUT, HIDDEN,
					HIDDEN, LAYERS, NULL, 0);
}

static void test_weight_space_holds_all_parameters(void **state)
{
	size_t first = 4 * HIDDEN * (INPUT + HIDDEN), second = 4 * HIDDEN * (HIDDEN + HIDDEN);
	size_t size = 0;

	(void)state;
	assert_int_equal(set(DOUBLE, 0), 0);
	assert_int_equal(cudnnGetRNNWeightSpaceSize(handle, rnn, &size), 0);
	assert_int_equal(size, sizeof(float) * (first + second + LAYERS * 8 * HIDDEN));
	/* Both ways: the second layer reads the output of both. */
	second = 4 * HIDDEN * (2 * HIDDEN + HIDDEN);
	assert_int_equal(set(0, 1), 0);
	assert_int_equal(cudnnGetRNNWeightSpaceSize(handle, rnn, &size), 0);
	assert_int_equal(size, sizeof(float) * 2 * (first + second));
}

static void test_gates_lie_side_by_side(void **state)
{
	void *matrix = NULL, *bias = NULL, *expected = space;
	int type, nr, dims[3], strides[3];
	size_t size = 0;

	(void)state;
	assert_int_equal(set(DOUBLE, 0), 0);
	assert_int_equal(cudnnGetRNNWeightSpaceSize(handle, rnn, &size), 0);
	for (int id = 0; id < 8; id++) {
		int columns = id < 4 ? INPUT : HIDDEN;

		assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, 0, size, space, id,
							 matrix_descriptor, &matrix,
							 bias_descriptor, &bias),
				 0);
		assert_ptr_equal(matrix, expected);
		expected = (float *)expected + HIDDEN * columns;
		assert_int_equal(
			cudnnGetTensorNdDescriptor(matrix_descriptor, 3, &type, &nr, dims, strides),
			0);
		assert_int_equal(nr, 3);
		assert_int_equal(dims[1], HIDDEN);
		assert_int_equal(dims[2], columns);
	}
	/* The last bias of the last layer ends the space. */
	assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, 1, size, space, 7, matrix_descriptor,
						 &matrix, bias_descriptor, &bias),
			 0);
	assert_ptr_equal((float *)bias + HIDDEN, (char *)space + size);
}

static void test_network_without_bias_has_none(void **state)
{
	void *matrix = NULL, *bias = space;
	int type, nr = 3, dims[3], strides[3];

	(void)state;
	assert_int_equal(set(0, 0), 0);
	assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, 0, sizeof(space), space, 0,
						 matrix_descriptor, &matrix, bias_descriptor,
						 &bias),
			 0);
	assert_null(bias);
	assert_int_equal(cudnnGetTensorNdDescriptor(bias_descriptor, 3, &type, &nr, dims, strides),
			 0);
	assert_int_equal(nr, 0);
}

static void test_layers_that_are_not_there_are_refused(void **state)
{
	void *matrix, *bias;

	(void)state;
	assert_int_equal(set(DOUBLE, 0), 0);
	assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, LAYERS, sizeof(space), space, 0,
						 matrix_descriptor, &matrix, bias_descriptor,
						 &bias),
			 BAD_PARAM);
	assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, 0, sizeof(space), space, 99,
						 matrix_descriptor, &matrix, bias_descriptor,
						 &bias),
			 BAD_PARAM);
	assert_int_equal(cudnnGetRNNWeightParams(handle, NULL, 0, sizeof(space), space, 0,
						 matrix_descriptor, &matrix, bias_descriptor,
						 &bias),
			 BAD_PARAM);
}

static void set_older(void *x, int batch)
{
	const int dims[] = {batch, INPUT, 1}, strides[] = {INPUT, 1, 1};

	assert_int_equal(cudnnSetTensorNdDescriptor(x, 0, 3, dims, strides), 0);
	assert_int_equal(
		cudnnSetRNNDescriptor_v6(handle, rnn, HIDDEN, LAYERS, NULL, 0, 0, LSTM, 0, 0), 0);
}

/* The same network by the functions of before 8.0: the same sizes and places. */
static void test_older_functions_give_the_same_layout(void **state)
{
	void *x, *weights, *matrix, *bias, *place;
	size_t size = 0, older_size = 0;

	(void)state;
	assert_int_equal(cudnnCreateTensorDescriptor(&x), 0);
	assert_int_equal(cudnnCreateFilterDescriptor(&weights), 0);
	assert_int_equal(cudnnSetFilterNdDescriptor(weights, 0, 0, 3, (const int[]){100, 1, 1}), 0);
	for (int id = 0; id < 8; id++) {
		assert_int_equal(set(DOUBLE, 0), 0);
		assert_int_equal(cudnnGetRNNWeightSpaceSize(handle, rnn, &size), 0);
		assert_int_equal(cudnnGetRNNWeightParams(handle, rnn, 1, size, space, id,
							 matrix_descriptor, &matrix,
							 bias_descriptor, &bias),
				 0);
		set_older(x, 4);
		assert_int_equal(cudnnGetRNNParamsSize(handle, rnn, x, &older_size, 0), 0);
		assert_int_equal(older_size, size);
		assert_int_equal(cudnnGetRNNLinLayerMatrixParams(handle, rnn, 1, x, weights, space,
								 id, matrix_descriptor, &place),
				 0);
		assert_ptr_equal(place, matrix);
		assert_int_equal(cudnnGetRNNLinLayerBiasParams(handle, rnn, 1, x, weights, space,
							       id, bias_descriptor, &place),
				 0);
		assert_ptr_equal(place, bias);
	}
	assert_int_equal(cudnnSetRNNBiasMode(rnn, 0), 0);
	assert_int_equal(cudnnGetRNNParamsSize(handle, rnn, x, &older_size, 0), 0);
	assert_int_equal(older_size, size - sizeof(float) * LAYERS * 8 * HIDDEN);
	assert_int_equal(cudnnGetRNNLinLayerMatrixParams(handle, rnn, LAYERS, x, weights, space, 0,
							 matrix_descriptor, &place),
			 BAD_PARAM);
	assert_int_equal(cudnnDestroyFilterDescriptor(weights), 0);
	assert_int_equal(cudnnDestroyTensorDescriptor(x), 0);
}

/* Steps of sequences that end one after the other: each with its own size. */
static void test_older_reserve_counts_each_step(void **state)
{
	void *x[3];
	size_t size = 1;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cudnnCreateTensorDescriptor(&x[i]), 0);
		set_older(x[i], 3 - i);
	}
	assert_int_equal(cudnnGetRNNTrainingReserveSize(handle, rnn, 3, x, &size), 0);
	assert_int_equal(size, sizeof(float) * (3 + 2 + 1) * HIDDEN * 4 * LAYERS);
	assert_int_equal(cudnnGetRNNWorkspaceSize(handle, rnn, 3, x, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(cudnnGetRNNTrainingReserveSize(handle, rnn, 0, x, &size), BAD_PARAM);
	assert_int_equal(cudnnSetRNNProjectionLayers(handle, rnn, 2, 0), 0);
	assert_int_equal(cudnnSetRNNProjectionLayers(handle, rnn, 0, 0), BAD_PARAM);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cudnnDestroyTensorDescriptor(x[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weight_space_holds_all_parameters),
		cmocka_unit_test(test_gates_lie_side_by_side),
		cmocka_unit_test(test_network_without_bias_has_none),
		cmocka_unit_test(test_layers_that_are_not_there_are_refused),
		cmocka_unit_test(test_older_functions_give_the_same_layout),
		cmocka_unit_test(test_older_reserve_counts_each_step),
	};

	return cmocka_run_group_tests(tests, create, destroy);
}
