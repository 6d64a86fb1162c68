#ifndef VS_SNAPSHOT_H
#define VS_SNAPSHOT_H

#include "pack.h"
#include "replay.h"

/*
 * The state of a replay as bytes, and back: a replay that was put back goes on as the one that was
 * kept would have done. docs/trace-format.md, section 9.4.
 *
 * A snapshot says what has changed since the one before it. A whole one says everything, and is all
 * that those behind it need. So a state is that of the last whole snapshot and all behind it.
 *
 * Definitions (names, modules, threads, stacks) are not part of it: they are in the trace, and have
 * to be given to the new replay before. Nor are observers.
 */

/* ---- Taking them ---------------------------------------------------------------------------- */

/* What is remembered of the last one that was kept: all that was alive. */
struct vs_snapshot_memory;
VS_MUST_CHECK int vs_snapshot_memory_create(struct vs_snapshot_memory **memory);
void vs_snapshot_memory_destroy(struct vs_snapshot_memory *memory);

/*
 * Of a replay that knows from an earlier pass what is adopted. The first one is always told as if
 * nothing had been before. Errors stay in the pack. Returns how many items it tells of.
 */
size_t vs_snapshot_put(struct vs_pack *pack, const struct vs_replay *replay,
		       struct vs_snapshot_memory *memory, bool is_whole);

/* The next one is told from the one that was just put; otherwise it is as if that had never been.
 */
void vs_snapshot_memory_keep(struct vs_snapshot_memory *memory);

/* How many items were alive in the last one that was kept. */
size_t vs_snapshot_memory_count(const struct vs_snapshot_memory *memory);

/* A whole one without all that is alive: devices, pools, accounts, phases, numbers. Likewise. */
void vs_snapshot_put_sums(struct vs_pack *pack, const struct vs_replay *replay);

/* ---- Going back to them --------------------------------------------------------------------- */

/* Snapshots one behind the other, the first of them a whole one. */
struct vs_snapshot_chain;
VS_MUST_CHECK int vs_snapshot_chain_create(struct vs_snapshot_chain **chain);
void vs_snapshot_chain_destroy(struct vs_snapshot_chain *chain);

/*
 * The next one. Its bytes, of any content, are kept by the caller as long as the chain.
 * -VS_ERR_CORRUPT, -VS_ERR_TRUNCATED, -VS_ERR_NO_MEMORY: then it can only be destroyed.
 */
VS_MUST_CHECK int vs_snapshot_chain_add(struct vs_snapshot_chain *chain, const void *bytes,
					size_t size, bool is_whole);

/*
 * The state of the last one, into a replay that had nothing yet but definitions. What is alive is
 * born anew, which its observers are told. -VS_ERR_CORRUPT, -VS_ERR_TRUNCATED, -VS_ERR_NO_MEMORY,
 * or what an observer says: then the replay can only be destroyed.
 */
VS_MUST_CHECK int vs_snapshot_get(struct vs_replay *replay, const struct vs_snapshot_chain *chain);

/* About so much is going to be alive, as far as is known when the first snapshot of a chain was
 * added (vs_snapshot_chain_count): what takes time can be done before the others are. */
VS_MUST_CHECK int vs_snapshot_prepare(struct vs_replay *replay, size_t nr_items);
size_t vs_snapshot_chain_count(const struct vs_snapshot_chain *chain);

/* vs_snapshot_get from sums, in which nothing is alive. */
VS_MUST_CHECK int vs_snapshot_get_sums(struct vs_replay *replay, const void *bytes, size_t size);

#endif
