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

static int add_pieces(struct maker *maker)
{
	const struct vs_address_map *map = &maker->state->map;
	struct vs_space *space = maker->space;
	int err = 0;

	for (size_t i = 0; i < map->nr_entries && !err; i++) {
		const struct vs_address_entry *entry = &map->entries[i];
		bool is_hole = entry->type == VS_ADDRESS_HOLE;

		if (!entry->depth) {
			maker->segment_base = entry->base;
			maker->segment_offset = space->total_bytes;
			space->total_bytes += entry->size;
			space->nr_segments++;
		}
		/* What a pool divides is seen by what is in it. */
		if (is_hole || !entry->item->owner)
			err = add_piece(maker, entry, !is_hole && touches_hole(map, i));
	}
	return err;
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
			  struct vs_site_names *names, const struct vs_composition *composition)
{
	struct maker maker = {
		.space = space, .state = state, .composition = composition, .names = names};
	int err;

	memset(space, 0, sizeof(*space));
	err = copy_facts(space, state);
	if (!err)
		err = composition ? name_categories(space) : name_sites(&maker);
	if (!err)
		err = add_pieces(&maker);
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
	memset(space, 0, sizeof(*space));
}
