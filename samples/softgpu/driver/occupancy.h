#ifndef SG_OCCUPANCY_H
#define SG_OCCUPANCY_H

#include "kernel.h"

/*
 * How many blocks of a kernel fit on a multiprocessor at a time: 0 if not one does. block_size is
 * positive.
 */
int sg_occupancy_get_blocks(struct sg_kernel *kernel, CUdevice device, int block_size,
			    size_t dynamic_shared);

#endif
