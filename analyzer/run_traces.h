#ifndef VS_RUN_TRACES_H
#define VS_RUN_TRACES_H

#include <limits.h>
#include <stdbool.h>

/*
 * The traces of one `vramscope run`: the recorders write their names into an index, a file in the
 * folder for temporary ones, and at the end they are told to the user in one line. What remains is
 * the name of the run in each of them (VS_INFO_RUN), by which readers find the others: siblings.h.
 */
struct vs_run_traces {
	char index[PATH_MAX]; /* empty: there is none, and nothing will be known */
	char outer[PATH_MAX]; /* that of a run around us, which gets our traces, too; or empty */
};

/*
 * Makes the index and names it in the environment of the command, and so the run, unless it is part
 * of another or the user has named it.
 */
void vs_run_traces_open(struct vs_run_traces *traces);

/*
 * The command has ended: makes one file of each trace and its log, and says on stderr where the
 * traces are and what to type next, or that there is none. is_recorded: the recorder was in the
 * command, as far as is known; otherwise that has been said, and only what it started may have left
 * traces.
 */
void vs_run_traces_tell(const struct vs_run_traces *traces, bool is_recorded);

/*
 * Their paths, for those who read them afterwards: an array with NULL behind the last, to be freed
 * by vs_run_traces_free_paths. NULL: not known.
 */
char **vs_run_traces_get_paths(const struct vs_run_traces *traces);
void vs_run_traces_free_paths(char **paths);

/* Removes the index. */
void vs_run_traces_close(struct vs_run_traces *traces);

#endif
