#ifndef SG_DNN_H
#define SG_DNN_H

#include <stddef.h>

/*
 * What the files of libcudnn share. Descriptors are made and destroyed by generated functions; what
 * a program sets on them is kept in the objects themselves. One thread at a time for each
 * descriptor, as with the real library.
 */

#define SG_DNN_MAX_DIMS 8 /* CUDNN_DIM_MAX */

/* cudnnTensorDescriptor_t and cudnnFilterDescriptor_t */
struct sg_dnn_tensor {
	int data_type; /* cudnnDataType_t */
	int format;    /* cudnnTensorFormat_t */
	int nr_dims;   /* 0: not set yet */
	int dims[SG_DNN_MAX_DIMS];
	int strides[SG_DNN_MAX_DIMS];
};

/* cudnnStatus_t of this major version: its numbers changed with 9. */
int sg_dnn_bad_param(void);
int sg_dnn_not_supported(void);
int sg_dnn_alloc_failed(void);

/* SOFTGPU_CUDNN_WORKSPACE: what every plan and algorithm asks for. Nobody can know the real ones.
 */
size_t sg_dnn_workspace(void);

/* Bytes of one element; 0 for a type that is none. */
size_t sg_dnn_element_size(int data_type);

/* NULL if it is no descriptor. */
struct sg_dnn_tensor *sg_dnn_tensor_get(const void *handle);

/* Packed, the last dimension closest. */
void sg_dnn_tensor_fill(struct sg_dnn_tensor *tensor, int data_type, int nr_dims, const int *dims);

#endif
