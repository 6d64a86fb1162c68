#include "id_map.h"

#include <stdlib.h>
#include <string.h>

void vs_id_map_fini(struct vs_id_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

static int enlarge(struct vs_id_map *map, size_t nr_slots)
{
	struct vs_id_map larger = {.nr_slots = nr_slots};
	size_t i;

	larger.slots = calloc(larger.nr_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < map->nr_slots; i++)
		if (map->slots[i].value)
			*vs_id_map_find_slot(&larger, map->slots[i].id) = map->slots[i];
	larger.nr_used = map->nr_used;
	free(map->slots);
	*map = larger;
	return 0;
}

int vs_id_map_reserve(struct vs_id_map *map, size_t nr)
{
	size_t nr_slots = map->nr_slots ? map->nr_slots : 16;

	while (map->nr_used + nr > nr_slots / 2) /* vs_id_map_has_room */
		nr_slots *= 2;
	return nr_slots > map->nr_slots ? enlarge(map, nr_slots) : 0;
}

int vs_id_map_put(struct vs_id_map *map, uint64_t id, void *value)
{
	int err = 0;

	if (!vs_id_map_has_room(map))
		err = enlarge(map, map->nr_slots ? map->nr_slots * 2 : 16);
	if (!err)
		vs_id_map_put_quickly(map, id, value);
	return err;
}

/* Those behind move up, so that no search stops at the hole: no tombstones. */
void vs_id_map_empty_slot(struct vs_id_map *map, struct vs_id_slot *hole)
{
	size_t i, home, mask = map->nr_slots - 1;

	map->nr_used--;
	for (i = (size_t)(hole - map->slots + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
		home = vs_id_map_get_home(map, map->slots[i].id);
		if (((i - home) & mask) < ((i - (size_t)(hole - map->slots)) & mask))
			continue;
		*hole = map->slots[i];
		hole = &map->slots[i];
	}
	hole->value = NULL;
}

void *vs_id_map_remove(struct vs_id_map *map, uint64_t id)
{
	struct vs_id_slot *slot = map->nr_slots ? vs_id_map_find_slot(map, id) : NULL;
	void *value = slot ? slot->value : NULL;

	if (value)
		vs_id_map_empty_slot(map, slot);
	return value;
}

void *vs_id_map_next(const struct vs_id_map *map, size_t *slot)
{
	while (*slot < map->nr_slots) {
		void *value = map->slots[(*slot)++].value;

		if (value)
			return value;
	}
	return NULL;
}
