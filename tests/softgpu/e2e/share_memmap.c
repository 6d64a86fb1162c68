/*
 * Processes that map each other's physical memory, as the well-known sample does it with the
 * driver: the parent makes a piece for each child and hands out descriptors, children map all
 * pieces one behind the other, fill their own, and read those of all.
 */
#include <stdint.h>
#include <unistd.h>

#include <cuda.h>

#include "share_family.h"

static CUcontext open_device(CUdevice *device)
{
	CUcontext context;
	int value = 0;

	MUST(cuInit(0));
	MUST(cuDeviceGet(device, 0));
	MUST(cuCtxCreate(&context, NULL, 0, *device));
	MUST(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
				  *device));
	MUST(!value);
	MUST(cuDeviceGetAttribute(
		&value, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, *device));
	MUST(!value);
	return context;
}

static size_t get_piece_size(CUmemAllocationProp *prop, CUdevice device)
{
	size_t granularity;

	*prop = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	MUST(cuMemGetAllocationGranularity(&granularity, prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	return 2 * granularity;
}

/* All pieces one behind the other; they live by being mapped. */
static CUdeviceptr map_pieces(size_t size, CUdevice device)
{
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr base;

	MUST(cuMemAddressReserve(&base, size * SG_FAMILY_SIZE, 0, 0, 0));
	for (unsigned i = 0; i < SG_FAMILY_SIZE; i++) {
		int fd = sg_share_family_take();
		CUmemGenericAllocationHandle handle;
		CUmemAllocationProp prop;

		MUST(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
						    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
		MUST(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
		MUST(prop.location.id != device);
		MUST(cuMemMap(base + i * size, size, 0, handle, 0));
		MUST(cuMemRelease(handle));
		MUST(close(fd));
	}
	MUST(cuMemSetAccess(base, size * SG_FAMILY_SIZE, &access, 1));
	return base;
}

static int be_child(struct sg_share_family *family, unsigned number)
{
	CUmemAllocationProp prop;
	CUdevice device;
	CUcontext context = open_device(&device);
	size_t size = get_piece_size(&prop, device);
	CUdeviceptr base = map_pieces(size, device);
	unsigned *copy = malloc(size * SG_FAMILY_SIZE);

	MUST(!copy);
	MUST(cuMemsetD32(base + number * size, number + 100, size / 4));
	MUST(cuCtxSynchronize());
	sg_share_family_meet(family);
	MUST(cuMemcpyDtoH(copy, base, size * SG_FAMILY_SIZE)); /* across all mappings */
	for (unsigned i = 0; i < size * SG_FAMILY_SIZE / 4; i++)
		MUST(copy[i] != i / (size / 4) + 100);
	free(copy);
	MUST(cuMemUnmap(base, size * SG_FAMILY_SIZE));
	MUST(cuMemAddressFree(base, size * SG_FAMILY_SIZE));
	MUST(cuCtxDestroy(context));
	return 0;
}

static int be_parent(struct sg_share_family *family)
{
	CUmemAllocationProp prop;
	CUdevice device;
	size_t size, before, after, total;
	CUcontext context;
	int failed;

	sg_share_family_start();
	context = open_device(&device);
	size = get_piece_size(&prop, device);
	for (unsigned i = 0; i < SG_FAMILY_SIZE; i++) {
		CUmemGenericAllocationHandle handle;
		int fd;

		MUST(cuMemCreate(&handle, size, &prop, 0));
		MUST(cuMemExportToShareableHandle(&fd, handle,
						  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		sg_share_family_hand(fd);
		MUST(close(fd));
		MUST(cuMemRelease(handle)); /* the descriptors on their way hold it */
	}
	MUST(cuMemGetInfo(&before, &total));
	sg_share_family_meet(family);
	failed = sg_share_family_wait();
	MUST(cuMemGetInfo(&after, &total));
	MUST(after < before + SG_FAMILY_SIZE * size); /* all is back, and the children's contexts */
	MUST(cuCtxDestroy(context));
	return failed;
}

int main(int argc, char **argv)
{
	struct sg_share_family *family;
	int number = sg_share_family_join(argc, argv, &family);

	return number < 0 ? be_parent(family) : be_child(family, (unsigned)number);
}
