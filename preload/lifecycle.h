#ifndef VS_LIFECYCLE_H
#define VS_LIFECYCLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "live_log.h"
#include "settings.h"

/*
 * The life of the shim in a process: start, first event, fork, exit.
 *
 * A recording is what goes into one trace. A process has at most one; a forked child starts with
 * none and opens its own at its own first event. After _exit, exec, abort, or a signal there is
 * nothing to do: the trace and its log are complete at every moment.
 */

/*
 * Not zero in the process that set it. The page is wiped by the kernel in every child (fork, raw
 * clone), so that a child knows before it touches anything that it shares with its parent.
 */
extern _Atomic uint32_t *vs_lifecycle_mark;

static inline bool vs_lifecycle_is_begun(void)
{
	return atomic_load_explicit(vs_lifecycle_mark, memory_order_relaxed) != 0;
}

/* Starts the shim, or makes a child forget its parent's recording. Keeps errno. */
void vs_lifecycle_begin(void);

/* Whether events are wanted. Any thread. */
bool vs_lifecycle_is_recording(void);

/*
 * The log; the first call makes it and the trace, in the calling thread. NULL: it cannot be had, or
 * recording is over.
 *
 * The one place where a thread of the program may wait, and for another one of the program's: two
 * have their first events at once, and one of them makes the files. VS_LIFECYCLE_OPEN_MS at most.
 */
#define VS_LIFECYCLE_OPEN_MS 10000
struct vs_live_log *vs_lifecycle_get_log(void);

/* Whether there is a log and it takes events. Any thread. */
bool vs_lifecycle_is_open(void);

/* The log, but never makes one. */
struct vs_live_log *vs_lifecycle_peek_log(void);

/*
 * The first thread of the program is about to end, the others go on. From now on there is no thread
 * of ours, which would keep the process from ending with the last one; the log keeps what fits.
 */
void vs_lifecycle_do_without_thread(void);

/* Whether that was said, or this is a child that must not have one. Any thread. */
bool vs_lifecycle_is_without_thread(void);

/* Number of the recording, from 1 on; a child's is another one than its parent's. */
uint32_t vs_lifecycle_recording(void);

/* What the environment said at the start. Valid after vs_lifecycle_begin(). */
const struct vs_settings *vs_lifecycle_settings(void);

#endif
