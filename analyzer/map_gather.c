#include "map_gather.h"

static const char *get_label(const struct vs_replay *replay, const struct vs_item *item)
{
	static const char *const kinds[] = {
#define VS_MEMORY_KIND(name, text) text,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
	};
	const struct vs_replay_pool *pool = item->owner ? item->owner : item->pool;
	/* Its own: without stacks, all that was ever allocated shares one account. */
	const char *api = vs_definitions_get_name(&replay->definitions, item->api);

	if (pool && pool->owner != VS_POOL_DRIVER && *pool->name)
		return pool->name;
	return api ? api : kinds[item->kind];
}

int vs_map_gather_state(struct vs_map_state *map, const struct vs_device_state *state)
{
	const struct vs_address_map *from = &state->map;
	int err = 0;

	map->live_bytes = from->live_bytes;
	map->reserved_bytes = from->reserved_bytes;
	map->outside_bytes = state->where.outside_bytes + state->where.driver_rounding;
	map->not_taken_bytes = state->where.not_taken_bytes;
	map->not_seen_bytes = state->where.not_seen_bytes;
	for (size_t i = 0; i < from->nr_entries && !err; i++) {
		const struct vs_address_entry *entry = &from->entries[i];

		/* A block whose segment was not seen stands for itself. */
		if (!entry->depth)
			err = vs_map_add_segment(map, entry->base, entry->size,
						 get_label(state->then, entry->item),
						 entry->item->owner != NULL);
		/* Blocks that are divided further are not live themselves: what is in them is. */
		else if (entry->type != VS_ADDRESS_HOLE && !entry->item->owner)
			err = vs_map_add_block(map, entry->base, entry->size);
	}
	return err;
}
