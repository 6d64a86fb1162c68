#include "rt_channel.h"

#include <string.h>

/* Formats of one kind each: the channels are part of it. */
struct fixed {
	enum cudaChannelFormatKind kind;
	CUarray_format format;
	unsigned char nr_channels;
	unsigned char unit_size;
	unsigned char unit_side;
	unsigned char bits[4];
};

static const struct fixed fixed_formats[] = {
#define NORMALIZED(kind, format, nr, size, ...)                                  \
	{                                                                        \
		cudaChannelFormatKind##kind, CU_AD_FORMAT_##format, nr, size, 1, \
		{                                                                \
			__VA_ARGS__                                              \
		}                                                                \
	}
	NORMALIZED(UnsignedNormalized8X1, UNORM_INT8X1, 1, 1, 8),
	NORMALIZED(UnsignedNormalized8X2, UNORM_INT8X2, 2, 2, 8, 8),
	NORMALIZED(UnsignedNormalized8X4, UNORM_INT8X4, 4, 4, 8, 8, 8, 8),
	NORMALIZED(UnsignedNormalized16X1, UNORM_INT16X1, 1, 2, 16),
	NORMALIZED(UnsignedNormalized16X2, UNORM_INT16X2, 2, 4, 16, 16),
	NORMALIZED(UnsignedNormalized16X4, UNORM_INT16X4, 4, 8, 16, 16, 16, 16),
	NORMALIZED(SignedNormalized8X1, SNORM_INT8X1, 1, 1, 8),
	NORMALIZED(SignedNormalized8X2, SNORM_INT8X2, 2, 2, 8, 8),
	NORMALIZED(SignedNormalized8X4, SNORM_INT8X4, 4, 4, 8, 8, 8, 8),
	NORMALIZED(SignedNormalized16X1, SNORM_INT16X1, 1, 2, 16),
	NORMALIZED(SignedNormalized16X2, SNORM_INT16X2, 2, 4, 16, 16),
	NORMALIZED(SignedNormalized16X4, SNORM_INT16X4, 4, 8, 16, 16, 16, 16),
	NORMALIZED(UnsignedNormalized1010102, UNORM_INT_101010_2, 4, 4, 10, 10, 10, 2),
#undef NORMALIZED
/* Bits as the templates of channel_descriptor.h have them: of what comes out. */
#define COMPRESSED(kind, format, nr, size, ...)                                  \
	{                                                                        \
		cudaChannelFormatKind##kind, CU_AD_FORMAT_##format, nr, size, 4, \
		{                                                                \
			__VA_ARGS__                                              \
		}                                                                \
	}
	COMPRESSED(UnsignedBlockCompressed1, BC1_UNORM, 4, 8, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed1SRGB, BC1_UNORM_SRGB, 4, 8, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed2, BC2_UNORM, 4, 16, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed2SRGB, BC2_UNORM_SRGB, 4, 16, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed3, BC3_UNORM, 4, 16, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed3SRGB, BC3_UNORM_SRGB, 4, 16, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed4, BC4_UNORM, 1, 8, 8),
	COMPRESSED(SignedBlockCompressed4, BC4_SNORM, 1, 8, 8),
	COMPRESSED(UnsignedBlockCompressed5, BC5_UNORM, 2, 16, 8, 8),
	COMPRESSED(SignedBlockCompressed5, BC5_SNORM, 2, 16, 8, 8),
	COMPRESSED(UnsignedBlockCompressed6H, BC6H_UF16, 3, 16, 16, 16, 16),
	COMPRESSED(SignedBlockCompressed6H, BC6H_SF16, 3, 16, 16, 16, 16),
	COMPRESSED(UnsignedBlockCompressed7, BC7_UNORM, 4, 16, 8, 8, 8, 8),
	COMPRESSED(UnsignedBlockCompressed7SRGB, BC7_UNORM_SRGB, 4, 16, 8, 8, 8, 8),
#undef COMPRESSED
	{cudaChannelFormatKindNV12, CU_AD_FORMAT_NV12, 3, 0, 1, {8, 8, 8, 0}},
};

/* Formats of up to four equal channels. */
struct plain {
	enum cudaChannelFormatKind kind;
	int bits;
	CUarray_format format;
};

static const struct plain plain_formats[] = {
	{cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
	{cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
	{cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
	{cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
	{cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
	{cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
	{cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
	{cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

static void describe_fixed(const struct fixed *fixed, struct sg_rt_element *element)
{
	*element = (struct sg_rt_element){
		.format = fixed->format,
		.nr_channels = fixed->nr_channels,
		.unit_size = fixed->unit_size,
		.unit_side = fixed->unit_side,
		.desc = {fixed->bits[0], fixed->bits[1], fixed->bits[2], fixed->bits[3],
			 fixed->kind},
	};
}

static void describe_plain(const struct plain *plain, unsigned nr_channels,
			   struct sg_rt_element *element)
{
	*element = (struct sg_rt_element){
		.format = plain->format,
		.nr_channels = nr_channels,
		.unit_size = (unsigned)plain->bits / 8 * nr_channels,
		.unit_side = 1,
		.desc = {plain->bits, nr_channels > 1 ? plain->bits : 0,
			 nr_channels > 2 ? plain->bits : 0, nr_channels > 2 ? plain->bits : 0,
			 plain->kind},
	};
}

/* One, two or four channels of the same width, or 0. */
static unsigned count_channels(const struct cudaChannelFormatDesc *desc)
{
	if (desc->y == 0)
		return desc->z == 0 && desc->w == 0 ? 1 : 0;
	if (desc->y != desc->x)
		return 0;
	if (desc->z == 0)
		return desc->w == 0 ? 2 : 0;
	return desc->z == desc->x && desc->w == desc->x ? 4 : 0;
}

cudaError_t sg_rt_channel_from_desc(const struct cudaChannelFormatDesc *desc,
				    struct sg_rt_element *element)
{
	unsigned nr_channels = count_channels(desc);
	size_t i;

	for (i = 0; i < sizeof(fixed_formats) / sizeof(fixed_formats[0]); i++) {
		if (fixed_formats[i].kind == desc->f) {
			describe_fixed(&fixed_formats[i], element);
			return cudaSuccess;
		}
	}
	for (i = 0; i < sizeof(plain_formats) / sizeof(plain_formats[0]) && nr_channels; i++) {
		if (plain_formats[i].kind == desc->f && plain_formats[i].bits == desc->x) {
			describe_plain(&plain_formats[i], nr_channels, element);
			return cudaSuccess;
		}
	}
	return cudaErrorInvalidChannelDescriptor;
}

cudaError_t sg_rt_channel_from_format(CUarray_format format, unsigned nr_channels,
				      struct sg_rt_element *element)
{
	size_t i;

	for (i = 0; i < sizeof(fixed_formats) / sizeof(fixed_formats[0]); i++) {
		if (fixed_formats[i].format == format) {
			describe_fixed(&fixed_formats[i], element);
			return cudaSuccess;
		}
	}
	for (i = 0; i < sizeof(plain_formats) / sizeof(plain_formats[0]); i++) {
		if (plain_formats[i].format == format) {
			describe_plain(&plain_formats[i], nr_channels, element);
			return cudaSuccess;
		}
	}
	return cudaErrorInvalidChannelDescriptor;
}

cudaError_t sg_rt_channel_of_array(cudaArray_const_t array, struct sg_rt_element *element,
				   CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	CUarray handle = (CUarray)(uintptr_t)array;
	CUDA_ARRAY3D_DESCRIPTOR found;
	cudaError_t error;

	memset(&found, 0, sizeof(found));
	error = SG_DRIVER(cuArray3DGetDescriptor_v3020, &found, handle);
	if (error)
		return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidValue : error;
	if (shape)
		*shape = found;
	return sg_rt_channel_from_format(found.Format, found.NumChannels, element);
}
