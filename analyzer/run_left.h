#ifndef VS_RUN_LEFT_H
#define VS_RUN_LEFT_H

#include <stdint.h>

/*
 * How many processes of a run there still are: those that were started with the index of the run
 * (run_traces.h) in their environment. Only those whose environment may be read are seen; a command
 * that left a daemon behind has one. 0 if nothing can be read.
 */
uint32_t vs_run_left_count(const char *index);

#endif
