#include <stdio.h>

#include "command.h"
#include "format.h"
#include "options.h"

static int run_version(int argc, char **argv)
{
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_version, argc, argv, &status))
		return status;
	printf("vramscope %s, trace format %d\n", VS_VERSION, VS_FORMAT_VERSION);
	return VS_EXIT_DONE;
}

const struct vs_command vs_cmd_version = {
	.name = "version",
	.summary = "Show the version of vramscope and of the traces it reads",
	.usage = "",
	.run = run_version,
};
