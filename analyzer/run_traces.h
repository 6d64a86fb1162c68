#ifndef VS_RUN_TRACES_H
#define VS_RUN_TRACES_H

#include <limits.h>

/*
 * The traces of one `vramscope run`: the recorders write their names into an index, a file in the
 * folder for temporary ones, and at the end they are told to the user in one line.
 */
struct vs_run_traces {
	char index[PATH_MAX]; /* empty: there is none, and nothing will be known */
};

/* Makes the index and names it in the environment of the command. */
void vs_run_traces_open(struct vs_run_traces *traces);

/*
 * The command has ended: makes one file of each trace and its log, and says on stderr where the
 * traces are and what to type next, or why there is none. program: the file that was started.
 */
void vs_run_traces_tell(const struct vs_run_traces *traces, const char *program);

/* Removes the index. */
void vs_run_traces_close(struct vs_run_traces *traces);

#endif
