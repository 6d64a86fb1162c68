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

/* What a training run keeps for its way back: the gates of every step. The real size is not public.
 */
SG_MATH_API(int, cudnnGetRNNTempSpaceSizes, void *handle, const void *rnn_handle, int mode,
	    const void *data_handle, size_t *workspace, size_t *reserve)
{
	const struct rnn_data *data = sg_math_object_get(SG_MATH_OTHER, data_handle);
	const struct rnn *rnn = get_rnn(rnn_handle);
	static int noted;
	size_t kept;

	if (sg_math_call_check(handle) != 0 || !rnn || !data)
		return sg_dnn_bad_param();
	kept = (size_t)data->max_length * (size_t)data->batch_size * (size_t)rnn->hidden_size *
	       (size_t)(nr_gates(rnn) * rnn->nr_layers * nr_directions(rnn)) *
	       sg_dnn_element_size(rnn->data_type);
	sg_math_call_put_size(workspace, sg_dnn_workspace());
	sg_math_call_put_size(
		reserve, mode == FORWARD_TRAINING
				 ? sg_math_call_note_size("cudnnGetRNNTempSpaceSizes", kept, &noted)
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
