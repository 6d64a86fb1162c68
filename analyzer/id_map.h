#ifndef VS_ID_MAP_H
#define VS_ID_MAP_H

#include <stdbool.h>
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

/* Where the search for an id begins; the map has slots. */
static inline size_t vs_id_map_get_home(const struct vs_id_map *map, uint64_t id)
{
	/* Numbers are often consecutive or multiples of a page: the upper bits of a product by an
	 * odd constant (2^64 / golden ratio) spread both. */
	return (size_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (map->nr_slots - 1);
}

/* Has the processor fetch the slot where that will be looked for. */
static inline void vs_id_map_fetch(const struct vs_id_map *map, uint64_t id)
{
	if (map->nr_slots)
		__builtin_prefetch(&map->slots[vs_id_map_get_home(map, id)]);
}

/* NULL when there is none. */
static inline void *vs_id_map_get(const struct vs_id_map *map, uint64_t id)
{
	size_t i;

	if (!map->nr_slots)
		return NULL;
	i = vs_id_map_get_home(map, id);
	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & (map->nr_slots - 1);
	return map->slots[i].value;
}

/* value is not NULL; replaces an earlier one. */
VS_MUST_CHECK int vs_id_map_put(struct vs_id_map *map, uint64_t id, void *value);

/* Whether one more can be put without making room for it. */
static inline bool vs_id_map_has_room(const struct vs_id_map *map)
{
	/* At most one of two in use: searches are short, and mostly as long as the one before. */
	return map->nr_used < map->nr_slots / 2;
}

/* The slot of the id, or the free one where it belongs; the map has slots. */
static inline struct vs_id_slot *vs_id_map_find_slot(const struct vs_id_map *map, uint64_t id)
{
	size_t i = vs_id_map_get_home(map, id);

	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & (map->nr_slots - 1);
	return &map->slots[i];
}

/* vs_id_map_put for those who have made sure that there is room. */
static inline void vs_id_map_put_quickly(struct vs_id_map *map, uint64_t id, void *value)
{
	struct vs_id_slot *slot = vs_id_map_find_slot(map, id);

	map->nr_used += !slot->value;
	*slot = (struct vs_id_slot){id, value};
}

/* So many more are going to be put. */
VS_MUST_CHECK int vs_id_map_reserve(struct vs_id_map *map, size_t nr);

/* Returns what was there, or NULL. */
void *vs_id_map_remove(struct vs_id_map *map, uint64_t id);

/* Makes a slot free that is not. Those behind it may move up. */
void vs_id_map_empty_slot(struct vs_id_map *map, struct vs_id_slot *slot);

/* Only if that is what is there. */
static inline void vs_id_map_remove_value(struct vs_id_map *map, uint64_t id, const void *value)
{
	struct vs_id_slot *slot, *next;

	if (!map->nr_slots)
		return;
	slot = vs_id_map_find_slot(map, id);
	if (slot->value != value || !slot->value)
		return;
	next = &map->slots[(size_t)(slot + 1 - map->slots) & (map->nr_slots - 1)];
	if (next->value) {
		vs_id_map_empty_slot(map, slot);
		return;
	}
	slot->value = NULL;
	map->nr_used--;
}

/* Walk: *slot starts at 0; NULL at the end. No put or remove while walking. */
void *vs_id_map_next(const struct vs_id_map *map, size_t *slot);

#endif
