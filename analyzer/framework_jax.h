#ifndef VS_FRAMEWORK_JAX_H
#define VS_FRAMEWORK_JAX_H

#include "story.h"

/*
 * JAX in a trace (docs/jax.md). Its usual allocator is hidden inside its plugin: the trace has what
 * that takes from the driver, but neither the buffers in it nor its running out. Which allocator it
 * was, and how much it takes in advance, is told by variables of the environment.
 */
struct vs_framework_jax {
	const char *version;   /* NULL: not known */
	const char *allocator; /* as JAX was told; "default" if it was not */
	bool is_chosen_by_us;  /* --jax-allocator */
	bool is_hidden;        /* its buffers are not in the trace */
	bool preallocates;     /* it was not told otherwise, and does with this allocator */
	double share;          /* of the card, that it takes in advance or may take at most */
};

/* False: the program did not use JAX on a GPU, as far as can be seen. */
bool vs_framework_jax_find(const struct vs_story *story, struct vs_framework_jax *jax);

/*
 * Bytes that JAX took in advance on the device: share x its memory, if as much was reserved there.
 * 0: it did not.
 */
uint64_t vs_framework_jax_get_preallocated(const struct vs_story *story,
					   const struct vs_framework_jax *jax,
					   const struct vs_replay_device *device);

/* "JAX  0.10.2; ..."; nothing without JAX. */
void vs_framework_jax_put_text(const struct vs_story *story, const struct vs_replay_device *device);

/* The object "jax", or null. */
void vs_framework_jax_put_json(const struct vs_story *story, const struct vs_replay_device *device);

#endif
