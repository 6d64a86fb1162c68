#include "log_maker.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_format.h"
#include "live_record.h"
#include "trace_maker.h"

/* A header, a page for one slot, one chunk. */
struct log {
	struct vs_live_header header;
	uint8_t header_rest[VS_LIVE_HEADER_SIZE - sizeof(struct vs_live_header)];
	struct vs_live_slot slot;
	uint8_t slot_rest[VS_LIVE_HEADER_SIZE - sizeof(struct vs_live_slot)];
	struct vs_live_chunk chunk;
	uint8_t records[VS_LIVE_CHUNK_SIZE - VS_LIVE_CHUNK_HEAD];
};

/* Ticks are nanoseconds here, as with CLOCK_MONOTONIC. */
static void fill_header(struct log *log, const char *trace_path, const char *how)
{
	struct vs_live_header *header = &log->header;

	header->version = VS_LIVE_VERSION + !strcmp(how, "newer");
	if (!strcmp(how, "running"))
		header->pid = (uint32_t)getppid();
	for (uint32_t i = 0; i < VS_LIVE_ID_SIZE; i++)
		header->identity[i] = (uint8_t)(i * 0x11 + !strcmp(how, "other"));
	header->slots_offset = VS_LIVE_HEADER_SIZE;
	header->nr_slots = 1;
	header->chunks_offset = 2 * VS_LIVE_HEADER_SIZE;
	header->chunk_size = VS_LIVE_CHUNK_SIZE;
	header->nr_chunks = 1;
	header->nr_lost = 2;
	if (!realpath(trace_path, header->trace_path))
		header->trace_path[0] = '\0';
	vs_live_seal(header);
	log->slot.state = VS_LIVE_SLOT_OWNED;
	log->slot.ring = 1;
	log->slot.mark = 1;
}

static void put_record(struct log *log, const struct vs_record *record, uint8_t type)
{
	uint32_t body_size = vs_live_record_get_body_size(record->type);
	struct vs_live_record head = {
		.type = type,
		.size = (uint16_t)(VS_LIVE_RECORD_HEAD + body_size),
		.ticks = record->time_ns,
	};
	uint8_t *out = log->records + (log->chunk.end - VS_LIVE_CHUNK_HEAD);

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), &record->alloc, body_size);
	log->chunk.end += head.size;
}

static void fill_chunk(struct log *log, uint32_t nr_allocs, uint32_t nr_logged, const char *how)
{
	uint32_t nr_missing = !strcmp(how, "missing");
	bool has_unknown = !strcmp(how, "unknown");

	log->chunk.ring = 1;
	log->chunk.first = VS_TRACE_MAKER_NR_DEFINITIONS + nr_allocs + nr_missing;
	log->chunk.end = VS_LIVE_CHUNK_HEAD;
	for (uint32_t i = nr_missing; i < nr_logged; i++) {
		struct vs_record record = vs_trace_maker_get_alloc(nr_allocs + i);

		put_record(log, &record,
			   has_unknown && i + 1 == nr_logged ? 200 : (uint8_t)record.type);
	}
}

int vs_log_maker_create(const char *trace_path, uint32_t nr_allocs, uint32_t nr_logged,
			const char *how)
{
	struct log *log = calloc(1, sizeof(*log));
	int err = -VS_ERR_NO_MEMORY, fd;
	char *path;

	if (!log)
		return err;
	if (asprintf(&path, "%s" VS_LIVE_SUFFIX, trace_path) < 0)
		goto free_log;
	fill_header(log, trace_path, how);
	fill_chunk(log, nr_allocs, nr_logged, how);
	err = -VS_ERR_IO;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0 && write(fd, log, sizeof(*log)) == (ssize_t)sizeof(*log))
		err = 0;
	if (fd >= 0)
		close(fd);
	free(path);
free_log:
	free(log);
	return err;
}
