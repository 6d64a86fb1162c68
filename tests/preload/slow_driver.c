#include "slow_driver.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
	FREELY,
	HOLD_NEXT,
	HELD,
};

static _Atomic int state;
static _Atomic uint64_t next_address = 0x7f0000000000;

EXPORT void slow_driver_hold_free(void)
{
	atomic_store(&state, HOLD_NEXT);
}

EXPORT void slow_driver_let_go(void)
{
	atomic_store(&state, FREELY);
}

EXPORT bool slow_driver_is_held(void)
{
	return atomic_load(&state) == HELD;
}

EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	*dptr = atomic_fetch_add(&next_address, (bytesize + 511) / 512 * 512);
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
	static const struct timespec nap = {0, 1000000};
	int expected = HOLD_NEXT;

	(void)dptr;
	if (atomic_compare_exchange_strong(&state, &expected, HELD))
		while (slow_driver_is_held())
			nanosleep(&nap, NULL);
	return CUDA_SUCCESS;
}

/* ---- What a recorder asks a driver on the way of an allocation ---- */

EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
	*pctx = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
	(void)dev;
	strncpy(name, "slow", (size_t)len);
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = (size_t)1 << 34;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	(void)attrib;
	(void)dev;
	*pi = 0;
	return CUDA_SUCCESS;
}
