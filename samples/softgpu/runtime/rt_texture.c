/* Texture and surface objects: the driver's, described in the runtime's words. */
#include "rt_channel.h"

#include <string.h>

_Static_assert((int)cudaResourceTypePitch2D == (int)CU_RESOURCE_TYPE_PITCH2D &&
		       (int)cudaAddressModeBorder == (int)CU_TR_ADDRESS_MODE_BORDER &&
		       (int)cudaFilterModeLinear == (int)CU_TR_FILTER_MODE_LINEAR,
	       "types and modes have the same numbers");
/* Before 13 without what is reserved at the driver's end. */
_Static_assert((int)cudaResViewFormatUnsignedBlockCompressed7 ==
			       (int)CU_RES_VIEW_FORMAT_UNSIGNED_BC7 &&
		       sizeof(struct cudaResourceViewDesc) <= sizeof(CUDA_RESOURCE_VIEW_DESC) &&
		       offsetof(struct cudaResourceViewDesc, lastLayer) ==
			       offsetof(CUDA_RESOURCE_VIEW_DESC, lastLayer),
	       "views have the same layout");

static cudaError_t resource_to_driver(const struct cudaResourceDesc *resource,
				      CUDA_RESOURCE_DESC *driver)
{
	struct sg_rt_element element = {0};
	cudaError_t error = cudaSuccess;

	memset(driver, 0, sizeof(*driver));
	driver->resType = (CUresourcetype)resource->resType;
#if CUDART_VERSION >= 13000
	driver->flags = resource->flags;
#endif
	switch (resource->resType) {
	case cudaResourceTypeArray:
		driver->res.array.hArray = (CUarray)(void *)resource->res.array.array;
		break;
	case cudaResourceTypeMipmappedArray:
		driver->res.mipmap.hMipmappedArray =
			(CUmipmappedArray)(void *)resource->res.mipmap.mipmap;
		break;
	case cudaResourceTypeLinear:
		error = sg_rt_channel_from_desc(&resource->res.linear.desc, &element);
		driver->res.linear.devPtr = (CUdeviceptr)resource->res.linear.devPtr;
		driver->res.linear.format = element.format;
		driver->res.linear.numChannels = element.nr_channels;
		driver->res.linear.sizeInBytes = resource->res.linear.sizeInBytes;
		break;
	case cudaResourceTypePitch2D:
		error = sg_rt_channel_from_desc(&resource->res.pitch2D.desc, &element);
		driver->res.pitch2D.devPtr = (CUdeviceptr)resource->res.pitch2D.devPtr;
		driver->res.pitch2D.format = element.format;
		driver->res.pitch2D.numChannels = element.nr_channels;
		driver->res.pitch2D.width = resource->res.pitch2D.width;
		driver->res.pitch2D.height = resource->res.pitch2D.height;
		driver->res.pitch2D.pitchInBytes = resource->res.pitch2D.pitchInBytes;
		break;
	default:
		return cudaErrorInvalidValue;
	}
	return error;
}

static cudaError_t resource_from_driver(const CUDA_RESOURCE_DESC *driver,
					struct cudaResourceDesc *resource)
{
	struct sg_rt_element element = {0};
	cudaError_t error = cudaSuccess;

	memset(resource, 0, sizeof(*resource));
	resource->resType = (enum cudaResourceType)driver->resType;
#if CUDART_VERSION >= 13000
	resource->flags = driver->flags;
#endif
	switch (driver->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		resource->res.array.array = (cudaArray_t)(void *)driver->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		resource->res.mipmap.mipmap =
			(cudaMipmappedArray_t)(void *)driver->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		error = sg_rt_channel_from_format(driver->res.linear.format,
						  driver->res.linear.numChannels, &element);
		resource->res.linear.devPtr = (void *)driver->res.linear.devPtr;
		resource->res.linear.desc = element.desc;
		resource->res.linear.sizeInBytes = driver->res.linear.sizeInBytes;
		break;
	default:
		error = sg_rt_channel_from_format(driver->res.pitch2D.format,
						  driver->res.pitch2D.numChannels, &element);
		resource->res.pitch2D.devPtr = (void *)driver->res.pitch2D.devPtr;
		resource->res.pitch2D.desc = element.desc;
		resource->res.pitch2D.width = driver->res.pitch2D.width;
		resource->res.pitch2D.height = driver->res.pitch2D.height;
		resource->res.pitch2D.pitchInBytes = driver->res.pitch2D.pitchInBytes;
	}
	return error;
}

static unsigned get_flags(const struct cudaTextureDesc *sampling)
{
	unsigned flags = 0;

	/* Elements as they are: the driver calls that "as integer", of floats too. */
	if (sampling->readMode == cudaReadModeElementType)
		flags |= CU_TRSF_READ_AS_INTEGER;
	if (sampling->normalizedCoords)
		flags |= CU_TRSF_NORMALIZED_COORDINATES;
	if (sampling->sRGB)
		flags |= CU_TRSF_SRGB;
	if (sampling->disableTrilinearOptimization)
		flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
	if (sampling->seamlessCubemap)
		flags |= CU_TRSF_SEAMLESS_CUBEMAP;
	return flags;
}

static void sampling_to_driver(const struct cudaTextureDesc *sampling, CUDA_TEXTURE_DESC *driver)
{
	memset(driver, 0, sizeof(*driver));
	for (int i = 0; i < 3; i++)
		driver->addressMode[i] = (CUaddress_mode)sampling->addressMode[i];
	driver->filterMode = (CUfilter_mode)sampling->filterMode;
	driver->flags = get_flags(sampling);
	driver->maxAnisotropy = sampling->maxAnisotropy;
	driver->mipmapFilterMode = (CUfilter_mode)sampling->mipmapFilterMode;
	driver->mipmapLevelBias = sampling->mipmapLevelBias;
	driver->minMipmapLevelClamp = sampling->minMipmapLevelClamp;
	driver->maxMipmapLevelClamp = sampling->maxMipmapLevelClamp;
	memcpy(driver->borderColor, sampling->borderColor, sizeof(driver->borderColor));
}

static void sampling_from_driver(const CUDA_TEXTURE_DESC *driver, struct cudaTextureDesc *sampling)
{
	memset(sampling, 0, sizeof(*sampling));
	for (int i = 0; i < 3; i++)
		sampling->addressMode[i] = (enum cudaTextureAddressMode)driver->addressMode[i];
	sampling->filterMode = (enum cudaTextureFilterMode)driver->filterMode;
	sampling->readMode = driver->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
								     : cudaReadModeNormalizedFloat;
	sampling->sRGB = (driver->flags & CU_TRSF_SRGB) != 0;
	sampling->normalizedCoords = (driver->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
	sampling->disableTrilinearOptimization =
		(driver->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
	sampling->seamlessCubemap = (driver->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
	sampling->maxAnisotropy = driver->maxAnisotropy;
	sampling->mipmapFilterMode = (enum cudaTextureFilterMode)driver->mipmapFilterMode;
	sampling->mipmapLevelBias = driver->mipmapLevelBias;
	sampling->minMipmapLevelClamp = driver->minMipmapLevelClamp;
	sampling->maxMipmapLevelClamp = driver->maxMipmapLevelClamp;
	memcpy(sampling->borderColor, driver->borderColor, sizeof(sampling->borderColor));
}

static cudaError_t create_texture(cudaTextureObject_t *texture,
				  const struct cudaResourceDesc *resource,
				  const struct cudaTextureDesc *sampling,
				  const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_VIEW_DESC driver_view = {0};
	CUDA_RESOURCE_DESC driver_resource;
	CUDA_TEXTURE_DESC driver_sampling;
	cudaError_t error;

	if (!texture || !resource || !sampling ||
	    (unsigned)sampling->readMode > cudaReadModeNormalizedFloat)
		return cudaErrorInvalidValue;
	error = resource_to_driver(resource, &driver_resource);
	if (error)
		return error;
	sampling_to_driver(sampling, &driver_sampling);
	if (view)
		memcpy(&driver_view, view, sizeof(*view));
	return SG_DRIVER(cuTexObjectCreate_v5000, texture, &driver_resource, &driver_sampling,
			 view ? &driver_view : NULL);
}

static cudaError_t create_surface(cudaSurfaceObject_t *surface,
				  const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC driver_resource;
	cudaError_t error;

	if (!surface || !resource)
		return cudaErrorInvalidValue;
	error = resource_to_driver(resource, &driver_resource);
	return error ? error : SG_DRIVER(cuSurfObjectCreate_v5000, surface, &driver_resource);
}

static cudaError_t get_texture_resource(struct cudaResourceDesc *resource,
					cudaTextureObject_t texture)
{
	CUDA_RESOURCE_DESC found;
	cudaError_t error;

	if (!resource)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuTexObjectGetResourceDesc_v5000, &found, texture);
	return error ? error : resource_from_driver(&found, resource);
}

static cudaError_t get_surface_resource(struct cudaResourceDesc *resource,
					cudaSurfaceObject_t surface)
{
	CUDA_RESOURCE_DESC found;
	cudaError_t error;

	if (!resource)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuSurfObjectGetResourceDesc_v5000, &found, surface);
	return error ? error : resource_from_driver(&found, resource);
}

static cudaError_t get_sampling(struct cudaTextureDesc *sampling, cudaTextureObject_t texture)
{
	CUDA_TEXTURE_DESC found;
	cudaError_t error;

	if (!sampling)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuTexObjectGetTextureDesc_v5000, &found, texture);
	if (!error)
		sampling_from_driver(&found, sampling);
	return error;
}

SG_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
					   const struct cudaResourceDesc *pResDesc,
					   const struct cudaTextureDesc *pTexDesc,
					   const struct cudaResourceViewDesc *pResViewDesc)
{
	return SG_IN_CONTEXT(create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc));
}

/* The object 0 is none: destroying it does nothing. */
SG_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
	return SG_IN_CONTEXT(texObject ? SG_DRIVER(cuTexObjectDestroy_v5000, texObject)
				       : cudaSuccess);
}

SG_API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
						    cudaTextureObject_t texObject)
{
	return SG_IN_CONTEXT(get_texture_resource(pResDesc, texObject));
}

SG_API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
						   cudaTextureObject_t texObject)
{
	return SG_IN_CONTEXT(get_sampling(pTexDesc, texObject));
}

static cudaError_t get_view(struct cudaResourceViewDesc *view, cudaTextureObject_t texture)
{
	CUDA_RESOURCE_VIEW_DESC driver;
	cudaError_t error;

	if (!view)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuTexObjectGetResourceViewDesc_v5000, &driver, texture);
	if (!error)
		memcpy(view, &driver, sizeof(*view));
	return error;
}

SG_API cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
							cudaTextureObject_t texObject)
{
	return SG_IN_CONTEXT(get_view(pResViewDesc, texObject));
}

SG_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
					   const struct cudaResourceDesc *pResDesc)
{
	return SG_IN_CONTEXT(create_surface(pSurfObject, pResDesc));
}

SG_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
	return SG_IN_CONTEXT(surfObject ? SG_DRIVER(cuSurfObjectDestroy_v5000, surfObject)
					: cudaSuccess);
}

SG_API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
						    cudaSurfaceObject_t surfObject)
{
	return SG_IN_CONTEXT(get_surface_resource(pResDesc, surfObject));
}

static cudaError_t get_linear_width(size_t *width, const struct cudaChannelFormatDesc *desc,
				    int device)
{
	struct sg_rt_element element;
	cudaError_t error;

	if (!width || !desc)
		return cudaErrorInvalidValue;
	error = sg_rt_channel_from_desc(desc, &element);
	return error ? error
		     : SG_DRIVER(cuDeviceGetTexture1DLinearMaxWidth_v11010, width, element.format,
				 element.nr_channels, device);
}

SG_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
							const struct cudaChannelFormatDesc *fmtDesc,
							int device)
{
	return SG_LOADED(get_linear_width(maxWidthInElements, fmtDesc, device));
}
