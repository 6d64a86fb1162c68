#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_attribute.h"
#include "identity.h"

/* Length of "0000:01:00.0" and its NUL. */
#define PCI_ID_SIZE 13

static CUresult check(CUdevice device, const void *output)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!output)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_init_check_device(device);
}

SG_API CUresult cuDeviceGetCount(int *count)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sg_init_get_nr_devices();
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = check(ordinal, device);

	if (result == CUDA_SUCCESS)
		*device = ordinal;
	return result;
}

SG_API CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	CUresult result = check(dev, name);

	if (result != CUDA_SUCCESS)
		return result;
	if (len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_config_get()->nvml_mode == SG_NVML_MIG)
		sg_identity_format_mig_name(name, (size_t)len, profile);
	else
		snprintf(name, (size_t)len, "%s", profile->name);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	CUresult result = check(dev, uuid);

	if (result != CUDA_SUCCESS)
		return result;
	if (sg_config_get()->nvml_mode == SG_NVML_MIG)
		sg_identity_get_mig_uuid(sg_init_get_index(dev), (unsigned char *)uuid->bytes);
	else
		sg_identity_get_uuid(sg_init_get_index(dev), (unsigned char *)uuid->bytes);
	return CUDA_SUCCESS;
}

/* The first version knows no MIG. */
SG_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	CUresult result = check(dev, uuid);

	if (result == CUDA_SUCCESS)
		sg_identity_get_uuid(sg_init_get_index(dev), (unsigned char *)uuid->bytes);
	return result;
}

/* Windows has LUIDs; elsewhere the driver refuses. */
SG_API CUresult cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	CUresult result = check(dev, luid);

	if (result != CUDA_SUCCESS)
		return result;
	return deviceNodeMask ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUresult result = check(dev, bytes);
	uint64_t total, used;

	if (result != CUDA_SUCCESS)
		return result;
	sg_card_get_usage(sg_init_get_card(), sg_init_get_index(dev), &total, &used);
	*bytes = total;
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	CUresult result = check(dev, pi);

	if (result != CUDA_SUCCESS)
		return result;
	if ((int)attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = sg_device_attribute_get(dev, attrib);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	CUresult result = check(dev, prop);

	if (result != CUDA_SUCCESS)
		return result;
#define GET(name) sg_device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_##name)
	*prop = (CUdevprop){
		.maxThreadsPerBlock = GET(MAX_THREADS_PER_BLOCK),
		.maxThreadsDim = {GET(MAX_BLOCK_DIM_X), GET(MAX_BLOCK_DIM_Y), GET(MAX_BLOCK_DIM_Z)},
		.maxGridSize = {GET(MAX_GRID_DIM_X), GET(MAX_GRID_DIM_Y), GET(MAX_GRID_DIM_Z)},
		.sharedMemPerBlock = GET(MAX_SHARED_MEMORY_PER_BLOCK),
		.totalConstantMemory = GET(TOTAL_CONSTANT_MEMORY),
		.SIMDWidth = GET(WARP_SIZE),
		.memPitch = GET(MAX_PITCH),
		.regsPerBlock = GET(MAX_REGISTERS_PER_BLOCK),
		.clockRate = GET(CLOCK_RATE),
		.textureAlign = GET(TEXTURE_ALIGNMENT),
	};
#undef GET
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult result = check(dev, major);

	if (result != CUDA_SUCCESS)
		return result;
	if (!minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = sg_config_get()->profile.cc / 10;
	*minor = sg_config_get()->profile.cc % 10;
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	CUresult result = check(dev, pciBusId);

	if (result != CUDA_SUCCESS)
		return result;
	if (len < PCI_ID_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(pciBusId, (size_t)len, "0000:%02x:00.0",
		 (unsigned)sg_identity_get_pci_bus(sg_init_get_index(dev)) & 0xff);
	return CUDA_SUCCESS;
}

/* [domain]:[bus]:[device].[function], domain or function may be missing (not both). */
static bool parse_pci_id(const char *text, unsigned *domain, unsigned *bus, unsigned *device,
			 unsigned *function)
{
	int end = 0;

	*domain = 0;
	*function = 0;
	if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text))
		return false; /* sscanf would take signs and blanks */
	if (sscanf(text, "%8x:%8x:%8x.%8x%n", domain, bus, device, function, &end) == 4 && end &&
	    !text[end])
		return true;
	*function = 0;
	end = 0;
	if (sscanf(text, "%8x:%8x:%8x%n", domain, bus, device, &end) == 3 && end && !text[end])
		return true;
	*domain = 0;
	end = 0;
	return sscanf(text, "%8x:%8x.%8x%n", bus, device, function, &end) == 3 && end && !text[end];
}

SG_API CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	CUresult result = sg_init_check();
	unsigned domain, bus, device, function;

	if (result != CUDA_SUCCESS)
		return result;
	if (!dev || !pciBusId || !parse_pci_id(pciBusId, &domain, &bus, &device, &function))
		return CUDA_ERROR_INVALID_VALUE;
	for (CUdevice i = 0; i < sg_init_get_nr_devices(); i++) {
		if (!domain && !device && !function &&
		    bus == (unsigned)sg_identity_get_pci_bus(sg_init_get_index(i))) {
			*dev = i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* Bytes of one channel, 0 for formats that are not of equal channels. */
static size_t channel_size(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

SG_API CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
						   CUarray_format format, unsigned numChannels,
						   CUdevice dev)
{
	CUresult result = check(dev, maxWidthInElements);

	if (result != CUDA_SUCCESS)
		return result;
	if (!channel_size(format) || (numChannels != 1 && numChannels != 2 && numChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	/* The limit is one of elements, whatever their size. */
	*maxWidthInElements = (size_t)sg_device_attribute_get(
		dev, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
	CUresult result = check(dev, pi);

	if (result != CUDA_SUCCESS)
		return result;
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = 0; /* only under MPS */
	return CUDA_SUCCESS;
}

static CUresult check_operations(unsigned int *capabilities, const CUatomicOperation *operations,
				 unsigned int count)
{
	if (!capabilities || !operations || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((int)operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
						  const CUatomicOperation *operations,
						  unsigned int count, CUdevice dev)
{
	CUresult result = sg_init_check_device(dev);

	if (result == CUDA_SUCCESS)
		result = check_operations(capabilities, operations, count);
	if (result == CUDA_SUCCESS) /* PCI Express carries none of them natively */
		memset(capabilities, 0, count * sizeof(*capabilities));
	return result;
}
