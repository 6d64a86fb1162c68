#ifndef VS_FRAG_REPORT_H
#define VS_FRAG_REPORT_H

#include "device_state.h"
#include "story.h"

/*
 * Chapters of `frag`, as text or JSON: what stands in the way of a request, segments that hold
 * almost nothing, and holes over time.
 */

/* request: 0 is the one that failed at that instant; nothing is said if there is none. */
VS_MUST_CHECK int vs_frag_report_tell_pinning(struct vs_story *story,
					      const struct vs_device_state *state, uint64_t request,
					      size_t top);

/* Segments of the pool with the most bytes in holes, the emptiest first. */
VS_MUST_CHECK int vs_frag_report_tell_segments(struct vs_story *story,
					       const struct vs_device_state *state, size_t top);

/* Takes a pass over the trace. request: 0 is none. */
VS_MUST_CHECK int vs_frag_report_tell_history(struct vs_story *story,
					      const struct vs_device_state *state, uint64_t request,
					      bool has_rows);

#endif
