#include "same_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NR_STACKS 256 /* numbers of stacks that are looked at, whether there are any or not */

#define SAME(field) assert_true(one->field == other->field)

static void assert_same_text(const char *one, const char *other)
{
	assert_int_equal(one != NULL, other != NULL);
	if (one)
		assert_string_equal(one, other);
}

static void assert_same_sample(const struct vs_memory_sample *one,
			       const struct vs_memory_sample *other)
{
	SAME(is_known);
	SAME(time_ns);
	SAME(booked_bytes);
	SAME(info.device);
	SAME(info.flags);
	SAME(own.flags);
	SAME(own.nr_others);
	SAME(info.total_size);
	SAME(info.free_size);
	SAME(info.used_size);
	SAME(info.reserved_size);
	SAME(own.own_size);
	SAME(own.others_size);
	SAME(own.context_size);
	SAME(nr_holders);
	for (uint32_t i = 0; i < one->nr_holders; i++) {
		SAME(holders[i].device);
		SAME(holders[i].pid);
		SAME(holders[i].name);
		SAME(holders[i].size);
	}
}

static void assert_same_device(const struct vs_replay_device *one,
			       const struct vs_replay_device *other)
{
	SAME(index);
	SAME(ordinal);
	SAME(compute_capability);
	SAME(is_defined);
	SAME(is_simulated);
	assert_memory_equal(one->uuid, other->uuid, sizeof(one->uuid));
	assert_same_text(one->name, other->name);
	SAME(total_size);
	SAME(nr_driver_pools);
	SAME(live_bytes);
	SAME(live_count);
	SAME(segment_bytes);
	SAME(handle_bytes);
	SAME(driver_pool_bytes);
	SAME(known_free);
	SAME(known_total);
	assert_same_sample(&one->memory, &other->memory);
}

static void assert_same_pool(const struct vs_replay_pool *one, const struct vs_replay_pool *other)
{
	SAME(index);
	SAME(id);
	SAME(owner);
	SAME(device->index);
	SAME(limit_size);
	assert_same_text(one->name, other->name);
	SAME(is_ended);
	SAME(block_bytes);
	SAME(nr_blocks);
	SAME(segment_bytes);
	SAME(sampled_reserved);
	SAME(is_sampled);
}

static void assert_same_account(const struct vs_account *one, const struct vs_account *other)
{
	SAME(index);
	SAME(domain);
	SAME(device->index);
	SAME(site->index);
	SAME(api);
	SAME(live_bytes);
	SAME(live_count);
}

static long get_pool(const struct vs_replay_pool *pool)
{
	return pool ? (long)pool->index : -1;
}

static void assert_same_tree(const struct vs_range_tree *one, const struct vs_range_tree *other);

static void assert_same_item(const struct vs_item *one, const struct vs_item *other)
{
	assert_int_equal(one != NULL, other != NULL);
	if (!one)
		return;
	SAME(range.base);
	SAME(range.size);
	SAME(id);
	SAME(size);
	SAME(birth_ns);
	SAME(birth_step);
	SAME(class);
	SAME(kind);
	SAME(api);
	SAME(context);
	SAME(nr_mappings);
	SAME(nr_owned_mappings);
	SAME(is_released);
	SAME(is_charged);
	SAME(account->index);
	SAME(device->index);
	assert_int_equal(get_pool(one->pool), get_pool(other->pool));
	assert_int_equal(get_pool(one->owner), get_pool(other->owner));
	SAME(block_bytes);
	assert_int_equal(one->parent ? one->parent->id : 0, other->parent ? other->parent->id : 0);
	assert_int_equal(one->reservation ? one->reservation->id : 0,
			 other->reservation ? other->reservation->id : 0);
	assert_same_tree(&one->blocks, &other->blocks);
	for (one = one->held, other = other->held; one && other;
	     one = one->next_held, other = other->next_held)
		assert_same_item(one, other);
	assert_null(one);
	assert_null(other);
}

static void assert_same_tree(const struct vs_range_tree *one, const struct vs_range_tree *other)
{
	const struct vs_range *a = vs_range_tree_first(one), *b = vs_range_tree_first(other);

	SAME(nr_ranges);
	for (; a && b; a = vs_range_tree_next(one, a), b = vs_range_tree_next(other, b))
		assert_same_item((const struct vs_item *)(const void *)a,
				 (const struct vs_item *)(const void *)b);
	assert_true(!a && !b);
}

static void assert_same_map(const struct vs_id_map *one, const struct vs_id_map *other)
{
	size_t i;

	SAME(nr_used);
	for (i = 0; i < one->nr_slots; i++)
		if (one->slots[i].value)
			assert_same_item(one->slots[i].value,
					 vs_id_map_get(other, one->slots[i].id));
}

static void assert_same_thread(const struct vs_replay_thread *one,
			       const struct vs_replay_thread *other)
{
	SAME(id);
	SAME(nr_phases);
	if (one->nr_phases) {
		assert_memory_equal(one->phases, other->phases,
				    one->nr_phases * sizeof(one->phases[0]));
		SAME(last_push);
	}
	SAME(has_freed);
	if (!one->has_freed)
		return;
	assert_same_item(one->freed, other->freed);
	assert_same_item(one->released, other->released);
	SAME(freed_kind);
	assert_int_equal(one->freed_device ? one->freed_device->index + 1 : 0,
			 other->freed_device ? other->freed_device->index + 1 : 0);
	assert_int_equal(get_pool(one->freed_pool), get_pool(other->freed_pool));
}

static void assert_same_threads(const struct vs_id_map *one, const struct vs_id_map *other)
{
	size_t i;

	SAME(nr_used);
	for (i = 0; i < one->nr_slots; i++) {
		if (!one->slots[i].value)
			continue;
		assert_non_null(vs_id_map_get(other, one->slots[i].id));
		assert_same_thread(one->slots[i].value, vs_id_map_get(other, one->slots[i].id));
	}
}

static void assert_same_reservations(const struct vs_range_tree *one,
				     const struct vs_range_tree *other)
{
	const struct vs_range *a = vs_range_tree_first(one), *b = vs_range_tree_first(other);

	for (; a && b; a = vs_range_tree_next(one, a), b = vs_range_tree_next(other, b)) {
		const struct vs_reservation *x = (const struct vs_reservation *)(const void *)a;
		const struct vs_reservation *y = (const struct vs_reservation *)(const void *)b;

		assert_true(a->base == b->base && a->size == b->size);
		assert_int_equal(x->id, y->id);
		assert_int_equal(get_pool(x->owner), get_pool(y->owner));
	}
	assert_true(!a && !b);
}

static void assert_same_mappings(const struct vs_range_tree *one, const struct vs_range_tree *other)
{
	const struct vs_range *a = vs_range_tree_first(one), *b = vs_range_tree_first(other);

	for (; a && b; a = vs_range_tree_next(one, a), b = vs_range_tree_next(other, b)) {
		const struct vs_mapping *x = (const struct vs_mapping *)(const void *)a;
		const struct vs_mapping *y = (const struct vs_mapping *)(const void *)b;

		assert_true(a->base == b->base && a->size == b->size);
		assert_int_equal(x->is_owned, y->is_owned);
		assert_same_item(x->handle, y->handle);
	}
	assert_true(!a && !b);
}

static void assert_same_site(const struct vs_site *one, const struct vs_site *other)
{
	uint32_t i;

	vs_definitions_need_frames(one);
	vs_definitions_need_frames(other);
	SAME(nr_frames);
	SAME(is_cut);
	for (i = 0; i < one->nr_frames; i++) {
		SAME(frames[i].address);
		assert_int_equal(one->frames[i].module ? one->frames[i].module->id : 0,
				 other->frames[i].module ? other->frames[i].module->id : 0);
	}
}

static void assert_same_definitions(const struct vs_definitions *one,
				    const struct vs_definitions *other)
{
	size_t i;

	SAME(names.nr_used);
	SAME(threads.nr_used);
	SAME(nr_modules);
	SAME(nr_sites);
	for (i = 0; i < one->nr_sites; i++)
		assert_same_site(one->sites[i], other->sites[i]);
	for (i = 0; i < NR_STACKS; i++)
		assert_int_equal(vs_definitions_get_site(one, (uint32_t)i)->index,
				 vs_definitions_get_site(other, (uint32_t)i)->index);
	for (i = 0; i < one->nr_modules; i++)
		SAME(modules[i]->is_gone);
}

static void assert_same_numbers(const struct vs_replay *one, const struct vs_replay *other)
{
	size_t i;

	assert_memory_equal(&one->counters, &other->counters, sizeof(one->counters));
	SAME(last_id);
	SAME(last_reservation_id);
	SAME(first_ns);
	SAME(now_ns);
	SAME(nr_steps);
	SAME(step_number);
	SAME(nr_phases);
	SAME(nr_in_phases);
	SAME(nr_ranges);
	for (i = 0; i < one->nr_ranges; i++) {
		SAME(ranges[i].id);
		SAME(ranges[i].name);
	}
}

void assert_same_replay(const struct vs_replay *one, const struct vs_replay *other)
{
	size_t i;

	assert_same_definitions(&one->definitions, &other->definitions);
	assert_same_numbers(one, other);
	SAME(nr_devices);
	SAME(nr_pools);
	SAME(nr_accounts);
	for (i = 0; i < one->nr_devices; i++)
		assert_same_device(one->devices[i], other->devices[i]);
	for (i = 0; i < one->nr_pools; i++)
		assert_same_pool(one->pools[i], other->pools[i]);
	for (i = 0; i < one->pools_by_id.nr_slots; i++)
		if (one->pools_by_id.slots[i].value)
			assert_int_equal(get_pool(one->pools_by_id.slots[i].value),
					 get_pool(vs_id_map_get(&other->pools_by_id,
								one->pools_by_id.slots[i].id)));
	for (i = 0; i < one->nr_accounts; i++)
		assert_same_account(one->accounts[i], other->accounts[i]);
	assert_same_tree(&one->regions, &other->regions);
	assert_same_reservations(&one->reservations, &other->reservations);
	assert_same_mappings(&one->mappings, &other->mappings);
	assert_same_map(&one->arrays, &other->arrays);
	assert_same_map(&one->handles, &other->handles);
	assert_same_threads(&one->threads, &other->threads);
}
