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

/* Frameworks whose traces are in the trace: pools, facts, libraries. */
enum vs_framework {
	VS_FRAMEWORK_NONE = 1 << 0, /* none of these */
	VS_FRAMEWORK_TORCH = 1 << 1,
	VS_FRAMEWORK_TENSORFLOW = 1 << 2,
	VS_FRAMEWORK_JAX = 1 << 3,
};

/* The one that a pool is of; NULL, or no framework's: the first that the program has. */
enum vs_framework vs_framework_find(const struct vs_story *story,
				    const struct vs_replay_pool *pool);

/* Whether a variable was set, and to something with this word in it (NULL: to anything). */
bool vs_framework_has_setting(const struct vs_story *story, const char *name, const char *word);

/* Whether a fact whose name begins so has this word in it. */
bool vs_framework_has_fact(const struct vs_story *story, const char *begin, const char *word);

/* Whether code of a file whose path has this in it led to an allocation. */
bool vs_framework_has_code(const struct vs_story *story, const char *path);

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
