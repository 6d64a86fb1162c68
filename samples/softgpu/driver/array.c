#include "array.h"

#include <string.h>

#include "array_limits.h"
#include "memory.h"
#include "object.h"

#define TILE_WIDTH  64 /* bytes */
#define TILE_HEIGHT 8  /* rows */
#define LEVEL_UNIT  512

#define KNOWN_FLAGS                                                                            \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |             \
	 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |                            \
	 CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | \
	 CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)
#define LATE_FLAGS (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Sizes are small (array_limits.h has checked them): nothing here can overflow 64 bits. */
static void lay_out(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, const struct sg_array_format *format,
		    struct sg_array_layout *layout)
{
	size_t side = format->unit_side;

	layout->unit_size = format->unit_size;
	layout->row_size = (descriptor->Width + side - 1) / side * format->unit_size;
	layout->nr_rows = descriptor->Height ? (descriptor->Height + side - 1) / side : 1;
	layout->nr_slices = descriptor->Depth ? descriptor->Depth : 1;
	layout->pitch = round_up(layout->row_size, TILE_WIDTH);
	layout->rows_of_slice =
		layout->nr_rows > 1 ? round_up(layout->nr_rows, TILE_HEIGHT) : layout->nr_rows;
	layout->size = layout->pitch * layout->rows_of_slice * layout->nr_slices;
}

static CUDA_ARRAY3D_DESCRIPTOR describe_plane(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
					      const struct sg_array_plane *plane)
{
	CUDA_ARRAY3D_DESCRIPTOR described = *descriptor;

	described.Format = plane->format;
	described.NumChannels = plane->nr_channels;
	described.Width = (descriptor->Width + plane->divide_width - 1) / plane->divide_width;
	described.Height = (descriptor->Height + plane->divide_height - 1) / plane->divide_height;
	return described;
}

static CUDA_ARRAY3D_DESCRIPTOR describe_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
					      unsigned level)
{
	CUDA_ARRAY3D_DESCRIPTOR described = *descriptor;
	bool is_layered = descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	/* An extent that there is does not go below 1; one that there is not stays 0. */
	described.Width = descriptor->Width >> level ? descriptor->Width >> level : 1;
	if (descriptor->Height)
		described.Height = descriptor->Height >> level ? descriptor->Height >> level : 1;
	if (descriptor->Depth && !is_layered)
		described.Depth = descriptor->Depth >> level ? descriptor->Depth >> level : 1;
	return described;
}

/* The array and its planes without memory, or NULL. */
static struct sg_array *make(struct sg_context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
			     bool is_part)
{
	struct sg_array made = {.descriptor = *descriptor, .context = context, .is_part = is_part};
	struct sg_array_format format;
	struct sg_array *array;

	if (!sg_array_format_get(descriptor->Format, descriptor->NumChannels, &format))
		return NULL;
	if (!format.nr_planes)
		lay_out(descriptor, &format, &made.layout);
	for (unsigned i = 0; i < format.nr_planes; i++) {
		CUDA_ARRAY3D_DESCRIPTOR plane = describe_plane(descriptor, &format.planes[i]);

		made.planes[i] = make(context, &plane, true);
		if (!made.planes[i])
			goto destroy_planes;
		made.layout.size += round_up(made.planes[i]->layout.size, LEVEL_UNIT);
	}
	array = sg_object_create_from(SG_OBJECT_ARRAY, &made, sizeof(made));
	if (array)
		return array;
destroy_planes:
	for (unsigned i = 0; i < SG_MAX_PLANES && made.planes[i]; i++)
		sg_object_destroy(SG_OBJECT_ARRAY, made.planes[i]);
	return NULL;
}

static void unmake(struct sg_array *array)
{
	for (unsigned i = 0; i < SG_MAX_PLANES && array->planes[i]; i++)
		sg_object_destroy(SG_OBJECT_ARRAY, array->planes[i]);
	sg_object_destroy(SG_OBJECT_ARRAY, array);
}

static void set_address(struct sg_array *array, CUdeviceptr address)
{
	array->address = address;
	for (unsigned i = 0; i < SG_MAX_PLANES && array->planes[i]; i++) {
		array->planes[i]->address = address;
		address += round_up(array->planes[i]->layout.size, LEVEL_UNIT);
	}
}

static CUresult check(struct sg_context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
		      bool is_mipmap)
{
	struct sg_array_format format;

	if (descriptor->Flags & ~(unsigned)KNOWN_FLAGS ||
	    !sg_array_format_get(descriptor->Format, descriptor->NumChannels, &format) ||
	    !sg_array_limits_allow(context->device, descriptor, is_mipmap))
		return CUDA_ERROR_INVALID_VALUE;
	/* Planes and blocks of elements want rows. */
	if ((format.nr_planes || format.unit_side > 1) && !descriptor->Height)
		return CUDA_ERROR_INVALID_VALUE;
	return descriptor->Flags & LATE_FLAGS ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static void free_memory(CUdeviceptr address)
{
	/* Gone already if its context went first. */
	if (sg_memory_free(address, SG_MEMORY_IS(SG_MEMORY_ARRAY)) != CUDA_SUCCESS)
		return;
}

CUresult sg_array_create(struct sg_context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
			 struct sg_array **array)
{
	CUdeviceptr address;
	struct sg_array *made;
	CUresult result = check(context, descriptor, false);

	if (result != CUDA_SUCCESS)
		return result;
	made = make(context, descriptor, false);
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sg_memory_alloc(SG_MEMORY_ARRAY, context, made->layout.size, 0, &address);
	if (result != CUDA_SUCCESS) {
		unmake(made);
		return result;
	}
	set_address(made, address);
	*array = made;
	return CUDA_SUCCESS;
}

/* 1 + floor(log2(the longest extent)), or less. */
static unsigned clamp_levels(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned nr_levels)
{
	bool is_layered = descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	size_t longest = descriptor->Width;
	unsigned most = 1;

	if (descriptor->Height > longest)
		longest = descriptor->Height;
	if (!is_layered && descriptor->Depth > longest)
		longest = descriptor->Depth;
	while (longest >>= 1)
		most++;
	if (!nr_levels)
		return 1;
	return nr_levels < most ? nr_levels : most;
}

static void unmake_levels(struct sg_mipmap *mipmap)
{
	for (unsigned i = 0; i < mipmap->nr_levels; i++)
		unmake(mipmap->levels[i]);
}

/* The levels without memory; *size is what they need. */
static bool make_levels(struct sg_mipmap *mipmap, unsigned nr_levels, uint64_t *size)
{
	*size = 0;
	for (unsigned i = 0; i < nr_levels; i++) {
		CUDA_ARRAY3D_DESCRIPTOR level = describe_level(&mipmap->descriptor, i);

		mipmap->levels[i] = make(mipmap->context, &level, true);
		if (!mipmap->levels[i])
			return false;
		mipmap->nr_levels = i + 1;
		*size += round_up(mipmap->levels[i]->layout.size, LEVEL_UNIT);
	}
	return true;
}

CUresult sg_array_create_mipmap(struct sg_context *context,
				const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned nr_levels,
				struct sg_mipmap **mipmap)
{
	struct sg_mipmap made = {.descriptor = *descriptor, .context = context};
	CUdeviceptr address;
	uint64_t size;
	CUresult result = check(context, descriptor, true);

	if (result != CUDA_SUCCESS)
		return result;
	result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!make_levels(&made, clamp_levels(descriptor, nr_levels), &size))
		goto unmake;
	result = sg_memory_alloc(SG_MEMORY_ARRAY, context, size, 0, &made.address);
	if (result != CUDA_SUCCESS)
		goto unmake;
	address = made.address;
	for (unsigned i = 0; i < made.nr_levels; i++) {
		set_address(made.levels[i], address);
		address += round_up(made.levels[i]->layout.size, LEVEL_UNIT);
	}
	*mipmap = sg_object_create_from(SG_OBJECT_MIPMAP, &made, sizeof(made));
	if (*mipmap)
		return CUDA_SUCCESS;
	result = CUDA_ERROR_OUT_OF_MEMORY;
	free_memory(made.address);
unmake:
	unmake_levels(&made);
	return result;
}

void sg_array_destroy(struct sg_array *array)
{
	CUdeviceptr address = array->address;

	unmake(array);
	free_memory(address);
}

void sg_array_destroy_mipmap(struct sg_mipmap *mipmap)
{
	CUdeviceptr address = mipmap->address;

	unmake_levels(mipmap);
	sg_object_destroy(SG_OBJECT_MIPMAP, mipmap);
	free_memory(address);
}

struct sg_array *sg_array_get(CUarray handle)
{
	return sg_object_get(SG_OBJECT_ARRAY, handle);
}

struct sg_mipmap *sg_array_get_mipmap(CUmipmappedArray handle)
{
	return sg_object_get(SG_OBJECT_MIPMAP, handle);
}

static void forget_array(void *object, void *context)
{
	struct sg_array *array = object;

	if (array->context == context)
		sg_object_destroy(SG_OBJECT_ARRAY, array);
}

static void forget_mipmap(void *object, void *context)
{
	struct sg_mipmap *mipmap = object;

	if (mipmap->context == context)
		sg_object_destroy(SG_OBJECT_MIPMAP, mipmap);
}

void sg_array_destroy_all(struct sg_context *context)
{
	sg_object_for_each(SG_OBJECT_MIPMAP, forget_mipmap, context);
	sg_object_for_each(SG_OBJECT_ARRAY, forget_array, context);
}
