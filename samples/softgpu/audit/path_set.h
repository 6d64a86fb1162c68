/*
 * A set of paths, kept as hashes in caller's storage, without heap and without locks. Two different
 * paths with the same 64 bits are taken for one; what hangs on that is a line on stderr.
 */
#ifndef SG_PATH_SET_H
#define SG_PATH_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SG_PATH_SET_SIZE 1024

/* All zero is the empty set. A slot is written once, by compare-and-swap, and never cleared. */
struct sg_path_set {
	_Atomic uint64_t slots[SG_PATH_SET_SIZE];
};

/* Returns whether @path is new; true for every path once the set is full. Any thread. */
bool sg_path_set_add(struct sg_path_set *set, const char *path);

/* Any thread. */
bool sg_path_set_has(struct sg_path_set *set, const char *path);

#endif
