#ifndef VS_TENSORFLOW_ALLOCATORS_H
#define VS_TENSORFLOW_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard.h"

/*
 * The allocators of TensorFlow that are alive, by their addresses, and the pools that stand for
 * them: one each. An address may belong to another allocator once the one before has ended. Holds
 * VS_TENSORFLOW_ALLOCATORS_MAX; what more there are is not recorded. Lock-free, any thread.
 */
#define VS_TENSORFLOW_ALLOCATORS_MAX 256u

/* One was made: the most that it may take, and whether it takes that as it needs it or at once. */
void vs_tensorflow_allocators_begin(const void *allocator, uint64_t limit_size, bool can_grow);

/*
 * The pool of an allocator; made, when it is first seen, from its name and the kind of its memory.
 * device: of which it has just asked for memory; VS_NO_DEVICE: of none, then its name decides.
 * VS_NO_ID: no room, or its memory is the host's own (pageable), of which CUDA knows nothing; that
 * is recorded with VRAMSCOPE_HOST_POOLS only.
 */
uint32_t vs_tensorflow_allocators_get_pool(struct vs_thread *self, void *allocator,
					   uint32_t device);

/* The same for one that must have been seen; else VS_NO_ID. */
uint32_t vs_tensorflow_allocators_find_pool(const void *allocator);

/* What TensorFlow calls it; cut to fit. */
void vs_tensorflow_allocators_get_name(void *allocator, char *name, size_t max);

/* It is about to end, with all that it has. */
void vs_tensorflow_allocators_end(struct vs_thread *self, const void *allocator);

#endif
