/*
 * Stands in for libvramscope.so where `vramscope run` itself is tested. A process that finds
 * STUB_ALLOCS=N leaves a trace of N allocations, under the name and with the line in the index that
 * the recorder would give it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "output.h"
#include "trace_maker.h"

static struct vs_settings settings;

__attribute__((constructor)) static void leave_trace(int argc, char **argv, char **environment)
{
	const char *allocs = getenv("STUB_ALLOCS");
	struct vs_trace_maker_plan plan = {
		.run = getenv("VRAMSCOPE_RUN"),
		.pid = (uint64_t)getpid(),
		.parent = (uint64_t)getppid(),
	};
	char path[PATH_MAX];
	int fd;

	if (!allocs)
		return;
	vs_settings_read(&settings, argc, argv, environment);
	if (vs_output_open(&settings, path, &fd))
		return;
	plan.nr_allocs = (uint32_t)atoi(allocs);
	if (!vs_trace_maker_write(fd, &plan))
		vs_output_add_to_index(&settings, path);
}
