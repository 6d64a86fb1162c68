#ifndef VS_SESSION_H
#define VS_SESSION_H

#include "clock.h"
#include "error.h"
#include "live_log.h"
#include "settings.h"

/*
 * One recording's files: the trace, its log, and the way from the log into the trace.
 *
 * vs_session_open() makes both in the thread of the first event, which then goes on: no thread of
 * the program waits for one of ours. vs_session_attach() opens the trace again in the thread that
 * will write it: the drain, whose descriptors the program cannot see; or, where there is none,
 * whoever ends the recording. Prints nothing, posts messages (message.h): the drain has no stderr.
 */
struct vs_session_plan {
	const struct vs_settings *settings;
	const char *exe;
	struct vs_clock_instant start;
	uint64_t start_wall_ns;
	bool is_bare; /* no call that might allocate: nothing is compressed */
};

/* Takes a name, makes log and trace, with all that INFO has to say. One thread. */
VS_MUST_CHECK int vs_session_open(const struct vs_session_plan *plan);

/* The log of the open session. Any thread. */
struct vs_live_log *vs_session_log(void);

/*
 * The log has no chunk left, and its drain has not been able to run: makes room, by a system call
 * or two, rather than lose events. Any thread. False: there is none to be had.
 */
bool vs_session_make_room(void);

/* ---- The thread that writes the trace -------------------------------------------------------- */

/* has_own_files: the program cannot close our descriptors. False: the trace cannot be written. */
bool vs_session_attach(bool has_own_files);

/*
 * Hands all published records to the trace, and sees that the log has room. What cannot be written
 * (a full disk, said once) stays in the log, and is tried again later. False when there is no use
 * in trying any more.
 */
bool vs_session_take(void);

/*
 * No more events will come. Takes the rest, ends the trace and removes the log. When something is
 * missing (a full disk, a thread that stopped while it wrote) both are left as they are: the pair
 * holds everything.
 */
void vs_session_finish(void);

/*
 * Writes out what there is and closes the trace, for now: the thread that has it open goes away.
 * vs_session_finish() goes on from there.
 */
void vs_session_park(void);

/* Whether the program's threads have all ended, as far as /proc tells: only ours are left.
 */
bool vs_session_is_deserted(void);

/* In a forked child: lets go of the parent's files without touching them. */
void vs_session_detach(void);

#endif
