#include "id_map.h"

#include <stdlib.h>
#include <string.h>

void vs_id_map_fini(struct vs_id_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

static size_t get_home(const struct vs_id_map *map, uint64_t id)
{
	/* Numbers are often consecutive or multiples of a page: the upper bits of a product by an
	 * odd constant (2^64 / golden ratio) spread both. */
	return (size_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (map->nr_slots - 1);
}

/* The slot of the id, or the free one where it belongs. */
static struct vs_id_slot *find_slot(const struct vs_id_map *map, uint64_t id)
{
	size_t i = get_home(map, id);

	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & (map->nr_slots - 1);
	return &map->slots[i];
}

void *vs_id_map_get(const struct vs_id_map *map, uint64_t id)
{
	return map->nr_slots ? find_slot(map, id)->value : NULL;
}

static int enlarge(struct vs_id_map *map)
{
	struct vs_id_map larger = {.nr_slots = map->nr_slots ? map->nr_slots * 2 : 16};
	size_t i;

	larger.slots = calloc(larger.nr_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < map->nr_slots; i++)
		if (map->slots[i].value)
			*find_slot(&larger, map->slots[i].id) = map->slots[i];
	larger.nr_used = map->nr_used;
	free(map->slots);
	*map = larger;
	return 0;
}

int vs_id_map_put(struct vs_id_map *map, uint64_t id, void *value)
{
	struct vs_id_slot *slot;
	int err;

	/* At most three of four in use: searches stay short and always end. */
	if ((map->nr_used + 1) * 4 > map->nr_slots * 3) {
		err = enlarge(map);
		if (err)
			return err;
	}
	slot = find_slot(map, id);
	if (!slot->value)
		map->nr_used++;
	slot->id = id;
	slot->value = value;
	return 0;
}

void *vs_id_map_remove(struct vs_id_map *map, uint64_t id)
{
	struct vs_id_slot *hole;
	void *value;
	size_t i, home, mask = map->nr_slots - 1;

	hole = map->nr_slots ? find_slot(map, id) : NULL;
	if (!hole || !hole->value)
		return NULL;
	value = hole->value;
	map->nr_used--;
	/* Those behind move up, so that no search stops at the hole: no tombstones. */
	for (i = (size_t)(hole - map->slots + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
		home = get_home(map, map->slots[i].id);
		if (((i - home) & mask) < ((i - (size_t)(hole - map->slots)) & mask))
			continue;
		*hole = map->slots[i];
		hole = &map->slots[i];
	}
	hole->value = NULL;
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
