/* Arrays of the driver. Their address is a handle: a space of its own. */
#include "hooks.h"

#include "array_size.h"

static inline void after_cuArrayCreate_v2(struct vs_call *call, CUresult result,
					  const cuArrayCreate_v2_params *args)
{
	const CUDA_ARRAY_DESCRIPTOR *asked = args->pAllocateArray;
	CUDA_ARRAY3D_DESCRIPTOR shape = {0};

	if (asked) {
		shape.Width = asked->Width;
		shape.Height = asked->Height;
		shape.Format = asked->Format;
		shape.NumChannels = asked->NumChannels;
	}
	vs_hooks_note_alloc(call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*args->pHandle,
			    vs_array_size_get(&shape, 1));
}
VS_DRIVER_HOOK_AFTER(cuArrayCreate_v2,
		     (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray), pHandle,
		     pAllocateArray)

static inline void after_cuArray3DCreate_v2(struct vs_call *call, CUresult result,
					    const cuArray3DCreate_v2_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*args->pHandle,
			    args->pAllocateArray ? vs_array_size_get(args->pAllocateArray, 1) : 0);
}
VS_DRIVER_HOOK_AFTER(cuArray3DCreate_v2,
		     (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray), pHandle,
		     pAllocateArray)

static inline void before_cuArrayDestroy(struct vs_call *call, const cuArrayDestroy_params *args)
{
	vs_hooks_note_free(call, VS_MEMORY_ARRAY, (uintptr_t)args->hArray);
}
static inline void after_cuArrayDestroy(struct vs_call *call, CUresult result,
					const cuArrayDestroy_params *args)
{
	vs_hooks_note_free_result(call, result, VS_MEMORY_ARRAY, (uintptr_t)args->hArray);
}
VS_DRIVER_HOOK(cuArrayDestroy, (CUarray hArray), hArray)

static inline void after_cuMipmappedArrayCreate(struct vs_call *call, CUresult result,
						const cuMipmappedArrayCreate_params *args)
{
	const CUDA_ARRAY3D_DESCRIPTOR *shape = args->pMipmappedArrayDesc;

	vs_hooks_note_alloc(call, result, VS_MEMORY_ARRAY, result ? 0 : (uintptr_t)*args->pHandle,
			    shape ? vs_array_size_get(shape, args->numMipmapLevels) : 0);
}
VS_DRIVER_HOOK_AFTER(cuMipmappedArrayCreate,
		     (CUmipmappedArray * pHandle,
		      const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
		      unsigned int numMipmapLevels),
		     pHandle, pMipmappedArrayDesc, numMipmapLevels)

static inline void before_cuMipmappedArrayDestroy(struct vs_call *call,
						  const cuMipmappedArrayDestroy_params *args)
{
	vs_hooks_note_free(call, VS_MEMORY_ARRAY, (uintptr_t)args->hMipmappedArray);
}
static inline void after_cuMipmappedArrayDestroy(struct vs_call *call, CUresult result,
						 const cuMipmappedArrayDestroy_params *args)
{
	vs_hooks_note_free_result(call, result, VS_MEMORY_ARRAY, (uintptr_t)args->hMipmappedArray);
}
VS_DRIVER_HOOK(cuMipmappedArrayDestroy, (CUmipmappedArray hMipmappedArray), hMipmappedArray)
