/*
 * Stands in for libvramscope.so where `vramscope run` itself is tested. A process that finds
 * STUB_ALLOCS=N leaves a trace of N allocations and its name in the index, as the recorder does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace_maker.h"

static void add_to_index(const char *path)
{
	const char *index = getenv("VRAMSCOPE_INDEX");
	int fd = index ? open(index, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", path);
	close(fd);
}

__attribute__((constructor)) static void leave_trace(void)
{
	const char *allocs = getenv("STUB_ALLOCS"), *output = getenv("VRAMSCOPE_OUTPUT");
	char folder[2048], path[4096];

	if (!allocs || !getcwd(folder, sizeof(folder)))
		return;
	if (output && !strchr(output, '%'))
		snprintf(path, sizeof(path), "%s", output);
	else
		snprintf(path, sizeof(path), "%s/%s.%ld.vscope", folder,
			 program_invocation_short_name, (long)getpid());
	if (access(path, F_OK) == 0)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%ld", (long)getpid());
	if (!vs_trace_maker_write(path, (uint32_t)atoi(allocs), true))
		add_to_index(path);
}
