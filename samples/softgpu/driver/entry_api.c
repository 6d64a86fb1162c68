#include <string.h>

#include "call_tool.h"
#include "entry.h"
#include "log.h"

/* *pfn and *status; the result says whether the question was a proper one. */
static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags,
			enum sg_entry_status *status)
{
	const cuuint64_t known =
		CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	int driver_version = sg_config_get()->driver_version;

	if (!symbol || !pfn || (flags & ~known) || flags == known)
		return CUDA_ERROR_INVALID_VALUE;
	sg_log_part(SG_LOG_LOOKUPS, "lookup %s %d %llu", symbol, version,
		    (unsigned long long)flags);
	*pfn = NULL;
	if (!strcmp(symbol, SG_CALLS_NAME)) {
		*pfn = (void *)(uintptr_t)sg_call_tool_get_api();
		*status = SG_ENTRY_FOUND;
		return CUDA_SUCCESS;
	}
	if (version > driver_version)
		return CUDA_ERROR_INVALID_VALUE;
	*status = sg_entry_find(symbol, version, driver_version,
				(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, pfn);
	return CUDA_SUCCESS;
}

SG_API CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
				    cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
	enum sg_entry_status status;
	CUresult result = look_up(symbol, pfn, cudaVersion, flags, &status);

	if (result == CUDA_SUCCESS && symbolStatus) {
		static const CUdriverProcAddressQueryResult answers[] = {
			[SG_ENTRY_FOUND] = CU_GET_PROC_ADDRESS_SUCCESS,
			[SG_ENTRY_UNKNOWN] = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
			[SG_ENTRY_TOO_NEW] = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
		};

		*symbolStatus = answers[status];
	}
	return result;
}

SG_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	enum sg_entry_status status;
	CUresult result = look_up(symbol, pfn, cudaVersion, flags, &status);

	/* The older form has no status to tell it by. */
	if (result == CUDA_SUCCESS && status != SG_ENTRY_FOUND)
		result = CUDA_ERROR_NOT_FOUND;
	return result;
}
