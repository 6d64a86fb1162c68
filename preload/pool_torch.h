#ifndef VS_POOL_TORCH_H
#define VS_POOL_TORCH_H

#include <stdint.h>

/*
 * PyTorch's caching allocator on CUDA devices: every block it gives out and takes back, its own
 * totals, and its out-of-memories, from the calls by which it reports them to PyTorch's profiler.
 * They come whether a profiler is active or not, on the thread that asked for the memory, and under
 * the allocator's mutex: nothing here may wait, call CUDA, or take the interpreter's lock.
 */

/*
 * The pool whose out-of-memory is the latest thing that this thread heard of the allocator, or
 * VS_NO_ID; it is asked once. Lets torch_error.c know whose text an exception has.
 */
uint32_t vs_pool_torch_take_failed(void);

#endif
