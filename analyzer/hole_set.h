#ifndef VS_HOLE_SET_H
#define VS_HOLE_SET_H

#include <stdint.h>

#include "error.h"
#include "range_tree.h"

/*
 * The sizes of a pool's holes, and the measures of fragmentation over them. Sizes are kept by
 * class: sixteen for each power of two, a bit for each that has any, and in a class a tree of the
 * different sizes. So adding and removing touch a small tree, and the largest is in the class of
 * the highest bit. The set owns its memory, which grows with the different sizes at one time.
 */
struct vs_hole_sizes; /* hole_set.c */

struct vs_hole_set {
	struct vs_hole_sizes *sizes; /* NULL: there never was a hole */
	uint64_t nr_holes;
	uint64_t total_bytes;
	unsigned __int128 squares; /* exact: sums of floats would drift */
};

void vs_hole_set_fini(struct vs_hole_set *set);

/* A size of 0 is no hole: nothing happens. What is removed was added before. */
VS_MUST_CHECK int vs_hole_set_add(struct vs_hole_set *set, uint64_t size);
void vs_hole_set_remove(struct vs_hole_set *set, uint64_t size);

/* 0 when there are none. */
uint64_t vs_hole_set_get_largest(const struct vs_hole_set *set);

/* 1 - largest / total: the share of free bytes outside the largest hole. 0 when nothing is free. */
double vs_hole_set_get_share(const struct vs_hole_set *set);

/* 1 - sqrt(sum of squares) / total; 0 when nothing is free. */
double vs_hole_set_get_scatter(const struct vs_hole_set *set);

/* Bytes in holes smaller than a request, by which it is not served. */
uint64_t vs_hole_set_get_below(const struct vs_hole_set *set, uint64_t request);

#endif
