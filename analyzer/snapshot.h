#ifndef VS_SNAPSHOT_H
#define VS_SNAPSHOT_H

#include "pack.h"
#include "replay.h"

/*
 * The state of a replay as bytes, and back: a replay that was put back goes on as the one that was
 * kept would have done. docs/trace-format.md, section 9.4.
 *
 * Definitions (names, modules, threads, stacks) are not part of it: they are in the trace, and have
 * to be given to the new replay before. Nor are observers.
 */
enum vs_snapshot_kind {
	VS_SNAPSHOT_WHOLE,
	VS_SNAPSHOT_SUMS, /* without all that is alive: devices, pools, accounts, phases, numbers */
};

/* Of a replay that knows from an earlier pass what is adopted. Errors stay in the pack. */
void vs_snapshot_put(struct vs_pack *pack, const struct vs_replay *replay,
		     enum vs_snapshot_kind kind);

/*
 * Into a replay that had nothing yet but definitions. What is alive is born anew, which its
 * observers are told. -VS_ERR_CORRUPT, -VS_ERR_TRUNCATED, -VS_ERR_NO_MEMORY, or what an observer
 * says: then the replay can only be destroyed. Bytes of any content are safe.
 */
VS_MUST_CHECK int vs_snapshot_get(struct vs_replay *replay, const void *bytes, size_t size,
				  enum vs_snapshot_kind kind);

#endif
