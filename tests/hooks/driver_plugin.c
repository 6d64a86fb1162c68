/* A library that was linked with the driver, and brings it along. */
#include "cuda_headers.h"

__attribute__((visibility("default"))) CUresult driver_plugin_allocate(CUdeviceptr *address);

CUresult driver_plugin_allocate(CUdeviceptr *address)
{
	return cuMemAlloc_v2(address, 16);
}
