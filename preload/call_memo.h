#ifndef VS_CALL_MEMO_H
#define VS_CALL_MEMO_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "unwind.h"

/*
 * The Python frames of calls that a thread has others do the work of (delegation.h), as stacks have
 * them, by their fingerprint (vs_python_recall): TensorFlow makes a call for every operation, from
 * the same lines again and again, and to look up each frame's code takes longer than the rest.
 *
 * It forgets what it has no room for. Only its own thread touches it, inside the recorder; one that
 * jumps away in the middle leaves an entry that is not found.
 */
#define VS_CALL_MEMO_BITS       9
#define VS_CALL_MEMO_MAX_FRAMES 64u

struct vs_call_memo_entry {
	struct vs_unwind_path path;
	uint32_t era; /* in which the frames mean what they say; 0: none yet */
	uint32_t nr_frames;
	uint64_t hash; /* of the frames: vs_delegation_hash */
	uint32_t next; /* which one was looked for after it, last time */
	uint64_t frames[VS_CALL_MEMO_MAX_FRAMES];
};

/* All zero at first: pages that are not used are not touched. */
struct vs_call_memo {
	uint32_t last; /* that was looked for */
	struct vs_call_memo_entry entries[1u << VS_CALL_MEMO_BITS];
};

static inline struct vs_call_memo_entry *vs_call_memo_place(struct vs_call_memo *memo,
							    const struct vs_unwind_path *path)
{
	return &memo->entries[path->a >> (64 - VS_CALL_MEMO_BITS)];
}

/* What was added under this path in this era (not 0), or NULL. Valid until the next add. */
static inline const struct vs_call_memo_entry *vs_call_memo_find(struct vs_call_memo *memo,
								 const struct vs_unwind_path *path,
								 uint32_t era)
{
	struct vs_call_memo_entry *entry = vs_call_memo_place(memo, path);
	const char *next;

	/* Calls come in the same order again, and so far apart that the cache has none of them. */
	memo->entries[memo->last].next = (uint32_t)(entry - memo->entries);
	memo->last = (uint32_t)(entry - memo->entries);
	next = (const char *)&memo->entries[entry->next];
	for (unsigned i = 0; i < 3; i++)
		__builtin_prefetch(next + 64 * i);
	return entry->path.a == path->a && entry->path.b == path->b && entry->era == era ? entry
											 : NULL;
}

/* More than VS_CALL_MEMO_MAX_FRAMES are not kept. */
static inline void vs_call_memo_add(struct vs_call_memo *memo, const struct vs_unwind_path *path,
				    uint32_t era, const uint64_t *frames, uint32_t nr_frames,
				    uint64_t hash)
{
	struct vs_call_memo_entry *entry = vs_call_memo_place(memo, path);

	if (nr_frames > VS_CALL_MEMO_MAX_FRAMES)
		return;
	entry->era = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->path = *path;
	entry->hash = hash;
	entry->nr_frames = nr_frames;
	memcpy(entry->frames, frames, nr_frames * sizeof(*frames));
	atomic_signal_fence(memory_order_seq_cst);
	entry->era = era;
}

#endif
