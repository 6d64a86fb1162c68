#include "array_limits.h"

#include "device_attribute.h"

enum kind {
	KIND_1D,
	KIND_2D,
	KIND_3D,
	KIND_1D_LAYERED,
	KIND_2D_LAYERED,
	KIND_CUBEMAP,
	KIND_CUBEMAP_LAYERED,
	KIND_NONE
};

#define NR_FACES 6
#define ATTR(a)  CU_DEVICE_ATTRIBUTE_MAXIMUM_##a
#define ABSENT   0 /* no attribute has this number: the kind has no such extent */

/* The attributes that limit width, height and depth. */
struct limits {
	int width, height, depth;
};

static const struct limits texture_limits[] = {
	[KIND_1D] = {ATTR(TEXTURE1D_WIDTH), ABSENT, ABSENT},
	[KIND_2D] = {ATTR(TEXTURE2D_WIDTH), ATTR(TEXTURE2D_HEIGHT), ABSENT},
	[KIND_3D] = {ATTR(TEXTURE3D_WIDTH), ATTR(TEXTURE3D_HEIGHT), ATTR(TEXTURE3D_DEPTH)},
	[KIND_1D_LAYERED] = {ATTR(TEXTURE1D_LAYERED_WIDTH), ABSENT, ATTR(TEXTURE1D_LAYERED_LAYERS)},
	[KIND_2D_LAYERED] = {ATTR(TEXTURE2D_LAYERED_WIDTH), ATTR(TEXTURE2D_LAYERED_HEIGHT),
			     ATTR(TEXTURE2D_LAYERED_LAYERS)},
	/* six faces are allowed by the kind itself */
	[KIND_CUBEMAP] = {ATTR(TEXTURECUBEMAP_WIDTH), ATTR(TEXTURECUBEMAP_WIDTH),
			  ATTR(TEXTURECUBEMAP_LAYERED_LAYERS)},
	[KIND_CUBEMAP_LAYERED] = {ATTR(TEXTURECUBEMAP_LAYERED_WIDTH),
				  ATTR(TEXTURECUBEMAP_LAYERED_WIDTH),
				  ATTR(TEXTURECUBEMAP_LAYERED_LAYERS)},
};

static const struct limits surface_limits[] = {
	[KIND_1D] = {ATTR(SURFACE1D_WIDTH), ABSENT, ABSENT},
	[KIND_2D] = {ATTR(SURFACE2D_WIDTH), ATTR(SURFACE2D_HEIGHT), ABSENT},
	[KIND_3D] = {ATTR(SURFACE3D_WIDTH), ATTR(SURFACE3D_HEIGHT), ATTR(SURFACE3D_DEPTH)},
	[KIND_1D_LAYERED] = {ATTR(SURFACE1D_LAYERED_WIDTH), ABSENT, ATTR(SURFACE1D_LAYERED_LAYERS)},
	[KIND_2D_LAYERED] = {ATTR(SURFACE2D_LAYERED_WIDTH), ATTR(SURFACE2D_LAYERED_HEIGHT),
			     ATTR(SURFACE2D_LAYERED_LAYERS)},
	[KIND_CUBEMAP] = {ATTR(SURFACECUBEMAP_WIDTH), ATTR(SURFACECUBEMAP_WIDTH),
			  ATTR(SURFACECUBEMAP_LAYERED_LAYERS)},
	[KIND_CUBEMAP_LAYERED] = {ATTR(SURFACECUBEMAP_LAYERED_WIDTH),
				  ATTR(SURFACECUBEMAP_LAYERED_WIDTH),
				  ATTR(SURFACECUBEMAP_LAYERED_LAYERS)},
};

static const struct limits alternate_3d = {ATTR(TEXTURE3D_WIDTH_ALTERNATE),
					   ATTR(TEXTURE3D_HEIGHT_ALTERNATE),
					   ATTR(TEXTURE3D_DEPTH_ALTERNATE)};
static const struct limits gather_2d = {ATTR(TEXTURE2D_GATHER_WIDTH), ATTR(TEXTURE2D_GATHER_HEIGHT),
					ABSENT};
static const struct limits mipmap_1d = {ATTR(TEXTURE1D_MIPMAPPED_WIDTH), ABSENT, ABSENT};
static const struct limits mipmap_2d = {ATTR(TEXTURE2D_MIPMAPPED_WIDTH),
					ATTR(TEXTURE2D_MIPMAPPED_HEIGHT), ABSENT};

static enum kind get_kind(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	bool is_layered = descriptor->Flags & CUDA_ARRAY3D_LAYERED;
	bool has_height = descriptor->Height, has_depth = descriptor->Depth;

	if (descriptor->Flags & CUDA_ARRAY3D_CUBEMAP) {
		if (!has_height || descriptor->Width != descriptor->Height || !has_depth ||
		    descriptor->Depth % NR_FACES || (!is_layered && descriptor->Depth != NR_FACES))
			return KIND_NONE;
		return is_layered ? KIND_CUBEMAP_LAYERED : KIND_CUBEMAP;
	}
	if (is_layered && has_depth)
		return has_height ? KIND_2D_LAYERED : KIND_1D_LAYERED;
	if (is_layered || (has_depth && !has_height))
		return KIND_NONE;
	if (has_depth)
		return KIND_3D;
	return has_height ? KIND_2D : KIND_1D;
}

static bool is_within(CUdevice device, size_t extent, int attribute)
{
	if (attribute == ABSENT)
		return !extent;
	return extent <= (size_t)sg_device_attribute_get(device, (CUdevice_attribute)attribute);
}

static bool fits(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
		 const struct limits *limits)
{
	return is_within(device, descriptor->Width, limits->width) &&
	       is_within(device, descriptor->Height, limits->height) &&
	       is_within(device, descriptor->Depth, limits->depth);
}

bool sg_array_limits_allow(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
			   bool is_mipmap)
{
	enum kind kind = get_kind(descriptor);
	const struct limits *limits;

	if (kind == KIND_NONE || !descriptor->Width)
		return false;
	limits = &texture_limits[kind];
	if (descriptor->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) {
		if (kind != KIND_2D)
			return false;
		limits = &gather_2d;
	} else if (is_mipmap && kind == KIND_1D) {
		limits = &mipmap_1d;
	} else if (is_mipmap && kind == KIND_2D) {
		limits = &mipmap_2d;
	}
	if (!fits(device, descriptor, limits) &&
	    (kind != KIND_3D || !fits(device, descriptor, &alternate_3d)))
		return false;
	return !(descriptor->Flags & CUDA_ARRAY3D_SURFACE_LDST) ||
	       fits(device, descriptor, &surface_limits[kind]);
}
