#ifndef VS_CAPTURES_H
#define VS_CAPTURES_H

#include "real.h"

/*
 * Stream captures. While one goes on, calls of ours could break it, so hooks ask the driver as
 * little as they can; and what is asked of a capturing stream becomes a node of a graph and happens
 * when that is launched. Any thread.
 */

/* A capture began, or ended (whether it was valid or not). */
void vs_captures_begin(void);
void vs_captures_end(void);

/* Whether any stream of the process may be capturing. */
bool vs_captures_has_any(void);

/* Whether this stream is. per_thread: asked by a _ptsz function. No call if no capture goes on. */
bool vs_captures_is_capturing(const struct vs_real *real, CUstream stream, bool per_thread);

#endif
