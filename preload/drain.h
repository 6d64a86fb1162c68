#ifndef VS_DRAIN_H
#define VS_DRAIN_H

#include <stdbool.h>

#include "error.h"
#include "session.h"

/*
 * The thread that moves records from the log into the trace. It blocks all signals, so the
 * program's handlers never run on it, and has a table of open files of its own, so the program
 * neither sees our descriptors nor can close them (daemons close all they find).
 */

/*
 * Starts the thread on the open session (vs_session_open). -VS_ERR_NO_MEMORY: there is no thread.
 */
VS_MUST_CHECK int vs_drain_start(void);

/* There is a lot to do. Any thread; a system call, unless the drain has been woken. Keeps errno. */
void vs_drain_wake(void);

/* Ends the session and the thread; waits until that is done, or for VS_DRAIN_STOP_MS. */
#define VS_DRAIN_STOP_MS 60000
void vs_drain_stop(void);

/*
 * Ends the thread but not the session, which vs_session_finish() may end later. For a program whose
 * first thread leaves by pthread_exit: libc ends the process with the last of its threads, and ours
 * must not be the one.
 */
void vs_drain_park(void);

/* Whether there is a drain thread. */
bool vs_drain_is_running(void);

/* In a forked child, which has no such thread. */
void vs_drain_forget(void);

#endif
