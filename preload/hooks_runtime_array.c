/* Arrays of the runtime: hooks_runtime_memory.c says how runtime and driver share the work. */
#include "hooks.h"

#include "array_size.h"

VS_API cudaError_t CUDARTAPI cudaMallocArray(cudaArray_t *array,
					     const struct cudaChannelFormatDesc *desc, size_t width,
					     size_t height, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocArray);
	cudaError_t error =
		VS_CALL_RUNTIME(&call, cudaMallocArray, array, desc, width, height, flags);
	struct cudaExtent extent = {.width = width, .height = height};

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ARRAY, error ? NULL : *array,
				    error ? 0 : vs_array_size_get_by_bits(desc, extent, flags, 1));
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMalloc3DArray(cudaArray_t *array,
					       const struct cudaChannelFormatDesc *desc,
					       struct cudaExtent extent, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc3DArray);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMalloc3DArray, array, desc, extent, flags);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ARRAY, error ? NULL : *array,
				    error ? 0 : vs_array_size_get_by_bits(desc, extent, flags, 1));
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
						      const struct cudaChannelFormatDesc *desc,
						      struct cudaExtent extent,
						      unsigned int numLevels, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocMipmappedArray);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocMipmappedArray, mipmappedArray, desc,
					    extent, numLevels, flags);

	vs_hooks_note_runtime_alloc(
		&call, error, VS_MEMORY_ARRAY, error ? NULL : *mipmappedArray,
		error ? 0 : vs_array_size_get_by_bits(desc, extent, flags, numLevels));
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFreeArray(cudaArray_t array)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFreeArray);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFreeArray, array);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_ARRAY, array);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFreeMipmappedArray);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFreeMipmappedArray, mipmappedArray);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_ARRAY, mipmappedArray);
	return vs_hooks_leave_runtime(&call, error);
}
