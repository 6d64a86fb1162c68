#include "measure_pinning.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* Sets that might be told of, one for each block that can be the first. */
struct candidates {
	struct vs_pinning_set *sets;
	size_t nr_sets;
	size_t capacity;
};

static const struct vs_item *item_of(const struct vs_range *range)
{
	return (const struct vs_item *)(const void *)range; /* its first member */
}

static int add_candidate(struct candidates *candidates, struct vs_pinning_set set)
{
	int err = VS_GROW(candidates->sets, candidates->capacity, candidates->nr_sets + 1);

	if (!err)
		candidates->sets[candidates->nr_sets++] = set;
	return err;
}

/*
 * A window that slides over the blocks of an item: for each block the fewest from there on that
 * have to go. The free bytes reach from the end of the block before the first to the start of the
 * one behind the last.
 */
static int slide(struct vs_measure_pinning *measure, const struct vs_item *item,
		 struct candidates *candidates)
{
	const struct vs_range_tree *blocks = &item->blocks;
	const struct vs_range *first = vs_range_tree_first(blocks), *behind = first, *last = NULL;
	uint64_t left = item->range.base, end = vs_range_end(&item->range), right, bytes = 0;
	size_t nr = 0;
	int err = 0;

	while (first && !err) {
		right = behind ? behind->base : end;
		if (right - left < measure->wanted) {
			if (!behind)
				break;
			bytes += behind->size;
			nr++;
			behind = vs_range_tree_next(blocks, behind);
			continue;
		}
		/* Of blocks without a hole between or beside them nothing is gained. */
		if (nr && right - left > bytes)
			err = add_candidate(candidates,
					    (struct vs_pinning_set){item, left, right - left, bytes,
								    item_of(first), nr});
		else if (!nr)
			measure->has_hole = true;
		/* On to the next one: it leaves the window, or the window begins behind it. */
		last = first;
		left = vs_range_end(last);
		first = vs_range_tree_next(blocks, last);
		if (nr) {
			bytes -= last->size;
			nr--;
		} else {
			behind = first;
		}
	}
	/* Behind the last block. */
	if (!first && last && end - left >= measure->wanted)
		measure->has_hole = true;
	return err;
}

static int compare_sets(const void *a, const void *b)
{
	const struct vs_pinning_set *x = a, *y = b;

	if (x->block_bytes != y->block_bytes)
		return x->block_bytes < y->block_bytes ? -1 : 1;
	if (x->nr_blocks != y->nr_blocks)
		return x->nr_blocks < y->nr_blocks ? -1 : 1;
	return (x->base > y->base) - (x->base < y->base);
}

/* Share in use without a division: a/b < c/d as a*d < c*b. */
static int compare_segments(const void *a, const void *b)
{
	const struct vs_pinning_segment *x = a, *y = b;
	unsigned __int128 p = (unsigned __int128)x->block_bytes * y->item->range.size;
	unsigned __int128 q = (unsigned __int128)y->block_bytes * x->item->range.size;

	if (p != q)
		return p < q ? -1 : 1;
	if (x->item->range.size != y->item->range.size)
		return x->item->range.size > y->item->range.size ? -1 : 1;
	return (x->item->range.base > y->item->range.base) -
	       (x->item->range.base < y->item->range.base);
}

/* They are in address order and each a run: two share a block if the free ranges meet. */
static bool shares_block(const struct vs_pinning_set *a, const struct vs_pinning_set *b)
{
	if (a->item != b->item)
		return false;
	return a->first->range.base < b->base + b->hole_bytes &&
	       b->first->range.base < a->base + a->hole_bytes;
}

static int pick(struct vs_measure_pinning *measure, struct candidates *candidates, size_t max_sets)
{
	size_t i, k;

	measure->sets = calloc(max_sets ? max_sets : 1, sizeof(*measure->sets));
	if (!measure->sets)
		return -VS_ERR_NO_MEMORY;
	if (candidates->nr_sets)
		qsort(candidates->sets, candidates->nr_sets, sizeof(candidates->sets[0]),
		      compare_sets);
	for (i = 0; i < candidates->nr_sets && measure->nr_sets < max_sets; i++) {
		for (k = 0; k < measure->nr_sets; k++)
			if (shares_block(&candidates->sets[i], &measure->sets[k]))
				break;
		if (k == measure->nr_sets)
			measure->sets[measure->nr_sets++] = candidates->sets[i];
	}
	return 0;
}

static int add_segment(struct vs_measure_pinning *measure, const struct vs_item *item)
{
	int err = VS_GROW(measure->segments, measure->segments_capacity, measure->nr_segments + 1);
	const struct vs_range *range = vs_range_tree_first(&item->blocks);
	struct vs_pinning_segment segment = {.item = item, .nr_blocks = item->blocks.nr_ranges};

	if (err)
		return err;
	for (; range; range = vs_range_tree_next(&item->blocks, range))
		segment.block_bytes += range->size;
	measure->segments[measure->nr_segments++] = segment;
	return 0;
}

int vs_measure_pinning_init(struct vs_measure_pinning *measure, const struct vs_address_map *map,
			    const struct vs_replay_pool *pool, uint64_t wanted, size_t max_sets)
{
	struct candidates candidates = {0};
	size_t i;
	int err = 0;

	memset(measure, 0, sizeof(*measure));
	measure->wanted = wanted ? wanted : 1;
	for (i = 0; i < map->nr_entries && !err; i++) {
		const struct vs_address_entry *entry = &map->entries[i];

		if (entry->type == VS_ADDRESS_HOLE || entry->item->owner != pool ||
		    !entry->item->blocks.nr_ranges)
			continue;
		err = slide(measure, entry->item, &candidates);
		if (!err)
			err = add_segment(measure, entry->item);
	}
	if (!err)
		err = pick(measure, &candidates, max_sets);
	free(candidates.sets);
	if (err) {
		vs_measure_pinning_fini(measure);
		return err;
	}
	if (measure->nr_segments)
		qsort(measure->segments, measure->nr_segments, sizeof(measure->segments[0]),
		      compare_segments);
	return 0;
}

void vs_measure_pinning_fini(struct vs_measure_pinning *measure)
{
	free(measure->sets);
	free(measure->segments);
	memset(measure, 0, sizeof(*measure));
}

size_t vs_measure_pinning_count_segments(const struct vs_measure_pinning *measure, uint64_t wanted,
					 uint64_t *block_bytes)
{
	uint64_t given = 0;
	size_t nr = 0;

	*block_bytes = 0;
	while (nr < measure->nr_segments && given < wanted) {
		*block_bytes += measure->segments[nr].block_bytes;
		given += measure->segments[nr++].item->range.size;
	}
	return given < wanted ? 0 : nr;
}

int vs_measure_pinning_group(const struct vs_pinning_set *set, struct vs_address_neighbour **groups,
			     size_t *nr_groups)
{
	const struct vs_item **blocks = calloc(set->nr_blocks, sizeof(*blocks));
	const struct vs_range *range = &set->first->range;
	size_t i;
	int err;

	if (!blocks)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < set->nr_blocks; i++, range = vs_range_tree_next(&set->item->blocks, range))
		blocks[i] = item_of(range);
	err = vs_address_map_group(blocks, set->nr_blocks, groups, nr_groups);
	free(blocks);
	return err;
}
