/*
 * usage: make_trace FILE ALLOCATIONS [cut | odd | newer | killed LOGGED HOW | RUN PID PARENT]
 *
 * cut: without an end. odd: with events that cannot be. newer: as a later version of the format
 * would begin. killed: without an end, but with a log that has LOGGED more; HOW: log_maker.h. RUN:
 * with the name of the run it belongs to, by process PID, which started that many nanoseconds after
 * 1970.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32.h"
#include "format.h"
#include "log_maker.h"
#include "trace_maker.h"

/* Header of the file: magic, version, checksum of both; docs/trace-format.md, section 3.1 */
static int make_newer(const char *path)
{
	unsigned char header[16] = VS_FORMAT_MAGIC;
	uint32_t crc;
	int fd = open(path, O_WRONLY | O_CLOEXEC), i;
	ssize_t written;

	header[8] = VS_FORMAT_VERSION + 1;
	crc = vs_crc32_add(0, header, 12);
	for (i = 0; i < 4; i++)
		header[12 + i] = (unsigned char)(crc >> (8 * i));
	written = pwrite(fd, header, sizeof(header), 0);
	close(fd);
	return written == (ssize_t)sizeof(header) ? 0 : -VS_ERR_IO;
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	bool is_killed = !strcmp(how, "killed");
	struct vs_trace_maker_plan plan = {.is_cut = !strcmp(how, "cut") || is_killed,
					   .is_odd = !strcmp(how, "odd")};
	int err;

	if (argc < 3 || (is_killed && argc < 6))
		return 2;
	plan.nr_allocs = (uint32_t)atoi(argv[2]);
	if (argc > 5 && !is_killed) {
		plan.run = how;
		plan.start_ns = plan.pid = strtoull(argv[4], NULL, 10);
		plan.parent = strtoull(argv[5], NULL, 10);
	}
	err = vs_trace_maker_create(argv[1], &plan);
	if (!err && !strcmp(how, "newer"))
		err = make_newer(argv[1]);
	if (!err && is_killed)
		err = vs_log_maker_create(argv[1], plan.nr_allocs, (uint32_t)atoi(argv[4]),
					  argv[5]);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[1], vs_error_text(err));
	return err != 0;
}
