#ifndef SG_SHARING_H
#define SG_SHARING_H

#include "share.h"
#include "space.h"

/*
 * Pages that other processes have, too. There are three ways to them:
 *
 *   made to be shared   their bytes are in the card's file from the start (shareable cuMemCreate,
 *                       pools with a handle type)
 *   lent                pages of this process that others may map (cuIpcGetMemHandle); the bytes
 *                       stay where they are
 *   opened              pages of one of the first two sorts, made by another process
 *
 * Pages whose bytes are in another file than their arena's are covered: that file is mapped over
 * their addresses. All of them are runs like any other; sg_space_give_run() undoes each way. Lent
 * pages that another process still has when they are given back are put aside, so that nobody gets
 * them meanwhile: what it sees stays what it was, and the card keeps them charged.
 *
 * The memory lock guards all of it.
 */
struct sg_sharing {
	struct sg_share_key key;
	unsigned nr_users; /* in this process: how often the run was taken or opened */
	bool is_covered;
	struct sg_arena_place place;  /* of the first byte, if covered */
	struct sg_sharing_file *file; /* of another process; NULL: the card's own */
	struct sg_run *run;
	struct sg_sharing *next; /* put aside */
};

/* Pages made to be shared, charged to the card. NULL when there is no room. */
struct sg_run *sg_sharing_take_run(struct sg_space *space, uint64_t size);

/* Let others have the pages. False if they cannot; nothing has changed then. */
bool sg_sharing_lend_run(struct sg_run *run);

/*
 * The pages of a key, at addresses of the space; the same run if this process has them already.
 * NULL: *result is CUDA_ERROR_INVALID_HANDLE (there is no such memory any more),
 * CUDA_ERROR_MAP_FAILED or CUDA_ERROR_OUT_OF_MEMORY.
 */
struct sg_run *sg_sharing_open_run(struct sg_space *space, const struct sg_share_key *key,
				   CUresult *result);

/* For sg_space_give_run(): one user less. True if the pages are private now and can be given. */
bool sg_sharing_end(struct sg_run *run);

/* Give pages back that were put aside and that nobody has any more. */
void sg_sharing_sweep(void);

/*
 * The device of that index on the card, or the one that stands in for it where
 * CUDA_VISIBLE_DEVICES hides it: memory of hidden devices can be opened (since CUDA 10.1).
 */
CUdevice sg_sharing_find_device(int index, CUdevice otherwise);

#endif
