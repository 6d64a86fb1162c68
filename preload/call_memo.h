#ifndef VS_CALL_MEMO_H
#define VS_CALL_MEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "delegation.h"
#include "unwind.h"

/*
 * Calls that a thread has others do the work of (delegation.h), by the fingerprint of their Python
 * frames (vs_python_recall): TensorFlow makes a call for every operation, from the same lines again
 * and again, and to look up each frame's code takes longer than the rest.
 *
 * It forgets what it has no room for. Only its own thread touches it, inside the recorder; one that
 * jumps away in the middle leaves an entry that is not found.
 */
#define VS_CALL_MEMO_NR_ENTRIES 512u
#define VS_CALL_MEMO_SLOT_BITS  10

/* Two of them are a line of the cache. */
struct vs_call_memo_entry {
	_Alignas(32) struct vs_unwind_path path;
	uint32_t era;  /* in which the call means what it says; 0: none yet */
	uint32_t next; /* which one was looked for after it, last time */
	const struct vs_delegation_call *call;
};

/* All zero at first: pages that are not used are not touched. */
struct vs_call_memo {
	uint32_t last; /* that was looked for and found */
	uint32_t nr_entries;
	/* By hash: the number of an entry plus one; if it is another one's, the slots behind it. */
	uint16_t slots[1u << VS_CALL_MEMO_SLOT_BITS];
	/* As they came: calls come in the same order again, and are next to each other. */
	struct vs_call_memo_entry entries[VS_CALL_MEMO_NR_ENTRIES];
};

static inline bool vs_call_memo_is(const struct vs_call_memo_entry *entry,
				   const struct vs_unwind_path *path, uint32_t era)
{
	return entry->path.a == path->a && entry->path.b == path->b && entry->era == era;
}

/* The slot of the path, or the one where it would be. */
static inline uint16_t *vs_call_memo_get_slot(struct vs_call_memo *memo,
					      const struct vs_unwind_path *path, uint32_t era)
{
	uint64_t at = path->a >> (64 - VS_CALL_MEMO_SLOT_BITS);

	/* There are more slots than entries. */
	while (memo->slots[at] && !vs_call_memo_is(&memo->entries[memo->slots[at] - 1], path, era))
		at = (at + 1) % (1u << VS_CALL_MEMO_SLOT_BITS);
	return &memo->slots[at];
}

/* What was added under this path in this era (not 0), or NULL. */
static inline const struct vs_delegation_call *vs_call_memo_find(struct vs_call_memo *memo,
								 const struct vs_unwind_path *path,
								 uint32_t era)
{
	struct vs_call_memo_entry *last = &memo->entries[memo->last];

	if (__builtin_expect(!vs_call_memo_is(&memo->entries[last->next], path, era), 0)) {
		uint16_t number = *vs_call_memo_get_slot(memo, path, era);

		if (!number)
			return NULL;
		last->next = number - 1u;
	}
	memo->last = last->next;
	/* They come so far apart that the cache has none of them. */
	__builtin_prefetch(&memo->entries[memo->entries[memo->last].next]);
	return memo->entries[memo->last].call;
}

static inline void vs_call_memo_add(struct vs_call_memo *memo, const struct vs_unwind_path *path,
				    uint32_t era, const struct vs_delegation_call *call)
{
	struct vs_call_memo_entry *entry;

	if (memo->nr_entries == VS_CALL_MEMO_NR_ENTRIES) {
		/* To begin anew is seldom. */
		memset(memo->slots, 0, sizeof(memo->slots));
		memo->nr_entries = 0;
	}
	entry = &memo->entries[memo->nr_entries++];
	entry->era = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->path = *path;
	entry->call = call;
	atomic_signal_fence(memory_order_seq_cst);
	entry->era = era;
	*vs_call_memo_get_slot(memo, path, era) = (uint16_t)(entry - memo->entries + 1);
}

#endif
