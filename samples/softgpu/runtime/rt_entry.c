/* Versions, doors to the driver, the profiler's switch, and what belongs nowhere else. */
#include "runtime.h"

#include <cuda_profiler_api.h>

SG_API cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return sg_rt_error_set(cudaErrorInvalidValue);
	*runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

/* Without a driver the version is 0, and asking is no error. */
SG_API cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return sg_rt_error_set(cudaErrorInvalidValue);
	(void)sg_rt_load_driver();
	if (!sg_rt_driver.cuDriverGetVersion_v2020) {
		*driverVersion = 0;
		return cudaSuccess;
	}
	return sg_rt_error_set(SG_DRIVER(cuDriverGetVersion_v2020, driverVersion));
}

static enum cudaDriverEntryPointQueryResult status_of(CUdriverProcAddressQueryResult status)
{
	switch (status) {
	case CU_GET_PROC_ADDRESS_SUCCESS:
		return cudaDriverEntryPointSuccess;
	case CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT:
		return cudaDriverEntryPointVersionNotSufficent;
	default:
		return cudaDriverEntryPointSymbolNotFound;
	}
}

/* A name that does not exist is an answer, not an error: the pointer is NULL then. */
static cudaError_t entry_point(const char *symbol, void **function, unsigned version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	void *address = NULL;
	CUresult result;

	if (!symbol || !*symbol || !function || version > INT32_MAX ||
	    flags > cudaEnablePerThreadDefaultStream)
		return cudaErrorInvalidValue;
	result = sg_rt_load_symbol(symbol, &address, (int)version, flags, &found);
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND)
		return sg_rt_error_from(result);
	*function = result == CUDA_SUCCESS ? address : NULL;
	if (status)
		*status = status_of(found);
	return cudaSuccess;
}

/* Code compiled for per-thread default streams means those by "default". */
static unsigned long long per_thread(unsigned long long flags)
{
	return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

SG_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
					   unsigned long long flags,
					   enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return SG_LOADED(entry_point(symbol, funcPtr, CUDART_VERSION, flags, driverStatus));
}

SG_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
						unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return SG_LOADED(
		entry_point(symbol, funcPtr, CUDART_VERSION, per_thread(flags), driverStatus));
}

SG_API cudaError_t cudaGetDriverEntryPointByVersion(
	const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return SG_LOADED(entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus));
}

SG_API cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
	const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return SG_LOADED(
		entry_point(symbol, funcPtr, cudaVersion, per_thread(flags), driverStatus));
}

/* There are no tables behind this runtime, for anyone. */
SG_API cudaError_t cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
	if (!ppExportTable || !pExportTableId)
		return sg_rt_error_set(cudaErrorInvalidValue);
	*ppExportTable = NULL;
	return sg_rt_error_set(cudaErrorSymbolNotFound);
}

SG_API cudaError_t cudaProfilerStart(void)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuProfilerStart_v4000));
}

SG_API cudaError_t cudaProfilerStop(void)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuProfilerStop_v4000));
}

/* A value, not a handle: nothing is created. */
SG_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
							  enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}
