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
 * It is small at first and grows when sets are full: what a thread has few of lies on few pages,
 * and can be found quickly also by one that does so much between two events that nothing of ours is
 * near. When it is large, it forgets what it has no room for. Only its own thread touches it,
 * inside the recorder; one that jumps away in the middle leaves an entry that is not found.
 */
#define VS_STACK_MEMO_MIN_BITS 6
#define VS_STACK_MEMO_MAX_BITS 13
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
	uint32_t growth;    /* bits of the number of sets, less VS_STACK_MEMO_MIN_BITS */
	uint32_t nr_pushed; /* out of full sets, since it has grown */
	struct vs_stack_memo_set sets[1u << VS_STACK_MEMO_MAX_BITS];
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

static inline struct vs_stack_memo_entry vs_stack_memo_make_entry(const struct vs_unwind_path *path,
								  uint64_t era, uint32_t number)
{
	return (struct vs_stack_memo_entry){
		.a = path->a ^ era * VS_STACK_MEMO_MIX_2,
		.b = (uint32_t)(path->b ^ path->b >> 32),
		.number = number,
	};
}

static inline struct vs_stack_memo_entry *vs_stack_memo_ways(struct vs_stack_memo *memo, uint64_t a)
{
	return memo->sets[a >> (64 - VS_STACK_MEMO_MIN_BITS - memo->growth)].ways;
}

/* The number that was added under this path in this era, or VS_NO_ID. */
static inline uint32_t vs_stack_memo_find(struct vs_stack_memo *memo,
					  const struct vs_unwind_path *path, uint64_t era)
{
	const struct vs_stack_memo_entry wanted = vs_stack_memo_make_entry(path, era, VS_NO_ID);
	const struct vs_stack_memo_entry *ways = vs_stack_memo_ways(memo, wanted.a);
	uint32_t number = VS_NO_ID;

	/* Which one it is cannot be foreseen, so nothing depends on it but the number. */
#pragma GCC unroll 4
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

/* In front of the others; the last of them goes. */
static inline void vs_stack_memo_push(struct vs_stack_memo_entry *ways,
				      const struct vs_stack_memo_entry *entry)
{
	for (unsigned i = VS_STACK_MEMO_NR_WAYS - 1; i > 0; i--)
		vs_stack_memo_put(&ways[i], &ways[i - 1]);
	vs_stack_memo_put(&ways[0], entry);
}

/*
 * Twice as many sets. The entries of each go to two that lie behind it, or to itself: from the last
 * one on. A jump out of it costs what is not moved yet, and a wrong place is nobody's.
 */
static inline void vs_stack_memo_grow(struct vs_stack_memo *memo)
{
	uint32_t number = 1u << (VS_STACK_MEMO_MIN_BITS + memo->growth);

	memo->growth++;
	memo->nr_pushed = 0;
	while (number-- > 0) {
		const struct vs_stack_memo_set old = memo->sets[number];
		const struct vs_stack_memo_entry none = {0};

		for (unsigned i = 0; i < VS_STACK_MEMO_NR_WAYS; i++)
			vs_stack_memo_put(&memo->sets[number].ways[i], &none);
		for (unsigned i = VS_STACK_MEMO_NR_WAYS; i-- > 0;)
			if (old.ways[i].number != VS_NO_ID)
				vs_stack_memo_push(vs_stack_memo_ways(memo, old.ways[i].a),
						   &old.ways[i]);
	}
}

/* It must not be there yet. */
static inline void vs_stack_memo_add(struct vs_stack_memo *memo, const struct vs_unwind_path *path,
				     uint64_t era, uint32_t number)
{
	const struct vs_stack_memo_entry entry = vs_stack_memo_make_entry(path, era, number);
	struct vs_stack_memo_entry *ways = vs_stack_memo_ways(memo, entry.a);
	uint32_t bits = VS_STACK_MEMO_MIN_BITS + memo->growth;

	if (ways[VS_STACK_MEMO_NR_WAYS - 1].number != VS_NO_ID)
		memo->nr_pushed++;
	/* When one set in eight has pushed one out. */
	if (bits < VS_STACK_MEMO_MAX_BITS && memo->nr_pushed > 1u << (bits - 3)) {
		vs_stack_memo_grow(memo);
		ways = vs_stack_memo_ways(memo, entry.a);
	}
	vs_stack_memo_push(ways, &entry);
}

#endif
