/* Virtual memory: reservations, mappings, and the segments that mapped pages make up. */
#include <assert.h>
#include <stdlib.h>

#include "replay_items.h"

static struct vs_mapping *mapping_of(struct vs_range *range)
{
	return (struct vs_mapping *)(void *)range; /* its first member */
}

static struct vs_reservation *reservation_of(struct vs_range *range)
{
	return (struct vs_reservation *)(void *)range; /* its first member */
}

static uint64_t get_end(uint64_t base, uint64_t size)
{
	return size > UINT64_MAX - base ? UINT64_MAX : base + size;
}

/* ---- Reservations --------------------------------------------------------------------------- */

/*
 * Unmapping and freeing addresses is recorded before the call, and taken back by a record of what
 * is there all the same if the call failed. What the driver always refuses is not done at all: the
 * record that takes it back knows only a part of what would have to come back.
 */

/* Whether [base, end) is within what is reserved already: a record that takes back. */
static bool is_reserved(const struct vs_replay *replay, uint64_t base, uint64_t end)
{
	const struct vs_range *range = vs_range_tree_find(&replay->reservations, base);

	return range && vs_range_end(range) >= end;
}

/* Addresses are freed as they were reserved, and when nothing is mapped there. */
static bool is_unreserve_refused(const struct vs_replay *replay, uint64_t base, uint64_t end)
{
	struct vs_range *range = vs_range_tree_find_from(&replay->mappings, base);

	if (range && range->base < end)
		return true;
	range = vs_range_tree_find_from(&replay->reservations, base);
	return range && range->base < end && (range->base < base || vs_range_end(range) > end);
}

/* No mapping can be ended in part. */
static bool is_unmap_refused(const struct vs_replay *replay, uint64_t base, uint64_t end)
{
	const struct vs_range *first = vs_range_tree_find(&replay->mappings, base);
	const struct vs_range *last = end ? vs_range_tree_find(&replay->mappings, end - 1) : NULL;

	return (first && first->base < base) || (last && vs_range_end(last) > end);
}

/* The handle is there already, in whole or in part: a record that takes back. */
static bool is_mapped(const struct vs_replay *replay, const struct vs_map *map)
{
	struct vs_range *range = vs_range_tree_find(&replay->mappings, map->address);
	const struct vs_item *handle = range ? mapping_of(range)->handle : NULL;

	return handle && handle->range.base == map->handle;
}

static int unreserve(struct vs_replay *replay, uint64_t base, uint64_t end)
{
	struct vs_range *range;
	int err;

	while ((range = vs_range_tree_find_from(&replay->reservations, base)) &&
	       range->base < end) {
		/* What is still mapped there was unmapped by an event that got lost. */
		err = vs_replay_vmm_unmap(replay, range->base, range->size, VS_CAUSE_OVERLAP);
		if (err)
			return err;
		vs_range_tree_remove(&replay->reservations, range);
		free(reservation_of(range));
	}
	return 0;
}

static int reserve(struct vs_replay *replay, uint64_t base, uint64_t size,
		   struct vs_reservation **out)
{
	uint64_t end = get_end(base, size ? size : 1);
	struct vs_reservation *reservation;
	int err;

	err = unreserve(replay, base, end);
	if (err)
		return err;
	reservation = calloc(1, sizeof(*reservation));
	if (!reservation)
		return -VS_ERR_NO_MEMORY;
	reservation->range.base = base;
	reservation->range.size = end - base;
	reservation->id = ++replay->last_reservation_id;
	err = vs_replay_find_adopter(replay, reservation->id | VS_ADOPTION_RESERVATION,
				     &reservation->owner);
	if (err) {
		free(reservation);
		return err;
	}
	vs_range_tree_insert(&replay->reservations, &reservation->range);
	*out = reservation;
	return 0;
}

int vs_replay_vmm_reserve(struct vs_replay *replay, const struct vs_reserve *record)
{
	struct vs_reservation *reservation;

	if (record->address == UINT64_MAX ||
	    is_reserved(replay, record->address,
			get_end(record->address, record->size ? record->size : 1)))
		return 0;
	return reserve(replay, record->address, record->size, &reservation);
}

int vs_replay_vmm_unreserve(struct vs_replay *replay, const struct vs_reserve *record)
{
	uint64_t end = get_end(record->address, record->size);

	return is_unreserve_refused(replay, record->address, end)
		       ? 0
		       : unreserve(replay, record->address, end);
}

/* ---- Segments: runs of adjacent mapped pages ------------------------------------------------ */

/* `end` is not below the base. Bytes of a segment are its extent. */
static void set_range(struct vs_replay *replay, struct vs_item *segment, uint64_t base,
		      uint64_t end)
{
	vs_range_tree_remove(&replay->regions, &segment->range);
	if (segment->owner)
		segment->owner->segment_bytes += (end - base) - segment->size;
	segment->range.base = base;
	segment->range.size = end - base;
	segment->size = end - base;
	vs_range_tree_insert(&replay->regions, &segment->range);
}

/* The blocks at and above an address go from one segment to another. */
static void move_blocks(struct vs_item *from, struct vs_item *to, uint64_t address)
{
	struct vs_range *range;
	struct vs_item *block;

	while ((range = vs_range_tree_find_from(&from->blocks, address))) {
		block = vs_replay_items_of(range);
		vs_range_tree_remove(&from->blocks, range);
		from->block_bytes -= block->size;
		vs_range_tree_insert(&to->blocks, range);
		to->block_bytes += block->size;
		block->parent = to;
	}
}

static struct vs_item *find_neighbour(const struct vs_replay *replay, uint64_t address,
				      const struct vs_reservation *reservation,
				      const struct vs_replay_device *device)
{
	struct vs_range *range = vs_range_tree_find(&replay->regions, address);
	struct vs_item *item = range ? vs_replay_items_of(range) : NULL;

	return item && item->reservation == reservation && item->device == device ? item : NULL;
}

static int merge(struct vs_replay *replay, struct vs_item *lower, struct vs_item *upper)
{
	uint64_t end = vs_range_end(&upper->range);
	int err = vs_replay_items_tell(replay, VS_CHANGE_WILL_RESIZE, VS_CAUSE_SHAPE, upper);

	if (err)
		return err;
	move_blocks(upper, lower, 0);
	err = vs_replay_items_close(replay, upper, VS_CAUSE_SHAPE, NULL);
	if (err)
		return err;
	set_range(replay, lower, lower->range.base, end);
	return 0;
}

/* [base, end) is mapped now. */
static int grow(struct vs_replay *replay, uint64_t base, uint64_t end,
		struct vs_reservation *reservation, struct vs_replay_device *device)
{
	struct vs_item *lower = NULL, *upper, *segment;
	int err;

	if (base)
		lower = find_neighbour(replay, base - 1, reservation, device);
	upper = find_neighbour(replay, end, reservation, device);
	if (!lower && !upper)
		return vs_replay_items_bear(replay,
					    &(struct vs_birth){.class = VS_ITEM_SEGMENT,
							       .kind = VS_MEMORY_VMM,
							       .device = device,
							       .address = base,
							       .size = end - base,
							       .reservation = reservation},
					    &segment);
	segment = lower ? lower : upper;
	err = vs_replay_items_tell(replay, VS_CHANGE_WILL_RESIZE, VS_CAUSE_EVENT, segment);
	if (err)
		return err;
	set_range(replay, segment, lower ? lower->range.base : base,
		  lower ? end : vs_range_end(&upper->range));
	if (lower && upper)
		err = merge(replay, lower, upper);
	if (err)
		return err;
	return vs_replay_items_tell(replay, VS_CHANGE_RESIZED, VS_CAUSE_EVENT, segment);
}

static int split(struct vs_replay *replay, struct vs_item *segment, uint64_t base, uint64_t end)
{
	struct vs_birth birth = {.class = VS_ITEM_SEGMENT,
				 .kind = VS_MEMORY_VMM,
				 .device = segment->device,
				 .address = end,
				 .size = vs_range_end(&segment->range) - end,
				 .reservation = segment->reservation,
				 .cause = VS_CAUSE_SHAPE};
	struct vs_item *upper;
	int err;

	set_range(replay, segment, segment->range.base, base);
	err = vs_replay_items_bear(replay, &birth, &upper);
	if (err)
		return err;
	err = vs_replay_items_tell(replay, VS_CHANGE_WILL_RESIZE, VS_CAUSE_SHAPE, upper);
	if (err)
		return err;
	move_blocks(segment, upper, end);
	return vs_replay_items_tell(replay, VS_CHANGE_RESIZED, VS_CAUSE_SHAPE, upper);
}

/* Blocks that reach into [base, end) lose their memory. */
static int close_blocks(struct vs_replay *replay, struct vs_item *segment, uint64_t base,
			uint64_t end)
{
	struct vs_range *range;
	int err;

	while ((range = vs_range_tree_find_from(&segment->blocks, base)) && range->base < end) {
		err = vs_replay_items_close(replay, vs_replay_items_of(range), VS_CAUSE_PARENT,
					    NULL);
		if (err)
			return err;
	}
	return 0;
}

/* [base, end), one mapping, is mapped no longer. */
static int shrink(struct vs_replay *replay, uint64_t base, uint64_t end, enum vs_change_cause cause)
{
	struct vs_range *range = vs_range_tree_find(&replay->regions, base);
	struct vs_item *segment = range ? vs_replay_items_of(range) : NULL;
	int err;

	assert(segment && segment->reservation && vs_range_end(range) >= end);
	err = close_blocks(replay, segment, base, end);
	if (err)
		return err;
	if (range->base == base && vs_range_end(range) == end)
		return vs_replay_items_close(replay, segment, cause, NULL);
	err = vs_replay_items_tell(replay, VS_CHANGE_WILL_RESIZE, cause, segment);
	if (err)
		return err;
	if (range->base == base)
		set_range(replay, segment, end, vs_range_end(range));
	else if (vs_range_end(range) == end)
		set_range(replay, segment, range->base, base);
	else
		err = split(replay, segment, base, end);
	if (err)
		return err;
	return vs_replay_items_tell(replay, VS_CHANGE_RESIZED, cause, segment);
}

/* ---- Mappings ------------------------------------------------------------------------------- */

/* A thread may still hold it for a release that failed. */
static void forget_handle(struct vs_replay *replay, const struct vs_item *handle)
{
	struct vs_replay_thread *thread;
	size_t slot = 0;

	while ((thread = vs_id_map_next(&replay->threads, &slot)))
		if (thread->released == handle)
			thread->released = NULL;
}

static int detach(struct vs_replay *replay, struct vs_mapping *mapping, enum vs_change_cause cause)
{
	struct vs_item *handle = mapping->handle;
	int err;

	if (!handle)
		return 0;
	handle->nr_mappings--;
	handle->nr_owned_mappings -= mapping->is_owned;
	err = vs_replay_items_settle(replay, handle);
	if (err || handle->nr_mappings || !handle->is_released)
		return err;
	forget_handle(replay, handle);
	return vs_replay_items_close(replay, handle, cause, NULL);
}

int vs_replay_vmm_apply_unmap(struct vs_replay *replay, const struct vs_map *map)
{
	if (is_unmap_refused(replay, map->address, get_end(map->address, map->size)))
		return 0;
	return vs_replay_vmm_unmap(replay, map->address, map->size, VS_CAUSE_EVENT);
}

int vs_replay_vmm_unmap(struct vs_replay *replay, uint64_t base, uint64_t size,
			enum vs_change_cause cause)
{
	uint64_t end = get_end(base, size);
	struct vs_mapping *mapping;
	struct vs_range *range;
	int err;

	while ((range = vs_range_tree_find_from(&replay->mappings, base)) && range->base < end) {
		mapping = mapping_of(range);
		vs_range_tree_remove(&replay->mappings, range);
		err = shrink(replay, range->base, vs_range_end(range), cause);
		if (!err)
			err = detach(replay, mapping, cause);
		free(mapping);
		if (err)
			return err;
	}
	return 0;
}

static int attach(struct vs_replay *replay, struct vs_mapping *mapping)
{
	struct vs_item *handle = mapping->handle;

	if (!handle)
		return 0;
	handle->nr_mappings++;
	handle->nr_owned_mappings += mapping->is_owned;
	return vs_replay_items_settle(replay, handle);
}

/* A mapping nobody reserved addresses for: the reservation was not seen. */
static int find_reservation(struct vs_replay *replay, uint64_t base, uint64_t end,
			    struct vs_reservation **reservation)
{
	struct vs_range *range = vs_range_tree_find(&replay->reservations, base);

	if (range && vs_range_end(range) >= end) {
		*reservation = reservation_of(range);
		return 0;
	}
	return reserve(replay, base, end - base, reservation);
}

int vs_replay_vmm_map(struct vs_replay *replay, const struct vs_map *map)
{
	uint64_t base = map->address, end = get_end(base, map->size ? map->size : 1);
	struct vs_reservation *reservation;
	struct vs_replay_device *device;
	struct vs_mapping *mapping;
	struct vs_item *handle = vs_id_map_get(&replay->handles, map->handle);
	int err;

	if (end == base || is_mapped(replay, map))
		return 0;
	err = vs_replay_items_get_device(replay, handle ? handle->device->ordinal : VS_NO_DEVICE,
					 &device);
	if (!err)
		err = vs_replay_items_clear(replay, base, end);
	if (!err)
		err = find_reservation(replay, base, end, &reservation);
	if (err)
		return err;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return -VS_ERR_NO_MEMORY;
	mapping->range.base = base;
	mapping->range.size = end - base;
	mapping->handle = handle;
	mapping->is_owned = reservation->owner;
	vs_range_tree_insert(&replay->mappings, &mapping->range);
	err = grow(replay, base, end, reservation, device);
	return err ? err : attach(replay, mapping);
}

int vs_replay_vmm_adopt(struct vs_replay *replay, struct vs_reservation *reservation,
			struct vs_replay_pool *pool)
{
	uint64_t key = reservation->id | VS_ADOPTION_RESERVATION;
	uint64_t base = reservation->range.base, end = vs_range_end(&reservation->range);
	struct vs_range *range;
	int err = vs_replay_note_adopter(replay, key, pool);

	if (err || reservation->owner)
		return err;
	reservation->owner = pool;
	for (range = vs_range_tree_find_from(&replay->regions, base); range && range->base < end;
	     range = vs_range_tree_next(&replay->regions, range)) {
		struct vs_item *segment = vs_replay_items_of(range);

		/* Something else may lie there, if an event got lost. */
		if (segment->reservation != reservation)
			continue;
		segment->owner = pool;
		pool->segment_bytes += segment->size;
	}
	for (range = vs_range_tree_find_from(&replay->mappings, base);
	     range && range->base < end && !err;
	     range = vs_range_tree_next(&replay->mappings, range)) {
		struct vs_mapping *mapping = mapping_of(range);

		mapping->is_owned = true;
		if (!mapping->handle)
			continue;
		mapping->handle->nr_owned_mappings++;
		err = vs_replay_items_settle(replay, mapping->handle);
	}
	return err;
}

int vs_replay_vmm_adopt_at(struct vs_replay *replay, uint64_t address, struct vs_replay_pool *pool)
{
	struct vs_range *range = vs_range_tree_find(&replay->reservations, address);

	return range ? vs_replay_vmm_adopt(replay, reservation_of(range), pool) : 0;
}

void vs_replay_vmm_fini(struct vs_replay *replay)
{
	struct vs_range *range;

	while ((range = replay->mappings.root)) {
		struct vs_mapping *mapping = mapping_of(range);

		vs_range_tree_remove(&replay->mappings, range);
		free(mapping);
	}
	while ((range = replay->reservations.root)) {
		vs_range_tree_remove(&replay->reservations, range);
		free(reservation_of(range));
	}
}
