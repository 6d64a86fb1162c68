#ifndef VS_RUN_LAUNCH_H
#define VS_RUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "options.h"
#include "run_traces.h"

/*
 * Starts a program under the recorder and waits for its end: what `run` and `dryrun` have in
 * common, from their options to the traces.
 */

/* Places in options.own, of both commands. */
enum vs_run_own {
	VS_RUN_OUTPUT,
	VS_RUN_CARD, /* each calls it by its own name; NULL: on a real GPU */
	VS_RUN_STACK_DEPTH,
	VS_RUN_NO_STACKS,
	VS_RUN_FREE_STACKS,
	VS_RUN_NO_PYTHON,
	VS_RUN_NO_POOLS,
	VS_RUN_NO_MEMINFO,
	VS_RUN_NO_HOOKS,
	VS_RUN_CUPTI,
	VS_RUN_NO_PYTHON_HOOK,
	VS_RUN_JAX_ALLOCATOR,
	VS_RUN_MAX_SIZE,
	VS_RUN_CHILDREN,
	VS_RUN_NR_OWN
};

/* Rows of the table of options: all but the card. */
#define VS_RUN_LAUNCH_OPTIONS                                                                     \
	[VS_RUN_OUTPUT] =                                                                         \
		{"output", 'o', "FILE",                                                           \
		 "name of the trace; %p is replaced by the process's number, %h by the\n"         \
		 "host, %r by the rank; without %p, the first process that records\n"             \
		 "gets the name and others FILE.PID; an older trace of that name is\n"            \
		 "replaced when there is a new one, any other file never\n"                       \
		 "(standard: PROGRAM.PID.vscope in the current folder)"},                         \
	[VS_RUN_STACK_DEPTH] = {"stack-depth", 0, "N",                                            \
				"at most N frames of each stack, 1 to 512 (and 2 N of Python)"},  \
	[VS_RUN_NO_STACKS] = {"no-stacks", 0, NULL, "do not record who asked for memory"},        \
	[VS_RUN_FREE_STACKS] = {"free-stacks", 0, NULL,                                           \
				"record also who gave it back; frees cost more then"},            \
	[VS_RUN_NO_PYTHON] = {"no-python", 0, NULL, "leave the lines of Python out of stacks"},   \
	[VS_RUN_NO_POOLS] = {"no-pools", 0, NULL,                                                 \
			     "do not record what pools do with their memory"},                    \
	[VS_RUN_NO_MEMINFO] = {"no-meminfo", 0, NULL,                                             \
			       "do not ask NVML who holds the devices' memory"},                  \
	[VS_RUN_NO_HOOKS] = {"no-hooks", 0, NULL, "do not record calls of CUDA"},                 \
	[VS_RUN_CUPTI] = {"cupti", 0, NULL,                                                       \
			  "let CUPTI tell of calls that get past the hooks, too; slower, and\n"   \
			  "only while no other tool has it"},                                     \
	[VS_RUN_NO_PYTHON_HOOK] = {"no-python-hook", 0, NULL,                                     \
				   "leave PYTHONPATH alone: no blocks of CuPy and RMM"},          \
	[VS_RUN_JAX_ALLOCATOR] = {"jax-allocator", 0, "[=NAME]",                                  \
				  "let JAX allocate by cuda_async (or platform, bfc, vmm, "       \
				  "default),\n"                                                   \
				  "so that each of its buffers is seen; this changes what the\n"  \
				  "program does, and the trace says so"},                         \
	[VS_RUN_MAX_SIZE] = {"max-size", 0, "SIZE",                                               \
			     "keep each trace below about SIZE (64M, 2G; at least 1M): what is\n" \
			     "alive and the newest events stay, the oldest go"},                  \
	[VS_RUN_CHILDREN] = {"children", 0, "YES|NO",                                             \
			     "whether processes it starts are recorded, too"}

struct vs_run_launch {
	struct vs_run_traces traces;
	bool is_recorded; /* the recorder was in the program, as far as is known */
	int wait_status;  /* as waitpid told */
};

/*
 * 0: the program has run, and the traces are open; or an exit status after one line on stderr, and
 * nothing was started. Our own environment is changed.
 */
VS_MUST_CHECK int vs_run_launch_do(struct vs_run_launch *launch, const struct vs_options *options);

/* Folder of the recorder and the stand-ins. 0, or an exit status after one line on stderr. */
VS_MUST_CHECK int vs_run_launch_find_libdir(char libdir[PATH_MAX]);

#endif
