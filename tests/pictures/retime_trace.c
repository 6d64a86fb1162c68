/*
 * usage: retime_trace FROM TO PROGRAM
 *
 * Copies a trace, and leaves out all that is different each time the same program runs: an event
 * has its number as its time, in units of 2 ms; addresses begin at a round one; of the machine, the
 * process and its stacks nothing is kept. For pictures that must not change by themselves.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "info.h"
#include "reader.h"
#include "writer.h"

#define EVENT_NS 2000000u
#define BASE     0x7f0000000000u
#define IDENTITY "00000000000000000000000000000001"

static struct {
	struct vs_writer *writer;
	uint64_t sequence;
	uint64_t nr_events;
	uint64_t first; /* address of the first segment */
} out;

static uint64_t move(uint64_t address)
{
	return address ? address - out.first + BASE : 0;
}

/* Memory of the host is on no picture, and its addresses are the machine's. */
static bool is_of_device(enum vs_memory_kind kind)
{
	return kind == VS_MEMORY_DEVICE || kind == VS_MEMORY_MANAGED;
}

/* Changes the record to what is kept of it; false: nothing is. */
static bool keep(struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_NAME:
	case VS_RECORD_STEP:
	case VS_RECORD_PHASE_PUSH:
	case VS_RECORD_PHASE_POP:
		return true;
	case VS_RECORD_DEVICE:
		memset(record->device.uuid, 0, sizeof(record->device.uuid));
		return true;
	case VS_RECORD_POOL:
		record->pool.handle = 0;
		return true;
	case VS_RECORD_ALLOC:
		if (!is_of_device(record->alloc.kind))
			return false;
		if (!out.first)
			out.first = record->alloc.address;
		record->alloc.address = move(record->alloc.address);
		record->alloc.stack = VS_NO_ID;
		return true;
	case VS_RECORD_FREE:
		record->free.address = move(record->free.address);
		return is_of_device(record->free.kind);
	case VS_RECORD_ALLOC_FAILED:
		record->alloc_failed.stack = VS_NO_ID;
		return true;
	case VS_RECORD_BLOCK_ALLOC:
		record->block_alloc.address = move(record->block_alloc.address);
		record->block_alloc.stack = VS_NO_ID;
		return true;
	case VS_RECORD_BLOCK_FREE:
		record->block_free.address = move(record->block_free.address);
		return true;
	case VS_RECORD_BLOCK_FAILED:
		record->block_failed.stack = VS_NO_ID;
		return true;
	default:
		return false;
	}
}

static int copy(struct vs_reader *reader)
{
	struct vs_record record;
	int got, err = 0;

	while (!err && (got = vs_reader_next(reader, &record)) > 0) {
		if (!keep(&record))
			continue;
		if (vs_record_is_event(record.type)) {
			record.time_ns = ++out.nr_events * EVENT_NS;
			record.thread = 1;
		}
		if (vs_writer_is_full(out.writer))
			err = vs_writer_flush(out.writer);
		if (!err)
			vs_writer_add(out.writer, &record, 1, out.sequence++);
	}
	return err ? err : got;
}

static int write_copy(struct vs_reader *reader, const char *path, const char *program)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), err;
	char command[256];

	if (fd < 0)
		return -VS_ERR_IO;
	err = vs_writer_create(&out.writer, fd, &zlib);
	if (err) {
		close(fd);
		return err;
	}
	vs_info_put_argument(command, sizeof(command), program);
	err = vs_writer_add_info(out.writer, VS_INFO_COMMAND, command);
	if (!err)
		err = vs_writer_add_info(out.writer, VS_INFO_IDENTITY, IDENTITY);
	if (!err)
		err = copy(reader);
	if (!err)
		return vs_writer_close(out.writer, 0);
	vs_writer_abandon(out.writer);
	return err;
}

int main(int argc, char **argv)
{
	struct vs_reader *reader;
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: retime_trace FROM TO PROGRAM\n");
		return 2;
	}
	err = vs_reader_open(&reader, argv[1]);
	if (!err) {
		err = write_copy(reader, argv[2], argv[3]);
		vs_reader_close(reader);
	}
	if (err)
		fprintf(stderr, "retime_trace: %s: %s\n", argv[1], vs_error_text(err));
	return err ? 1 : 0;
}
