#ifndef VS_HEATMAP_PART_H
#define VS_HEATMAP_PART_H

/*
 * Which part of a device a heatmap is of: all of it, one pool, or one segment. docs/analyses.md,
 * "Heatmap". A pool is named as everywhere else; pools with one name on one device are one here. A
 * segment is named by an address in it.
 */
#include "heatmap.h"
#include "replay.h"

enum vs_heatmap_part_type {
	VS_HEATMAP_DEVICE,
	VS_HEATMAP_POOL,
	VS_HEATMAP_SEGMENT,
};

struct vs_heatmap_part {
	enum vs_heatmap_part_type type;
	const char *pool; /* name; of whoever made this */
	uint64_t address;
};

/* "pool NAME" or "segment at ADDRESS", the caller's to free; NULL: no memory. */
char *vs_heatmap_part_copy_name(const struct vs_heatmap_part *part);

/* Whether it is the pool; false if the part is none. NULL is no pool. */
bool vs_heatmap_part_is_pool(const struct vs_heatmap_part *part, const struct vs_replay_pool *pool);

/*
 * What an item is in the part: sets is_held and is_live of its lifetime. Of a pool that another one
 * stands in, what the other has is live as a whole.
 */
void vs_heatmap_part_judge(const struct vs_heatmap_part *part, const struct vs_item *item,
			   struct vs_lifetime *lifetime);

/* What is live and reserved in it now. */
void vs_heatmap_part_get_bytes(const struct vs_heatmap_part *part, const struct vs_replay *replay,
			       const struct vs_replay_device *device, uint64_t *live,
			       uint64_t *reserved);

#endif
