/* The driver's own look-up: both forms of cuGetProcAddress. */
#include "hooks.h"

#include <errno.h>

#include "resolve.h"

static void replace_entry(CUresult result, const char *symbol, void **pfn, int version,
			  cuuint64_t flags)
{
	int error_number = errno;

	/* An empty name is asked once by NVIDIA's runtime, to see what comes. */
	if (result == CUDA_SUCCESS && symbol && pfn && *pfn)
		*pfn = vs_resolve_get_entry(symbol, *pfn, version, flags);
	errno = error_number;
}

/* Not guarded: this happens before any CUDA and records nothing. */
VS_API CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
					 cuuint64_t flags)
{
	const struct vs_real *real = vs_real_get();
	CUresult result;

	if (!real || !real->cuGetProcAddress)
		return vs_real_get_error(real);
	result = real->cuGetProcAddress(symbol, pfn, cudaVersion, flags);
	replace_entry(result, symbol, pfn, cudaVersion, flags);
	return result;
}

VS_API CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
					    cuuint64_t flags,
					    CUdriverProcAddressQueryResult *symbolStatus)
{
	const struct vs_real *real = vs_real_get();
	CUresult result;

	if (!real || !real->cuGetProcAddress_v2)
		return vs_real_get_error(real);
	result = real->cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
	replace_entry(result, symbol, pfn, cudaVersion, flags);
	return result;
}

/* Nothing is said of look-ups. */
const struct vs_hook_halves vs_hooks_halves_cuGetProcAddress = {NULL, NULL};
const struct vs_hook_halves vs_hooks_halves_cuGetProcAddress_v2 = {NULL, NULL};
