#ifndef VS_RUN_CHILD_H
#define VS_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "error.h"
#include "run_witness.h"

/*
 * The command as a child of `vramscope run`, made to look as if it had been started directly:
 *
 * - It stays in our process group, so the terminal, a pipeline and `kill %1` treat it as they would
 *   without us. We hold no stream but stderr while it runs: whoever reads its output sees the end
 *   when the command closes it.
 * - What the terminal sends reaches the whole group, the command included. What somebody sends to
 * us alone is passed on (run_witness.h tells the two apart), with its value.
 * - If it stops, we stop, so that the shell notices; when we go on, it goes on.
 * - If it dies of a signal, so do we. If we are killed, so is it.
 */
struct vs_run_child {
	pid_t pid;
	bool is_stopped;
	sigset_t mask; /* as we were started with, and the command is */
	struct sigaction child_action;
	struct vs_run_witness witness;
};

/*
 * Starts the command; afterwards all signals are blocked here. program: its file
 * (vs_run_program_find); one that the kernel does not know is a script for sh, as for execvp, but
 * for programs of other machines. 0; otherwise the errno with which the command could not be
 * started, and nothing is left of it.
 */
VS_MUST_CHECK int vs_run_child_start(struct vs_run_child *child, const char *program, char **argv);

/* Passes signals on until the command has ended; returns what waitpid told. */
int vs_run_child_wait(struct vs_run_child *child);

/* Ends this process as the command ended. */
_Noreturn void vs_run_child_end_as(int wait_status);

#endif
