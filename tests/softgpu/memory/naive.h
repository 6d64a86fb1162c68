#ifndef SG_NAIVE_H
#define SG_NAIVE_H

#include "rig.h"

/*
 * The memory of one device as the rules describe it, done in the simplest way: arrays, linear
 * search, and every sum added up anew each time it is wanted. Written from the rules alone; it
 * shares nothing with the driver but what the driver answers (addresses).
 *
 * The rules:
 *   - Memory is taken in pages of 2 MiB. Requests up to half a page share pages with others of
 *     their kind; a page is taken when no page of that kind has a gap for the request, and goes
 *     back with its last block. Larger requests have pages of their own.
 *   - Managed memory takes what is free and leaves the rest on the host; it gives way to
 *     everything else, what was taken last first.
 *   - A pool takes pieces of 32 MiB, or of what is needed where those do not fit; before it gives
 *     up, it gives back its own free pieces. Synchronisation and trimming give back pieces that
 *     are wholly free, lowest address first, as long as enough is kept.
 *   - Physical memory is taken when it is made, and goes when it is neither held nor mapped.
 */
#define NAIVE_MAX    400
#define NAIVE_WINDOW 64
#define NAIVE_PIECE  (32 * MIB)

enum sg_naive_kind {
	NAIVE_DEVICE,
	NAIVE_MANAGED,
	NAIVE_PINNED,
	NAIVE_REGISTERED,
	NAIVE_POOL,
};

/* Some bytes that are known, somewhere in a piece of memory. */
struct sg_naive_window {
	size_t offset;
	size_t size;
	unsigned char bytes[NAIVE_WINDOW];
};

struct sg_naive_block {
	enum sg_naive_kind kind;
	CUdeviceptr address;
	size_t size;
	int context;
	int pool;
	struct sg_naive_window window;
};

/* What was taken from the device at once: a shared page, a large block, a piece of a pool. */
struct sg_naive_region {
	enum sg_naive_kind kind;
	bool is_shared; /* goes back with its last block; not so in a pool */
	int pool;
	CUdeviceptr base;
	size_t size;
	size_t charged;
};

struct sg_naive_pool {
	CUmemoryPool handle;
	bool is_used; /* the entry */
	bool is_destroyed;
	size_t max_size;
	uint64_t threshold;
	uint64_t used_high, reserved_high;
};
#define NAIVE_MAX_POOLS 6

struct sg_naive_physical {
	CUmemGenericAllocationHandle handle;
	size_t size;
	int nr_references; /* 0 and no mapping: the entry is free */
	int nr_mappings;
	struct sg_naive_window window;
};
#define NAIVE_MAX_PHYSICAL 24

struct sg_naive {
	size_t capacity;
	size_t overhead; /* taken now */
	struct sg_naive_block blocks[NAIVE_MAX];
	int nr_blocks;
	struct sg_naive_region regions[NAIVE_MAX]; /* oldest first */
	int nr_regions;
	struct sg_naive_pool pools[NAIVE_MAX_POOLS]; /* 0 is the default one */
	struct sg_naive_physical physical[NAIVE_MAX_PHYSICAL];
};

/* What is to happen to a request; filled by plan, used by place. */
struct sg_naive_plan {
	struct sg_naive_block block;
	size_t new_size; /* of the region it needs, 0: a gap somewhere does */
	size_t charged;
};

size_t sg_naive_get_free(const struct sg_naive *naive);

/* Take bytes, driving out managed memory if need be. False: there is no room, and nothing changed.
 */
bool sg_naive_charge(struct sg_naive *naive, size_t size);

/*
 * Before a request is made: what it will be answered. Takes the memory already if that is a
 * success. Then sg_naive_place says where the driver put it; it fails the test if that is not a
 * place it may be in. Returns the block.
 */
CUresult sg_naive_plan(struct sg_naive *naive, enum sg_naive_kind kind, int pool, size_t size,
		       struct sg_naive_plan *plan);
struct sg_naive_block *sg_naive_place(struct sg_naive *naive, const struct sg_naive_plan *plan,
				      CUdeviceptr address);

void sg_naive_free(struct sg_naive *naive, struct sg_naive_block *block);
void sg_naive_free_context(struct sg_naive *naive, int context);

/* The block that holds the address, or NULL. */
struct sg_naive_block *sg_naive_find(struct sg_naive *naive, CUdeviceptr address);
bool sg_naive_is_overlapping(const struct sg_naive *naive, CUdeviceptr address, size_t size);

uint64_t sg_naive_get_used(const struct sg_naive *naive, int pool);
uint64_t sg_naive_get_reserved(const struct sg_naive *naive, int pool);
void sg_naive_trim(struct sg_naive *naive, int pool, uint64_t keep);
void sg_naive_synchronize(struct sg_naive *naive);
void sg_naive_destroy_pool(struct sg_naive *naive, int pool);

/* All pools are empty, all physical memory is gone. */
void sg_naive_reset(struct sg_naive *naive);

#endif
