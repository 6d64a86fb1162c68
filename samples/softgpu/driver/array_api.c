/*
 * Arrays and mipmapped arrays as programs see them.
 */
#include "array.h"
#include "stream.h"

static CUarray to_handle(struct sg_array *array)
{
	return (CUarray)(void *)array;
}

static CUresult create(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	struct sg_context *context;
	struct sg_array *array;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_array_create(context, descriptor, &array);
	if (result == CUDA_SUCCESS)
		*handle = to_handle(array);
	return result;
}

SG_API CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {0};
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pAllocateArray)
		return create(pHandle, NULL);
	descriptor.Width = pAllocateArray->Width;
	descriptor.Height = pAllocateArray->Height;
	descriptor.Format = pAllocateArray->Format;
	descriptor.NumChannels = pAllocateArray->NumChannels;
	return create(pHandle, &descriptor);
}

SG_API CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	return create(pHandle, pAllocateArray);
}

/* The array of a handle, in a call that needs a context. */
static CUresult get(CUarray handle, struct sg_array **array)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*array = sg_array_get(handle);
	return *array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_mipmap(CUmipmappedArray handle, struct sg_mipmap **mipmap)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*mipmap = sg_array_get_mipmap(handle);
	return *mipmap ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_API CUresult cuArrayDestroy(CUarray hArray)
{
	struct sg_array *array;
	CUresult result = get(hArray, &array);

	if (result != CUDA_SUCCESS)
		return result;
	/* A level or a plane goes with what it belongs to. */
	if (array->is_part)
		return CUDA_ERROR_INVALID_HANDLE;
	sg_array_destroy(array);
	return CUDA_SUCCESS;
}

SG_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
	struct sg_array *array;
	CUresult result = get(hArray, &array);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pArrayDescriptor)
		return CUDA_ERROR_INVALID_VALUE;
	*pArrayDescriptor = array->descriptor;
	return CUDA_SUCCESS;
}

SG_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
	struct sg_array *array;
	CUresult result = get(hArray, &array);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pArrayDescriptor)
		return CUDA_ERROR_INVALID_VALUE;
	*pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){
		.Width = array->descriptor.Width,
		.Height = array->descriptor.Height,
		.Format = array->descriptor.Format,
		.NumChannels = array->descriptor.NumChannels,
	};
	return CUDA_SUCCESS;
}

SG_API CUresult cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
	struct sg_array *array;
	CUresult result = get(hArray, &array);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pPlaneArray || planeIdx >= SG_MAX_PLANES || !array->planes[planeIdx])
		return CUDA_ERROR_INVALID_VALUE;
	*pPlaneArray = to_handle(array->planes[planeIdx]);
	return CUDA_SUCCESS;
}

/*
 * Sparse arrays, and arrays whose memory is mapped later, cannot be made here: the device's
 * attributes say so. Of every other array these questions are invalid, as documented.
 */
SG_API CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
					   CUarray array)
{
	struct sg_array *found;
	CUresult result = get(array, &found);

	(void)sparseProperties;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
						    CUmipmappedArray mipmap)
{
	struct sg_mipmap *found;
	CUresult result = get_mipmap(mipmap, &found);

	(void)sparseProperties;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
					     CUarray array, CUdevice device)
{
	struct sg_array *found;
	CUresult result = get(array, &found);

	(void)memoryRequirements, (void)device;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult
cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
				      CUmipmappedArray mipmap, CUdevice device)
{
	struct sg_mipmap *found;
	CUresult result = get_mipmap(mipmap, &found);

	(void)memoryRequirements, (void)device;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count,
				   CUstream hStream)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(hStream, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	if (!mapInfoList || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		const CUarrayMapInfo *info = &mapInfoList[i];

		if ((info->resourceType == CU_RESOURCE_TYPE_ARRAY &&
		     !sg_array_get(info->resource.array)) ||
		    (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
		     !sg_array_get_mipmap(info->resource.mipmap)))
			return CUDA_ERROR_INVALID_HANDLE;
	}
	return CUDA_ERROR_INVALID_VALUE; /* none of them can be mapped */
}

SG_API CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
				       const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
				       unsigned int numMipmapLevels)
{
	struct sg_context *context;
	struct sg_mipmap *mipmap;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pHandle || !pMipmappedArrayDesc)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_array_create_mipmap(context, pMipmappedArrayDesc, numMipmapLevels, &mipmap);
	if (result == CUDA_SUCCESS)
		*pHandle = (CUmipmappedArray)(void *)mipmap;
	return result;
}

SG_API CUresult cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
					 unsigned int level)
{
	struct sg_mipmap *mipmap;
	CUresult result = get_mipmap(hMipmappedArray, &mipmap);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pLevelArray || level >= mipmap->nr_levels)
		return CUDA_ERROR_INVALID_VALUE;
	*pLevelArray = to_handle(mipmap->levels[level]);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
	struct sg_mipmap *mipmap;
	CUresult result = get_mipmap(hMipmappedArray, &mipmap);

	if (result == CUDA_SUCCESS)
		sg_array_destroy_mipmap(mipmap);
	return result;
}
