#include "run_jax.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run_environment.h"

#define ALLOCATOR   "XLA_PYTHON_CLIENT_ALLOCATOR"
#define PREALLOCATE "XLA_PYTHON_CLIENT_PREALLOCATE"
#define USUAL       "cuda_async"

static bool is_known(const char *allocator)
{
	static const char *const names[] = {USUAL, "platform", "bfc", "vmm", "default"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], allocator))
			return true;
	return false;
}

int vs_run_jax_set_up(const struct vs_command *command, const char *allocator)
{
	const char *own = getenv(ALLOCATOR), *share = getenv(PREALLOCATE);
	int status = 0;

	if (!*allocator)
		allocator = USUAL;
	if (!is_known(allocator))
		return vs_command_fail_usage(command,
					     "--jax-allocator: '%s' is none of cuda_async, "
					     "platform, bfc, vmm, default",
					     allocator);
	if (own && *own && strcmp(own, allocator) != 0)
		vs_command_note("--jax-allocator", ALLOCATOR "=%s is replaced by %s", own,
				allocator);
	if (!strcmp(allocator, USUAL) && (!share || !*share))
		status = vs_run_environment_set(PREALLOCATE, "false");
	if (!status)
		status = vs_run_environment_set(ALLOCATOR, allocator);
	return status ? status : vs_run_environment_set("VRAMSCOPE_JAX_ALLOCATOR", allocator);
}
