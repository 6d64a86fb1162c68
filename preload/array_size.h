#ifndef VS_ARRAY_SIZE_H
#define VS_ARRAY_SIZE_H

#include <stdint.h>

#include "cuda_headers.h"

/*
 * Bytes of an array, which no function of CUDA tells:
 *
 *	sum over levels l of   ceil(bits(format, channels) x W x H x D / 8)
 *	W = max(Width >> l, 1)   H = max(Height >> l, 1)   D = max(Depth >> l, 1)
 *
 * The levels are clamped as cuMipmappedArrayCreate does it: to those that halve something, and 1.
 * Depth of a layered or cubemap array is its number of layers and the same on every level. A
 * block-compressed format (BC1 to BC7) takes W and H in whole blocks of 4. Sparse and deferred
 * arrays have no memory of their own: 0. What the device pads it with is not known and not counted.
 *
 * UINT64_MAX if it does not fit.
 */
uint64_t vs_array_size_get(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned nr_levels);

/* The same for the runtime's way to say it: bits of one element, flags cudaArray*. */
uint64_t vs_array_size_get_by_bits(const struct cudaChannelFormatDesc *element,
				   struct cudaExtent extent, unsigned flags, unsigned nr_levels);

#endif
