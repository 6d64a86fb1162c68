#ifndef VS_STACK_MEMO_H
#define VS_STACK_MEMO_H

#include <stdatomic.h>
#include <stdint.h>

#include "record.h"
#include "unwind.h"

/*
 * The numbers of stacks that a thread has recorded before, by the way that leads along them
 * (vs_unwind_recall): what is found here needs no frames, no hash of them, and no comparison. It
 * forgets what it has no room for. Only its own thread touches it, inside the recorder; one that
 * jumps away in the middle leaves an entry that is not found.
 */
#define VS_STACK_MEMO_SET_BITS 12
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
