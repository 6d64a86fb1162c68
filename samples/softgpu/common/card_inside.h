#ifndef SG_CARD_INSIDE_H
#define SG_CARD_INSIDE_H

/*
 * The card as it lies in memory: for card.c and share.c alone. Everything in the shared part is
 * written under its lock. A process that dies with the lock leaves words that are each either old
 * or new; what it held is taken back by those who come after it, so only what belongs to others
 * must never be half written.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "card.h"
#include "share.h"

#define SG_CARD_NR_SLOTS 1024

struct sg_card_slot {
	_Atomic int32_t pid; /* 0: free. Written under the lock. */
	uint64_t start_time; /* tells a process from a later one with its pid */
	_Atomic uint64_t size[SG_MAX_DEVICES];
};

/* One thing that is shared. */
struct sg_card_entry {
	_Atomic uint64_t id; /* 0: free. Stored last when it is made, first when it goes. */
	uint32_t kind;
	int32_t maker; /* slot of the process that made it */
	struct sg_share share;
	_Atomic uint64_t holders[SG_CARD_NR_SLOTS / 64]; /* a bit for each slot */
};

/* What is in the memfd; bytes of shared memory lie behind it. */
struct sg_card_shared {
	_Atomic uint32_t magic; /* stored last by the creator */
	int32_t nr_devices;
	uint64_t capacity[SG_MAX_DEVICES];
	pthread_mutex_t lock;          /* robust; guards all below */
	uint64_t used[SG_MAX_DEVICES]; /* sum over slots and entries */
	int32_t nr_slots;              /* slots ever taken: nothing lies behind them */
	int32_t nr_entries;            /* likewise */
	int32_t first_free;            /* no entry below is free */
	uint64_t next_id;
	uint64_t next_offset; /* in the file: never used again, so nobody meets old bytes */
	struct sg_card_slot slots[SG_CARD_NR_SLOTS];
	struct sg_card_entry entries[SG_SHARE_MAX];
};

struct sg_card {
	struct sg_card_shared *shared;
	int fd;
	struct sg_card_slot *own; /* slot of this process, or NULL; guarded by shared->lock */
	unsigned forks;           /* nr_forks when it was taken */
	unsigned nr_holds[SG_SHARE_MAX]; /* of this process, by entry; guarded by shared->lock */
};

/* card.c */
void sg_card_lock(struct sg_card *card);
void sg_card_unlock(struct sg_card *card);

/* Lock held. The slot of this process, made if need be; NULL: too many processes. */
struct sg_card_slot *sg_card_take_slot(struct sg_card *card);

/* Lock held. Take back what dead processes hold. True if anything came back. */
bool sg_card_reap(struct sg_card *card);

/* share.c; all with the lock held */

/* Add the sizes of all entries. */
void sg_share_add_sizes(const struct sg_card_shared *shared, uint64_t used[SG_MAX_DEVICES]);

/* Bytes of entries that count as those of a slot's process: each counts for one process only. */
uint64_t sg_share_get_size_of(const struct sg_card_shared *shared, int slot, int device);

/* Take back the holds of a slot whose process is gone, or done. */
void sg_share_drop_slot(struct sg_card_shared *shared, int slot);

/* Remove entries that nobody holds. True if there were any; the sums are then to be rebuilt. */
bool sg_share_sweep(struct sg_card *card);

#endif
