#include "run_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "run_child.h"
#include "run_dumps.h"
#include "run_environment.h"
#include "run_jax.h"
#include "run_output.h"
#include "run_program.h"
#include "run_python.h"
#include "run_softgpu.h"

#define LIBRARY       "libvramscope.so"
#define CUPTI_LIBRARY "libvramscope-cupti.so"

/* The driver loads what this names: at most one tool. */
#define INJECTION "CUDA_INJECTION64_PATH"

/* As the recorder has it: preload/size_limit.h. */
#define LEAST_MAX_SIZE (UINT64_C(1) << 20)

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

static int set_max_size(const struct vs_options *options)
{
	const char *text = options->own[VS_RUN_MAX_SIZE];
	char bytes[24];
	uint64_t size;

	if (!text)
		return 0;
	if (vs_options_parse_size(&size, text))
		return vs_command_fail_usage(
			options->command, "--max-size: '%s' is not a size (64M, 2G, 1.5G, bytes)",
			text);
	if (size < LEAST_MAX_SIZE)
		return vs_command_fail_usage(options->command,
					     "--max-size: '%s' is less than 1 MiB", text);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, size);
	return vs_run_environment_set("VRAMSCOPE_MAX_SIZE", bytes);
}

/* What the recorder is told; what no option says stays as the user's environment has it. */
static int set_recorder_options(const struct vs_options *options)
{
	const char *depth = options->own[VS_RUN_STACK_DEPTH],
		   *children = options->own[VS_RUN_CHILDREN];
	uint64_t number;
	int status = 0;

	if (depth) {
		if (vs_options_parse_number(&number, depth, 1, VS_STACK_MAX))
			return vs_command_fail_usage(
				options->command,
				"--stack-depth: '%s' is not a number from 1 to %d", depth,
				VS_STACK_MAX);
		status = vs_run_environment_set("VRAMSCOPE_STACK_DEPTH", depth);
	}
	if (children && strcmp(children, "yes") != 0 && strcmp(children, "no") != 0)
		return vs_command_fail_usage(options->command,
					     "--children: '%s' is neither yes nor no", children);
	if (!status && children)
		status = vs_run_environment_set("VRAMSCOPE_CHILDREN", children);
	if (!status)
		status = set_max_size(options);
	if (!status)
		status = set_switch(options, VS_RUN_NO_STACKS, "VRAMSCOPE_NO_STACKS");
	if (!status)
		status = set_switch(options, VS_RUN_FREE_STACKS, "VRAMSCOPE_FREE_STACKS");
	if (!status)
		status = set_switch(options, VS_RUN_NO_PYTHON, "VRAMSCOPE_NO_PYTHON");
	if (!status)
		status = set_switch(options, VS_RUN_NO_POOLS, "VRAMSCOPE_NO_POOLS");
	if (!status)
		status = set_switch(options, VS_RUN_NO_MEMINFO, "VRAMSCOPE_NO_MEMINFO");
	if (!status)
		status = set_switch(options, VS_RUN_NO_HOOKS, "VRAMSCOPE_NO_HOOKS");
	if (!status && options->own[VS_RUN_JAX_ALLOCATOR])
		status = vs_run_jax_set_up(options->command, options->own[VS_RUN_JAX_ALLOCATOR]);
	return status;
}

static int set_preload(const char *libdir)
{
	char path[PATH_MAX + sizeof(LIBRARY) + 1];

	snprintf(path, sizeof(path), "%s/%s", libdir, LIBRARY);
	/* The linker ends an entry at either. */
	return vs_run_environment_prepend("LD_PRELOAD", path, ": ");
}

/*
 * Behind the recorder, so that it stands in front of CUPTI; the driver starts it. Another tool that
 * is started so has CUPTI for itself.
 */
static int set_cupti(const char *libdir)
{
	char path[PATH_MAX + sizeof(CUPTI_LIBRARY) + 1];
	const char *taken = getenv(INJECTION);
	int status;

	snprintf(path, sizeof(path), "%s/%s", libdir, CUPTI_LIBRARY);
	if (access(path, R_OK) < 0)
		return vs_command_fail_text(path, "--cupti needs it: %s", strerror(errno));
	if (taken && *taken && strcmp(taken, path) != 0) {
		vs_command_note("--cupti",
				"another tool has CUPTI (" INJECTION "=%s): only the "
				"hooks record",
				taken);
		return 0;
	}
	status = vs_run_environment_prepend("LD_PRELOAD", path, ": ");
	return status ? status : vs_run_environment_set(INJECTION, path);
}

static int fail_command(int status, const char *name, const char *reason)
{
	vs_command_note(*name ? name : "''", "%s", reason);
	return status;
}

/* Everything that can be wrong is found before anything is started. */
static int prepare(const struct vs_options *options, char program[PATH_MAX])
{
	const struct vs_run_asker asker = {options->command,
					   options->command->options[VS_RUN_CARD].name};
	struct vs_run_output output;
	const char *reason;
	char libdir[PATH_MAX];
	int status;

	status = set_recorder_options(options);
	if (!status)
		status = vs_run_output_check(&output, options->own[VS_RUN_OUTPUT]);
	if (!status)
		status = find_libdir(libdir);
	if (status)
		return status;
	status = vs_run_program_find(program, options->traces[0], &reason);
	if (status)
		return fail_command(status, options->traces[0], reason);
	if (options->own[VS_RUN_CARD])
		status = vs_run_softgpu_set_up(&asker, libdir, options->own[VS_RUN_CARD], program);
	if (!status && !options->own[VS_RUN_NO_PYTHON_HOOK] && !options->own[VS_RUN_NO_POOLS])
		status = vs_run_python_set_up(libdir);
	if (!status)
		status = vs_run_output_set_up(&output);
	if (!status && options->own[VS_RUN_CUPTI])
		status = set_cupti(libdir);
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

int vs_run_launch_find_libdir(char libdir[PATH_MAX])
{
	return find_libdir(libdir);
}

int vs_run_launch_do(struct vs_run_launch *launch, const struct vs_options *options)
{
	struct vs_run_child child;
	struct vs_run_dumps dumps;
	char program[PATH_MAX];
	int status, error;

	status = prepare(options, program);
	if (!status)
		status = vs_run_dumps_set_up(&dumps);
	if (status)
		return status;
	vs_run_traces_open(&launch->traces);
	launch->is_recorded = can_be_recorded(program);
	error = vs_run_child_start(&child, program, options->traces);
	if (error) {
		vs_run_traces_close(&launch->traces);
		vs_run_dumps_clean_up(&dumps);
		return fail_command(error == ENOENT ? VS_RUN_NOT_FOUND : VS_RUN_NOT_EXECUTABLE,
				    options->traces[0],
				    /* The file itself was found. */
				    error == ENOENT ? "its interpreter was not found"
						    : strerror(error));
	}
	launch->wait_status = vs_run_child_wait(&child);
	vs_run_dumps_clean_up(&dumps);
	return 0;
}
