#ifndef VS_ANALYSIS_H
#define VS_ANALYSIS_H

#include "failures.h"
#include "instant.h"
#include "measure_basic.h"
#include "measure_counts.h"
#include "measure_fragmentation.h"
#include "measure_lane.h"
#include "measure_peak.h"
#include "measure_peaks.h"
#include "measure_retained.h"
#include "measure_sites.h"
#include "options.h"
#include "replay.h"
#include "source.h"
#include "trace_index.h"

/*
 * A trace from its first record to its last, with all measures, and again up to any instant.
 * Devices, pools, accounts and sites have the same index in every pass:
 *
 *	1  which segments blocks are placed in, how long it is, whether there are steps
 *	2  all measures
 *	3  up to an instant, when the state at that instant is asked for
 *
 * An index of the trace (trace_index.h) knows what the first pass finds out, and shortens the
 * others: they begin with a snapshot near the window, or near the instant. Without one, if all of a
 * trace in a file is read, the first pass is guessed (foresight.h) and made up for only if that was
 * wrong; and an index is made on the way.
 */

struct vs_window {
	uint64_t from_ns;
	uint64_t to_ns; /* what is later is not looked at */
};

struct vs_steps_finder;

struct vs_analysis {
	const struct vs_source *source;
	struct vs_trace_index *index; /* NULL: none */
	struct vs_window window;
	struct vs_adoption adoption;
	struct vs_replay *replay;      /* after the last record in the window */
	struct vs_measure_basic basic; /* feeds the next five */
	struct vs_measure_lane lane;   /* of `replay`, while it measures */
	struct vs_measure_peak peak;
	struct vs_measure_peaks peaks;
	struct vs_measure_counts counts;
	struct vs_measure_sites sites;
	struct vs_measure_retained retained;
	struct vs_measure_fragmentation fragmentation;
	struct vs_failures failures;
	uint64_t duration_ns; /* time of the last event, of the window or of all */
	struct vs_wants wants;
	struct vs_steps_finder *finder; /* steps.h; NULL: nobody looked for steps */
	bool can_seek;                  /* snapshots are of the same states as ours, */
	uint64_t nr_known; /* after at most so many records: what is adopted later is not known */
};

/* The source outlives the analysis. On failure there is nothing to undo. */
VS_MUST_CHECK int vs_analysis_init(struct vs_analysis *analysis, const struct vs_source *source,
				   const struct vs_window *window);

/*
 * The same with an index, of the trace that the source reads; it outlives the analysis, too; NULL:
 *without. Who wants no holes gets no `fragmentation`, unless an index is made on the way; peaks and
 * steps are measured on the way if the window is all of the trace, steps if there are no others.
 */
VS_MUST_CHECK int vs_analysis_init_indexed(struct vs_analysis *analysis,
					   const struct vs_source *source,
					   const struct vs_window *window,
					   struct vs_trace_index *index,
					   const struct vs_wants *wants);
void vs_analysis_fini(struct vs_analysis *analysis);

/*
 * The same for a whole trace that has an index, without reading its events: for those who want
 * states at instants, and of the measures no more than peaks, counts, failures and the worst
 * fragmentation. Sites, what is retained, and who was live at the peak stay empty, and in `replay`
 * nothing is alive. 1, or 0: there is no index, and nothing to undo; -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_analysis_recall(struct vs_analysis *analysis, const struct vs_source *source,
				     struct vs_trace_index *index);

/*
 * The instant that --at names, for a device: by default its last out-of-memory, else its reserved
 * peak. -VS_ERR_INVALID: there is no out-of-memory.
 */
VS_MUST_CHECK int vs_analysis_find_instant(const struct vs_analysis *analysis,
					   const struct vs_replay_device *device, enum vs_at at,
					   uint64_t at_ns, struct vs_instant *instant);

/* A replay that stands at an instant (after its record; record 0: by time). Destroy it. */
VS_MUST_CHECK int vs_analysis_go_to(const struct vs_analysis *analysis,
				    const struct vs_instant *instant, struct vs_replay **replay);

/* The same for one that has a record: the source stands right behind that, to be read on. */
VS_MUST_CHECK int vs_analysis_go_behind(const struct vs_analysis *analysis,
					const struct vs_instant *instant,
					struct vs_replay **replay);

/*
 * The records of the window once more, from the first of the trace on, for a measure that only some
 * command wants. The replay, in which devices have the indices they have in the analysis, stands at
 * the end of the window. Destroy it.
 */
VS_MUST_CHECK int vs_analysis_observe(const struct vs_analysis *analysis,
				      struct vs_observer *observer, struct vs_replay **replay);

/* One pass over the records of a window by a replay whose observers are set. */
VS_MUST_CHECK int vs_analysis_pass(const struct vs_source *source, const struct vs_window *window,
				   struct vs_replay *replay);

/* Whether anything ever happened on the device. */
bool vs_analysis_has_device(const struct vs_analysis *analysis,
			    const struct vs_replay_device *device);

#endif
