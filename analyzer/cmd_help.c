#include <stdio.h>

#include "command.h"
#include "options.h"

static int print_overview(void)
{
	size_t i;

	printf("usage: vramscope COMMAND ...\n\n"
	       "Where did the GPU memory go? Record a program, then ask.\n\n"
	       "  vramscope run -- python train.py        record\n"
	       "  vramscope report python.4711.vscope     understand\n"
	       "  vramscope heatmap python.4711.vscope -o heatmap.png\n\n");
	for (i = 0; vs_command_list[i]; i++)
		printf("  %-10s %s\n", vs_command_list[i]->name, vs_command_list[i]->summary);
	printf("\n"
	       "vramscope help COMMAND, or vramscope COMMAND --help, tells more.\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done, but parts of the trace could not\n"
	       "be read; run: that of the program.\n");
	return VS_EXIT_DONE;
}

static int run_help(int argc, char **argv)
{
	const struct vs_command *command;
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_help, argc, argv, &status))
		return status;
	if (!options.nr_traces)
		return print_overview();
	command = vs_command_find(options.traces[0]);
	if (!command) {
		vs_command_note("help", "there is no command '%s' (see: vramscope help)",
				options.traces[0]);
		return VS_EXIT_USAGE;
	}
	return vs_command_help(command);
}

const struct vs_command vs_cmd_help = {
	.name = "help",
	.summary = "Show what vramscope can do, or how a command is used",
	.usage = "[COMMAND]",
	.takes = VS_TAKES_WORD,
	.run = run_help,
};
