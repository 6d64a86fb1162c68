#include "command.h"
#include "run_child.h"
#include "run_launch.h"

static const struct vs_option own_options[] = {
	VS_RUN_LAUNCH_OPTIONS,
	[VS_RUN_CARD] = {"softgpu", 0, "[=CARD]",
			 "on a simulated GPU: with that much memory (8G, 512M), or as a card\n"
			 "that softgpu-run --list names (rtx4090), several of them (h100-80gx8),\n"
			 "with figures of one's own (a100-80g,memory=40G)"},
	[VS_RUN_NR_OWN] = {NULL, 0, NULL, NULL},
};

static int run_run(int argc, char **argv)
{
	struct vs_run_launch launch;
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_run, argc, argv, &status))
		return status;
	status = vs_run_launch_do(&launch, &options);
	if (status)
		return status;
	vs_run_traces_tell(&launch.traces, launch.is_recorded);
	vs_run_traces_close(&launch.traces);
	vs_run_child_end_as(launch.wait_status);
}

const struct vs_command vs_cmd_run = {
	.name = "run",
	.summary = "Record the GPU memory of a program and all it starts",
	.usage = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
	.details =
		"Input, output, signals and exit status are the program's own; at its end, one line on\n"
		"stderr names the trace. Exit status 1: the trace or the recorder was found wanting before\n"
		"the program was started; 2: wrong usage; 126: the program cannot be executed; 127: it was\n"
		"not found.\n\n"
		"Without this launcher: LD_PRELOAD=.../lib/vramscope/libvramscope.so, and the variables\n"
		"VRAMSCOPE_OUTPUT, VRAMSCOPE_FOLDER, VRAMSCOPE_RUN=NAME, VRAMSCOPE_STACK_DEPTH=N,\n"
		"VRAMSCOPE_NO_STACKS=1, VRAMSCOPE_FREE_STACKS=1, VRAMSCOPE_NO_PYTHON=1, VRAMSCOPE_NO_POOLS=1,\n"
		"VRAMSCOPE_NO_MEMINFO=1, VRAMSCOPE_NO_HOOKS=1, VRAMSCOPE_MAX_SIZE=BYTES, VRAMSCOPE_CHILDREN=no.",
	.takes = VS_TAKES_COMMAND,
	.options = own_options,
	.run = run_run,
};
