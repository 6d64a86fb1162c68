#ifndef VS_LIVE_H
#define VS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "live_format.h"

/*
 * Reads a log (live_format.h), of a program that is dead or one that goes on writing it. By pread,
 * not by mapping: a file that somebody cuts must not become a SIGBUS. One thread at a time.
 */
struct vs_live;

/*
 * identity: that of the trace, as its INFO has it. -VS_ERR_NOT_A_TRACE: no log, or one of another
 * trace; -VS_ERR_IO, -VS_ERR_NEWER, -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_live_open(struct vs_live **live, const char *path, const char *identity);

/* fd is the log's from now on, also on failure. */
VS_MUST_CHECK int vs_live_open_fd(struct vs_live **live, int fd, const char *identity);
void vs_live_close(struct vs_live *live);

/*
 * The log of a trace: beside it, else where its INFO says (info_path, may be NULL). Its path goes
 * into found_path (to be freed) unless that is NULL. -VS_ERR_NOT_A_TRACE when there is none.
 */
VS_MUST_CHECK int vs_live_find(struct vs_live **live, const char *trace_path, const char *info_path,
			       const char *identity, char **found_path);

/* The path of the trace a log belongs to, by the log's own word, if the file is a log. */
VS_MUST_CHECK int vs_live_get_trace_path(int fd, char path[VS_LIVE_PATH_MAX]);

/* Looks at head and tail again. Records that are published later than now are not read. */
VS_MUST_CHECK int vs_live_update(struct vs_live *live);
uint64_t vs_live_get_tail(const struct vs_live *live);
uint64_t vs_live_get_lost(const struct vs_live *live);

/* Whether the recording program still runs; true also where that cannot be told. */
bool vs_live_is_running(const struct vs_live *live);

/* A record in the log; bytes are valid until the next call. */
struct vs_live_record {
	uint64_t position;
	const uint8_t *bytes;
	uint32_t size;
};

enum {
	VS_LIVE_END = 0,
	VS_LIVE_RECORD = 1,
	VS_LIVE_MOVED_ON = 2, /* overwritten meanwhile: the trace file has it by now */
};

/* The next record at `position` or behind it: one of the above, or an error of vs_live_open. */
VS_MUST_CHECK int vs_live_next(struct vs_live *live, uint64_t position,
			       struct vs_live_record *record);

/* Reservations met so far that were never published. */
uint64_t vs_live_get_unfinished(const struct vs_live *live);

#endif
