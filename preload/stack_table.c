#include "stack_table.h"

#include <stdatomic.h>

#include "hot.h"
#include "intern.h"

static struct vs_intern table;
static _Atomic uint32_t last_number;
VS_HOT_DATA static _Atomic uint32_t epoch;
static _Atomic uint64_t nr_overflows;

int vs_stack_table_init(void)
{
	return vs_intern_init(&table, VS_STACK_TABLE_MAX, VS_STACK_TABLE_BYTES);
}

void vs_stack_table_clear(void)
{
	vs_intern_clear(&table);
	atomic_store_explicit(&last_number, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_overflows, 0, memory_order_relaxed);
}

void vs_stack_table_expire(void)
{
	atomic_fetch_add_explicit(&epoch, 1, memory_order_seq_cst);
}

uint32_t vs_stack_table_get_epoch(void)
{
	return atomic_load_explicit(&epoch, memory_order_seq_cst);
}

/*
 * The epoch and the flags take part in the hash alone: for an old stack to be taken for a new one
 * with the same frames, the upper 32 bits of two hashes would have to agree by chance, and nearly
 * all of the lower ones.
 */
uint32_t vs_stack_table_find(struct vs_stack_table_key *key, const struct vs_stack *stack)
{
	size_t size = stack->nr_frames * sizeof(*stack->frames);

	key->epoch = atomic_load_explicit(&epoch, memory_order_seq_cst);
	key->hash = vs_intern_hash(stack->frames, size,
				   (uint64_t)key->epoch << 2 | (uint64_t)stack->is_deep << 1 |
					   stack->is_cut);
	return vs_intern_find(&table, key->hash, stack->frames, size);
}

uint32_t vs_stack_table_new_number(void)
{
	uint32_t before = atomic_load_explicit(&last_number, memory_order_relaxed);

	if (table.map && before < VS_STACK_TABLE_MAX &&
	    atomic_load_explicit(&table.arena_used, memory_order_relaxed) <
		    VS_STACK_TABLE_BYTES - VS_STACK_MAX * sizeof(uint64_t)) {
		before = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed);
		if (before < VS_STACK_TABLE_MAX)
			return before + 1;
	}
	atomic_fetch_add_explicit(&nr_overflows, 1, memory_order_relaxed);
	return VS_NO_ID;
}

void vs_stack_table_add(const struct vs_stack_table_key *key, const struct vs_stack *stack)
{
	vs_intern_add(&table, key->hash, stack->frames, stack->nr_frames * sizeof(*stack->frames),
		      stack->id);
}

uint64_t vs_stack_table_get_overflow(void)
{
	return atomic_load_explicit(&nr_overflows, memory_order_relaxed);
}
