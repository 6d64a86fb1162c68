#include "address_space.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "site_order.h"

_Static_assert(VS_NR_CATEGORIES + 1 <= VS_SPACE_GROUPS,
	       "a group for each category, and one for the rest");

/* What is needed while it is made. */
struct maker {
	struct vs_space *space;
	const struct vs_device_state *state;
	const struct vs_heatmap_part *part;
	const struct vs_composition *composition;
	struct vs_site_names *names;
	uint32_t sites[VS_SPACE_GROUPS];
	size_t nr_sites;
	uint64_t segment_base;   /* of the segment that is being added */
	uint64_t segment_offset; /* in the folded space */
};

static int add_group(struct vs_space *space, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -VS_ERR_NO_MEMORY;
	space->group_names[space->nr_groups++] = copy;
	return 0;
}

/* ---- Groups --------------------------------------------------------------------------------- */

static int name_categories(struct vs_space *space)
{
	int err = 0;

	for (int i = 0; i < VS_NR_CATEGORIES && !err; i++)
		err = add_group(space, vs_category_get_plural((enum vs_category)i));
	return err ? err : add_group(space, "not PyTorch's");
}

static int name_sites(struct maker *maker)
{
	const struct vs_replay *then = maker->state->then;
	const struct vs_replay_device *device =
		vs_replay_get_device(then, maker->state->device->ordinal);
	struct vs_site_row *rows = NULL;
	size_t nr_rows = 0;
	char text[256];
	int err = device ? vs_site_order_live(then, device, &rows, &nr_rows) : 0;

	for (size_t i = 0; i < nr_rows && i + 1 < VS_SPACE_GROUPS && !err; i++) {
		maker->sites[maker->nr_sites++] = rows[i].account->site->index;
		err = vs_site_names_put_short(maker->names, rows[i].account->site,
					      rows[i].account->api, text, sizeof(text));
		if (!err)
			err = add_group(maker->space, text);
	}
	free(rows);
	return err ? err : add_group(maker->space, "all others");
}

static uint32_t find_category(const struct vs_composition *composition, uint64_t id)
{
	size_t low = 0, high = composition->nr_blocks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (composition->blocks[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < composition->nr_blocks && composition->blocks[low].id == id
		       ? (uint32_t)composition->blocks[low].category
		       : VS_NR_CATEGORIES;
}

static uint32_t find_group(const struct maker *maker, const struct vs_item *item)
{
	uint32_t i = 0;

	if (maker->composition)
		return find_category(maker->composition, item->id);
	while (i < maker->nr_sites && maker->sites[i] != item->account->site->index)
		i++;
	return i;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static int add_piece(struct maker *maker, const struct vs_address_entry *entry, bool is_pinning)
{
	struct vs_space *space = maker->space;
	bool is_hole = entry->type == VS_ADDRESS_HOLE;
	int err = VS_GROW(space->pieces, space->pieces_capacity, space->nr_pieces + 1);

	if (err)
		return err;
	space->pieces[space->nr_pieces++] = (struct vs_space_piece){
		.type = !is_hole               ? VS_SPACE_LIVE
			: entry->is_releasable ? VS_SPACE_RELEASABLE
					       : VS_SPACE_HOLE,
		.offset = maker->segment_offset + (entry->base - maker->segment_base),
		.size = entry->size,
		.group = is_hole ? 0 : find_group(maker, entry->item),
		.is_pinning = is_pinning,
		.begins_segment = entry->base == maker->segment_base,
	};
	space->nr_pinning += is_pinning;
	return 0;
}

/* Whether the entry before or behind, at the same depth, is a hole that touches it. */
static bool touches_hole(const struct vs_address_map *map, size_t i)
{
	const struct vs_address_entry *entry = &map->entries[i];
	const struct vs_address_entry *before = i ? entry - 1 : NULL;
	const struct vs_address_entry *behind = i + 1 < map->nr_entries ? entry + 1 : NULL;

	if (!entry->depth)
		return false;
	if (before && before->type == VS_ADDRESS_HOLE && before->depth == entry->depth &&
	    before->base + before->size == entry->base)
		return true;
	return behind && behind->type == VS_ADDRESS_HOLE && behind->depth == entry->depth &&
	       entry->base + entry->size == behind->base;
}

/* Whether something, and all that lies in it, is the part, or one of its segments. */
static bool is_wanted(const struct maker *maker, const struct vs_address_entry *entry)
{
	const struct vs_heatmap_part *part = maker->part;
	const struct vs_item *item = entry->item;

	if (entry->type == VS_ADDRESS_HOLE)
		return false;
	switch (part->type) {
	case VS_HEATMAP_POOL:
		return vs_heatmap_part_is_pool(part, item->owner) ||
		       (!entry->depth && vs_heatmap_part_is_pool(part, item->pool));
	case VS_HEATMAP_SEGMENT:
		return !entry->depth && part->address - entry->base < entry->size;
	default:
		return !entry->depth;
	}
}

static void begin_segment(struct maker *maker, const struct vs_address_entry *entry)
{
	struct vs_space *space = maker->space;

	maker->segment_base = entry->base;
	maker->segment_offset = space->total_bytes;
	space->total_bytes += entry->size;
	space->nr_segments++;
}

static int add_pieces(struct maker *maker)
{
	const struct vs_address_map *map = &maker->state->map;
	const struct vs_address_entry *segment = NULL; /* that the entry is, or is in */
	int err = 0;

	for (size_t i = 0; i < map->nr_entries && !err; i++) {
		const struct vs_address_entry *entry = &map->entries[i];
		bool is_hole = entry->type == VS_ADDRESS_HOLE;

		if (segment && entry->depth <= segment->depth)
			segment = NULL;
		if (!segment && is_wanted(maker, entry)) {
			segment = entry;
			begin_segment(maker, entry);
		}
		/* What a pool divides is seen by what is in it. */
		if (segment && (is_hole || !entry->item->owner))
			err = add_piece(maker, entry, !is_hole && touches_hole(map, i));
	}
	return err;
}

/* What is seen of a part is all that is known of it. */
static int sum_part(struct vs_space *space, const struct vs_heatmap_part *part)
{
	space->reserved_bytes = space->total_bytes;
	space->live_bytes = space->hole_bytes = space->largest_hole = 0;
	for (size_t i = 0; i < space->nr_pieces; i++) {
		const struct vs_space_piece *piece = &space->pieces[i];

		if (piece->type == VS_SPACE_LIVE)
			space->live_bytes += piece->size;
		if (piece->type != VS_SPACE_HOLE)
			continue;
		space->hole_bytes += piece->size;
		if (piece->size > space->largest_hole)
			space->largest_hole = piece->size;
	}
	space->part = vs_heatmap_part_copy_name(part);
	return space->part ? 0 : -VS_ERR_NO_MEMORY;
}

/* ---- All ------------------------------------------------------------------------------------ */

static int copy_facts(struct vs_space *space, const struct vs_device_state *state)
{
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);

	space->live_bytes = state->map.live_bytes;
	space->reserved_bytes = state->map.reserved_bytes;
	space->hole_bytes = state->map.hole_bytes;
	space->largest_hole = worst ? vs_hole_set_get_largest(&worst->holes) : 0;
	space->time_ns = state->at.time_ns;
	space->requested = state->oom ? state->oom->last_oom.size : 0;
	space->device = state->device->ordinal;
	space->capacity = state->device->total_size;
	if (state->device->name) {
		space->device_name = strdup(state->device->name);
		if (!space->device_name)
			return -VS_ERR_NO_MEMORY;
	}
	return 0;
}

int vs_address_space_init(struct vs_space *space, const struct vs_device_state *state,
			  const struct vs_heatmap_part *part, struct vs_site_names *names,
			  const struct vs_composition *composition)
{
	struct maker maker = {.space = space,
			      .state = state,
			      .part = part,
			      .composition = composition,
			      .names = names};
	int err;

	memset(space, 0, sizeof(*space));
	err = copy_facts(space, state);
	if (!err)
		err = composition ? name_categories(space) : name_sites(&maker);
	if (!err)
		err = add_pieces(&maker);
	if (!err && part->type != VS_HEATMAP_DEVICE)
		err = sum_part(space, part);
	if (err)
		vs_address_space_fini(space);
	return err;
}

void vs_address_space_fini(struct vs_space *space)
{
	for (size_t i = 0; i < space->nr_groups; i++)
		free(space->group_names[i]);
	free(space->pieces);
	free(space->device_name);
	free(space->program);
	free(space->part);
	memset(space, 0, sizeof(*space));
}
