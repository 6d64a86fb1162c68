#ifndef VS_SNAPSHOT_ITEMS_H
#define VS_SNAPSHOT_ITEMS_H

/* What is alive, out of a snapshot. Only snapshot_*.c include this. */
#include "snapshot_chain.h"
#include "wire.h"

/* {0} is empty. Items belong to it until they are in the replay. */
struct vs_snapshot_items {
	struct vs_item **items; /* handles, arrays, regions, freed ones; NULL: the replay has it */
	size_t nr_items;
	struct vs_item **handles; /* the first items, wherever they are */
	size_t nr_handles;
	size_t nr_arrays;
	size_t nr_alive; /* all but freed ones, and what was in those */
	size_t *freed;   /* which items they are, without what was in them */
	size_t nr_freed;
	size_t nr_taken;  /* of those */
	uint64_t *mapped; /* of each mapping: 1 + its handle, and is_owned in the lowest bit */
	size_t nr_mapped;
};

void vs_snapshot_items_fini(struct vs_snapshot_items *items);

/*
 * Makes items, reservations and mappings of a chain, and puts all but the freed items into the
 * replay, whose devices, pools, accounts and numbers are there already.
 */
VS_MUST_CHECK int vs_snapshot_items_get(struct vs_snapshot_items *items,
					const struct vs_snapshot_chain *chain,
					struct vs_replay *replay);

/* The next freed item, with what was in it: the caller's from now on. NULL: there is none. */
struct vs_item *vs_snapshot_items_take_freed(struct vs_snapshot_items *items);

/* Pool number - 1 of the replay; 0 is none. An error stays in the wire. */
struct vs_replay_pool *vs_snapshot_items_get_pool(struct vs_wire *in,
						  const struct vs_replay *replay);

#endif
