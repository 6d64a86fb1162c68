/*
 * usage: make_trace FILE ALLOCATIONS [cut | newer]
 *
 * cut: without an end. newer: as a later version of the format would begin.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32.h"
#include "format.h"
#include "trace_maker.h"

/* Header of the file: magic, version, checksum of both; docs/trace-format.md, section 2. */
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
	int err;

	if (argc < 3)
		return 2;
	err = vs_trace_maker_write(argv[1], (uint32_t)atoi(argv[2]), strcmp(how, "cut") != 0);
	if (!err && !strcmp(how, "newer"))
		err = make_newer(argv[1]);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[1], vs_error_text(err));
	return err != 0;
}
