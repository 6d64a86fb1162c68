#ifndef VS_RUN_DUMPS_H
#define VS_RUN_DUMPS_H

#include <limits.h>

#include "error.h"

/*
 * TensorFlow writes down what an allocator looks like that runs out of memory, if
 * TF_BFC_MEMORY_DUMP says where. `run` has it do so in a folder of its own, from which the recorder
 * takes it (preload/tensorflow_dump.h). A variable that the user has set stays as it is, and so do
 * his files.
 */
struct vs_run_dumps {
	char folder[PATH_MAX]; /* empty: none was made */
};

/*
 * Sets the variables. Where no folder can be made, TensorFlow writes nothing, and nothing else
 * changes. 0, or VS_EXIT_FAILED after one line on stderr.
 */
VS_MUST_CHECK int vs_run_dumps_set_up(struct vs_run_dumps *dumps);

/* The command has ended, or was never started: the folder goes, with what nobody took. */
void vs_run_dumps_clean_up(struct vs_run_dumps *dumps);

#endif
