#ifndef SG_RT_CHANNEL_H
#define SG_RT_CHANNEL_H

#include "runtime.h"

/*
 * Elements of arrays and textures: what the runtime calls a channel description is a format and a
 * number of channels to the driver. A unit is what bytes come in: an element, or a block of 4 x 4
 * of them where they are compressed. Any thread.
 */
struct sg_rt_element {
	CUarray_format format;
	unsigned nr_channels;
	unsigned unit_size; /* bytes; 0: several planes, each an array of its own */
	unsigned unit_side; /* elements in a row of the unit */
	struct cudaChannelFormatDesc desc;
};

#pragma GCC visibility push(hidden)
/* cudaErrorInvalidChannelDescriptor if nothing has such elements. */
cudaError_t sg_rt_channel_from_desc(const struct cudaChannelFormatDesc *desc,
				    struct sg_rt_element *element);
cudaError_t sg_rt_channel_from_format(CUarray_format format, unsigned nr_channels,
				      struct sg_rt_element *element);

/*
 * The elements of an array, in the current context; cudaErrorInvalidValue if it is none. shape may
 * be NULL.
 */
cudaError_t sg_rt_channel_of_array(cudaArray_const_t array, struct sg_rt_element *element,
				   CUDA_ARRAY3D_DESCRIPTOR *shape);
#pragma GCC visibility pop

#endif
