#ifndef VS_RUN_OUTPUT_H
#define VS_RUN_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "error.h"

/*
 * Where `vramscope run` puts traces: looked at before the command starts, because afterwards it
 * would be a pity about the hours.
 */
struct vs_run_output {
	char pattern[PATH_MAX]; /* absolute; empty: the default name in the current folder */
	bool is_fixed;          /* no %p, %h, %r: a name as it stands */
};

/*
 * given: the value of -o, or NULL for VRAMSCOPE_OUTPUT or the default. Checks that the folder is
 * there and can be written to. Returns 0, or an exit status after one line on stderr.
 */
VS_MUST_CHECK int vs_run_output_check(struct vs_run_output *output, const char *given);

/* Removes the trace of an earlier run that is about to be replaced. The same return. */
VS_MUST_CHECK int vs_run_output_clear(const struct vs_run_output *output);

#endif
