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
#define VS_STACK_MEMO_NR_WAYS  2

struct vs_stack_memo_entry {
	struct vs_unwind_path path;
	uint64_t era; /* in which the number means the stack; 0: none yet */
	uint32_t number;
};

/* All zero at first: pages that are not used are not touched. */
struct vs_stack_memo {
	struct vs_stack_memo_entry sets[1u << VS_STACK_MEMO_SET_BITS][VS_STACK_MEMO_NR_WAYS];
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

static inline struct vs_stack_memo_entry *vs_stack_memo_set(struct vs_stack_memo *memo,
							    const struct vs_unwind_path *path)
{
	return memo->sets[path->a >> (64 - VS_STACK_MEMO_SET_BITS)];
}

/* The number that was added under this path in this era (not 0), or VS_NO_ID. */
static inline uint32_t vs_stack_memo_find(struct vs_stack_memo *memo,
					  const struct vs_unwind_path *path, uint64_t era)
{
	const struct vs_stack_memo_entry *set = vs_stack_memo_set(memo, path);

	for (unsigned i = 0; i < VS_STACK_MEMO_NR_WAYS; i++)
		if (set[i].path.a == path->a && set[i].path.b == path->b && set[i].era == era)
			return set[i].number;
	return VS_NO_ID;
}

static inline void vs_stack_memo_put(struct vs_stack_memo_entry *entry,
				     const struct vs_stack_memo_entry *from)
{
	entry->era = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->path = from->path;
	entry->number = from->number;
	atomic_signal_fence(memory_order_seq_cst);
	entry->era = from->era;
}

/* The oldest of its set goes. */
static inline void vs_stack_memo_add(struct vs_stack_memo *memo, const struct vs_unwind_path *path,
				     uint64_t era, uint32_t number)
{
	struct vs_stack_memo_entry *set = vs_stack_memo_set(memo, path);
	const struct vs_stack_memo_entry entry = {*path, era, number};

	for (unsigned i = VS_STACK_MEMO_NR_WAYS - 1; i > 0; i--)
		vs_stack_memo_put(&set[i], &set[i - 1]);
	vs_stack_memo_put(&set[0], &entry);
}

#endif
