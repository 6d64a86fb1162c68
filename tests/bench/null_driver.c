/*
 * Addresses are numbers, nothing is behind them. They are given out as a caching allocator does it:
 * each thread has a range of its own, and what was freed last is given out first, by size.
 */
#include "null_driver.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

#define GRANULE        512u
#define NR_GRANULES    (1u << 23) /* of a thread: 4 GiB of addresses */
#define NR_HEAPS       16u
#define NR_CLASSES     4096u /* by granules: sizes below 2 MiB */
#define FIRST_ADDRESS  0x7f0000000000u
#define HEAP_LINK_SIZE (NR_GRANULES * sizeof(uint32_t))

struct heap {
	uint32_t nr_used;           /* first granule that was never given out */
	uint32_t end;               /* behind its last one */
	uint32_t freed[NR_CLASSES]; /* first granule of the block freed last; 0: none */
};

/*
 * For the first granule of a block: its class while it is given out, the next block of the list
 * while it is free. One table for each heap, because only what is used shall take memory.
 */
static uint32_t *links[NR_HEAPS];
static _Atomic uint32_t nr_heaps;
/* A pointer only: a library that Python loads gets hardly any room for such data. */
static _Thread_local struct heap *own_heap;

static void *map(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return data == MAP_FAILED ? NULL : data;
}

static struct heap *create_heap(void)
{
	uint32_t number = atomic_fetch_add(&nr_heaps, 1);
	struct heap *heap = map(sizeof(*heap));

	if (number >= NR_HEAPS || !heap)
		return NULL;
	links[number] = map(HEAP_LINK_SIZE);
	if (!links[number])
		return NULL;
	heap->nr_used = number * NR_GRANULES + 1; /* granule 0 is none */
	heap->end = (number + 1) * NR_GRANULES;
	own_heap = heap;
	return heap;
}

static struct heap *get_heap(void)
{
	return own_heap ? own_heap : create_heap();
}

static uint32_t *get_link(uint32_t granule)
{
	return &links[granule / NR_GRANULES][granule % NR_GRANULES];
}

EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	size_t nr_granules = (bytesize + GRANULE - 1) / GRANULE;
	struct heap *heap = get_heap();
	uint32_t granule;

	if (!heap || !bytesize || nr_granules >= NR_CLASSES)
		return CUDA_ERROR_OUT_OF_MEMORY;
	granule = heap->freed[nr_granules];
	if (granule) {
		heap->freed[nr_granules] = *get_link(granule);
	} else {
		granule = heap->nr_used;
		if (heap->end - granule < nr_granules)
			return CUDA_ERROR_OUT_OF_MEMORY;
		heap->nr_used += (uint32_t)nr_granules;
	}
	*get_link(granule) = (uint32_t)nr_granules;
	*dptr = FIRST_ADDRESS + (CUdeviceptr)granule * GRANULE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
	struct heap *heap = get_heap();
	uint32_t granule, *link, *freed;

	if (!heap || dptr < FIRST_ADDRESS)
		return CUDA_ERROR_INVALID_VALUE;
	granule = (uint32_t)((dptr - FIRST_ADDRESS) / GRANULE);
	link = get_link(granule);
	freed = &heap->freed[*link];
	*link = *freed;
	*freed = granule;
	return CUDA_SUCCESS;
}

EXPORT const struct vs_null_driver_calls *vs_null_driver_get_calls(void)
{
	static const struct vs_null_driver_calls calls = {cuMemAlloc_v2, cuMemFree_v2};

	return &calls;
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
	if (len > 0) {
		strncpy(name, "null", (size_t)len);
		name[len - 1] = '\0';
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = (size_t)NR_HEAPS * NR_GRANULES * GRANULE;
	return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	(void)attrib, (void)dev;
	*pi = 0;
	return CUDA_SUCCESS;
}
