#ifndef VS_READER_H
#define VS_READER_H

#include "error.h"
#include "record.h"

/*
 * Reads a trace, and the log beside it (PATH.live or where the INFO block says) when the program
 * did not end in order or is still running: blocks first, then what the log holds behind them. No
 * event comes twice; a definition may, if the program was killed between two writes. One thread at
 * a time.
 */
struct vs_reader;

/*
 * path: a trace, or its log. -VS_ERR_IO (see errno), -VS_ERR_EMPTY, -VS_ERR_NOT_A_TRACE,
 * -VS_ERR_PROVISIONAL, -VS_ERR_NEWER, -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT, -VS_ERR_NO_MEMORY.
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
 * The same for several that come from one block: how many they are, at most so many. Definitions
 * come one by one, for what one points to is gone with the next.
 */
VS_MUST_CHECK int vs_reader_next_some(struct vs_reader *reader, struct vs_record *records,
				      uint32_t most);

/*
 * From the first record again. Once the end was reached, later rounds end at the same record, also
 * when the program has gone on meanwhile. The state begins anew, but for is_complete and
 * is_damaged.
 */
VS_MUST_CHECK int vs_reader_rewind(struct vs_reader *reader);

/* Path of the trace, also if its log was named; NULL: opened by descriptors. */
const char *vs_reader_get_path(const struct vs_reader *reader);

/* INFO by key, or NULL: info.h; docs/trace-format.md, section 4. */
const char *vs_reader_get_info(const struct vs_reader *reader, const char *key);

struct vs_reader_state {
	bool is_complete;       /* an END block was read: the program ended in order */
	bool used_log;          /* part of it came from the log */
	bool is_running;        /* the program still writes, as far as can be told */
	bool is_damaged;        /* something could not be read, or is missing */
	uint64_t nr_records;    /* so far */
	uint64_t nr_lost;       /* events the recorder could not keep, so far */
	uint64_t nr_unfinished; /* calls that were being recorded at the end, by the log */

	/* What the trace begins with instead (--max-size): a snapshot that stands for them. */
	uint64_t nr_dropped;       /* events; 0: it has its beginning */
	uint64_t dropped_until_ns; /* time of the first event that is there for itself */

	/* In detail, so far; a place that is damaged may be told only once, it is counted always.
	 */
	bool has_end;                 /* an END block was read, whatever it says */
	bool is_cut;                  /* no END, and no log to go on with */
	uint64_t nr_bad_blocks;       /* header, checksum or contents cannot be right */
	uint64_t nr_gaps;             /* blocks that do not go on where those before them ended */
	uint64_t nr_bad_in_log;       /* places in the log where records are missing or damaged */
	uint64_t nr_events_in_blocks; /* by the headers of the EVENTS blocks */
	uint64_t nr_events_end;       /* the same and nr_lost, as the END block has them */
	uint64_t nr_lost_end;
};
void vs_reader_get_state(const struct vs_reader *reader, struct vs_reader_state *state);

/*
 * Reading a part again, for those who noted its place when they read all of it. Once the end was
 * reached, whether parts are to be had that way: the trace has an END block, nothing is damaged,
 * missing or there twice, and nothing came from a log.
 */
bool vs_reader_can_seek(const struct vs_reader *reader);

/* The file of the trace, to tell whether it is still the same. -VS_ERR_IO. */
struct vs_reader_file {
	uint64_t size;
	uint64_t written_ns; /* when, since 1970 */
	uint32_t mode;       /* who may read it: the lowest nine bits */
};
VS_MUST_CHECK int vs_reader_get_file(const struct vs_reader *reader, struct vs_reader_file *file);

/* For those who read parts of it by themselves (block_file.h). It stays the reader's. */
int vs_reader_get_fd(const struct vs_reader *reader);

/*
 * What the headers of all blocks say: nothing is unpacked, so it is quick and may be wrong. 1, or
 * 0: the trace has no END block, no events, or a place where there is no block. -VS_ERR_IO. Changes
 * nothing.
 */
struct vs_reader_block {
	uint64_t offset;
	uint64_t end; /* where the next one begins */
	uint32_t payload_crc;
};
struct vs_reader_survey {
	uint64_t first_ns; /* of the first event */
	uint64_t last_ns;  /* the latest time that a block ends with */
	uint64_t nr_events;
	struct vs_reader_block last_block; /* with events */
};
VS_MUST_CHECK int vs_reader_survey(const struct vs_reader *reader, struct vs_reader_survey *survey);

/* The block of the file that the last record came from. */
void vs_reader_get_block(const struct vs_reader *reader, struct vs_reader_block *block);

/*
 * Goes on with that block, up to the one that begins at `end` (UINT64_MAX: to the end of the
 * trace). -VS_ERR_CORRUPT if the block is not there, -VS_ERR_IO: then nothing has changed.
 *
 * Stacks are what they are in the trace if all blocks with definitions before it have been read
 * since the reader was opened or rewound. What is missing is not told from here on, and the state's
 * numbers are of no use, until the reader is rewound.
 */
VS_MUST_CHECK int vs_reader_seek(struct vs_reader *reader, const struct vs_reader_block *block,
				 uint64_t end);

/*
 * Goes on with a block of events as above, and tells of which types they are, before they are read:
 * a bit for each. 0: it cannot be read.
 */
uint64_t vs_reader_seek_types(struct vs_reader *reader, const struct vs_reader_block *block);

#endif
