#ifndef VS_RUN_JAX_H
#define VS_RUN_JAX_H

#include "command.h"

/*
 * --jax-allocator: the command's environment makes JAX use another allocator. JAX's own is out of
 * sight; with cuda_async each buffer is a block of a driver's pool. That changes what the program
 * does, so the recorder is told as well, and says it in the trace (docs/jax.md).
 *
 *   XLA_PYTHON_CLIENT_ALLOCATOR    what JAX reads; a value of the user's is replaced, aloud
 *   XLA_PYTHON_CLIENT_PREALLOCATE  false for cuda_async, unless the user has set it: else JAX first
 *                                  takes 75 % of the card in one block, which would be the peak
 *   VRAMSCOPE_JAX_ALLOCATOR        what the recorder reads
 */

/*
 * allocator: the value of the option; empty: cuda_async. 0, or an exit status after one line on
 * stderr.
 */
VS_MUST_CHECK int vs_run_jax_set_up(const struct vs_command *command, const char *allocator);

#endif
