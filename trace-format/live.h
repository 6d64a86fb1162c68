#ifndef VS_LIVE_H
#define VS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "live_format.h"
#include "record.h"
#include "ring_ends.h"

/*
 * Reads a log (live_format.h), of a program that is dead or one that goes on writing it. By pread,
 * not by mapping: a file that somebody cuts must not become a SIGBUS. One thread at a time.
 */
struct vs_live;

/*
 * identity: that of the trace, as its INFO has it. -VS_ERR_NOT_A_TRACE: no log, or one of another
 * trace; -VS_ERR_IO, -VS_ERR_PROVISIONAL, -VS_ERR_NEWER, -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT,
 * -VS_ERR_NO_MEMORY.
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

/* Whether the recording program still runs; true also where that cannot be told. */
bool vs_live_is_running(const struct vs_live *live);

/*
 * Copies all records that are in the log now. The trace must be read after that up to its end: some
 * of them may have got there meanwhile. The errors of vs_live_open.
 */
VS_MUST_CHECK int vs_live_take(struct vs_live *live);

/* As of vs_live_take: events lost so far; calls that were being recorded. */
uint64_t vs_live_get_lost(const struct vs_live *live);
uint64_t vs_live_get_unfinished(const struct vs_live *live);

/*
 * From the first record of the copy again, without those that the trace has by `ends`. No event is
 * earlier than time_ns, that of the trace's last. -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_live_begin(struct vs_live *live, const struct vs_ring_ends *ends,
				uint64_t time_ns);

enum {
	VS_LIVE_END = 0,
	VS_LIVE_RECORD = 1,
	VS_LIVE_UNKNOWN = 2, /* a record of a later version */
};

/*
 * The next record, which is number `sequence` of a ring: one of the above, or -VS_ERR_CORRUPT: here
 * some are missing or cannot be read, the next call goes on behind them. Text and frames are valid
 * until the next call.
 */
VS_MUST_CHECK int vs_live_next(struct vs_live *live, struct vs_record *record, uint32_t *ring,
			       uint64_t *sequence);

#endif
