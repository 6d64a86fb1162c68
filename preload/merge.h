#ifndef VS_MERGE_H
#define VS_MERGE_H

#include "error.h"
#include "live_log.h"
#include "record.h"

/*
 * Takes the records of all rings out of the log, in the order of their ticks: live_format.h. One
 * thread, the drain's. Two steps, because what is taken is not yet safe:
 *
 *   vs_merge_look()      how far the order is certain
 *   vs_merge_next()      one record after the other, up to there; or several by vs_merge_next_run()
 *   ... they are in the trace ...
 *   vs_merge_release()   their room may be used again
 */
struct vs_merge;

/* start: time 0 of the trace. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_merge_create(struct vs_merge **merge, struct vs_live_log *log);
void vs_merge_destroy(struct vs_merge *merge);

/* If a thread needs this long for a record, it does not run any more: stopped, or gone in a way we
 * do not know of. */
#define VS_MERGE_STUCK_NS UINT64_C(1000000000)

/*
 * Everything recorded before this call can be taken, except while some thread stays for long in the
 * middle of a record: then what is certainly older. Such a thread is waited for a moment only, and
 * by now_ns, of the monotonic clock, for how long.
 */
void vs_merge_look(struct vs_merge *merge, uint64_t now_ns);

/*
 * The next record, with its place: number `sequence` of `ring`. False: that was all. Text and
 * frames are valid until the next call.
 */
bool vs_merge_next(struct vs_merge *merge, struct vs_record *record, uint32_t *ring,
		   uint64_t *sequence);

/* Records of one ring, from number `sequence` on. */
struct vs_merge_run {
	uint32_t ring;
	uint32_t nr;
	uint64_t sequence;
};

/*
 * The next records, at most max: as many as one ring has in a row. Only the last of them may be a
 * definition, whose text and frames are valid until the next call. False: there are no more.
 */
bool vs_merge_next_run(struct vs_merge *merge, struct vs_record *records, uint32_t max,
		       struct vs_merge_run *run);

/* All that was taken so far is in the trace. */
void vs_merge_release(struct vs_merge *merge);

/* How far the records of each ring that may have more were taken: `end` is behind the last one. */
void vs_merge_visit_rings(const struct vs_merge *merge,
			  void (*visit)(void *context, uint32_t ring, uint64_t end), void *context);

/* Whether no ring has anything left, nor is about to. */
bool vs_merge_is_empty(const struct vs_merge *merge);

#endif
