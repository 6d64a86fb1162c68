#include "space.h"

#include <stdlib.h>

#include "sharing.h"

/* Managed memory of each device: it gives way to everything else. */
static struct sg_space *victims[SG_MAX_DEVICES];

void sg_space_init(struct sg_space *space, const char *label, CUdevice device, uint64_t unit)
{
	*space = (struct sg_space){.device = device, .unit = unit};
	sg_arena_init(&space->arena, label);
}

void sg_space_set_victim(struct sg_space *victim)
{
	victims[victim->device] = victim;
}

uint64_t sg_space_get_small_limit(const struct sg_space *space)
{
	(void)space;
	return SG_PAGE_SIZE / 2;
}

void sg_space_uncharge(CUdevice device, uint64_t size)
{
	if (device >= 0 && size)
		sg_card_uncharge(sg_init_get_card(), sg_init_get_index(device), size);
}

/* Whether the space has that many bytes on its device. */
static bool has_charged(const struct sg_space *space, uint64_t size)
{
	uint64_t found = 0;

	for (const struct sg_run *run = space->runs; run && found < size; run = run->next)
		found += run->charged;
	return found >= size;
}

/*
 * Move `size` bytes of managed memory of the device to the host. False, and nothing is moved, if
 * there are not as many: a request that fails leaves everything as it was.
 */
static bool evict(CUdevice device, uint64_t size)
{
	struct sg_space *victim = victims[device];
	uint64_t freed = 0;

	if (!victim || !victim->is_evictable || !has_charged(victim, size))
		return false;
	for (struct sg_run *run = victim->runs; run && freed < size; run = run->next) {
		uint64_t part = run->charged;

		if (part > size - freed)
			part = size - freed;
		run->charged -= part;
		freed += part;
	}
	sg_space_uncharge(device, freed);
	return true;
}

bool sg_space_charge(CUdevice device, uint64_t size)
{
	struct sg_card *card = sg_init_get_card();
	uint64_t total, used;
	int index;

	if (device < 0)
		return true;
	index = sg_init_get_index(device);
	if (sg_card_charge(card, index, size) == 0)
		return true;
	sg_card_get_usage(card, index, &total, &used);
	if (size > total || used + size <= total)
		return sg_card_charge(card, index, size) == 0;
	/* Ask only for what is missing: the rest of the managed memory stays where it is. */
	return evict(device, used + size - total) && sg_card_charge(card, index, size) == 0;
}

/* Managed memory takes what there is and leaves the rest on the host. */
static uint64_t charge_what_fits(CUdevice device, uint64_t size)
{
	struct sg_card *card = sg_init_get_card();
	int index = sg_init_get_index(device);
	uint64_t total, used, fits;

	if (sg_card_charge(card, index, size) == 0)
		return size;
	sg_card_get_usage(card, index, &total, &used);
	fits = used < total ? (total - used) & ~(SG_PAGE_SIZE - 1) : 0;
	if (fits > size)
		fits = size;
	return fits && sg_card_charge(card, index, fits) == 0 ? fits : 0;
}

static struct sg_run *create_run(struct sg_space *space)
{
	struct sg_run *run = space->spare;

	if (run)
		space->spare = run->next;
	else
		run = malloc(sizeof(*run));
	if (run)
		*run = (struct sg_run){.space = space};
	return run;
}

static void destroy_run(struct sg_run *run)
{
	run->next = run->space->spare;
	run->space->spare = run;
}

static void link_run(struct sg_run *run)
{
	struct sg_space *space = run->space;

	run->next = space->runs;
	if (run->next)
		run->next->previous = run;
	space->runs = run;
}

static void unlink_run(struct sg_run *run)
{
	if (run->previous)
		run->previous->next = run->next;
	else
		run->space->runs = run->next;
	if (run->next)
		run->next->previous = run->previous;
}

/* Addresses for the pages: from what chunks have left, else from a new chunk. */
static struct sg_extent *take_pages(struct sg_space *space, uint64_t size)
{
	struct sg_extent *pages = sg_extents_take_low(&space->pages, size);
	struct sg_extent *chunk;

	if (pages)
		return pages;
	chunk = sg_arena_take(&space->arena, size);
	if (!chunk)
		return NULL;
	if (!sg_extents_add(&space->pages, chunk->node.base, chunk->node.size, chunk)) {
		sg_arena_give(&space->arena, chunk);
		return NULL;
	}
	return sg_extents_take_low(&space->pages, size);
}

static void give_pages(struct sg_space *space, struct sg_extent *pages)
{
	struct sg_extent *whole = sg_extents_put(&space->pages, pages);

	if (whole->neighbour[0] || whole->neighbour[1])
		return;
	sg_arena_give(&space->arena, whole->region);
	sg_extents_drop(&space->pages, whole);
}

struct sg_run *sg_space_take_addresses(struct sg_space *space, uint64_t size)
{
	struct sg_run *run = create_run(space);

	if (!run)
		return NULL;
	run->pages = take_pages(space, size);
	if (!run->pages) {
		destroy_run(run);
		return NULL;
	}
	run->chunk = run->pages->region;
	link_run(run);
	return run;
}

struct sg_run *sg_space_take_run(struct sg_space *space, uint64_t size)
{
	uint64_t charged = 0;
	struct sg_run *run;

	if (size > ((uint64_t)1 << 46))
		return NULL;
	size = (size + SG_PAGE_SIZE - 1) & ~(SG_PAGE_SIZE - 1);
	sg_sharing_sweep();
	if (space->is_evictable)
		charged = charge_what_fits(space->device, size);
	else if (sg_space_charge(space->device, size))
		charged = size;
	else
		return NULL;
	run = sg_space_take_addresses(space, size);
	if (run)
		run->charged = charged;
	else
		sg_space_uncharge(space->device, charged);
	return run;
}

void sg_space_give_run(struct sg_run *run)
{
	struct sg_space *space = run->space;
	const struct sg_node *node = &run->pages->node;

	if (run->sharing && !sg_sharing_end(run))
		return;
	if (run->is_written || space->is_host_visible)
		sg_arena_discard(sg_space_locate(run, node->base), node->base, node->size);
	sg_space_uncharge(space->device, run->charged);
	give_pages(space, run->pages);
	unlink_run(run);
	destroy_run(run);
}

struct sg_extent *sg_space_take_small(struct sg_space *space, uint64_t size)
{
	struct sg_extent *piece;
	struct sg_run *run;

	size = (size + space->unit - 1) & ~(space->unit - 1);
	piece = sg_extents_take_low(&space->small, size);
	if (piece)
		return piece;
	run = sg_space_take_run(space, SG_PAGE_SIZE);
	if (!run)
		return NULL;
	if (!sg_extents_add(&space->small, run->pages->node.base, SG_PAGE_SIZE, run)) {
		sg_space_give_run(run);
		return NULL;
	}
	return sg_extents_take_low(&space->small, size);
}

void sg_space_give_small(struct sg_space *space, struct sg_extent *piece)
{
	struct sg_extent *whole = sg_extents_put(&space->small, piece);
	struct sg_run *run = whole->region;

	if (whole->neighbour[0] || whole->neighbour[1])
		return;
	sg_extents_drop(&space->small, whole);
	sg_space_give_run(run);
}

struct sg_run *sg_space_get_run(const struct sg_extent *piece)
{
	return piece->region;
}

struct sg_arena_place sg_space_locate(const struct sg_run *run, uint64_t address)
{
	if (run->sharing && run->sharing->is_covered)
		return (struct sg_arena_place){.fd = run->sharing->place.fd,
					       .offset = run->sharing->place.offset +
							 (address - run->pages->node.base)};
	return sg_arena_locate(&run->space->arena, run->chunk, address);
}

void sg_space_get_extent_of_file(const struct sg_run *run, uint64_t *offset, uint64_t *size)
{
	*offset = 0;
	*size = run->space->arena.file_size;
	if (run->sharing && run->sharing->is_covered) {
		*offset = run->sharing->place.offset;
		*size = run->pages->node.size;
	}
}
