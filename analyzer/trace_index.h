#ifndef VS_TRACE_INDEX_H
#define VS_TRACE_INDEX_H

#include "index_directory.h"
#include "replay.h"

/*
 * The index beside a trace, TRACE.vscope.index, if there is one: with it, a replay need not begin
 * with the first record. It is a cache: one that does not fit its trace, or is damaged, is as good
 * as none. docs/trace-format.md, section 9.
 */
struct vs_trace_index;

/* For a trace that was opened by the path; the reader outlives the index. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_trace_index_open(struct vs_trace_index **index, const char *trace_path,
				      struct vs_reader *reader);
void vs_trace_index_close(struct vs_trace_index *index);

/* What it says, or NULL: there is none, or none that fits. */
const struct vs_index_directory *vs_trace_index_get(const struct vs_trace_index *index);

/* Bytes of its file. */
uint64_t vs_trace_index_get_size(const struct vs_trace_index *index);

/* Of the file, whether there is one or not, and of the trace. */
const char *vs_trace_index_get_path(const struct vs_trace_index *index);
struct vs_reader *vs_trace_index_get_reader(const struct vs_trace_index *index);

/* Nothing of the trace has been found damaged so far. */
bool vs_trace_index_is_sound(const struct vs_trace_index *index);

/* It was written just now: looks again. */
void vs_trace_index_reload(struct vs_trace_index *index);

/* It has proved wrong: from now on there is none, neither here nor for others. */
void vs_trace_index_drop(struct vs_trace_index *index);

/* The latest snapshot after at most so many records, or before any later time; NULL: none. */
const struct vs_index_snapshot *vs_trace_index_find_record(const struct vs_trace_index *index,
							   uint64_t nr_records);
const struct vs_index_snapshot *vs_trace_index_find_time(const struct vs_trace_index *index,
							 uint64_t time_ns);

/*
 * The state before a time is going to be entered, if there is an index: what its snapshots say is
 * read from now on in a thread of its own, while the caller does something else. That thread
 * touches nothing but the file of the index, which only a reload and the end close, and they wait
 * for it. An error is told when the state is entered; if it never is, nothing is lost but time.
 */
void vs_trace_index_expect(struct vs_trace_index *index, uint64_t time_ns);

/*
 * Puts a replay that is new, but for observers and what is adopted, into the state of a snapshot,
 * and the reader in front of its block. On failure (the index or the trace is damaged: then drop
 * it; -VS_ERR_NO_MEMORY) the replay can only be destroyed.
 */
VS_MUST_CHECK int vs_trace_index_enter(struct vs_trace_index *index,
				       const struct vs_index_snapshot *snapshot,
				       struct vs_replay *replay);

/*
 * The same in two parts: first definitions, and the reader is where it has to be; then all the
 * rest, for which the reader is not needed, so that another thread can go on with it meanwhile.
 */
VS_MUST_CHECK int vs_trace_index_approach(struct vs_trace_index *index,
					  const struct vs_index_snapshot *snapshot,
					  struct vs_replay *replay);
VS_MUST_CHECK int vs_trace_index_restore(struct vs_trace_index *index,
					 const struct vs_index_snapshot *snapshot,
					 struct vs_replay *replay);

/* The same for the state after the last record, but without all that is alive then. */
VS_MUST_CHECK int vs_trace_index_enter_end(struct vs_trace_index *index, struct vs_replay *replay);

#endif
