/*
 * Virtual memory management: one reservation that grows by mapping handles behind each other,
 * shrinks at its end, and a handle that is released while it is still mapped.
 */
#include <cuda.h>

#include "sample.h"

#define PAGE    (20 * MIB)
#define PAGES   10
#define RESERVE (1 * GIB)

#define DRIVER(call)                                                                  \
	do {                                                                          \
		CUresult driver_result = (call);                                      \
                                                                                      \
		if (driver_result != CUDA_SUCCESS) {                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				(int)driver_result);                                  \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

static struct book vmm = {.name = "vmm"};

static CUmemGenericAllocationHandle grow(CUdeviceptr base, int page)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
	};
	CUmemAccessDesc access = {
		.location = prop.location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	CUmemGenericAllocationHandle handle;

	DRIVER(cuMemCreate(&handle, PAGE, &prop, 0));
	book_alloc(&vmm, PAGE);
	DRIVER(cuMemMap(base + (size_t)page * PAGE, PAGE, 0, handle, 0));
	DRIVER(cuMemSetAccess(base + (size_t)page * PAGE, PAGE, &access, 1));
	return handle;
}

static void release(CUmemGenericAllocationHandle handle)
{
	DRIVER(cuMemRelease(handle));
	book_free(&vmm, PAGE);
}

int main(void)
{
	CUmemGenericAllocationHandle handles[PAGES];
	CUdeviceptr base;
	CUcontext context;

	DRIVER(cuInit(0));
	DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
	DRIVER(cuCtxSetCurrent(context));
	DRIVER(cuMemAddressReserve(&base, RESERVE, 0, 0, 0));
	for (int i = 0; i < PAGES; i++)
		handles[i] = grow(base, i);
	for (int i = PAGES - 1; i >= PAGES / 2; i--) {
		DRIVER(cuMemUnmap(base + (size_t)i * PAGE, PAGE));
		release(handles[i]);
	}
	/* Released, but its memory stays until it is unmapped. */
	release(handles[0]);
	DRIVER(cuMemUnmap(base, PAGE));
	printf("mapped_at_end=%zu\n", (size_t)(PAGES / 2 - 1) * PAGE);
	book_print(&vmm);
	printf("ooms=0\n");
	return 0;
}
