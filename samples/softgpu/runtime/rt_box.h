#ifndef SG_RT_BOX_H
#define SG_RT_BOX_H

#include "runtime.h"

/*
 * Copies of three dimensions as the runtime describes them: each end is an array or memory, and
 * counts in its own elements; bytes, for memory.
 */
struct sg_rt_box_end {
	cudaArray_t array;
	struct cudaPos pos;
	struct cudaPitchedPtr memory;
};

struct sg_rt_box {
	struct sg_rt_box_end target, source;
	struct cudaExtent extent;
};

#pragma GCC visibility push(hidden)
/*
 * Check a box that is not empty, and make bytes of its elements: x and width, and y and height
 * where elements are compressed in blocks. In the current context.
 */
cudaError_t sg_rt_box_convert(struct sg_rt_box *box);
#pragma GCC visibility pop

#endif
