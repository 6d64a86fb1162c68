#ifndef VS_ID_MAP_H
#define VS_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * A hash table from numbers to pointers. Numbers come from traces, so nothing is assumed about
 * them. The map owns its slots, not what they point to.
 */
struct vs_id_slot {
	uint64_t id;
	void *value; /* NULL: free */
};

struct vs_id_map {
	struct vs_id_slot *slots;
	size_t nr_slots; /* a power of two, or 0 */
	size_t nr_used;
};

void vs_id_map_fini(struct vs_id_map *map);

/* NULL when there is none. */
void *vs_id_map_get(const struct vs_id_map *map, uint64_t id);

/* value is not NULL; replaces an earlier one. */
VS_MUST_CHECK int vs_id_map_put(struct vs_id_map *map, uint64_t id, void *value);

/* Returns what was there, or NULL. */
void *vs_id_map_remove(struct vs_id_map *map, uint64_t id);

/* Walk: *slot starts at 0; NULL at the end. No put or remove while walking. */
void *vs_id_map_next(const struct vs_id_map *map, size_t *slot);

#endif
