#ifndef VS_FORESIGHT_H
#define VS_FORESIGHT_H

#include "read_ahead.h"
#include "replay.h"

/*
 * A segment belongs to a pool from birth if blocks are ever placed in it. Allocators place the
 * first one as soon as they have the memory, so a look at the records that follow nearly always
 * tells, and one pass is enough. The replay notes what was expected and what came of it:
 * vs_foresight_was_right after the last record. If it was not, all is known by then that a second
 * pass needs.
 */

/* Whether it gives memory that blocks can be placed in. */
static inline bool vs_foresight_is_needed(const struct vs_record *record)
{
	return record->type == VS_RECORD_ALLOC || record->type == VS_RECORD_RESERVE;
}

/*
 * Before such a record, number i of the oldest batch, is replayed: sets replay->foreseen. May wait
 * for the batch behind it.
 */
void vs_foresight_look(struct vs_replay *replay, struct vs_read_ahead *ahead,
		       const struct vs_batch *batch, uint32_t i);

/* Whether what was expected is just what was adopted. */
bool vs_foresight_was_right(const struct vs_replay *replay);

#endif
