#ifndef VS_FRAMEWORK_H
#define VS_FRAMEWORK_H

#include "story.h"

/*
 * Which framework the program used, as the trace tells it: facts (docs/trace-format.md, 5.5), and
 * the variables that change what its allocator does.
 */

/* Walks over the settings that are there; *i begins with 0. False: no more. */
bool vs_framework_next_setting(const struct vs_story *story, size_t *i, const char **name,
			       const char **value);

/*
 * Why no block of PyTorch is in the trace although PyTorch was there, as half a sentence. NULL: it
 * was not, or there are some.
 */
const char *vs_framework_get_lack(const struct vs_story *story);

/* "PYTORCH  2.15.0, ..."; nothing if the program did not use it. */
void vs_framework_put_text(const struct vs_story *story);

/* "facts" and "settings": objects. */
void vs_framework_put_json(const struct vs_story *story);

#endif
