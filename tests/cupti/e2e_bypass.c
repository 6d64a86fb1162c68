/*
 * Calls the driver in ways that hooks cannot see: by addresses from libcuda's own table of symbols,
 * read as a file's contents would be, and not from dlsym or cuGetProcAddress. Beside them, the same
 * by the runtime, which they see. Prints its own books: what a report must say.
 *
 *	e2e_bypass all           one of each kind of memory
 *	e2e_bypass pairs N       N allocations and frees, by turns seen and not seen
 *	e2e_bypass threads N     the same in N threads
 */
#include <cuda.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

/* Set by find_driver(): typed as cuda.h has them. */
static struct {
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*alloc_pitch)(CUdeviceptr *, size_t *, size_t, size_t, unsigned);
	CUresult (*alloc_managed)(CUdeviceptr *, size_t, unsigned);
	CUresult (*free)(CUdeviceptr);
	CUresult (*host_alloc)(void **, size_t, unsigned);
	CUresult (*free_host)(void *);
	CUresult (*host_register)(void *, size_t, unsigned);
	CUresult (*host_unregister)(void *);
	CUresult (*array_create)(CUarray *, const CUDA_ARRAY_DESCRIPTOR *);
	CUresult (*array_destroy)(CUarray);
	CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream);
	CUresult (*free_async)(CUdeviceptr, CUstream);
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*unreserve)(CUdeviceptr, size_t);
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
			   unsigned long long);
	CUresult (*release)(CUmemGenericAllocationHandle);
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
			unsigned long long);
	CUresult (*unmap)(CUdeviceptr, size_t);
} driver;

static const struct {
	const char *name;
	void *slot;
} wanted[] = {
	{"cuMemAlloc_v2", &driver.alloc},
	{"cuMemAllocPitch_v2", &driver.alloc_pitch},
	{"cuMemAllocManaged", &driver.alloc_managed},
	{"cuMemFree_v2", &driver.free},
	{"cuMemHostAlloc", &driver.host_alloc},
	{"cuMemFreeHost", &driver.free_host},
	{"cuMemHostRegister_v2", &driver.host_register},
	{"cuMemHostUnregister", &driver.host_unregister},
	{"cuArrayCreate_v2", &driver.array_create},
	{"cuArrayDestroy", &driver.array_destroy},
	{"cuMemAllocAsync", &driver.alloc_async},
	{"cuMemFreeAsync", &driver.free_async},
	{"cuMemAddressReserve", &driver.reserve},
	{"cuMemAddressFree", &driver.unreserve},
	{"cuMemCreate", &driver.create},
	{"cuMemRelease", &driver.release},
	{"cuMemMap", &driver.map},
	{"cuMemUnmap", &driver.unmap},
};

#define NR_WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* Events that the hooks cannot have seen. */
static _Atomic unsigned long nr_hidden;

/* A call that must work, and how many events of it there are. */
#define HIDDEN(nr, call)                                                              \
	do {                                                                          \
		CUresult hidden_result = (call);                                      \
                                                                                      \
		if (hidden_result != CUDA_SUCCESS) {                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				(int)hidden_result);                                  \
			exit(1);                                                      \
		}                                                                     \
		nr_hidden += (nr);                                                    \
	} while (0)

/* How many symbols there are: the highest that any chain of the hash table reaches, plus one. */
static uint32_t count_symbols(const uint32_t *hash)
{
	const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + hash[0];
	uint32_t last = 0;

	for (uint32_t i = 0; i < hash[0]; i++)
		if (buckets[i] > last)
			last = buckets[i];
	while (last >= hash[1] && !(chain[last - hash[1]] & 1))
		last++;
	return last + 1;
}

static void read_symbols(const struct link_map *map)
{
	const ElfW(Sym) *symbols = NULL;
	const uint32_t *hash = NULL;
	const char *strings = NULL;

	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			symbols = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRTAB)
			strings = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_GNU_HASH)
			hash = (const void *)entry->d_un.d_ptr;
	}
	for (uint32_t i = 1; symbols && strings && hash && i < count_symbols(hash); i++)
		for (size_t j = 0; j < NR_WANTED; j++)
			if (symbols[i].st_value &&
			    !strcmp(strings + symbols[i].st_name, wanted[j].name))
				*(uintptr_t *)wanted[j].slot = map->l_addr + symbols[i].st_value;
}

static void find_driver(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, "/libcuda.so.1"))
			read_symbols(map);
	for (size_t i = 0; i < NR_WANTED; i++) {
		if (!*(uintptr_t *)wanted[i].slot) {
			fprintf(stderr, "%s is not in libcuda\n", wanted[i].name);
			exit(1);
		}
	}
}

/* ---- One of each ---- */

static __attribute__((noinline)) CUdeviceptr take_hidden(size_t size)
{
	CUdeviceptr address;

	HIDDEN(1, driver.alloc(&address, size));
	return address;
}

static void use_host(void)
{
	static char registered[1 << 16];
	void *host;

	HIDDEN(1, driver.host_alloc(&host, MIB, 0));
	HIDDEN(1, driver.free_host(host));
	HIDDEN(1, driver.host_register(registered, sizeof(registered), 0));
	HIDDEN(1, driver.host_unregister(registered));
}

static void use_array(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 256,
		.Height = 256,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 4,
	};
	CUarray array;

	HIDDEN(1, driver.array_create(&array, &shape));
	HIDDEN(1, driver.array_destroy(array));
}

static void use_pages(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;

	HIDDEN(1, driver.reserve(&base, 64 * MIB, 0, 0, 0));
	HIDDEN(1, driver.create(&handle, 32 * MIB, &prop, 0));
	HIDDEN(1, driver.map(base, 32 * MIB, 0, handle, 0));
	HIDDEN(1, driver.unmap(base, 32 * MIB));
	HIDDEN(1, driver.release(handle));
	HIDDEN(1, driver.unreserve(base, 64 * MIB));
}

static void fail(void)
{
	CUdeviceptr address;

	if (driver.alloc(&address, 64 * GIB) != CUDA_ERROR_OUT_OF_MEMORY)
		exit(1);
	nr_hidden += 1;
	/* A free, and that it failed. */
	if (driver.free(12345) == CUDA_SUCCESS)
		exit(1);
	nr_hidden += 2;
	if (driver.free(0) != CUDA_SUCCESS) /* nothing */
		exit(1);
}

static void use_all(void)
{
	CUdeviceptr address;
	size_t pitch;

	address = take_hidden(10 * MIB);
	HIDDEN(1, driver.free(address));
	HIDDEN(1, driver.alloc_pitch(&address, &pitch, 1000, 1000, 4));
	HIDDEN(1, driver.free(address));
	HIDDEN(1, driver.alloc_managed(&address, MIB, CU_MEM_ATTACH_GLOBAL));
	HIDDEN(1, driver.free(address));
	HIDDEN(1, driver.alloc_async(&address, MIB, NULL));
	HIDDEN(1, driver.free_async(address, NULL));
	use_host();
	use_array();
	use_pages();
	fail();
	(void)take_hidden(3 * MIB); /* and stays */
}

/* ---- By turns ---- */

static unsigned long nr_pairs;

static void *use_pairs(void *unused)
{
	CUdeviceptr hidden;
	void *seen;

	for (unsigned long i = 0; i < nr_pairs; i++) {
		CHECK(cudaMalloc(&seen, MIB));
		hidden = take_hidden(2 * MIB);
		CHECK(cudaFree(seen));
		HIDDEN(1, driver.free(hidden));
	}
	return unused;
}

static void use_threads(unsigned nr)
{
	pthread_t threads[64];

	for (unsigned i = 0; i < nr && i < 64; i++)
		if (pthread_create(&threads[i], NULL, use_pairs, NULL))
			exit(1);
	for (unsigned i = 0; i < nr && i < 64; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	CHECK(cudaFree(NULL)); /* a context, seen */
	find_driver();
	if (argc > 1 && !strcmp(argv[1], "all")) {
		use_all();
	} else if (argc > 2 && !strcmp(argv[1], "pairs")) {
		nr_pairs = number;
		(void)use_pairs(NULL);
	} else if (argc > 2 && !strcmp(argv[1], "threads")) {
		nr_pairs = 200;
		use_threads((unsigned)number);
	} else {
		fprintf(stderr, "usage: e2e_bypass all | pairs N | threads N\n");
		return 2;
	}
	printf("hidden_events=%lu\n", nr_hidden);
	return 0;
}
