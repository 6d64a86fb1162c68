/* libcudnn: descriptors of tensors, filters and convolutions, and the shapes that follow from them.
 */
#include <string.h>

#include "dnn.h"
#include "math_call.h"

#define MAX_SPATIAL (SG_DNN_MAX_DIMS - 2)

#define FORMAT_NHWC 1

struct convolution {
	int nr_dims;
	int padding[MAX_SPATIAL];
	int stride[MAX_SPATIAL];
	int dilation[MAX_SPATIAL];
	int mode;
	int compute_type;
	int nr_groups; /* 0: not set, which is one */
	int math_type;
};

size_t sg_dnn_element_size(int data_type)
{
	/* cudnnDataType_t: float, double, half, int8, int32, int8x4, uint8, uint8x4, int8x32, bf16,
	 * int64, boolean, small floats and integers, uint32, complex */
	static const unsigned char sizes[] = {4, 8, 2, 1, 4, 4, 1, 4, 32, 2, 8,
					      1, 1, 1, 4, 1, 1, 1, 1, 4,  8, 16};

	if (data_type < 0)
		return 0;
	return (size_t)data_type < sizeof(sizes) ? sizes[data_type] : 1;
}

struct sg_dnn_tensor *sg_dnn_tensor_get(const void *handle)
{
	return sg_math_object_get(SG_MATH_OTHER, handle);
}

void sg_dnn_tensor_fill(struct sg_dnn_tensor *tensor, int data_type, int nr_dims, const int *dims)
{
	int stride = 1;

	tensor->data_type = data_type;
	tensor->nr_dims = nr_dims;
	for (int i = nr_dims - 1; i >= 0; i--) {
		tensor->dims[i] = dims[i];
		tensor->strides[i] = stride;
		stride *= dims[i];
	}
}

/* Channels closest, then the last dimension, and so on. */
static void use_format(struct sg_dnn_tensor *tensor, int format)
{
	int stride;

	tensor->format = format;
	if (format != FORMAT_NHWC || tensor->nr_dims < 3)
		return;
	tensor->strides[1] = 1;
	stride = tensor->dims[1];
	for (int i = tensor->nr_dims - 1; i >= 2; i--) {
		tensor->strides[i] = stride;
		stride *= tensor->dims[i];
	}
	tensor->strides[0] = stride;
}

static int set_shape(void *handle, int format, int data_type, int nr_dims, const int *dims,
		     const int *strides)
{
	struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);

	if (!tensor || nr_dims < 1 || nr_dims > SG_DNN_MAX_DIMS || !dims)
		return sg_dnn_bad_param();
	for (int i = 0; i < nr_dims; i++) {
		if (dims[i] < 1)
			return sg_dnn_bad_param();
	}
	sg_dnn_tensor_fill(tensor, data_type, nr_dims, dims);
	use_format(tensor, format);
	if (strides)
		memcpy(tensor->strides, strides, (size_t)nr_dims * sizeof(*strides));
	return 0;
}

SG_MATH_API(int, cudnnSetTensorNdDescriptor, void *handle, int data_type, int nr_dims,
	    const int *dims, const int *strides)
{
	if (!strides)
		return sg_dnn_bad_param();
	return set_shape(handle, 0, data_type, nr_dims, dims, strides);
}

SG_MATH_API(int, cudnnSetTensorNdDescriptorEx, void *handle, int format, int data_type, int nr_dims,
	    const int *dims)
{
	return set_shape(handle, format, data_type, nr_dims, dims, NULL);
}

SG_MATH_API(int, cudnnSetTensor4dDescriptor, void *handle, int format, int data_type, int n, int c,
	    int h, int w)
{
	return set_shape(handle, format, data_type, 4, (const int[]){n, c, h, w}, NULL);
}

SG_MATH_API(int, cudnnSetTensor4dDescriptorEx, void *handle, int data_type, int n, int c, int h,
	    int w, int n_stride, int c_stride, int h_stride, int w_stride)
{
	return set_shape(handle, 0, data_type, 4, (const int[]){n, c, h, w},
			 (const int[]){n_stride, c_stride, h_stride, w_stride});
}

SG_MATH_API(int, cudnnSetFilterNdDescriptor, void *handle, int data_type, int format, int nr_dims,
	    const int *dims)
{
	return set_shape(handle, format, data_type, nr_dims, dims, NULL);
}

SG_MATH_API(int, cudnnSetFilter4dDescriptor, void *handle, int data_type, int format, int k, int c,
	    int h, int w)
{
	return set_shape(handle, format, data_type, 4, (const int[]){k, c, h, w}, NULL);
}

static void copy_dims(int *to, const int *from, int nr, int requested)
{
	if (to && nr > 0 && requested > 0)
		memcpy(to, from, (size_t)(nr < requested ? nr : requested) * sizeof(*to));
}

SG_MATH_API(int, cudnnGetTensorNdDescriptor, const void *handle, int requested, int *data_type,
	    int *nr_dims, int *dims, int *strides)
{
	const struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);

	if (!tensor)
		return sg_dnn_bad_param();
	sg_math_call_put_int(data_type, tensor->data_type);
	sg_math_call_put_int(nr_dims, tensor->nr_dims);
	copy_dims(dims, tensor->dims, tensor->nr_dims, requested);
	copy_dims(strides, tensor->strides, tensor->nr_dims, requested);
	return 0;
}

SG_MATH_API(int, cudnnGetTensor4dDescriptor, const void *handle, int *data_type, int *n, int *c,
	    int *h, int *w, int *n_stride, int *c_stride, int *h_stride, int *w_stride)
{
	const struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);
	int *const dims[] = {n, c, h, w};
	int *const strides[] = {n_stride, c_stride, h_stride, w_stride};

	if (!tensor || tensor->nr_dims != 4)
		return sg_dnn_bad_param();
	sg_math_call_put_int(data_type, tensor->data_type);
	for (int i = 0; i < 4; i++) {
		sg_math_call_put_int(dims[i], tensor->dims[i]);
		sg_math_call_put_int(strides[i], tensor->strides[i]);
	}
	return 0;
}

SG_MATH_API(int, cudnnGetFilterNdDescriptor, const void *handle, int requested, int *data_type,
	    int *format, int *nr_dims, int *dims)
{
	const struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);

	if (!tensor)
		return sg_dnn_bad_param();
	sg_math_call_put_int(data_type, tensor->data_type);
	sg_math_call_put_int(format, tensor->format);
	sg_math_call_put_int(nr_dims, tensor->nr_dims);
	copy_dims(dims, tensor->dims, tensor->nr_dims, requested);
	return 0;
}

static int put_bytes(const void *handle, size_t *size)
{
	const struct sg_dnn_tensor *tensor = sg_dnn_tensor_get(handle);
	size_t last = 0;

	if (!tensor || !size)
		return sg_dnn_bad_param();
	for (int i = 0; i < tensor->nr_dims; i++)
		last += (size_t)(tensor->dims[i] - 1) * (size_t)tensor->strides[i];
	*size = tensor->nr_dims ? (last + 1) * sg_dnn_element_size(tensor->data_type) : 0;
	return 0;
}

SG_MATH_API(int, cudnnGetTensorSizeInBytes, const void *handle, size_t *size)
{
	return put_bytes(handle, size);
}

SG_MATH_API(int, cudnnGetFilterSizeInBytes, const void *handle, size_t *size)
{
	return put_bytes(handle, size);
}

SG_MATH_API(int, cudnnSetConvolutionNdDescriptor, void *handle, int nr_dims, const int *padding,
	    const int *stride, const int *dilation, int mode, int compute_type)
{
	struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);
	size_t size = (size_t)nr_dims * sizeof(int);

	if (!convolution || nr_dims < 1 || nr_dims > MAX_SPATIAL || !padding || !stride ||
	    !dilation)
		return sg_dnn_bad_param();
	convolution->nr_dims = nr_dims;
	memcpy(convolution->padding, padding, size);
	memcpy(convolution->stride, stride, size);
	memcpy(convolution->dilation, dilation, size);
	convolution->mode = mode;
	convolution->compute_type = compute_type;
	return 0;
}

SG_MATH_API(int, cudnnSetConvolution2dDescriptor, void *handle, int pad_h, int pad_w, int stride_h,
	    int stride_w, int dilation_h, int dilation_w, int mode, int compute_type)
{
	return cudnnSetConvolutionNdDescriptor(
		handle, 2, (const int[]){pad_h, pad_w}, (const int[]){stride_h, stride_w},
		(const int[]){dilation_h, dilation_w}, mode, compute_type);
}

SG_MATH_API(int, cudnnSetConvolutionGroupCount, void *handle, int nr_groups)
{
	struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);

	if (!convolution || nr_groups < 1)
		return sg_dnn_bad_param();
	convolution->nr_groups = nr_groups;
	return 0;
}

SG_MATH_API(int, cudnnGetConvolutionGroupCount, void *handle, int *nr_groups)
{
	const struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);

	if (!convolution || !nr_groups)
		return sg_dnn_bad_param();
	*nr_groups = convolution->nr_groups ? convolution->nr_groups : 1;
	return 0;
}

SG_MATH_API(int, cudnnSetConvolutionMathType, void *handle, int math_type)
{
	struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);

	if (!convolution)
		return sg_dnn_bad_param();
	convolution->math_type = math_type;
	return 0;
}

SG_MATH_API(int, cudnnGetConvolutionMathType, void *handle, int *math_type)
{
	const struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);

	if (!convolution || !math_type)
		return sg_dnn_bad_param();
	*math_type = convolution->math_type;
	return 0;
}

SG_MATH_API(int, cudnnGetConvolutionNdForwardOutputDim, const void *handle,
	    const void *input_handle, const void *filter_handle, int nr_dims, int *dims)
{
	const struct convolution *convolution = sg_math_object_get(SG_MATH_OTHER, handle);
	const struct sg_dnn_tensor *input = sg_dnn_tensor_get(input_handle);
	const struct sg_dnn_tensor *filter = sg_dnn_tensor_get(filter_handle);

	if (!convolution || !input || !filter || !dims || nr_dims < 3 ||
	    nr_dims > SG_DNN_MAX_DIMS || convolution->nr_dims != nr_dims - 2 ||
	    input->nr_dims != nr_dims || filter->nr_dims != nr_dims)
		return sg_dnn_bad_param();
	dims[0] = input->dims[0];
	dims[1] = filter->dims[0];
	for (int i = 0; i < nr_dims - 2; i++) {
		int reach = (filter->dims[i + 2] - 1) * convolution->dilation[i] + 1;
		int room = input->dims[i + 2] + 2 * convolution->padding[i] - reach;

		if (convolution->stride[i] < 1 || room < 0)
			return sg_dnn_bad_param();
		dims[i + 2] = room / convolution->stride[i] + 1;
	}
	return 0;
}

SG_MATH_API(int, cudnnGetConvolution2dForwardOutputDim, const void *handle, const void *input,
	    const void *filter, int *n, int *c, int *h, int *w)
{
	int dims[4];
	int err = cudnnGetConvolutionNdForwardOutputDim(handle, input, filter, 4, dims);

	if (err)
		return err;
	sg_math_call_put_int(n, dims[0]);
	sg_math_call_put_int(c, dims[1]);
	sg_math_call_put_int(h, dims[2]);
	sg_math_call_put_int(w, dims[3]);
	return 0;
}
