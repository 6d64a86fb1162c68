#ifndef VS_RUN_OUTPUT_H
#define VS_RUN_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "error.h"

/*
 * Where `vramscope run` puts traces: looked at before the command starts, because afterwards it
 * would be a pity about the hours.
 *
 * A trace of an earlier run that has the name is replaced, but not before there is a new one: the
 * recorder is told which files may go (preload/output.h) and takes the place of one. Nothing else
 * is ever removed.
 */
struct vs_run_output {
	char pattern[PATH_MAX]; /* absolute; empty: the default name in the current folder */
	char replace[PATH_MAX]; /* keys of the files that may be replaced, as the recorder reads it
				 */
	bool is_inherited;      /* from a `vramscope run` around us, whose files these are */
};

/*
 * given: the value of -o, or NULL for VRAMSCOPE_OUTPUT or the default. Checks that the folder is
 * there and can be written to, and that no file but a trace would have to go. Returns 0, or an exit
 * status after one line on stderr.
 */
VS_MUST_CHECK int vs_run_output_check(struct vs_run_output *output, const char *given);

/* Tells the recorder, by the environment. 0, or VS_EXIT_FAILED after one line on stderr. */
VS_MUST_CHECK int vs_run_output_set_up(const struct vs_run_output *output);

#endif
