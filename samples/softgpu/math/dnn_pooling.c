/* libcudnn: pooling descriptors, and the shapes that follow from them. */
#include <string.h>

#include "dnn.h"
#include "math_call.h"

#define MAX_SPATIAL (SG_DNN_MAX_DIMS - 2)

struct pooling {
	int nr_dims;
	int window[MAX_SPATIAL];
	int padding[MAX_SPATIAL];
	int stride[MAX_SPATIAL];
};

SG_MATH_API(int, cudnnSetPoolingNdDescriptor, void *handle, int mode, int nan_propagation,
	    int nr_dims, const int *window, const int *padding, const int *stride)
{
	struct pooling *pooling = sg_math_object_get(SG_MATH_OTHER, handle);
	size_t size = (size_t)nr_dims * sizeof(int);

	(void)mode;
	(void)nan_propagation;
	if (!pooling || nr_dims < 1 || nr_dims > MAX_SPATIAL || !window || !padding || !stride)
		return sg_dnn_bad_param();
	for (int i = 0; i < nr_dims; i++) {
		if (window[i] < 1 || padding[i] < 0 || stride[i] < 1)
			return sg_dnn_bad_param();
	}
	pooling->nr_dims = nr_dims;
	memcpy(pooling->window, window, size);
	memcpy(pooling->padding, padding, size);
	memcpy(pooling->stride, stride, size);
	return 0;
}

SG_MATH_API(int, cudnnSetPooling2dDescriptor, void *handle, int mode, int nan_propagation,
	    int window_h, int window_w, int pad_h, int pad_w, int stride_h, int stride_w)
{
	return cudnnSetPoolingNdDescriptor(
		handle, mode, nan_propagation, 2, (const int[]){window_h, window_w},
		(const int[]){pad_h, pad_w}, (const int[]){stride_h, stride_w});
}

SG_MATH_API(int, cudnnGetPoolingNdForwardOutputDim, const void *handle, const void *input_handle,
	    int nr_dims, int *dims)
{
	const struct pooling *pooling = sg_math_object_get(SG_MATH_OTHER, handle);
	const struct sg_dnn_tensor *input = sg_dnn_tensor_get(input_handle);

	if (!pooling || !input || !dims || pooling->nr_dims != nr_dims - 2 ||
	    input->nr_dims != nr_dims)
		return sg_dnn_bad_param();
	dims[0] = input->dims[0];
	dims[1] = input->dims[1];
	for (int i = 0; i < pooling->nr_dims; i++) {
		int room = input->dims[i + 2] + 2 * pooling->padding[i] - pooling->window[i];

		if (room < 0)
			return sg_dnn_bad_param();
		dims[i + 2] = room / pooling->stride[i] + 1;
	}
	return 0;
}

SG_MATH_API(int, cudnnGetPooling2dForwardOutputDim, const void *handle, const void *input, int *n,
	    int *c, int *h, int *w)
{
	int dims[4];
	int err = cudnnGetPoolingNdForwardOutputDim(handle, input, 4, dims);

	if (err)
		return err;
	sg_math_call_put_int(n, dims[0]);
	sg_math_call_put_int(c, dims[1]);
	sg_math_call_put_int(h, dims[2]);
	sg_math_call_put_int(w, dims[3]);
	return 0;
}
