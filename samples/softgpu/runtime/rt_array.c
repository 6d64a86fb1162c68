/* Arrays and mipmapped arrays: the handles are the driver's own. */
#include "rt_channel.h"

_Static_assert(cudaArrayLayered == CUDA_ARRAY3D_LAYERED &&
		       cudaArraySurfaceLoadStore == CUDA_ARRAY3D_SURFACE_LDST &&
		       cudaArrayCubemap == CUDA_ARRAY3D_CUBEMAP &&
		       cudaArrayTextureGather == CUDA_ARRAY3D_TEXTURE_GATHER &&
		       cudaArraySparse == CUDA_ARRAY3D_SPARSE &&
		       cudaArrayDeferredMapping == CUDA_ARRAY3D_DEFERRED_MAPPING,
	       "flags have the same numbers");
_Static_assert(sizeof(struct cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES) &&
		       sizeof(struct cudaArrayMemoryRequirements) ==
			       sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS),
	       "properties have the same layout");

static CUarray to_driver(cudaArray_const_t array)
{
	return (CUarray)(uintptr_t)array;
}

static CUmipmappedArray mipmap_to_driver(cudaMipmappedArray_const_t mipmap)
{
	return (CUmipmappedArray)(uintptr_t)mipmap;
}

/* What no array is behind is a bad argument to most functions of the runtime. */
static cudaError_t as_value(cudaError_t error)
{
	return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidValue : error;
}

static cudaError_t describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			    unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	struct sg_rt_element element;
	cudaError_t error;

	if (!desc)
		return cudaErrorInvalidValue;
	error = sg_rt_channel_from_desc(desc, &element);
	if (error)
		return error;
	*shape = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Format = element.format,
		.NumChannels = element.nr_channels,
		.Flags = flags,
	};
	return cudaSuccess;
}

static cudaError_t allocate(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    struct cudaExtent extent, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	CUarray made = NULL;
	cudaError_t error = array ? describe(desc, extent, flags, &shape) : cudaErrorInvalidValue;

	if (!error)
		error = SG_DRIVER(cuArray3DCreate_v3020, &made, &shape);
	if (!error)
		*array = (cudaArray_t)(void *)made;
	return error;
}

static cudaError_t allocate_mipmap(cudaMipmappedArray_t *mipmap,
				   const struct cudaChannelFormatDesc *desc,
				   struct cudaExtent extent, unsigned nr_levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	CUmipmappedArray made = NULL;
	cudaError_t error = mipmap ? describe(desc, extent, flags, &shape) : cudaErrorInvalidValue;

	if (!error)
		error = SG_DRIVER(cuMipmappedArrayCreate_v5000, &made, &shape, nr_levels);
	if (!error)
		*mipmap = (cudaMipmappedArray_t)(void *)made;
	return error;
}

static cudaError_t get_level(cudaArray_t *level_array, cudaMipmappedArray_const_t mipmap,
			     unsigned level)
{
	CUarray found = NULL;
	cudaError_t error;

	if (!level_array)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuMipmappedArrayGetLevel_v5000, &found, mipmap_to_driver(mipmap), level);
	if (!error)
		*level_array = (cudaArray_t)(void *)found;
	return error;
}

static cudaError_t get_plane(cudaArray_t *plane, cudaArray_t array, unsigned index)
{
	CUarray found = NULL;
	cudaError_t error;

	if (!plane)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuArrayGetPlane_v11020, &found, to_driver(array), index);
	if (!error)
		*plane = (cudaArray_t)(void *)found;
	return error;
}

static cudaError_t get_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			    unsigned *flags, cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	struct sg_rt_element element;
	cudaError_t error = sg_rt_channel_of_array(array, &element, &shape);

	if (error)
		return error;
	if (desc)
		*desc = element.desc;
	if (extent)
		*extent = (struct cudaExtent){shape.Width, shape.Height, shape.Depth};
	if (flags)
		*flags = shape.Flags;
	return cudaSuccess;
}

SG_API cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
				   size_t width, size_t height, unsigned int flags)
{
	struct cudaExtent extent = {width, height, 0};

	return SG_IN_CONTEXT(allocate(array, desc, extent, flags));
}

SG_API cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
				     struct cudaExtent extent, unsigned int flags)
{
	return SG_IN_CONTEXT(allocate(array, desc, extent, flags));
}

SG_API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
					    const struct cudaChannelFormatDesc *desc,
					    struct cudaExtent extent, unsigned int numLevels,
					    unsigned int flags)
{
	return SG_IN_CONTEXT(allocate_mipmap(mipmappedArray, desc, extent, numLevels, flags));
}

/* Freeing nothing is no error. */
SG_API cudaError_t cudaFreeArray(cudaArray_t array)
{
	return SG_IN_CONTEXT(array ? as_value(SG_DRIVER(cuArrayDestroy_v2000, to_driver(array)))
				   : cudaSuccess);
}

SG_API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
	return SG_IN_CONTEXT(mipmappedArray ? as_value(SG_DRIVER(cuMipmappedArrayDestroy_v5000,
								 mipmap_to_driver(mipmappedArray)))
					    : cudaSuccess);
}

SG_API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
					      cudaMipmappedArray_const_t mipmappedArray,
					      unsigned int level)
{
	return SG_IN_CONTEXT(get_level(levelArray, mipmappedArray, level));
}

SG_API cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray,
				     unsigned int planeIdx)
{
	return SG_IN_CONTEXT(get_plane(pPlaneArray, hArray, planeIdx));
}

SG_API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
				    unsigned int *flags, cudaArray_t array)
{
	return SG_IN_CONTEXT(get_info(desc, extent, flags, array));
}

SG_API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	return SG_IN_CONTEXT(desc ? get_info(desc, NULL, NULL, array) : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
						cudaArray_t array)
{
	CUDA_ARRAY_SPARSE_PROPERTIES *properties = (CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties;

	return SG_IN_CONTEXT(as_value(
		SG_DRIVER(cuArrayGetSparseProperties_v11010, properties, to_driver(array))));
}

SG_API cudaError_t cudaMipmappedArrayGetSparseProperties(
	struct cudaArraySparseProperties *sparseProperties, cudaMipmappedArray_t mipmap)
{
	CUDA_ARRAY_SPARSE_PROPERTIES *properties = (CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties;

	return SG_IN_CONTEXT(as_value(SG_DRIVER(cuMipmappedArrayGetSparseProperties_v11010,
						properties, mipmap_to_driver(mipmap))));
}

SG_API cudaError_t cudaArrayGetMemoryRequirements(
	struct cudaArrayMemoryRequirements *memoryRequirements, cudaArray_t array, int device)
{
	CUDA_ARRAY_MEMORY_REQUIREMENTS *needs =
		(CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements;

	return SG_IN_CONTEXT(as_value(
		SG_DRIVER(cuArrayGetMemoryRequirements_v11060, needs, to_driver(array), device)));
}

SG_API cudaError_t
cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
					cudaMipmappedArray_t mipmap, int device)
{
	CUDA_ARRAY_MEMORY_REQUIREMENTS *needs =
		(CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements;

	return SG_IN_CONTEXT(as_value(SG_DRIVER(cuMipmappedArrayGetMemoryRequirements_v11060, needs,
						mipmap_to_driver(mipmap), device)));
}
