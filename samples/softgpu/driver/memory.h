#ifndef SG_MEMORY_H
#define SG_MEMORY_H

#include "context.h"
#include "share.h"
#include "space.h"

/*
 * Every piece of memory a program holds is a block: where it is, what it is, whose it is. Blocks
 * of all kinds are in one index by address.
 *
 * One lock guards the index, the spaces, the pools and the virtual memory of the process; functions
 * marked "locked" want it held. Bytes are copied outside it: a program that frees what it
 * copies gets what it gets on a GPU.
 */
enum sg_memory_kind {
	SG_MEMORY_DEVICE,     /* cuMemAlloc and its like */
	SG_MEMORY_MANAGED,    /* cuMemAllocManaged */
	SG_MEMORY_PINNED,     /* cuMemHostAlloc */
	SG_MEMORY_REGISTERED, /* cuMemHostRegister: the program's own memory */
	SG_MEMORY_POOL,       /* a block of a stream-ordered pool */
	SG_MEMORY_MAPPED,     /* cuMemMap: physical memory at an address */
	SG_MEMORY_MODULE,     /* globals of a module: not the program's to free */
	SG_MEMORY_ARRAY,      /* behind arrays (array.h): the program has no address of it */
	SG_MEMORY_OPENED,     /* cuIpcOpenMemHandle: memory of another process */
	SG_MEMORY_EXTERNAL,   /* cuExternalMemoryGetMappedBuffer */
	SG_MEMORY_GRAPH,      /* allocated by a node of a graph */
};
#define SG_MEMORY_IS(kind) (1u << (kind))

struct sg_advice;
struct sg_physical;
struct sg_pool;
struct sg_graph_allocation;

struct sg_block {
	struct sg_node node; /* address and requested size; in the index */
	enum sg_memory_kind kind;
	CUdevice device;
	unsigned flags; /* as given to the call that made it */
	unsigned long long id;
	struct sg_context *context; /* goes with it; NULL: outlives contexts */
	struct sg_run *run;         /* the pages it is in; NULL: registered */
	struct sg_extent *piece;    /* its part of a shared page or of a pool, else NULL */
	struct sg_pool *pool;       /* SG_MEMORY_POOL */
	bool has_sync_memops;       /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: kept, without effect */
	struct sg_advice *advice;   /* SG_MEMORY_MANAGED: what was said about it, or NULL */
	struct sg_share_key key;    /* what other processes know it by; id 0: they do not */
	unsigned nr_opens;          /* SG_MEMORY_OPENED: how often it still has to be closed */
	struct sg_graph_allocation *allocation; /* SG_MEMORY_GRAPH */
	/* SG_MEMORY_MAPPED: */
	struct sg_physical *physical;
	uint64_t offset;                      /* into the run of the physical memory */
	unsigned char access[SG_MAX_DEVICES]; /* CUmemAccess_flags by device */
	unsigned char host_access;
	struct sg_block *spare; /* next unused one */
};

void sg_memory_lock(void);
void sg_memory_unlock(void);

/* Locked. The block that holds the address, or the next one above, or NULL. */
struct sg_block *sg_memory_find(uint64_t address);
struct sg_block *sg_memory_find_from(uint64_t address);

/*
 * Locked. Whether the address is one that CUDA gives out, even if no block is there now: then it is
 * never the program's own memory.
 */
bool sg_memory_is_ours(uint64_t address);

/* Locked. A block, not yet in the index; the caller fills it in. NULL when memory is out. */
struct sg_block *sg_memory_create_block(void);
void sg_memory_insert(struct sg_block *block);
void sg_memory_remove(struct sg_block *block); /* out of the index, and gone */

/* Locked. The space of a kind on a device; pinned memory has only one. */
struct sg_space *sg_memory_get_space(enum sg_memory_kind kind, CUdevice device);

/* CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY. Device, managed, pinned, module and array memory. */
SG_MUST_USE CUresult sg_memory_alloc(enum sg_memory_kind kind, struct sg_context *context,
				     uint64_t size, unsigned flags, CUdeviceptr *address);

/*
 * Free the block that starts at the address if it is of one of the kinds (SG_MEMORY_IS bits), else
 * CUDA_ERROR_INVALID_VALUE.
 */
SG_MUST_USE CUresult sg_memory_free(CUdeviceptr address, unsigned kinds);

/*
 * Memory of a module's globals: device memory that belongs to the context, is charged like any
 * other and can be copied to and from, but is not the program's to free.
 * CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY.
 */
SG_MUST_USE CUresult sg_memory_alloc_module(struct sg_context *context, size_t size,
					    CUdeviceptr *address);
void sg_memory_free_module(CUdeviceptr address);

/* Write bytes to device memory from inside the driver (initial values of globals). */
void sg_memory_write(CUdeviceptr address, const void *bytes, size_t size);

/* Free what was allocated in a context that goes away: all but pools and cuMemCreate. */
void sg_memory_free_context(struct sg_context *context);

/* Free everything of a device: a reset of its primary context. */
void sg_memory_free_device(CUdevice device);

/* A stream, event or context was synchronised: pools give back what is above their threshold. */
void sg_memory_synchronize(CUdevice device);

/* Take the context overhead from the card, give it back. Counts contexts. */
SG_MUST_USE CUresult sg_memory_charge_context(CUdevice device);
void sg_memory_uncharge_context(CUdevice device);

/*
 * Where the bytes of an address are: one piece of a range, as long as it goes on in one block.
 */
struct sg_span {
	char *bytes;
	uint64_t size;
	struct sg_arena_place place; /* behind bytes; fd -1: none */
	struct sg_run *run;          /* NULL: the program's own memory */
	bool is_host;                /* the program sees these bytes itself: always exact */
	CUdevice device;
};

/*
 * Resolve the start of a range. False if no block holds the address, or if it may not be accessed
 * (mapped without cuMemSetAccess; is_write: mapped read-only).
 */
bool sg_memory_get_span(uint64_t address, uint64_t size, bool is_write, struct sg_span *span);

#endif
