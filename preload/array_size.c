#include "array_size.h"

#include <stdbool.h>

struct shape {
	uint64_t width, height, depth;
	uint64_t nr_bits;    /* of an element */
	unsigned block_side; /* elements come in squares of this side */
	bool is_layered;
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t get_level(uint64_t extent, unsigned level)
{
	return extent >> level ? extent >> level : 1;
}

static uint64_t round_up(uint64_t extent, unsigned unit)
{
	return extent > UINT64_MAX - unit ? extent : (extent + unit - 1) / unit * unit;
}

/* As the driver does it: between 1 and 1 + floor(log2(the longest extent)). */
static unsigned clamp_levels(const struct shape *shape, unsigned nr_levels)
{
	uint64_t longest = shape->width > shape->height ? shape->width : shape->height;
	unsigned most = 1;

	if (!shape->is_layered && shape->depth > longest)
		longest = shape->depth;
	while (longest >>= 1)
		most++;
	if (!nr_levels)
		return 1;
	return nr_levels < most ? nr_levels : most;
}

static uint64_t add_levels(const struct shape *shape, unsigned nr_levels)
{
	uint64_t size = 0;

	nr_levels = clamp_levels(shape, nr_levels);
	for (unsigned l = 0; l < nr_levels; l++) {
		uint64_t width = round_up(get_level(shape->width, l), shape->block_side);
		uint64_t height = round_up(get_level(shape->height, l), shape->block_side);
		uint64_t depth = get_level(shape->depth, shape->is_layered ? 0 : l);
		uint64_t bits = multiply(multiply(multiply(width, height), depth), shape->nr_bits);

		if (bits == UINT64_MAX || size > UINT64_MAX - bits / 8 - 1)
			return UINT64_MAX;
		size += bits / 8 + (bits % 8 != 0);
	}
	return size;
}

/* Bits of an element whatever its channels are; 0: it depends on them. */
static unsigned get_fixed_bits(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM:
		return 4;
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X1:
	case CU_AD_FORMAT_BC2_UNORM:
	case CU_AD_FORMAT_BC2_UNORM_SRGB:
	case CU_AD_FORMAT_BC3_UNORM:
	case CU_AD_FORMAT_BC3_UNORM_SRGB:
	case CU_AD_FORMAT_BC5_UNORM:
	case CU_AD_FORMAT_BC5_SNORM:
	case CU_AD_FORMAT_BC6H_UF16:
	case CU_AD_FORMAT_BC6H_SF16:
	case CU_AD_FORMAT_BC7_UNORM:
	case CU_AD_FORMAT_BC7_UNORM_SRGB:
		return 8;
	case CU_AD_FORMAT_NV12: /* 4:2:0: a plane, and two of a quarter each */
		return 12;
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X1:
	case CU_AD_FORMAT_NV16: /* 4:2:2: a plane, and two of a half each */
	case CU_AD_FORMAT_YUY2:
		return 16;
	case CU_AD_FORMAT_P010:
	case CU_AD_FORMAT_P016:
	case CU_AD_FORMAT_Y444_PLANAR8:
	case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
		return 24;
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X4:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X2:
	case CU_AD_FORMAT_P210:
	case CU_AD_FORMAT_P216:
	case CU_AD_FORMAT_Y210:
	case CU_AD_FORMAT_Y216:
	case CU_AD_FORMAT_AYUV:
	case CU_AD_FORMAT_Y410:
	case CU_AD_FORMAT_UNORM_INT_101010_2:
		return 32;
	case CU_AD_FORMAT_Y444_PLANAR10:
	case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
		return 48;
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X4:
	case CU_AD_FORMAT_Y416:
		return 64;
	default:
		return 0;
	}
}

static unsigned get_channel_bits(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 16;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 32;
	default: /* 8-bit integers, and what comes after this was written */
		return 8;
	}
}

uint64_t vs_array_size_get(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned nr_levels)
{
	unsigned bits = get_fixed_bits(descriptor->Format);
	bool is_compressed = descriptor->Format >= CU_AD_FORMAT_BC1_UNORM &&
			     descriptor->Format <= CU_AD_FORMAT_BC7_UNORM_SRGB;
	struct shape shape = {
		.width = descriptor->Width,
		.height = descriptor->Height,
		.depth = descriptor->Depth,
		.nr_bits = bits ? bits
				: (uint64_t)get_channel_bits(descriptor->Format) *
					   descriptor->NumChannels,
		.block_side = is_compressed ? 4 : 1,
		.is_layered = descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP),
	};

	if (descriptor->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	return add_levels(&shape, nr_levels);
}

uint64_t vs_array_size_get_by_bits(const struct cudaChannelFormatDesc *element,
				   struct cudaExtent extent, unsigned flags, unsigned nr_levels)
{
	uint64_t bits = (uint64_t)element->x + (uint64_t)element->y + (uint64_t)element->z +
			(uint64_t)element->w;
	struct shape shape = {
		.width = extent.width,
		.height = extent.height,
		.depth = extent.depth,
		.nr_bits = bits,
		.block_side = 1,
		.is_layered = flags & (cudaArrayLayered | cudaArrayCubemap),
	};

	if (flags & (cudaArraySparse | cudaArrayDeferredMapping))
		return 0;
	return add_levels(&shape, nr_levels);
}
