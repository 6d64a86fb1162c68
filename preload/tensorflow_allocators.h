#ifndef VS_TENSORFLOW_ALLOCATORS_H
#define VS_TENSORFLOW_ALLOCATORS_H

#include <stdint.h>

#include "guard.h"

/*
 * The allocators of TensorFlow that are alive, by their addresses, and the pools that stand for
 * them: one each. An address may belong to another allocator once the one before has ended. Holds
 * VS_TENSORFLOW_ALLOCATORS_MAX; what more there are is not recorded. Lock-free, any thread.
 */
#define VS_TENSORFLOW_ALLOCATORS_MAX 256u

/*
 * The pool of an allocator; made, when it is first seen, from its name and the kind of its memory.
 * nr_events_before: vs_guard_count_events() before the call that it has just returned from, which
 * tells whether it took memory from a device meanwhile, and from which. VS_NO_ID: no room, or its
 * memory is the host's own (pageable), of which CUDA knows nothing.
 */
uint32_t vs_tensorflow_allocators_get_pool(struct vs_thread *self, void *allocator,
					   uint64_t nr_events_before);

/* The same for one that must have been seen; else VS_NO_ID. */
uint32_t vs_tensorflow_allocators_find_pool(const void *allocator);

/* It is about to end, with all that it has. */
void vs_tensorflow_allocators_end(struct vs_thread *self, const void *allocator);

#endif
