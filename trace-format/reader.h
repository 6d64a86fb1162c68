#ifndef VS_READER_H
#define VS_READER_H

#include "error.h"
#include "record.h"

/*
 * Reads a trace, and the log beside it (PATH.live or where the INFO block says) when the program
 * did not end in order or is still running: blocks first, then what the log holds behind them,
 * nothing twice. One thread at a time.
 */
struct vs_reader;

/*
 * path: a trace, or its log. -VS_ERR_IO (see errno), -VS_ERR_EMPTY, -VS_ERR_NOT_A_TRACE,
 * -VS_ERR_NEWER, -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_reader_open(struct vs_reader **reader, const char *path);

/*
 * The same for files that are open already; log_fd may be -1. Both belong to the reader from now
 * on, also on failure.
 */
VS_MUST_CHECK int vs_reader_open_fds(struct vs_reader **reader, int fd, int log_fd);
void vs_reader_close(struct vs_reader *reader);

/*
 * 1 and the next record, 0 at the end, <0 when the rest cannot be read (-VS_ERR_TRUNCATED,
 * -VS_ERR_CORRUPT, -VS_ERR_IO, -VS_ERR_NO_MEMORY): what came before is good. A damaged block is
 * skipped once, with the error; the next call goes on behind it if there is a next block, and 0
 * comes in the end whatever the errors were. Records of types unknown to this version are left out.
 */
VS_MUST_CHECK int vs_reader_next(struct vs_reader *reader, struct vs_record *record);

/*
 * From the first record again. Once the end was reached, later rounds end at the same record, also
 * when the program has gone on meanwhile. The state begins anew, but for is_complete and
 * is_damaged.
 */
VS_MUST_CHECK int vs_reader_rewind(struct vs_reader *reader);

/* INFO by key, or NULL: info.h; docs/trace-format.md, section 4. */
const char *vs_reader_get_info(const struct vs_reader *reader, const char *key);

struct vs_reader_state {
	bool is_complete;       /* an END block was read: the program ended in order */
	bool used_log;          /* part of it came from the log */
	bool is_running;        /* the program still writes, as far as can be told */
	bool is_damaged;        /* some block could not be read */
	uint64_t nr_records;    /* so far */
	uint64_t nr_lost;       /* events the recorder could not keep, so far */
	uint64_t nr_unfinished; /* gaps in the log: calls that were being recorded at the end */
};
void vs_reader_get_state(const struct vs_reader *reader, struct vs_reader_state *state);

#endif
