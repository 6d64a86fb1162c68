/* A driver that is not softgpu: it finds every name but the one question. */
#include <cuda.h>
#include <string.h>

#undef cuGetProcAddress_v2

/* Whoever calls anything of it has not understood that it is foreign. */
static CUresult never(void)
{
	__builtin_trap();
}

__attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(
	const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
	CUdriverProcAddressQueryResult *symbolStatus)
{
	(void)cudaVersion;
	(void)flags;
	*pfn = NULL;
	if (symbolStatus)
		*symbolStatus = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (!*symbol || !strcmp(symbol, "softgpuIdentify"))
		return CUDA_ERROR_NOT_FOUND;
	*pfn = (void *)never;
	if (symbolStatus)
		*symbolStatus = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}
