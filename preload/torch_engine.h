#ifndef VS_TORCH_ENGINE_H
#define VS_TORCH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

/* Where PyTorch's engine of the backward pass lies. Any thread. */

/* Said once, by the hook that found it: the engine's call, and the main function of its workers. */
void vs_torch_engine_set(uintptr_t call, uintptr_t call_size, uintptr_t worker,
			 uintptr_t worker_size);

/*
 * Whether a stack, innermost first, is that of a worker: the outermost of its frames in the engine
 * is a worker's main function, not a call of the engine. False as long as nobody said where it is.
 */
bool vs_torch_engine_is_worker(const uint64_t *frames, uint32_t nr_frames);

/* How many calls of the engine are under way in a stack; UINT32_MAX as long as it is not known. */
uint32_t vs_torch_engine_count_calls(const uint64_t *frames, uint32_t nr_frames);

#endif
