#include "address_map.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* In which the driver gives out memory of a device; small requests share one. */
#define PAGE ((uint64_t)2 << 20)

static const struct vs_item *item_of(const struct vs_range *range)
{
	return (const struct vs_item *)(const void *)range; /* its first member */
}

static int add_entry(struct vs_address_map *map, struct vs_address_entry entry)
{
	int err = VS_GROW(map->entries, map->entries_capacity, map->nr_entries + 1);

	if (!err)
		map->entries[map->nr_entries++] = entry;
	return err;
}

static int get_pool(struct vs_address_map *map, const struct vs_replay_pool *pool,
		    struct vs_address_pool **out)
{
	size_t i;
	int err;

	for (i = 0; i < map->nr_pools; i++) {
		if (map->pools[i].pool == pool) {
			*out = &map->pools[i];
			return 0;
		}
	}
	err = VS_GROW(map->pools, map->pools_capacity, map->nr_pools + 1);
	if (err)
		return err;
	*out = &map->pools[map->nr_pools++];
	(*out)->pool = pool;
	return 0;
}

static int add_hole(struct vs_address_map *map, const struct vs_item *item, uint64_t base,
		    uint64_t end, uint32_t depth)
{
	bool is_releasable = !item->blocks.root;
	struct vs_address_pool *pool;
	int err;

	if (base == end)
		return 0;
	err = get_pool(map, item->owner, &pool);
	if (err)
		return err;
	if (is_releasable) {
		pool->releasable_bytes += end - base;
		pool->nr_releasable++;
		map->releasable_bytes += end - base;
	} else {
		err = vs_hole_set_add(&pool->holes, end - base);
		map->hole_bytes += end - base;
	}
	if (err)
		return err;
	return add_entry(map, (struct vs_address_entry){VS_ADDRESS_HOLE, depth, is_releasable, base,
							end - base, item});
}

static int add_item(struct vs_address_map *map, const struct vs_item *item, uint32_t depth);

/* The blocks and holes in an item that a pool divides. */
static int add_inside(struct vs_address_map *map, const struct vs_item *item, uint32_t depth)
{
	const struct vs_range *range = vs_range_tree_first(&item->blocks);
	uint64_t free_from = item->range.base;
	struct vs_address_pool *pool;
	int err = get_pool(map, item->owner, &pool);

	if (err)
		return err;
	pool->segment_bytes += item->range.size;
	pool->nr_segments++;
	for (; range && !err; range = vs_range_tree_next(&item->blocks, range)) {
		err = add_hole(map, item, free_from, range->base, depth + 1);
		if (!err)
			err = add_item(map, item_of(range), depth + 1);
		free_from = vs_range_end(range);
	}
	return err ? err : add_hole(map, item, free_from, vs_range_end(&item->range), depth + 1);
}

static int add_item(struct vs_address_map *map, const struct vs_item *item, uint32_t depth)
{
	bool is_block = vs_replay_is_pool_block(item);
	struct vs_address_pool *pool;
	int err;

	if (is_block) {
		err = get_pool(map, item->pool, &pool);
		if (err)
			return err;
		pool->nr_blocks++;
		pool->block_bytes += item->size;
		pool->slack_bytes += item->slack_size;
	}
	err = add_entry(map, (struct vs_address_entry){
				     is_block ? VS_ADDRESS_BLOCK : VS_ADDRESS_SEGMENT, depth, false,
				     item->range.base, item->range.size, item});
	return !err && item->owner ? add_inside(map, item, depth) : err;
}

static int add_driver_pool(struct vs_address_map *map, const struct vs_replay_pool *pool)
{
	uint64_t held = vs_replay_get_held(pool);
	struct vs_address_pool *entry;
	int err;

	if (!held)
		return 0;
	err = get_pool(map, pool, &entry);
	if (err)
		return err;
	entry->segment_bytes = held;
	entry->block_bytes = pool->block_bytes;
	entry->nr_blocks = pool->nr_blocks;
	entry->releasable_bytes = held - pool->block_bytes;
	map->releasable_bytes += entry->releasable_bytes;
	return 0;
}

static int add_driver_pools(struct vs_address_map *map, const struct vs_replay *replay)
{
	size_t i;
	int err = 0;

	for (i = 0; i < replay->nr_pools && !err; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		if (pool->owner == VS_POOL_DRIVER && pool->device == map->device)
			err = add_driver_pool(map, pool);
	}
	return err;
}

static int compare_runs(const void *a, const void *b)
{
	const struct vs_item *x = *(const struct vs_item *const *)a;
	const struct vs_item *y = *(const struct vs_item *const *)b;

	if (x->pool != y->pool)
		return x->pool->index < y->pool->index ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

/* How many different runs the blocks of each pool are of. */
static int count_runs(struct vs_address_map *map)
{
	const struct vs_item **blocks = NULL;
	struct vs_address_pool *pool;
	size_t capacity = 0, nr = 0, i;
	int err = 0;

	for (i = 0; i < map->nr_entries && !err; i++) {
		if (map->entries[i].type != VS_ADDRESS_BLOCK || !map->entries[i].item->run)
			continue;
		err = VS_GROW(blocks, capacity, nr + 1);
		if (!err)
			blocks[nr++] = map->entries[i].item;
	}
	if (nr && !err)
		qsort(blocks, nr, sizeof(blocks[0]), compare_runs);
	for (i = 0; i < nr && !err; i++) {
		if (i && !compare_runs(&blocks[i - 1], &blocks[i]))
			continue;
		err = get_pool(map, blocks[i]->pool, &pool);
		if (!err)
			pool->nr_runs++;
	}
	free(blocks);
	return err;
}

/*
 * PyTorch tells the sizes of its blocks, which it rounds; nobody tells what was asked for.
 */
static bool is_asked_known(const struct vs_replay_pool *pool)
{
	return pool->owner != VS_POOL_FRAMEWORK || strncmp(pool->name, "PyTorch", 7);
}

/* Of the blocks that are live. */
static void add_slack(struct vs_address_map *map)
{
	size_t i;

	for (i = 0; i < map->nr_entries; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type != VS_ADDRESS_BLOCK || !item->is_charged)
			continue;
		map->slack_bytes += item->slack_size;
		if (!is_asked_known(item->pool))
			map->unasked_bytes += item->size;
	}
}

/*
 * Rest of the pages that segments lie in which were there at that time. Entries are by address: a
 * page that two segments share is counted with the first.
 */
static uint64_t get_page_slack(const struct vs_address_map *map, uint64_t time_ns)
{
	uint64_t nr_pages = 0, bytes = 0, done = 0, first, end;
	size_t i;

	for (i = 0; i < map->nr_entries; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type != VS_ADDRESS_SEGMENT || item->kind != VS_MEMORY_DEVICE ||
		    !item->range.size || item->birth_ns > time_ns)
			continue;
		bytes += item->range.size;
		first = item->range.base / PAGE;
		end = (vs_range_end(&item->range) - 1) / PAGE + 1;
		if (first < done)
			first = done;
		if (end > first)
			nr_pages += end - first;
		done = end > done ? end : done;
	}
	return nr_pages * PAGE > bytes ? nr_pages * PAGE - bytes : 0;
}

int vs_address_map_init(struct vs_address_map *map, const struct vs_replay *replay,
			const struct vs_replay_device *device)
{
	const struct vs_range *range;
	uint64_t known;
	int err = 0;

	memset(map, 0, sizeof(*map));
	map->device = device;
	for (range = vs_range_tree_first(&replay->regions); range && !err;
	     range = vs_range_tree_next(&replay->regions, range)) {
		const struct vs_item *item = item_of(range);

		if (item->device != device || vs_replay_get_domain(item->kind) != VS_DOMAIN_DEVICE)
			continue;
		if (item->kind == VS_MEMORY_MANAGED)
			map->managed_bytes += item->size;
		err = add_item(map, item, 0);
	}
	if (!err)
		err = add_driver_pools(map, replay);
	if (!err)
		err = count_runs(map);
	if (err) {
		vs_address_map_fini(map);
		return err;
	}
	add_slack(map);
	map->page_slack = get_page_slack(map, UINT64_MAX);
	if (device->memory.is_known)
		map->sampled_page_slack = get_page_slack(map, device->memory.time_ns);
	map->reserved_bytes = vs_replay_get_reserved(device);
	map->live_bytes = device->live_bytes;
	known = map->live_bytes + map->hole_bytes;
	map->cached_bytes = map->reserved_bytes > known ? map->reserved_bytes - known : 0;
	return 0;
}

void vs_address_map_fini(struct vs_address_map *map)
{
	size_t i;

	for (i = 0; i < map->nr_pools; i++)
		vs_hole_set_fini(&map->pools[i].holes);
	free(map->pools);
	free(map->entries);
	memset(map, 0, sizeof(*map));
}

const struct vs_address_pool *vs_address_map_get_worst(const struct vs_address_map *map)
{
	const struct vs_address_pool *worst = NULL;
	size_t i;

	for (i = 0; i < map->nr_pools; i++)
		if (map->pools[i].holes.total_bytes > (worst ? worst->holes.total_bytes : 0))
			worst = &map->pools[i];
	return worst;
}

const struct vs_address_pool *vs_address_map_get_pool(const struct vs_address_map *map,
						      const struct vs_replay_pool *pool)
{
	size_t i;

	for (i = 0; i < map->nr_pools; i++)
		if (map->pools[i].pool == pool)
			return &map->pools[i];
	return NULL;
}

/* ---- Who keeps the holes apart -------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
	const struct vs_item *x = *(const struct vs_item *const *)a;
	const struct vs_item *y = *(const struct vs_item *const *)b;

	if (x->account->index != y->account->index)
		return x->account->index < y->account->index ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int compare_neighbours(const void *a, const void *b)
{
	const struct vs_address_neighbour *x = a, *y = b;

	if (x->nr_blocks != y->nr_blocks)
		return x->nr_blocks > y->nr_blocks ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->account->index > y->account->index) - (x->account->index < y->account->index);
}

/* Whether a hole that cannot be given back touches a block on one side. */
static bool touches_hole(const struct vs_item *block)
{
	const struct vs_item *parent = block->parent;
	const struct vs_range *below, *above;
	uint64_t left, right;

	below = vs_range_tree_before(&block->range);
	above = vs_range_tree_next(&parent->blocks, &block->range);
	left = below ? vs_range_end(below) : parent->range.base;
	right = above ? above->base : vs_range_end(&parent->range);
	return left < block->range.base || right > vs_range_end(&block->range);
}

static int find_blocks(const struct vs_address_map *map, const struct vs_replay_pool *pool,
		       const struct vs_item ***out, size_t *nr_blocks)
{
	const struct vs_item **blocks = NULL;
	size_t capacity = 0, i;
	int err = 0;

	*nr_blocks = 0;
	for (i = 0; i < map->nr_entries && !err; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type != VS_ADDRESS_BLOCK || item->pool != pool ||
		    !item->parent || !touches_hole(item))
			continue;
		err = VS_GROW(blocks, capacity, *nr_blocks + 1);
		if (!err)
			blocks[(*nr_blocks)++] = item;
	}
	if (err) {
		free(blocks);
		return err;
	}
	*out = blocks;
	return 0;
}

/* Blocks of one account, in order of birth. */
static void sum_blocks(struct vs_address_neighbour *sum, const struct vs_item *const *blocks,
		       size_t nr_blocks)
{
	size_t i;

	*sum = (struct vs_address_neighbour){.account = blocks[0]->account,
					     .nr_blocks = nr_blocks,
					     .first_step = blocks[0]->birth_step,
					     .last_step = blocks[nr_blocks - 1]->birth_step,
					     .first_ns = blocks[0]->birth_ns};
	for (i = 0; i < nr_blocks; i++) {
		sum->bytes += blocks[i]->size;
		sum->nr_births += !i || blocks[i]->birth_step != blocks[i - 1]->birth_step;
	}
}

int vs_address_map_group(const struct vs_item **blocks, size_t nr_blocks,
			 struct vs_address_neighbour **groups, size_t *nr_groups)
{
	struct vs_address_neighbour *sums = calloc(nr_blocks ? nr_blocks : 1, sizeof(*sums));
	size_t from, to, nr_sums = 0;

	if (!sums)
		return -VS_ERR_NO_MEMORY;
	if (nr_blocks)
		qsort(blocks, nr_blocks, sizeof(blocks[0]), compare_blocks);
	for (from = 0; from < nr_blocks; from = to) {
		for (to = from; to < nr_blocks && blocks[to]->account == blocks[from]->account;)
			to++;
		sum_blocks(&sums[nr_sums++], blocks + from, to - from);
	}
	qsort(sums, nr_sums, sizeof(sums[0]), compare_neighbours);
	*groups = sums;
	*nr_groups = nr_sums;
	return 0;
}

int vs_address_map_find_neighbours(const struct vs_address_map *map,
				   const struct vs_replay_pool *pool,
				   struct vs_address_neighbour **neighbours, size_t *nr_neighbours)
{
	const struct vs_item **blocks;
	size_t nr_blocks;
	int err = find_blocks(map, pool, &blocks, &nr_blocks);

	if (err)
		return err;
	err = vs_address_map_group(blocks, nr_blocks, neighbours, nr_neighbours);
	free(blocks);
	return err;
}
