#ifndef SG_ARRAY_LIMITS_H
#define SG_ARRAY_LIMITS_H

#include "driver.h"

/*
 * Whether a device can have an array of that kind and extent: the tables of cuArray3DCreate and
 * cuMipmappedArrayCreate in cuda.h, by the device's own attributes. Looks at the extents and at
 * the flags that make the kind, not at the format. Any thread.
 */
bool sg_array_limits_allow(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
			   bool is_mipmap);

#endif
