#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "record.h"
#include "run_child.h"
#include "run_environment.h"
#include "run_output.h"
#include "run_program.h"
#include "run_softgpu.h"
#include "run_traces.h"

#define LIBRARY "libvramscope.so"

/* As the recorder has it: preload/size_limit.h. */
#define LEAST_MAX_SIZE (UINT64_C(1) << 20)

/* Places in options.own. */
enum {
	OUTPUT,
	SOFTGPU,
	STACK_DEPTH,
	NO_STACKS,
	FREE_STACKS,
	NO_PYTHON,
	NO_POOLS,
	NO_HOOKS,
	MAX_SIZE,
	CHILDREN
};

static const struct vs_option own_options[] = {
	[OUTPUT] = {"output", 'o', "FILE",
		    "name of the trace; %p is replaced by the process's number, %h by the\n"
		    "host, %r by the rank; without %p, the first process that records\n"
		    "gets the name and others FILE.PID; an older trace of that name is\n"
		    "replaced when there is a new one, any other file never\n"
		    "(standard: PROGRAM.PID.vscope in the current folder)"},
	[SOFTGPU] = {"softgpu", 0, "[=CARD]",
		     "on a simulated GPU: with that much memory (8G, 512M), or as a card\n"
		     "that softgpu-run --list names (rtx4090), several of them (h100-80gx8),\n"
		     "with figures of one's own (a100-80g,memory=40G)"},
	[STACK_DEPTH] = {"stack-depth", 0, "N", "at most N frames of each stack, 1 to 512"},
	[NO_STACKS] = {"no-stacks", 0, NULL, "do not record who asked for memory"},
	[FREE_STACKS] = {"free-stacks", 0, NULL,
			 "record also who gave it back; frees cost more then"},
	[NO_PYTHON] = {"no-python", 0, NULL, "leave the lines of Python out of stacks"},
	[NO_POOLS] = {"no-pools", 0, NULL, "do not record what pools do with their memory"},
	[NO_HOOKS] = {"no-hooks", 0, NULL, "do not record calls of CUDA"},
	[MAX_SIZE] = {"max-size", 0, "SIZE",
		      "keep each trace below about SIZE (64M, 2G; at least 1M): what is\n"
		      "alive and the newest events stay, the oldest go"},
	[CHILDREN] = {"children", 0, "YES|NO", "whether processes it starts are recorded, too"},
	[CHILDREN + 1] = {NULL, 0, NULL, NULL},
};

/* Folder of the library to preload: VRAMSCOPE_LIBDIR, or where it is installed beside us. */
static int find_libdir(char libdir[PATH_MAX])
{
	const char *own = getenv("VRAMSCOPE_LIBDIR");
	char path[PATH_MAX + sizeof(LIBRARY) + 1];
	ssize_t size;
	char *slash;

	if (own && *own) {
		if (vs_run_environment_get_absolute(libdir, own))
			return vs_command_fail_text("VRAMSCOPE_LIBDIR", "the path is too long");
	} else {
		size = readlink("/proc/self/exe", path, PATH_MAX - 1);
		if (size < 0)
			return vs_command_fail_text("/proc/self/exe", "%s", strerror(errno));
		path[size] = '\0';
		slash = strrchr(path, '/');
		*slash = '\0';
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
		if (snprintf(libdir, PATH_MAX, "%s/lib/vramscope", path) >= PATH_MAX)
			return vs_command_fail_text(path, "the path is too long");
	}
	snprintf(path, sizeof(path), "%s/%s", libdir, LIBRARY);
	if (access(path, R_OK) < 0)
		return vs_command_fail_text(path,
					    "the recorder is not there: %s (VRAMSCOPE_LIBDIR "
					    "can name its folder)",
					    strerror(errno));
	return 0;
}

static int set_switch(const struct vs_options *options, size_t own, const char *name)
{
	return options->own[own] ? vs_run_environment_set(name, "1") : 0;
}

static int set_max_size(const char *text)
{
	char bytes[24];
	uint64_t size;

	if (!text)
		return 0;
	if (vs_options_parse_size(&size, text))
		return vs_command_fail_usage(
			&vs_cmd_run, "--max-size: '%s' is not a size (64M, 2G, 1.5G, bytes)", text);
	if (size < LEAST_MAX_SIZE)
		return vs_command_fail_usage(&vs_cmd_run, "--max-size: '%s' is less than 1 MiB",
					     text);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, size);
	return vs_run_environment_set("VRAMSCOPE_MAX_SIZE", bytes);
}

/* What the recorder is told; what no option says stays as the user's environment has it. */
static int set_recorder_options(const struct vs_options *options)
{
	const char *depth = options->own[STACK_DEPTH], *children = options->own[CHILDREN];
	uint64_t number;
	int status = 0;

	if (depth) {
		if (vs_options_parse_number(&number, depth, 1, VS_STACK_MAX))
			return vs_command_fail_usage(
				&vs_cmd_run, "--stack-depth: '%s' is not a number from 1 to %d",
				depth, VS_STACK_MAX);
		status = vs_run_environment_set("VRAMSCOPE_STACK_DEPTH", depth);
	}
	if (children && strcmp(children, "yes") != 0 && strcmp(children, "no") != 0)
		return vs_command_fail_usage(&vs_cmd_run, "--children: '%s' is neither yes nor no",
					     children);
	if (!status && children)
		status = vs_run_environment_set("VRAMSCOPE_CHILDREN", children);
	if (!status)
		status = set_max_size(options->own[MAX_SIZE]);
	if (!status)
		status = set_switch(options, NO_STACKS, "VRAMSCOPE_NO_STACKS");
	if (!status)
		status = set_switch(options, FREE_STACKS, "VRAMSCOPE_FREE_STACKS");
	if (!status)
		status = set_switch(options, NO_PYTHON, "VRAMSCOPE_NO_PYTHON");
	if (!status)
		status = set_switch(options, NO_POOLS, "VRAMSCOPE_NO_POOLS");
	if (!status)
		status = set_switch(options, NO_HOOKS, "VRAMSCOPE_NO_HOOKS");
	return status;
}

static int set_preload(const char *libdir)
{
	char path[PATH_MAX + sizeof(LIBRARY) + 1];

	snprintf(path, sizeof(path), "%s/%s", libdir, LIBRARY);
	/* The linker ends an entry at either. */
	return vs_run_environment_prepend("LD_PRELOAD", path, ": ");
}

static int fail_command(int status, const char *name, const char *reason)
{
	vs_command_note(*name ? name : "''", "%s", reason);
	return status;
}

/* Everything that can be wrong is found before anything is started. */
static int prepare(const struct vs_options *options, char program[PATH_MAX])
{
	struct vs_run_output output;
	const char *reason;
	char libdir[PATH_MAX];
	int status;

	status = set_recorder_options(options);
	if (!status)
		status = vs_run_output_check(&output, options->own[OUTPUT]);
	if (!status)
		status = find_libdir(libdir);
	if (status)
		return status;
	status = vs_run_program_find(program, options->traces[0], &reason);
	if (status)
		return fail_command(status, options->traces[0], reason);
	if (options->own[SOFTGPU])
		status = vs_run_softgpu_set_up(
			libdir, *options->own[SOFTGPU] ? options->own[SOFTGPU] : NULL, program);
	if (!status)
		status = vs_run_output_set_up(&output);
	return status ? status : set_preload(libdir);
}

/* False, and one line on stderr, if the recorder does not get into the program. It runs anyway. */
static bool can_be_recorded(const char *program)
{
	static const char *const why[] = {
		[VS_SIGHT_STATIC] = "it is statically linked",
		[VS_SIGHT_PRIVILEGED] = "it runs with privileges of its own",
		[VS_SIGHT_FOREIGN] = "it is made for another kind of machine",
	};
	char seen[PATH_MAX];
	enum vs_run_program_sight sight = vs_run_program_inspect(program, seen);

	if (sight == VS_SIGHT_CLEAR)
		return true;
	vs_command_note(seen, "cannot be recorded: %s", why[sight]);
	return false;
}

static int run_run(int argc, char **argv)
{
	struct vs_run_traces traces;
	struct vs_run_child child;
	struct vs_options options;
	char program[PATH_MAX];
	bool is_recorded;
	int status, error;

	if (!vs_options_parse(&options, &vs_cmd_run, argc, argv, &status))
		return status;
	status = prepare(&options, program);
	if (status)
		return status;
	vs_run_traces_open(&traces);
	is_recorded = can_be_recorded(program);
	error = vs_run_child_start(&child, program, options.traces);
	if (error) {
		vs_run_traces_close(&traces);
		return fail_command(error == ENOENT ? VS_RUN_NOT_FOUND : VS_RUN_NOT_EXECUTABLE,
				    options.traces[0],
				    /* The file itself was found. */
				    error == ENOENT ? "its interpreter was not found"
						    : strerror(error));
	}
	status = vs_run_child_wait(&child);
	vs_run_traces_tell(&traces, is_recorded);
	vs_run_traces_close(&traces);
	vs_run_child_end_as(status);
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
		"VRAMSCOPE_NO_HOOKS=1, VRAMSCOPE_MAX_SIZE=BYTES, VRAMSCOPE_CHILDREN=no.",
	.takes = VS_TAKES_COMMAND,
	.options = own_options,
	.run = run_run,
};
