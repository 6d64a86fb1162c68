#ifndef VS_LIFETIMES_H
#define VS_LIFETIMES_H

/*
 * An observer of the replay that turns births and deaths into lifetimes of stretches of addresses:
 * each is told when it ends, those alive at the end of the trace then. What has no address (arrays,
 * physical memory) and memory that is not a device's is left out.
 */
#include "heatmap.h"
#include "replay.h"

/* 0, or an error that ends the replay. */
typedef int (*vs_lifetimes_fn)(void *data, const struct vs_item *item,
			       const struct vs_lifetime *lifetime);

/* The group of an item (heatmap.h), as it is told. */
typedef uint32_t (*vs_lifetimes_group_fn)(void *data, const struct vs_item *item);

struct vs_lifetimes {
	struct vs_observer observer; /* for vs_replay_add_observer */
	vs_lifetimes_fn tell;
	void *data;
	vs_lifetimes_group_fn get_group; /* NULL: all are in group 0 */
	void *group_data;
	bool cuts_blocks; /* with a segment that is resized, what lies in it is told, too, and goes
			     on as another one: it may lie in another segment then */
	struct vs_id_map starts; /* item id -> start + 1, where it is not the item's birth */
};

void vs_lifetimes_init(struct vs_lifetimes *lifetimes, vs_lifetimes_fn tell, void *data);
void vs_lifetimes_fini(struct vs_lifetimes *lifetimes);

#endif
