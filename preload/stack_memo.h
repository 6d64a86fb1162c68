#ifndef VS_STACK_MEMO_H
#define VS_STACK_MEMO_H

#include <stdatomic.h>
#include <stdint.h>

#include "record.h"
#include "unwind.h"

/*
 * The numbers of stacks that a thread has recorded before, by the way that leads along them
 * (vs_unwind_recall): what is found here needs no frames, no hash of them, and no comparison. Where
 * a stack had to be walked, its frames make up a path (vs_stack_memo_get_path): to find it here
 * costs one line of the cache, not those of the table that all threads share and of all its frames.
 *
 * It forgets what it has no room for. Only its own thread touches it, inside the recorder; one that
 * jumps away in the middle leaves an entry that is not found.
 */
#define VS_STACK_MEMO_SET_BITS 13
#define VS_STACK_MEMO_NR_WAYS  4

/* 96 bits of the path, mixed with the era in which the number means the stack. */
struct vs_stack_memo_entry {
	uint64_t a;
	uint32_t b;
	uint32_t number; /* VS_NO_ID: none yet */
};

/* A line of the cache. */
struct vs_stack_memo_set {
	_Alignas(64) struct vs_stack_memo_entry ways[VS_STACK_MEMO_NR_WAYS];
};

/* All zero at first: pages that are not used are not touched. */
struct vs_stack_memo {
	struct vs_stack_memo_set sets[1u << VS_STACK_MEMO_SET_BITS];
};

#define VS_STACK_MEMO_MIX_1 UINT64_C(0x9e3779b97f4a7c15)
#define VS_STACK_MEMO_MIX_2 UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t vs_stack_memo_stir(uint64_t lane, uint64_t word)
{
	return ((lane << 29 | lane >> 35) ^ word) * VS_STACK_MEMO_MIX_1;
}

static inline uint64_t vs_stack_memo_fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A path of frames, all of which take part in both halves: as unlikely to be that of another stack
 * as the other kind. The four lanes do not wait for each other.
 */
static inline void vs_stack_memo_get_path(const struct vs_stack *stack, struct vs_unwind_path *path)
{
	uint64_t a = stack->nr_frames, b = stack->is_deep, c = stack->is_cut, d = 0;
	uint32_t i = 0;

	for (; i + 4 <= stack->nr_frames; i += 4) {
		a = vs_stack_memo_stir(a, stack->frames[i]);
		b = vs_stack_memo_stir(b, stack->frames[i + 1]);
		c = vs_stack_memo_stir(c, stack->frames[i + 2]);
		d = vs_stack_memo_stir(d, stack->frames[i + 3]);
	}
	for (; i < stack->nr_frames; i++) {
		uint64_t next = vs_stack_memo_stir(a, stack->frames[i]);

		a = b;
		b = c;
		c = d;
		d = next;
	}
	path->a = vs_stack_memo_fold(a ^ VS_STACK_MEMO_MIX_1, b ^ VS_STACK_MEMO_MIX_2) +
		  vs_stack_memo_fold(c ^ VS_STACK_MEMO_MIX_2, d ^ VS_STACK_MEMO_MIX_1);
	path->b = vs_stack_memo_fold(a ^ VS_STACK_MEMO_MIX_2, c ^ VS_STACK_MEMO_MIX_1) ^
		  vs_stack_memo_fold(b ^ VS_STACK_MEMO_MIX_1, d ^ VS_STACK_MEMO_MIX_2);
}

static inline struct vs_stack_memo_entry *vs_stack_memo_ways(struct vs_stack_memo *memo,
							     const struct vs_unwind_path *path)
{
	return memo->sets[path->a >> (64 - VS_STACK_MEMO_SET_BITS)].ways;
}

static inline struct vs_stack_memo_entry vs_stack_memo_make_entry(const struct vs_unwind_path *path,
								  uint64_t era, uint32_t number)
{
	return (struct vs_stack_memo_entry){
		.a = path->a ^ era * VS_STACK_MEMO_MIX_2,
		.b = (uint32_t)(path->b ^ path->b >> 32),
		.number = number,
	};
}

/* The number that was added under this path in this era, or VS_NO_ID. */
static inline uint32_t vs_stack_memo_find(struct vs_stack_memo *memo,
					  const struct vs_unwind_path *path, uint64_t era)
{
	const struct vs_stack_memo_entry *ways = vs_stack_memo_ways(memo, path);
	const struct vs_stack_memo_entry wanted = vs_stack_memo_make_entry(path, era, VS_NO_ID);
	uint32_t number = VS_NO_ID;

	/* Which one it is cannot be foreseen, so nothing depends on it but the number. */
	for (unsigned i = 0; i < VS_STACK_MEMO_NR_WAYS; i++)
		number |= ways[i].number &
			  -(uint32_t)(ways[i].a == wanted.a && ways[i].b == wanted.b);
	return number;
}

static inline void vs_stack_memo_put(struct vs_stack_memo_entry *entry,
				     const struct vs_stack_memo_entry *from)
{
	entry->number = VS_NO_ID;
	atomic_signal_fence(memory_order_seq_cst);
	entry->a = from->a;
	entry->b = from->b;
	atomic_signal_fence(memory_order_seq_cst);
	entry->number = from->number;
}

/* The oldest of its set goes. It must not be there yet. */
static inline void vs_stack_memo_add(struct vs_stack_memo *memo, const struct vs_unwind_path *path,
				     uint64_t era, uint32_t number)
{
	struct vs_stack_memo_entry *ways = vs_stack_memo_ways(memo, path);
	const struct vs_stack_memo_entry entry = vs_stack_memo_make_entry(path, era, number);

	for (unsigned i = VS_STACK_MEMO_NR_WAYS - 1; i > 0; i--)
		vs_stack_memo_put(&ways[i], &ways[i - 1]);
	vs_stack_memo_put(&ways[0], &entry);
}

#endif
