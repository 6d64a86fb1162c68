#include "script_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "info.h"
#include "writer.h"

static void check(const char *path, int err)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", path, vs_error_text(err));
	exit(1);
}

void script_trace_write(const struct script *script, const char *path,
			const struct script_trace *trace)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct vs_writer *writer;
	size_t i;

	check(path, fd < 0 ? -VS_ERR_IO : vs_writer_create(&writer, fd, &zlib));
	if (trace->command)
		check(path, vs_writer_add_info(writer, VS_INFO_COMMAND, trace->command));
	for (i = 0; i < sizeof(trace->info) / sizeof(trace->info[0]) && trace->info[i]; i += 2)
		check(path, vs_writer_add_info(writer, trace->info[i], trace->info[i + 1]));
	for (i = 0; i < script->nr_records; i++) {
		if (vs_writer_is_full(writer))
			check(path, vs_writer_flush(writer));
		vs_writer_add(writer, &script->records[i], 1, i);
	}
	if (!trace->is_cut) {
		check(path, vs_writer_close(writer, trace->nr_lost));
		return;
	}
	check(path, vs_writer_flush(writer));
	vs_writer_abandon(writer);
}
