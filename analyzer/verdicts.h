#ifndef VS_VERDICTS_H
#define VS_VERDICTS_H

#include "device_state.h"
#include "story.h"

/*
 * The verdicts on a device, for `why`, `report` and the page alike: one for each place that ran out
 * (a group of failures), the latest first. Where nothing ran out, one on the run, if it was killed,
 * nearly full or growing; else none. docs/analyses.md, "Why".
 */

/* Is told of one that was judged, which is valid until it returns. */
typedef int (*vs_verdicts_fn)(struct vs_story *story, const struct vs_device_state *state);

/*
 * Tells the first `top` of them. *nr_verdicts: how many there are, told or not. known: the device
 * at its last out-of-memory, judged, or at the default instant, if the caller has that already; or
 * NULL, or another instant.
 */
VS_MUST_CHECK int vs_verdicts_tell(struct vs_story *story, const struct vs_replay_device *device,
				   const struct vs_device_state *known, size_t top,
				   vs_verdicts_fn tell, size_t *nr_verdicts);

/* The same as objects of the array that is open in JSON. */
VS_MUST_CHECK int vs_verdicts_put_json(struct vs_story *story,
				       const struct vs_replay_device *device,
				       const struct vs_device_state *known, size_t top);

#endif
