/*
 * Processes that use each other's stream-ordered allocations, as the well-known sample does it with
 * the runtime: the parent has a pool on each device and hands it out as a descriptor, its
 * allocations as bytes; children import both, work on them in turns and free them first.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "share_family.h"

#define SIZE ((size_t)3 << 20)

struct area {
	int nr_devices;
	struct cudaMemPoolPtrExportData pointers[SG_FAMILY_SIZE];
};

static const enum cudaMemAllocationHandleType fd_type = cudaMemHandleTypePosixFileDescriptor;

/* What the children have open of one pool of the parent. */
static void *import_allocation(const struct area *area, int i, cudaMemPool_t *pool, int device)
{
	const struct cudaMemAccessDesc access = {
		.location = {.type = cudaMemLocationTypeDevice, .id = device},
		.flags = cudaMemAccessFlagsProtReadWrite};
	struct cudaMemPoolPtrExportData data = area->pointers[i];
	struct cudaMemLocation location = access.location;
	enum cudaMemAccessFlags flags;
	int fd = sg_share_family_take();
	void *memory;

	MUST(cudaMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)fd, fd_type, 0));
	MUST(close(fd));
	MUST(cudaMemPoolGetAccess(&flags, *pool, &location));
	if (flags != cudaMemAccessFlagsProtReadWrite)
		MUST(cudaMemPoolSetAccess(*pool, &access, 1));
	MUST(cudaMemPoolImportPointer(&memory, *pool, &data));
	return memory;
}

static int be_child(struct sg_share_family *family, int number)
{
	const struct area *area = (struct area *)(void *)family->area;
	void *memory[SG_FAMILY_SIZE];
	cudaMemPool_t pools[SG_FAMILY_SIZE];
	unsigned char *copy = malloc(SIZE);
	cudaStream_t stream;

	sg_share_family_meet(family); /* the pointers are there */
	MUST(!copy);
	MUST(cudaSetDevice(number % area->nr_devices));
	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < SG_FAMILY_SIZE; i++)
		memory[i] = import_allocation(area, i, &pools[i], number % area->nr_devices);
	for (int turn = 0; turn < SG_FAMILY_SIZE; turn++) {
		int i = (number + turn) % SG_FAMILY_SIZE;

		MUST(cudaMemsetAsync(memory[i], 16 * i + number, SIZE, stream));
		MUST(cudaStreamSynchronize(stream));
		sg_share_family_meet(family);
	}
	MUST(cudaMemcpyAsync(copy, memory[number], SIZE, cudaMemcpyDeviceToHost, stream));
	for (size_t i = 0; i < SIZE; i++)
		MUST(copy[i] != 16 * number + (number + 1) % SG_FAMILY_SIZE);
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaFreeAsync(memory[i], stream));
		MUST(cudaStreamSynchronize(stream));
		MUST(cudaMemPoolDestroy(pools[i]));
	}
	MUST(cudaStreamDestroy(stream));
	free(copy);
	sg_share_family_meet(family); /* freed by all: the parent may */
	return 0;
}

static int be_parent(struct sg_share_family *family)
{
	struct area *area = (struct area *)(void *)family->area;
	cudaMemPool_t pools[SG_FAMILY_SIZE];
	void *memory[SG_FAMILY_SIZE];
	int types = 0;

	sg_share_family_start();
	MUST(cudaGetDeviceCount(&area->nr_devices));
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		int device = i % area->nr_devices, fd;
		const struct cudaMemPoolProps props = {
			.allocType = cudaMemAllocationTypePinned,
			.handleTypes = fd_type,
			.location = {.type = cudaMemLocationTypeDevice, .id = device}};

		MUST(cudaSetDevice(device));
		MUST(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes,
					    device));
		MUST(!(types & (int)fd_type));
		MUST(cudaMemPoolCreate(&pools[i], &props));
		MUST(cudaMemPoolExportToShareableHandle(&fd, pools[i], fd_type, 0));
		MUST(cudaMallocFromPoolAsync(&memory[i], SIZE, pools[i], NULL));
		MUST(cudaStreamSynchronize(NULL));
		MUST(cudaMemPoolExportPointer(&area->pointers[i], memory[i]));
		sg_share_family_hand(fd);
		MUST(close(fd));
	}
	sg_share_family_meet(family);
	for (int turn = 0; turn <= SG_FAMILY_SIZE; turn++)
		sg_share_family_meet(family);
	for (int i = 0; i < SG_FAMILY_SIZE; i++) {
		MUST(cudaFreeAsync(memory[i], NULL));
		MUST(cudaMemPoolDestroy(pools[i]));
	}
	return sg_share_family_wait();
}

int main(int argc, char **argv)
{
	struct sg_share_family *family;
	int number = sg_share_family_join(argc, argv, &family);

	return number < 0 ? be_parent(family) : be_child(family, number);
}
