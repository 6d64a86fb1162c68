/* Arrays of the driver. Their address is a handle: a space of its own. */
#include "hooks.h"

#include "array_size.h"

VS_API CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle,
					 const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	struct vs_call call = VS_ENTER_DRIVER(cuArrayCreate_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuArrayCreate_v2, pHandle, pAllocateArray);
	CUDA_ARRAY3D_DESCRIPTOR shape = {0};

	if (pAllocateArray) {
		shape.Width = pAllocateArray->Width;
		shape.Height = pAllocateArray->Height;
		shape.Format = pAllocateArray->Format;
		shape.NumChannels = pAllocateArray->NumChannels;
	}
	vs_hooks_note_alloc(&call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*pHandle,
			    vs_array_size_get(&shape, 1));
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle,
					   const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	struct vs_call call = VS_ENTER_DRIVER(cuArray3DCreate_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuArray3DCreate_v2, pHandle, pAllocateArray);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*pHandle,
			    pAllocateArray ? vs_array_size_get(pAllocateArray, 1) : 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
	struct vs_call call = VS_ENTER_DRIVER(cuArrayDestroy);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_ARRAY, (uintptr_t)hArray);
	result = VS_CALL_DRIVER(&call, cuArrayDestroy, hArray);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_ARRAY, (uintptr_t)hArray);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
					       const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
					       unsigned int numMipmapLevels)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMipmappedArrayCreate);
	CUresult result = VS_CALL_DRIVER(&call, cuMipmappedArrayCreate, pHandle,
					 pMipmappedArrayDesc, numMipmapLevels);

	vs_hooks_note_alloc(
		&call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*pHandle,
		pMipmappedArrayDesc ? vs_array_size_get(pMipmappedArrayDesc, numMipmapLevels) : 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMipmappedArrayDestroy);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_ARRAY, (uintptr_t)hMipmappedArray);
	result = VS_CALL_DRIVER(&call, cuMipmappedArrayDestroy, hMipmappedArray);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_ARRAY, (uintptr_t)hMipmappedArray);
	return vs_hooks_leave_driver(&call, result);
}
