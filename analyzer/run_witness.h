#ifndef VS_RUN_WITNESS_H
#define VS_RUN_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Tells whether a signal was sent to us alone or to our whole process group. Nothing in a signal
 * says so, but it matters: the command is in the group, and what it got already must not be passed
 * on to it a second time ("press Ctrl-C again to quit at once").
 *
 * The witness is a process that stands beside us in the group with every signal blocked and looks,
 * when asked, whether it got one. Linux signals the members of a group from the youngest to the
 * oldest, so when we have it, command and witness have it.
 *
 * It holds no file but the two pipes to us and dies with us.
 */
struct vs_run_witness {
	pid_t pid; /* 0: there is none; every signal then counts as sent to us alone */
	int question;
	int answer;
};

/*
 * Before the command, which then is younger. All signals are blocked by the caller. Does without a
 * witness if there cannot be one.
 */
void vs_run_witness_start(struct vs_run_witness *witness);

/* Whether it got `number`, too, since it was last asked for it. */
bool vs_run_witness_saw(struct vs_run_witness *witness, int number);

void vs_run_witness_stop(struct vs_run_witness *witness);

#endif
