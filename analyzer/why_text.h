#ifndef VS_WHY_TEXT_H
#define VS_WHY_TEXT_H

#include "why_details.h"

/*
 * A verdict for people: what happened and the cause, the sentence that proves it, the line of code,
 * the remedy. is_full: also addresses, every remedy, the runner-up and the pool's own words.
 */
VS_MUST_CHECK int vs_why_text_put(struct vs_story *story, const struct vs_device_state *state,
				  bool is_full);

/* How many requests of a device failed and were served when asked again; nothing if none did. */
void vs_why_text_put_recovered(struct vs_story *story, const struct vs_replay_device *device);

#endif
