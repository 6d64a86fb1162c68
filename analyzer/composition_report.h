#ifndef VS_COMPOSITION_REPORT_H
#define VS_COMPOSITION_REPORT_H

#include "composition.h"
#include "story.h"

/*
 * What is live on a device at an instant, by category, as text or as the field `key`.
 * live_bytes: all that is. Nothing, or null, where there is no allocator of PyTorch.
 */
VS_MUST_CHECK int vs_composition_report_tell(struct vs_story *story, const char *key,
					     const struct vs_replay_device *device,
					     const struct vs_instant *at, uint64_t live_bytes);

/* The blocks one by one, most bytes first: a line each, or the field `blocks`. */
VS_MUST_CHECK int vs_composition_report_tell_blocks(struct vs_story *story,
						    const struct vs_replay_device *device,
						    const struct vs_instant *at, size_t top);

#endif
