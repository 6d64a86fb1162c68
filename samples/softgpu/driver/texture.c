#include "texture.h"

#include "array.h"
#include "bytes.h"
#include "device_attribute.h"
#include "object.h"

#define MAX_ANISOTROPY 16
#define KNOWN_FLAGS                                                                \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
	 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

struct texture {
	struct sg_context *context;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUDA_RESOURCE_VIEW_DESC view;
	bool has_view;
};

struct surface {
	struct sg_context *context;
	CUDA_RESOURCE_DESC resource;
};

static size_t get_limit(const struct sg_context *context, CUdevice_attribute attribute)
{
	return (size_t)sg_device_attribute_get(context->device, attribute);
}

/* cuda.h wants a valid pointer, and does not say that all of the texture must be behind it. */
static bool is_device_memory(CUdeviceptr address)
{
	return sg_bytes_check(address, 1, SG_BYTES_DEVICE, false);
}

/* Plain formats only: memory has no planes and no blocks. */
static bool get_element_size(CUarray_format format, unsigned nr_channels, size_t *size)
{
	struct sg_array_format description;

	if (!sg_array_format_get(format, nr_channels, &description) || description.nr_planes ||
	    description.unit_side != 1)
		return false;
	*size = description.unit_size;
	return true;
}

static bool is_linear_valid(const struct sg_context *context, const CUDA_RESOURCE_DESC *resource)
{
	CUdeviceptr address = resource->res.linear.devPtr;
	size_t size = resource->res.linear.sizeInBytes, element;

	return get_element_size(resource->res.linear.format, resource->res.linear.numChannels,
				&element) &&
	       size >= element &&
	       size / element <=
		       get_limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH) &&
	       address % get_limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0 &&
	       is_device_memory(address);
}

static bool is_pitched_valid(const struct sg_context *context, const CUDA_RESOURCE_DESC *resource)
{
	CUdeviceptr address = resource->res.pitch2D.devPtr;
	size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height;
	size_t pitch = resource->res.pitch2D.pitchInBytes, element;

	if (!get_element_size(resource->res.pitch2D.format, resource->res.pitch2D.numChannels,
			      &element) ||
	    !width || !height ||
	    width > get_limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
	    height > get_limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
	    pitch > get_limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH))
		return false;
	return pitch % get_limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) == 0 &&
	       width * element <= pitch &&
	       address % get_limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0 &&
	       is_device_memory(address);
}

/* Whether it describes something. *flags becomes those the array was made with. */
static bool is_resource_valid(const struct sg_context *context, const CUDA_RESOURCE_DESC *resource,
			      unsigned *flags)
{
	const struct sg_array *array;
	const struct sg_mipmap *mipmap;

	*flags = 0;
	if (resource->flags)
		return false;
	switch (resource->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		array = sg_array_get(resource->res.array.hArray);
		if (array)
			*flags = array->descriptor.Flags;
		return array;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		mipmap = sg_array_get_mipmap(resource->res.mipmap.hMipmappedArray);
		if (mipmap)
			*flags = mipmap->descriptor.Flags;
		return mipmap;
	case CU_RESOURCE_TYPE_LINEAR:
		return is_linear_valid(context, resource);
	case CU_RESOURCE_TYPE_PITCH2D:
		return is_pitched_valid(context, resource);
	default:
		return false;
	}
}

static bool is_sampling_valid(const CUDA_TEXTURE_DESC *sampling, CUresourcetype type,
			      unsigned array_flags)
{
	if (sampling->flags & ~(unsigned)KNOWN_FLAGS)
		return false;
	if (type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
	    !(sampling->flags & CU_TRSF_NORMALIZED_COORDINATES))
		return false;
	if (sampling->flags & CU_TRSF_SEAMLESS_CUBEMAP && !(array_flags & CUDA_ARRAY3D_CUBEMAP))
		return false;
	if (type == CU_RESOURCE_TYPE_LINEAR)
		return true; /* modes are ignored */
	for (size_t i = 0; i < SG_LENGTH(sampling->addressMode); i++)
		if ((unsigned)sampling->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return false;
	return (unsigned)sampling->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
	       (unsigned)sampling->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR;
}

/* Another look at an array; memory has only one. */
static bool is_view_valid(const CUDA_RESOURCE_VIEW_DESC *view, CUresourcetype type)
{
	return (type == CU_RESOURCE_TYPE_ARRAY || type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) &&
	       (unsigned)view->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7 &&
	       view->firstMipmapLevel <= view->lastMipmapLevel &&
	       view->firstLayer <= view->lastLayer;
}

SG_API CUresult cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
				  const CUDA_TEXTURE_DESC *pTexDesc,
				  const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
	struct sg_context *context;
	struct texture made = {0}, *texture;
	unsigned array_flags;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pTexObject || !pResDesc || !pTexDesc ||
	    !is_resource_valid(context, pResDesc, &array_flags) ||
	    !is_sampling_valid(pTexDesc, pResDesc->resType, array_flags) ||
	    (pResViewDesc && !is_view_valid(pResViewDesc, pResDesc->resType)))
		return CUDA_ERROR_INVALID_VALUE;
	made.context = context;
	made.resource = *pResDesc;
	made.sampling = *pTexDesc;
	if (made.sampling.maxAnisotropy > MAX_ANISOTROPY)
		made.sampling.maxAnisotropy = MAX_ANISOTROPY;
	made.has_view = pResViewDesc;
	if (pResViewDesc)
		made.view = *pResViewDesc;
	texture = sg_object_create_from(SG_OBJECT_TEXTURE, &made, sizeof(made));
	if (!texture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pTexObject = (uintptr_t)texture;
	return CUDA_SUCCESS;
}

/* The object of a handle; what is not one is an invalid value here, not an invalid handle. */
static CUresult get(enum sg_object_type type, unsigned long long handle, void **object)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*object = sg_object_get(type, (const void *)(uintptr_t)handle);
	return *object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_texture(CUtexObject handle, struct texture **texture)
{
	void *object = NULL;
	CUresult result = get(SG_OBJECT_TEXTURE, handle, &object);

	*texture = object;
	return result;
}

static CUresult get_surface(CUsurfObject handle, struct surface **surface)
{
	void *object = NULL;
	CUresult result = get(SG_OBJECT_SURFACE, handle, &object);

	*surface = object;
	return result;
}

SG_API CUresult cuTexObjectDestroy(CUtexObject texObject)
{
	struct texture *texture;
	CUresult result = get_texture(texObject, &texture);

	if (result == CUDA_SUCCESS)
		sg_object_destroy(SG_OBJECT_TEXTURE, texture);
	return result;
}

SG_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
	struct texture *texture;
	CUresult result = get_texture(texObject, &texture);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pResDesc)
		return CUDA_ERROR_INVALID_VALUE;
	*pResDesc = texture->resource;
	return CUDA_SUCCESS;
}

SG_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
	struct texture *texture;
	CUresult result = get_texture(texObject, &texture);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pTexDesc)
		return CUDA_ERROR_INVALID_VALUE;
	*pTexDesc = texture->sampling;
	return CUDA_SUCCESS;
}

SG_API CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
					       CUtexObject texObject)
{
	struct texture *texture;
	CUresult result = get_texture(texObject, &texture);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pResViewDesc || !texture->has_view)
		return CUDA_ERROR_INVALID_VALUE;
	*pResViewDesc = texture->view;
	return CUDA_SUCCESS;
}

SG_API CUresult cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
	struct sg_context *context;
	struct surface *surface;
	unsigned array_flags;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pSurfObject || !pResDesc || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY ||
	    !is_resource_valid(context, pResDesc, &array_flags) ||
	    !(array_flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	surface = sg_object_create_from(
		SG_OBJECT_SURFACE, &(struct surface){.context = context, .resource = *pResDesc},
		sizeof(*surface));
	if (!surface)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pSurfObject = (uintptr_t)surface;
	return CUDA_SUCCESS;
}

SG_API CUresult cuSurfObjectDestroy(CUsurfObject surfObject)
{
	struct surface *surface;
	CUresult result = get_surface(surfObject, &surface);

	if (result == CUDA_SUCCESS)
		sg_object_destroy(SG_OBJECT_SURFACE, surface);
	return result;
}

SG_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
	struct surface *surface;
	CUresult result = get_surface(surfObject, &surface);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pResDesc)
		return CUDA_ERROR_INVALID_VALUE;
	*pResDesc = surface->resource;
	return CUDA_SUCCESS;
}

static void forget_texture(void *object, void *context)
{
	if (((struct texture *)object)->context == context)
		sg_object_destroy(SG_OBJECT_TEXTURE, object);
}

static void forget_surface(void *object, void *context)
{
	if (((struct surface *)object)->context == context)
		sg_object_destroy(SG_OBJECT_SURFACE, object);
}

void sg_texture_destroy_all(struct sg_context *context)
{
	sg_object_for_each(SG_OBJECT_TEXTURE, forget_texture, context);
	sg_object_for_each(SG_OBJECT_SURFACE, forget_surface, context);
}
