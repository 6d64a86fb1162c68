#ifndef SG_SPACE_H
#define SG_SPACE_H

#include "arena.h"
#include "driver.h"

/*
 * One kind of memory of one device (or of the host): addresses from an arena, in 2 MiB pages that
 * are charged to the card. Large requests get pages of their own; small ones (up to half a page)
 * share pages that belong to the space.
 *
 * A run is a stretch of pages that was taken at once: of one large request, of one page shared by
 * small ones, or of one piece of a pool. The lock of memory.h guards all of it.
 */
struct sg_run {
	struct sg_space *space;
	struct sg_extent *pages;
	struct sg_extent *chunk;    /* of the arena, where the pages lie */
	uint64_t charged;           /* bytes on the card; less than the pages if evicted */
	_Atomic bool is_written;    /* holds bytes that must go when the run goes */
	struct sg_sharing *sharing; /* other processes may have it, too (sharing.h); NULL: none */
	struct sg_run *next;        /* in the space's list, for eviction */
	struct sg_run *previous;
};

struct sg_space {
	struct sg_arena arena;
	struct sg_extents pages;  /* in whole pages; regions are chunks of the arena */
	struct sg_extents small;  /* in units; regions are runs of one page */
	uint64_t unit;            /* alignment of small requests */
	CUdevice device;          /* charged, -1: nobody */
	bool is_evictable;        /* managed memory where the card allows more than it holds */
	bool is_host_visible;     /* the program writes to it without asking us */
	_Atomic unsigned nr_kept; /* small writes with the zero backing; counted by bytes.c */
	struct sg_run *runs;
	struct sg_run *spare;
};

/* device -1: host memory, not charged. */
void sg_space_init(struct sg_space *space, const char *label, CUdevice device, uint64_t unit);

/*
 * Pages of their own. NULL when the card or the addresses are out. `evict` lets managed spaces
 * give way; see sg_space_set_victim.
 */
struct sg_run *sg_space_take_run(struct sg_space *space, uint64_t size);
void sg_space_give_run(struct sg_run *run);

/* Addresses alone: a run that charges nobody. sharing.c brings the bytes. */
struct sg_run *sg_space_take_addresses(struct sg_space *space, uint64_t size);

/* A small piece; *run is the page it shares. Give it back with sg_space_give_small. */
struct sg_extent *sg_space_take_small(struct sg_space *space, uint64_t size);
void sg_space_give_small(struct sg_space *space, struct sg_extent *piece);

/* Requests up to this size share pages. */
uint64_t sg_space_get_small_limit(const struct sg_space *space);

/* Pages of `victim` are given up when `space` finds no room on the device both are on. */
void sg_space_set_victim(struct sg_space *victim);

/* The run a small piece lies in. */
struct sg_run *sg_space_get_run(const struct sg_extent *piece);

/* Where the bytes at an address of the run are kept. */
struct sg_arena_place sg_space_locate(const struct sg_run *run, uint64_t address);

/*
 * The part of the run's file that is this process's to clear: all of an arena, but of a file
 * that belongs to others no more than the run itself.
 */
void sg_space_get_extent_of_file(const struct sg_run *run, uint64_t *offset, uint64_t *size);

/* Charge bytes of a device as any space would, evicting managed memory if need be. */
bool sg_space_charge(CUdevice device, uint64_t size);
void sg_space_uncharge(CUdevice device, uint64_t size);

#endif
