/*
 * Uses the driver, by linking to it or, with -DBY_DLSYM, by looking its functions up as CUDA 11.2
 * and older did. Prints every result that can be told twice.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_headers.h"

#ifdef BY_DLSYM
static void *driver;

/* The function's own type, whatever address dlsym has for it. */
#define CU(symbol) ((__typeof__(&symbol))find(#symbol))

static void *find(const char *name)
{
	void *function = dlsym(driver, name);

	if (!function) {
		printf("%s is missing\n", name);
		exit(1);
	}
	return function;
}
#else
#define CU(symbol) symbol
#endif

#define SAY(call) printf("%s = %d\n", #call, (int)(call))

static void use_memory(void)
{
	CUdeviceptr a = 0, b = 0;
	size_t available = 0, total = 0;

	SAY(CU(cuMemAlloc_v2)(&a, 3 << 20));
	SAY(CU(cuMemAlloc_v2)(&b, (size_t)1 << 40));
	SAY(CU(cuMemAlloc_v2)(&b, 0));
	SAY(CU(cuMemGetInfo_v2)(&available, &total));
	printf("%zu of %zu\n", available, total);
	SAY(CU(cuMemFree_v2)(a));
	SAY(CU(cuMemFree_v2)(a));
	SAY(CU(cuMemAllocAsync)(&a, 100, NULL));
	SAY(CU(cuMemFreeAsync)(a, NULL));
}

static void use_virtual_memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr base = 0;

	SAY(CU(cuMemAddressReserve)(&base, 4 << 20, 0, 0, 0));
	SAY(CU(cuMemCreate)(&handle, 2 << 20, &prop, 0));
	SAY(CU(cuMemMap)(base, 2 << 20, 0, handle, 0));
	SAY(CU(cuMemUnmap)(base, 1));
	SAY(CU(cuMemUnmap)(base, 2 << 20));
	SAY(CU(cuMemRelease)(handle));
	SAY(CU(cuMemAddressFree)(base, 4 << 20));
}

int main(void)
{
	CUcontext context = NULL;
	CUdevice device = 0;

#ifdef BY_DLSYM
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		return 1;
#endif
	SAY(CU(cuMemAlloc_v2)(NULL, 1)); /* before cuInit */
	SAY(CU(cuInit)(0));
	SAY(CU(cuDeviceGet)(&device, 0));
	SAY(CU(cuCtxCreate_v2)(&context, 0, device));
	use_memory();
	use_virtual_memory();
	SAY(CU(cuCtxDestroy_v2)(context));
	SAY(CU(cuCtxDestroy_v2)(context));
	return 8;
}
