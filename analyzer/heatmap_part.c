#include "heatmap_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *vs_heatmap_part_copy_name(const struct vs_heatmap_part *part)
{
	char text[256];

	if (part->type == VS_HEATMAP_POOL)
		snprintf(text, sizeof(text), "pool %s", part->pool);
	else
		snprintf(text, sizeof(text), "segment at 0x%" PRIx64, part->address);
	return strdup(text);
}

bool vs_heatmap_part_is_pool(const struct vs_heatmap_part *part, const struct vs_replay_pool *pool)
{
	return part->type == VS_HEATMAP_POOL && pool && !strcmp(pool->name, part->pool);
}

static bool holds(const struct vs_item *item, uint64_t address)
{
	return address - item->range.base < item->range.size;
}

void vs_heatmap_part_judge(const struct vs_heatmap_part *part, const struct vs_item *item,
			   struct vs_lifetime *lifetime)
{
	bool is_its;

	switch (part->type) {
	case VS_HEATMAP_POOL:
		is_its = vs_heatmap_part_is_pool(part, item->pool);
		lifetime->is_held =
			vs_heatmap_part_is_pool(part, item->owner) || (is_its && !item->parent);
		lifetime->is_live = is_its;
		break;
	case VS_HEATMAP_SEGMENT:
		while (item->parent)
			item = item->parent;
		if (!holds(item, part->address))
			lifetime->is_held = lifetime->is_live = false;
		break;
	default:
		break;
	}
}

/* A pool's live bytes are those it gave out, whatever became of them. */
static void sum_pools(const struct vs_heatmap_part *part, const struct vs_replay *replay,
		      const struct vs_replay_device *device, uint64_t *live, uint64_t *reserved)
{
	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		if (pool->device != device || !vs_heatmap_part_is_pool(part, pool))
			continue;
		*live += pool->block_bytes;
		*reserved += pool->owner == VS_POOL_DRIVER ? vs_replay_get_held(pool)
							   : pool->segment_bytes;
	}
}

void vs_heatmap_part_get_bytes(const struct vs_heatmap_part *part, const struct vs_replay *replay,
			       const struct vs_replay_device *device, uint64_t *live,
			       uint64_t *reserved)
{
	const struct vs_item *item;

	*live = *reserved = 0;
	switch (part->type) {
	case VS_HEATMAP_POOL:
		sum_pools(part, replay, device, live, reserved);
		break;
	case VS_HEATMAP_SEGMENT:
		item = (const struct vs_item *)(const void *)vs_range_tree_find(&replay->regions,
										part->address);
		if (!item || item->device != device)
			break;
		*reserved = item->size;
		*live = item->owner ? item->block_bytes : item->size;
		break;
	default:
		*live = device->live_bytes;
		*reserved = vs_replay_get_reserved(device);
		break;
	}
}
