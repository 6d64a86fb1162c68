/*
 * Records that make no sense: everything overlaps, is freed twice, ends before it began. The replay
 * must bear it, and its totals must still be the sums of what it holds.
 */
#include <stdlib.h>

#include "script.h"

#define NR_ROUNDS  20
#define NR_RECORDS 10000

static unsigned int seed;

static uint64_t pick(unsigned int below)
{
	return (uint64_t)rand_r(&seed) % below;
}

/* Few addresses, so that things meet. */
static uint64_t pick_address(void)
{
	return 0x1000 + 0x100 * pick(200);
}

static uint64_t pick_size(void)
{
	return pick(20) ? 0x80 * pick(12) : pick(2) ? UINT64_MAX : 0x100 * pick(300);
}

static void add_memory(struct script *script)
{
	enum vs_memory_kind kind = (enum vs_memory_kind)pick(VS_NR_MEMORY_KINDS + 1);

	switch (pick(8)) {
	case 0:
	case 1:
		script_set_context(script, (uint32_t)pick(3));
		script_alloc_on(script, (uint32_t)pick(3), kind, pick_address(), pick_size());
		break;
	case 2:
		script_alloc_async(script, (uint32_t)pick(6), pick_address(), pick_size());
		break;
	case 3:
	case 4:
		script_free(script, kind, pick_address());
		break;
	case 5:
		script_free_failed(script, kind, pick_address());
		break;
	case 6:
		script_fail_error(script, kind, pick_size(), (uint32_t)pick(4));
		break;
	default:
		if (!pick(40))
			script_end_context(script, (enum vs_context_change)pick(3),
					   (uint32_t)pick(3), (uint32_t)pick(3));
		break;
	}
}

static void add_pages(struct script *script)
{
	switch (pick(6)) {
	case 0:
		script_alloc(script, VS_MEMORY_VMM, 1 + pick(20), 0x200);
		break;
	case 1:
		script_free(script, VS_MEMORY_VMM, 1 + pick(20));
		break;
	case 2:
		script_reserve(script, pick_address(), pick_size());
		break;
	case 3:
		script_unmap(script, pick_address(), pick_size());
		break;
	case 4:
		if (!pick(5))
			script_unreserve(script, pick_address(), pick_size());
		break;
	default:
		script_map(script, pick_address(), 0x200, 1 + pick(20));
		break;
	}
}

static void add_blocks(struct script *script)
{
	uint32_t pool = (uint32_t)pick(6);

	switch (pick(6)) {
	case 0:
	case 1:
	case 2:
		script_block(script, pool, pick_address() + 0x10 * pick(16), pick_size() / 4);
		break;
	case 3:
		script_block_free(script, pool, pick_address());
		break;
	case 4:
		script_block_fail(script, pool, pick_size());
		break;
	default:
		if (pick(60))
			script_pool_state(script, pool, pick(5000));
		else
			script_pool_end(script, pool);
		break;
	}
}

static void make_garbage(struct script *script)
{
	script_init(script);
	for (uint32_t i = 1; i < 5; i++)
		script_pool(script, i, (enum vs_pool_owner)(i % 3), i % 2, 1000 * i, "pool");
	while (script->nr_records < NR_RECORDS) {
		script_set_thread(script, (uint32_t)pick(3));
		switch (pick(8)) {
		case 0:
			script_step(script, pick(1000));
			break;
		case 1:
			script_push(script, (uint32_t)pick(3));
			break;
		case 2:
			script_pop(script);
			break;
		case 3:
		case 4:
			add_memory(script);
			break;
		case 5:
			add_pages(script);
			break;
		default:
			add_blocks(script);
			break;
		}
	}
}

/* Sums over all items below a tree. */
static void sum_tree(const struct vs_range_tree *tree, uint64_t *charged, uint64_t *nr_blocks)
{
	struct vs_range *range;
	uint64_t end = 0;

	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;

		assert_true(range->base >= end); /* nothing overlaps */
		end = vs_range_end(range);
		if (item->parent) {
			assert_true(range->base >= item->parent->range.base);
			assert_true(end <= vs_range_end(&item->parent->range));
		}
		if (item->is_charged && vs_replay_get_domain(item->kind) == VS_DOMAIN_DEVICE)
			*charged += item->size;
		assert_false(item->is_charged && item->owner);
		*nr_blocks += item->pool != NULL;
		sum_tree(&item->blocks, charged, nr_blocks);
	}
}

static uint64_t sum_map(const struct vs_id_map *map)
{
	const struct vs_item *item;
	uint64_t sum = 0;
	size_t slot = 0;

	while ((item = vs_id_map_next(map, &slot)))
		sum += item->is_charged ? item->size : 0;
	return sum;
}

/* Handles that only mappings keep alive are in no map. */
static uint64_t sum_released(const struct vs_replay *replay)
{
	const struct vs_item *seen[64];
	size_t nr_seen = 0, i;
	struct vs_range *range;
	uint64_t sum = 0;

	for (range = vs_range_tree_first(&replay->mappings); range;
	     range = vs_range_tree_next(&replay->mappings, range)) {
		const struct vs_item *handle = ((struct vs_mapping *)(void *)range)->handle;

		if (!handle || !handle->is_released || !handle->is_charged)
			continue;
		for (i = 0; i < nr_seen && seen[i] != handle; i++)
			;
		if (i == nr_seen && nr_seen < 64) {
			seen[nr_seen++] = handle;
			sum += handle->size;
		}
	}
	return sum;
}

static void check(const struct vs_replay *replay)
{
	uint64_t live = 0, accounts = 0, charged = 0, nr_blocks = 0, in_pools = 0;
	size_t i;

	for (i = 0; i < replay->nr_devices; i++)
		live += replay->devices[i]->live_bytes;
	for (i = 0; i < replay->nr_accounts; i++)
		if (replay->accounts[i]->domain == VS_DOMAIN_DEVICE)
			accounts += replay->accounts[i]->live_bytes;
	for (i = 0; i < replay->nr_pools; i++)
		in_pools += replay->pools[i]->nr_blocks;
	sum_tree(&replay->regions, &charged, &nr_blocks);
	charged += sum_map(&replay->arrays) + sum_map(&replay->handles) + sum_released(replay);
	assert_true(accounts == live);
	assert_true(charged == live);
	assert_int_equal(nr_blocks, in_pools);
}

static int check_sometimes(struct vs_observer *observer, const struct vs_replay *replay,
			   const struct vs_record *record)
{
	(void)observer;
	(void)record;
	if (replay->counters.nr_records % 50 == 0)
		check(replay);
	return 0;
}

static void test_totals_are_the_sums_of_what_is_there_whatever_came(void **state)
{
	struct vs_observer checker = {.on_record = check_sometimes};
	struct vs_window window = {0, UINT64_MAX};
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	for (unsigned int round = 0; round < NR_ROUNDS; round++) {
		seed = round;
		make_garbage(&script);
		script_analyse(&script, &analysis);
		assert_true(analysis.replay->counters.nr_overlaps > 100);
		assert_int_equal(vs_replay_create(&replay), 0);
		replay->adopted = &analysis.adoption;
		vs_replay_add_observer(replay, &checker);
		assert_int_equal(vs_analysis_pass(&script.source, &window, replay), 0);
		vs_replay_destroy(replay);
		vs_analysis_fini(&analysis);
		script_fini(&script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_are_the_sums_of_what_is_there_whatever_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
