#ifndef VS_HANDLES_H
#define VS_HANDLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Small numbers for CUDA's handles (contexts, pools). Lock-free, any thread. A key stays in its
 * slot for good; forgetting one clears its number, so that the same handle, given out again, gets a
 * new one. Zeroed memory is an empty map.
 */
#define VS_HANDLES_SLOTS 4096u /* a power of two */

struct vs_handles {
	struct {
		_Atomic uint64_t key;    /* 0: free; set once */
		_Atomic uint32_t number; /* 0: none */
	} slots[VS_HANDLES_SLOTS];
};

/* The number of a handle, 0 for none. */
uint32_t vs_handles_find(const struct vs_handles *map, uint64_t handle);

/*
 * Gives the handle a number unless it has one. Returns the one it has now; 0 when there is no room
 * or the handle is 0.
 */
uint32_t vs_handles_add(struct vs_handles *map, uint64_t handle, uint32_t number);

/* Returns the number it had. */
uint32_t vs_handles_forget(struct vs_handles *map, uint64_t handle);

#endif
