#include "array_format.h"

#define MAX_CHANNELS 4

/* Formats whose units are the same whatever is said about channels. */
struct fixed {
	CUarray_format format;
	unsigned char unit_size;
	unsigned char unit_side;
};

static const struct fixed fixed_formats[] = {
	{CU_AD_FORMAT_UNORM_INT8X1, 1, 1},
	{CU_AD_FORMAT_UNORM_INT8X2, 2, 1},
	{CU_AD_FORMAT_UNORM_INT8X4, 4, 1},
	{CU_AD_FORMAT_UNORM_INT16X1, 2, 1},
	{CU_AD_FORMAT_UNORM_INT16X2, 4, 1},
	{CU_AD_FORMAT_UNORM_INT16X4, 8, 1},
	{CU_AD_FORMAT_SNORM_INT8X1, 1, 1},
	{CU_AD_FORMAT_SNORM_INT8X2, 2, 1},
	{CU_AD_FORMAT_SNORM_INT8X4, 4, 1},
	{CU_AD_FORMAT_SNORM_INT16X1, 2, 1},
	{CU_AD_FORMAT_SNORM_INT16X2, 4, 1},
	{CU_AD_FORMAT_SNORM_INT16X4, 8, 1},
	{CU_AD_FORMAT_BC1_UNORM, 8, 4},
	{CU_AD_FORMAT_BC1_UNORM_SRGB, 8, 4},
	{CU_AD_FORMAT_BC2_UNORM, 16, 4},
	{CU_AD_FORMAT_BC2_UNORM_SRGB, 16, 4},
	{CU_AD_FORMAT_BC3_UNORM, 16, 4},
	{CU_AD_FORMAT_BC3_UNORM_SRGB, 16, 4},
	{CU_AD_FORMAT_BC4_UNORM, 8, 4},
	{CU_AD_FORMAT_BC4_SNORM, 8, 4},
	{CU_AD_FORMAT_BC5_UNORM, 16, 4},
	{CU_AD_FORMAT_BC5_SNORM, 16, 4},
	{CU_AD_FORMAT_BC6H_UF16, 16, 4},
	{CU_AD_FORMAT_BC6H_SF16, 16, 4},
	{CU_AD_FORMAT_BC7_UNORM, 16, 4},
	{CU_AD_FORMAT_BC7_UNORM_SRGB, 16, 4},
	/* 4:2:2 packed: two bytes, or two words, for each element */
	{CU_AD_FORMAT_YUY2, 2, 1},
	{CU_AD_FORMAT_Y210, 4, 1},
	{CU_AD_FORMAT_Y216, 4, 1},
	{CU_AD_FORMAT_AYUV, 4, 1},
	{CU_AD_FORMAT_Y410, 4, 1},
	{CU_AD_FORMAT_Y416, 8, 1},
	{CU_AD_FORMAT_UNORM_INT_101010_2, 4, 1},
};

/* Formats of a plane of brightness and one of both colours, or of three planes alike. */
struct planar {
	CUarray_format format;
	unsigned char channel_size;
	unsigned char nr_planes;
	unsigned char divide_width, divide_height; /* of the colours */
};

static const struct planar planar_formats[] = {
	{CU_AD_FORMAT_NV12, 1, 2, 2, 2},
	{CU_AD_FORMAT_P010, 2, 2, 2, 2},
	{CU_AD_FORMAT_P016, 2, 2, 2, 2},
	{CU_AD_FORMAT_NV16, 1, 2, 2, 1},
	{CU_AD_FORMAT_P210, 2, 2, 2, 1},
	{CU_AD_FORMAT_P216, 2, 2, 2, 1},
	{CU_AD_FORMAT_YUV444_8bit_SemiPlanar, 1, 2, 1, 1},
	{CU_AD_FORMAT_YUV444_16bit_SemiPlanar, 2, 2, 1, 1},
	{CU_AD_FORMAT_Y444_PLANAR8, 1, 3, 1, 1},
	{CU_AD_FORMAT_Y444_PLANAR10, 2, 3, 1, 1},
};

/* Bytes of a channel, 0: not a format of channels. */
static unsigned get_channel_size(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static void describe_planes(const struct planar *planar, struct sg_array_format *description)
{
	*description = (struct sg_array_format){.unit_side = 1, .nr_planes = planar->nr_planes};
	for (unsigned i = 0; i < planar->nr_planes; i++)
		description->planes[i] = (struct sg_array_plane){
			.format = planar->channel_size == 1 ? CU_AD_FORMAT_UNSIGNED_INT8
							    : CU_AD_FORMAT_UNSIGNED_INT16,
			.nr_channels = i && planar->nr_planes == 2 ? 2 : 1,
			.divide_width = i ? planar->divide_width : 1,
			.divide_height = i ? planar->divide_height : 1,
		};
}

bool sg_array_format_get(CUarray_format format, unsigned nr_channels,
			 struct sg_array_format *description)
{
	unsigned size = get_channel_size(format);

	if (size) {
		*description =
			(struct sg_array_format){.unit_size = size * nr_channels, .unit_side = 1};
		return nr_channels == 1 || nr_channels == 2 || nr_channels == 4;
	}
	if (!nr_channels || nr_channels > MAX_CHANNELS)
		return false;
	for (size_t i = 0; i < SG_LENGTH(fixed_formats); i++) {
		if (fixed_formats[i].format == format) {
			*description = (struct sg_array_format){
				.unit_size = fixed_formats[i].unit_size,
				.unit_side = fixed_formats[i].unit_side,
			};
			return true;
		}
	}
	for (size_t i = 0; i < SG_LENGTH(planar_formats); i++) {
		if (planar_formats[i].format == format) {
			describe_planes(&planar_formats[i], description);
			return true;
		}
	}
	return false;
}
