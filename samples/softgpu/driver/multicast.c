/*
 * Multicast objects: memory of several devices behind one address, done by NVSwitch. The devices
 * say that they have none (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED), so no such object can be made,
 * and no handle is one.
 */
#include "driver.h"

/* The answer to a call that wants an object. */
static CUresult refuse_handle(void)
{
	CUresult result = sg_init_check();

	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle,
				  const CUmulticastObjectProp *prop)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!mcHandle || !prop || !prop->numDevices || !prop->size || prop->flags)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

SG_API CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
					  CUmulticastGranularity_flags option)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!granularity || !prop ||
	    (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
	     option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

SG_API CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
	CUresult result = sg_init_check_device(dev);

	(void)mcHandle;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
				   CUmemGenericAllocationHandle memHandle, size_t memOffset,
				   size_t size, unsigned long long flags)
{
	(void)mcHandle, (void)mcOffset, (void)memHandle, (void)memOffset, (void)size, (void)flags;
	return refuse_handle();
}

SG_API CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
				    CUdeviceptr memptr, size_t size, unsigned long long flags)
{
	(void)mcHandle, (void)mcOffset, (void)memptr, (void)size, (void)flags;
	return refuse_handle();
}

SG_API CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
				  size_t mcOffset, size_t size)
{
	(void)mcHandle, (void)dev, (void)mcOffset, (void)size;
	return refuse_handle();
}
