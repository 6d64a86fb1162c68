#include "paper_table.h"

#include <stdio.h>
#include <string.h>

struct vs_paper_table vs_paper_table;

static CUresult get_device(CUdevice *device)
{
	if (vs_paper_table.device < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = vs_paper_table.device;
	return CUDA_SUCCESS;
}

static CUresult get_context(CUcontext *context)
{
	*context = (CUcontext)vs_paper_table.context;
	return CUDA_SUCCESS;
}

static CUresult get_memory(size_t *free_size, size_t *total_size)
{
	vs_paper_table.nr_memory_questions++;
	*free_size = vs_paper_table.free_size;
	*total_size = vs_paper_table.total_size;
	return CUDA_SUCCESS;
}

/* Fails only after it wrote something, which must not be believed. */
static CUresult get_name(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "paper%d", device);
	return vs_paper_table.result;
}

static CUresult get_total(size_t *size, CUdevice device)
{
	if (vs_paper_table.result == CUDA_SUCCESS)
		*size = 1000 + (size_t)device;
	return vs_paper_table.result;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
	if (vs_paper_table.result == CUDA_SUCCESS)
		memset(uuid, 0xa0 + device, sizeof(*uuid));
	return vs_paper_table.result;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 8 : 6;
	return vs_paper_table.result;
}

static CUresult get_proc(const char *name, void **function, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status)
{
	bool is_known = vs_paper_table.is_simulated && strcmp(name, "softgpuIdentify") == 0;

	(void)version, (void)flags, (void)status;
	*function = is_known ? (void *)get_proc : NULL;
	return is_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

void vs_paper_table_init(struct vs_real *real)
{
	vs_paper_table = (struct vs_paper_table){
		.context = 0xc0,
		.free_size = 1,
		.total_size = 2,
	};
	*real = (struct vs_real){
		.cuCtxGetDevice = get_device,
		.cuCtxGetCurrent = get_context,
		.cuMemGetInfo_v2 = get_memory,
		.cuDeviceGetName = get_name,
		.cuDeviceTotalMem_v2 = get_total,
		.cuDeviceGetUuid = get_uuid,
		.cuDeviceGetAttribute = get_attribute,
		.cuGetProcAddress_v2 = get_proc,
	};
}

struct vs_call vs_paper_table_call(const struct vs_real *real)
{
	static _Thread_local struct vs_thread self;

	return (struct vs_call){.self = &self, .real = real, .is_recording = true};
}
