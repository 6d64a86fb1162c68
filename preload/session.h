#ifndef VS_SESSION_H
#define VS_SESSION_H

#include "error.h"
#include "live_log.h"
#include "settings.h"

/*
 * One recording's files: the trace, its log, and the way from the log into the trace. One thread
 * (the drain; or, where there is none, whoever opens and ends it), but for vs_session_log(). Prints
 * nothing, posts messages (message.h): the drain thread has files of its own and no stderr.
 */
struct vs_session_plan {
	const struct vs_settings *settings;
	const char *exe;
	uint64_t start_wall_ns;
	bool has_own_files; /* the program cannot close our descriptors */
	bool is_bare;       /* no call that might allocate: nothing is compressed */
};

/* Takes a name, makes log and trace, with all that INFO has to say. */
VS_MUST_CHECK int vs_session_open(const struct vs_session_plan *plan);

/* The log of the open session. */
struct vs_live_log *vs_session_log(void);

/*
 * Hands all published records to the trace. False when it cannot take any more (said once): the log
 * then keeps what fits, and the rest is counted there.
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

/* Whether the program's threads have all ended, as far as /proc tells: only the drain is left. */
bool vs_session_is_deserted(void);

/* In a forked child: lets go of the parent's files without touching them. */
void vs_session_detach(void);

#endif
