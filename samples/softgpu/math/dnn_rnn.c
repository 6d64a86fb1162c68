/*
 * libcudnn: recurrent networks. Frameworks ask where each matrix lies in the weight space and copy
 * their parameters there, so its layout must hold together: all matrices of all layers, gates of
 * one kind side by side, then all biases.
 */
#include "dnn.h"
#include "math_call.h"

/* cudnnRNNBiasMode_t */
#define BIAS_NONE   0
#define BIAS_INPUT  1
#define BIAS_DOUBLE 2
#define BIAS_HIDDEN 3

#define BIDIRECTIONAL    1 /* cudnnDirectionMode_t */
#define SKIP_INPUT       1 /* cudnnRNNInputMode_t */
#define FORWARD_TRAINING 1 /* cudnnForwardMode_t */

struct rnn {
	int algorithm;
	int cell;
	int bias;
	int direction;
	int input_mode;
	int data_type;
	int math_precision;
	int math_type;
	int input_size;
	int hidden_size;
	int projection_size;
	int nr_layers;
	void *dropout;
	unsigned flags;
};

struct rnn_data {
	int data_type;
	int layout;
	int max_length;
	int batch_size;
	int vector_size;
};

/* Where one matrix and its bias are, in elements. */
struct place {
	size_t matrix;
	size_t bias;
	int rows;
	int columns; /* 0: there is no such matrix */
	int has_bias;
};

static struct rnn *get_rnn(const void *handle)
{
	return sg_math_object_get(SG_MATH_OTHER, handle);
}

/* Gates of cudnnRNNMode_t: ReLU, tanh, LSTM, GRU. */
static int nr_gates(const struct rnn *rnn)
{
	static const int gates[] = {1, 1, 4, 3};

	return rnn->cell >= 0 && rnn->cell < 4 ? gates[rnn->cell] : 1;
}

static int nr_directions(const struct rnn *rnn)
{
	return rnn->direction == BIDIRECTIONAL ? 2 : 1;
}

static int has_projection(const struct rnn *rnn)
{
	return rnn->projection_size > 0 && rnn->projection_size != rnn->hidden_size;
}

static int output_size(const struct rnn *rnn)
{
	return has_projection(rnn) ? rnn->projection_size : rnn->hidden_size;
}

/* Shape of linear layer @id: input gates first, then recurrent ones, then the projection. */
static void shape_of(const struct rnn *rnn, int layer, int id, struct place *place)
{
	int gates = nr_gates(rnn);

	place->rows = rnn->hidden_size;
	place->has_bias = 0;
	if (id < gates) {
		place->columns =
			layer == 0 ? rnn->input_size : output_size(rnn) * nr_directions(rnn);
		if (layer == 0 && rnn->input_mode == SKIP_INPUT)
			place->columns = 0;
		place->has_bias = rnn->bias == BIAS_INPUT || rnn->bias == BIAS_DOUBLE;
	} else if (id < 2 * gates) {
		place->columns = output_size(rnn);
		place->has_bias = rnn->bias == BIAS_HIDDEN || rnn->bias == BIAS_DOUBLE;
	} else {
		place->rows = output_size(rnn);
		place->columns = has_projection(rnn) ? rnn->hidden_size : 0;
	}
}

/*
 * Goes through the weight space up to linear layer @id of @pseudo_layer; elements of the whole of
 * it when there is none such.
 */
static size_t find_place(const struct rnn *rnn, int pseudo_layer, int id, struct place *found)
{
	size_t matrices = 0, biases = 0;
	struct place place = {0};

	for (int layer = 0; layer < rnn->nr_layers * nr_directions(rnn); layer++) {
		for (int i = 0; i <= 2 * nr_gates(rnn); i++) {
			shape_of(rnn, layer / nr_directions(rnn), i, &place);
			if (found && layer == pseudo_layer && i == id) {
				*found = place;
				found->matrix = matrices;
				found->bias = biases;
			}
			matrices += (size_t)place.rows * (size_t)place.columns;
			biases += place.has_bias ? (size_t)place.rows : 0;
		}
	}
	if (found)
		found->bias += matrices;
	return matrices + biases;
}

SG_MATH_API(int, cudnnSetRNNDescriptor_v8, void *handle, int algorithm, int cell, int bias,
	    int direction, int input_mode, int data_type, int math_precision, int math_type,
	    int input_size, int hidden_size, int projection_size, int nr_layers, void *dropout,
	    unsigned flags)
{
	struct rnn *rnn = get_rnn(handle);

	if (!rnn || input_size < 1 || hidden_size < 1 || projection_size < 0 || nr_layers < 1)
		return sg_dnn_bad_param();
	*rnn = (struct rnn){
		.algorithm = algorithm,
		.cell = cell,
		.bias = bias,
		.direction = direction,
		.input_mode = input_mode,
		.data_type = data_type,
		.math_precision = math_precision,
		.math_type = math_type,
		.input_size = input_size,
		.hidden_size = hidden_size,
		.projection_size = projection_size,
		.nr_layers = nr_layers,
		.dropout = dropout,
		.flags = flags,
	};
	return 0;
}

SG_MATH_API(int, cudnnSetRNNDataDescriptor, void *handle, int data_type, int layout, int max_length,
	    int batch_size, int vector_size, const int *lengths, void *fill)
{
	struct rnn_data *data = sg_math_object_get(SG_MATH_OTHER, handle);

	(void)lengths;
	(void)fill;
	if (!data || max_length < 1 || batch_size < 1 || vector_size < 1)
		return sg_dnn_bad_param();
	*data = (struct rnn_data){data_type, layout, max_length, batch_size, vector_size};
	return 0;
}

SG_MATH_API(int, cudnnGetRNNWeightSpaceSize, void *handle, const void *rnn_handle, size_t *size)
{
	const struct rnn *rnn = get_rnn(rnn_handle);

	if (sg_math_call_check(handle) != 0 || !rnn || !size)
		return sg_dnn_bad_param();
	*size = find_place(rnn, -1, -1, NULL) * sg_dnn_element_size(rnn->data_type);
	return 0;
}

/*
 * What a training run keeps for its way back: the gates of every step of every sequence. The real
 * size is not public.
 */
static size_t get_reserve(const struct rnn *rnn, int data_type, size_t nr_steps)
{
	static int noted;
	size_t nr_gates_of_all = (size_t)(nr_gates(rnn) * rnn->nr_layers * nr_directions(rnn));

	return sg_math_call_note_size("cuDNN-RNN-reserve-space",
				      nr_steps * (size_t)rnn->hidden_size * nr_gates_of_all *
					      sg_dnn_element_size(data_type),
				      &noted);
}

SG_MATH_API(int, cudnnGetRNNTempSpaceSizes, void *handle, const void *rnn_handle, int mode,
	    const void *data_handle, size_t *workspace, size_t *reserve)
{
	const struct rnn_data *data = sg_math_object_get(SG_MATH_OTHER, data_handle);
	const struct rnn *rnn = get_rnn(rnn_handle);

	if (sg_math_call_check(handle) != 0 || !rnn || !data)
		return sg_dnn_bad_param();
	sg_math_call_put_size(workspace, sg_dnn_workspace());
	sg_math_call_put_size(
		reserve, mode == FORWARD_TRAINING
				 ? get_reserve(rnn, rnn->data_type,
					       (size_t)data->max_length * (size_t)data->batch_size)
				 : 0);
	return 0;
}

static void describe(void *handle, int data_type, int rows, int columns)
{
	struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);

	if (!tensor)
		return;
	if (columns)
		sg_dnn_tensor_fill(tensor, data_type, 3, (const int[]){1, rows, columns});
	else
		*tensor = (struct sg_dnn_tensor){.data_type = data_type};
}

SG_MATH_API(int, cudnnGetRNNWeightParams, void *handle, const void *rnn_handle, int pseudo_layer,
	    size_t space_size, char *space, int id, void *matrix_descriptor, void **matrix,
	    void *bias_descriptor, void **bias)
{
	const struct rnn *rnn = get_rnn(rnn_handle);
	struct place place = {0};
	size_t element;

	(void)space_size;
	if (sg_math_call_check(handle) != 0 || !rnn || id < 0 || id > 2 * nr_gates(rnn) ||
	    pseudo_layer < 0 || pseudo_layer >= rnn->nr_layers * nr_directions(rnn))
		return sg_dnn_bad_param();
	find_place(rnn, pseudo_layer, id, &place);
	element = sg_dnn_element_size(rnn->data_type);
	describe(matrix_descriptor, rnn->data_type, place.rows, place.columns);
	describe(bias_descriptor, rnn->data_type, place.rows, place.has_bias);
	sg_math_call_put_pointer(matrix, place.columns ? space + place.matrix * element : NULL);
	sg_math_call_put_pointer(bias, place.has_bias ? space + place.bias * element : NULL);
	return 0;
}

/*
 * The functions before 8.0, which cuDNN 8 still has and PyTorch used up to 2.2: the size of the
 * input and the type of data come with each call, by descriptors.
 */

/* As the network would be if it had been described whole. False: there is no such network. */
static int complete(struct rnn *rnn, const void *handle, const void *x, int data_type)
{
	const struct rnn *known = get_rnn(handle);
	const struct sg_dnn_tensor *input = sg_dnn_tensor_get(x);

	if (!known || known->nr_layers < 1 || !input || input->nr_dims < 2)
		return 0;
	*rnn = *known;
	rnn->input_size = input->dims[1];
	rnn->data_type = data_type;
	return 1;
}

SG_MATH_API(int, cudnnSetRNNDescriptor_v6, void *handle, void *rnn_handle, int hidden_size,
	    int nr_layers, void *dropout, int input_mode, int direction, int cell, int algorithm,
	    int math_precision)
{
	struct rnn *rnn = get_rnn(rnn_handle);

	if (sg_math_call_check(handle) != 0 || !rnn || hidden_size < 1 || nr_layers < 1)
		return sg_dnn_bad_param();
	*rnn = (struct rnn){
		.algorithm = algorithm,
		.cell = cell,
		.bias = BIAS_DOUBLE,
		.direction = direction,
		.input_mode = input_mode,
		.math_precision = math_precision,
		.hidden_size = hidden_size,
		.nr_layers = nr_layers,
		.dropout = dropout,
	};
	return 0;
}

SG_MATH_API(int, cudnnSetRNNProjectionLayers, void *handle, void *rnn_handle, int recurrent_size,
	    int output)
{
	struct rnn *rnn = get_rnn(rnn_handle);

	if (sg_math_call_check(handle) != 0 || !rnn || recurrent_size < 1 || output)
		return sg_dnn_bad_param();
	rnn->projection_size = recurrent_size;
	return 0;
}

SG_MATH_API(int, cudnnSetRNNBiasMode, void *rnn_handle, int bias)
{
	struct rnn *rnn = get_rnn(rnn_handle);

	if (!rnn || bias < BIAS_NONE || bias > BIAS_HIDDEN)
		return sg_dnn_bad_param();
	rnn->bias = bias;
	return 0;
}

SG_MATH_API(int, cudnnGetRNNParamsSize, void *handle, const void *rnn_handle, const void *x,
	    size_t *size, int data_type)
{
	struct rnn rnn;

	if (sg_math_call_check(handle) != 0 || !size || !complete(&rnn, rnn_handle, x, data_type))
		return sg_dnn_bad_param();
	*size = find_place(&rnn, -1, -1, NULL) * sg_dnn_element_size(data_type);
	return 0;
}

/* One linear layer: its matrix, or its bias. */
static int put_linear_layer(const void *rnn_handle, int pseudo_layer, const void *x,
			    const void *weights, char *space, int id, void *descriptor,
			    void **found, int is_bias)
{
	const struct sg_dnn_tensor *filter = sg_dnn_tensor_get(weights);
	struct place place = {0};
	struct rnn rnn;
	size_t element;

	if (!filter || !complete(&rnn, rnn_handle, x, filter->data_type) || id < 0 ||
	    id > 2 * nr_gates(&rnn) || pseudo_layer < 0 ||
	    pseudo_layer >= rnn.nr_layers * nr_directions(&rnn))
		return sg_dnn_bad_param();
	find_place(&rnn, pseudo_layer, id, &place);
	element = sg_dnn_element_size(rnn.data_type);
	describe(descriptor, rnn.data_type, place.rows, is_bias ? place.has_bias : place.columns);
	if (is_bias)
		sg_math_call_put_pointer(found,
					 place.has_bias ? space + place.bias * element : NULL);
	else
		sg_math_call_put_pointer(found,
					 place.columns ? space + place.matrix * element : NULL);
	return 0;
}

SG_MATH_API(int, cudnnGetRNNLinLayerMatrixParams, void *handle, const void *rnn_handle,
	    int pseudo_layer, const void *x, const void *weights, char *space, int id,
	    void *descriptor, void **matrix)
{
	if (sg_math_call_check(handle) != 0)
		return sg_dnn_bad_param();
	return put_linear_layer(rnn_handle, pseudo_layer, x, weights, space, id, descriptor, matrix,
				0);
}

SG_MATH_API(int, cudnnGetRNNLinLayerBiasParams, void *handle, const void *rnn_handle,
	    int pseudo_layer, const void *x, const void *weights, char *space, int id,
	    void *descriptor, void **bias)
{
	if (sg_math_call_check(handle) != 0)
		return sg_dnn_bad_param();
	return put_linear_layer(rnn_handle, pseudo_layer, x, weights, space, id, descriptor, bias,
				1);
}

SG_MATH_API(int, cudnnGetRNNWorkspaceSize, void *handle, const void *rnn_handle, int length,
	    const void *const *x, size_t *size)
{
	if (sg_math_call_check(handle) != 0 || !get_rnn(rnn_handle) || length < 1 || !x || !size)
		return sg_dnn_bad_param();
	*size = sg_dnn_workspace();
	return 0;
}

SG_MATH_API(int, cudnnGetRNNTrainingReserveSize, void *handle, const void *rnn_handle, int length,
	    const void *const *x, size_t *size)
{
	const struct rnn *rnn = get_rnn(rnn_handle);
	const struct sg_dnn_tensor *input = NULL;
	size_t nr_steps = 0;

	if (sg_math_call_check(handle) != 0 || !rnn || length < 1 || !x || !size)
		return sg_dnn_bad_param();
	for (int i = 0; i < length; i++) {
		input = sg_dnn_tensor_get(x[i]);
		if (!input || input->nr_dims < 2)
			return sg_dnn_bad_param();
		nr_steps += (size_t)input->dims[0];
	}
	*size = get_reserve(rnn, input->data_type, nr_steps);
	return 0;
}
