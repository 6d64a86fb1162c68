#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "block_file.h"
#include "codec.h"
#include "columns.h"
#include "definitions_reader.h"
#include "info.h"
#include "info_list.h"
#include "live.h"
#include "ring_ends.h"

/*
 * How often the end of the file is looked at again because the log went away: the program has
 * ended, or somebody folds. Each round reads more than the one before, so a limit is only needed
 * against a writer faster than we are.
 */
#define MAX_ROUNDS 64

/*
 * A trace that is kept small (INFO max_size) is replaced by a shorter one now and then: shorten.h.
 * So the log is copied first, before anything is read, until that did not happen meanwhile. So
 * often at most.
 */
#define MAX_COPIES 8

enum place {
	IN_BLOCKS,      /* between blocks: file.offset */
	IN_DEFINITIONS, /* inside the payload of one: next */
	IN_EVENTS,      /* inside the payload of one: columns */
	IN_LOG,
	AT_END,
};

/*
 * Blocks say which records of which ring they hold: `ends` is how far they go. When they are over
 * and there is no END, a copy of the log is made, then blocks are read that were written meanwhile,
 * and from the copy comes what is not below `ends`. From then on the copy and the limit stay as
 * they are, so that later rounds give the same.
 */
struct vs_reader {
	int fd;
	char *path; /* NULL: opened by descriptor, the log is given or there is none */
	struct vs_block_file file;
	struct vs_info_list info;
	struct vs_definitions_reader definitions;
	struct vs_columns_reader *columns;
	struct vs_ring_ends ends;
	struct vs_live *live;
	bool has_copy; /* of the log's records, in live */
	bool is_running;
	bool has_begun;        /* a record was asked for */
	uint64_t limit_offset; /* where the blocks end in all rounds, once that is decided */
	uint64_t retry_offset; /* where the file ended when it was last tried again */
	uint32_t nr_rounds;
	struct vs_reader_state state;
	enum place place;
	size_t next;             /* IN_DEFINITIONS: in the payload */
	uint32_t nr_left;        /* IN_DEFINITIONS: rows that it should still have */
	uint64_t nr_definitions; /* since the last EVENTS block */
	uint64_t last_time_ns;   /* of the last event given out */
	uint64_t nr_lost_told;   /* by LOST records; state.nr_lost is the total, once it is known */
	bool has_events;         /* an EVENTS block was met, or the SNAPSHOT of the beginning */
	uint64_t nr_blocks;      /* EVENTS blocks with events that were met */
	uint64_t snapshot_end;   /* behind the one that the trace begins with, or 0 */
	bool has_told;           /* of damage, in this round */
	bool has_ended;          /* an END block was read */
	bool has_known;          /* a block came again, and was left out */
	uint64_t stop_offset;    /* vs_reader_seek: which block is not read any more */
	uint64_t frames[VS_STACK_MAX];
};

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_file(const char *path)
{
	struct stat st = {0};
	/* Not to wait for a writer, should it be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -VS_ERR_IO;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	if (!S_ISDIR(st.st_mode))
		return -VS_ERR_NOT_A_TRACE;
	errno = EISDIR;
	return -VS_ERR_IO;
}

/* The block that comes next is of another kind for sure: it need not be unpacked to see that. */
static bool is_behind_info(const struct vs_reader *reader)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header header;
	int64_t size = vs_block_file_read(reader->fd, bytes, sizeof(bytes), reader->file.offset);

	return size == VS_FORMAT_BLOCK_HEADER_SIZE && !vs_block_get_header(bytes, &header) &&
	       header.kind != VS_BLOCK_INFO;
}

/* INFO blocks stand in front. Whatever is wrong with them is met again by vs_reader_next. */
static int read_info(struct vs_reader *reader)
{
	int ret = 0;

	while (!is_behind_info(reader) && (ret = vs_block_file_next(&reader->file)) == 1 &&
	       reader->file.header.kind == VS_BLOCK_INFO) {
		ret = vs_info_list_add(&reader->info, reader->file.raw,
				       reader->file.header.raw_size);
		if (ret == -VS_ERR_NO_MEMORY)
			return ret;
	}
	vs_block_file_rewind(&reader->file);
	return ret == -VS_ERR_NO_MEMORY || ret == -VS_ERR_IO ? ret : 0;
}

/* path is the reader's from now on, also on failure. */
static int create(struct vs_reader **reader, int fd, char *path)
{
	struct vs_reader *new = calloc(1, sizeof(*new));
	int err;

	if (!new) {
		free(path);
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	new->fd = fd;
	new->path = path;
	new->limit_offset = UINT64_MAX;
	new->stop_offset = UINT64_MAX;
	err = vs_columns_reader_create(&new->columns);
	if (!err)
		err = vs_block_file_init(&new->file, fd);
	if (!err)
		err = read_info(new);
	if (err) {
		vs_reader_close(new);
		return err;
	}
	*reader = new;
	return 0;
}

/* The log that was named instead of its trace: the trace. */
static int open_trace_of_log(struct vs_reader **reader, int log_fd, const char *log_path)
{
	char named[VS_LIVE_PATH_MAX];
	size_t size = strlen(log_path);
	size_t suffix_size = sizeof(VS_LIVE_SUFFIX) - 1;
	char *path = NULL;
	int fd = -VS_ERR_IO;
	int err;

	err = vs_live_get_trace_path(log_fd, named);
	if (err)
		return err;
	if (size > suffix_size && !strcmp(log_path + size - suffix_size, VS_LIVE_SUFFIX)) {
		path = strndup(log_path, size - suffix_size);
		if (!path)
			return -VS_ERR_NO_MEMORY;
		fd = open_file(path);
	}
	if (fd < 0) {
		free(path);
		path = strdup(named);
		if (!path)
			return -VS_ERR_NO_MEMORY;
		fd = open_file(path);
	}
	if (fd < 0) {
		free(path);
		return fd;
	}
	return create(reader, fd, path);
}

/* A log that does not belong to the trace is as good as none. */
static int attach_log(struct vs_reader *reader, int log_fd)
{
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	int err;

	if (!identity) {
		close(log_fd);
		return 0;
	}
	err = vs_live_open_fd(&reader->live, log_fd, identity);
	return err == -VS_ERR_NO_MEMORY ? err : 0;
}

int vs_reader_open_fds(struct vs_reader **reader, int fd, int log_fd)
{
	struct vs_reader *new;
	int err;

	err = create(&new, fd, NULL);
	if (err) {
		if (log_fd >= 0)
			close(log_fd);
		return err;
	}
	if (log_fd >= 0)
		err = attach_log(new, log_fd);
	if (err) {
		vs_reader_close(new);
		return err;
	}
	*reader = new;
	return 0;
}

static bool is_log(int fd)
{
	char magic[8];

	return vs_block_file_read(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, VS_LIVE_MAGIC, sizeof(magic));
}

int vs_reader_open(struct vs_reader **reader, const char *path)
{
	struct vs_reader *new;
	char *copy;
	int fd, err;

	fd = open_file(path);
	if (fd < 0)
		return fd;
	if (is_log(fd)) {
		err = open_trace_of_log(&new, fd, path);
		if (err) {
			close(fd);
			return err;
		}
		err = attach_log(new, fd);
		if (err) {
			vs_reader_close(new);
			return err;
		}
		*reader = new;
		return 0;
	}
	copy = strdup(path);
	if (!copy) {
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	return create(reader, fd, copy);
}

void vs_reader_close(struct vs_reader *reader)
{
	int saved = errno;

	if (!reader)
		return;
	vs_live_close(reader->live);
	vs_info_list_fini(&reader->info);
	vs_ring_ends_fini(&reader->ends);
	vs_definitions_reader_fini(&reader->definitions);
	if (reader->columns)
		vs_columns_reader_destroy(reader->columns);
	vs_block_file_fini(&reader->file);
	close(reader->fd);
	free(reader->path);
	free(reader);
	errno = saved;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static int damage(struct vs_reader *reader, int err)
{
	reader->state.is_damaged = true;
	reader->has_told = true;
	return err;
}

/* The same when it is a block's contents that cannot be right. */
static int damage_block(struct vs_reader *reader, int err)
{
	reader->state.nr_bad_blocks += err != -VS_ERR_NO_MEMORY;
	return damage(reader, err);
}

static int take_end(struct vs_reader *reader)
{
	struct vs_block_end end;

	reader->place = AT_END;
	reader->has_ended = true;
	if (vs_block_get_end(reader->file.raw, reader->file.header.raw_size, &end))
		return damage_block(reader, -VS_ERR_CORRUPT);
	reader->state.has_end = true;
	reader->state.nr_events_end = end.nr_events;
	reader->state.nr_lost_end = end.nr_lost;
	reader->state.is_complete = end.how == VS_END_IN_ORDER;
	if (end.nr_lost > reader->state.nr_lost)
		reader->state.nr_lost = end.nr_lost;
	/* A block that is missing altogether may leave no other trace. */
	if (end.nr_events != reader->state.nr_events_in_blocks && !reader->has_told)
		return damage(reader, -VS_ERR_CORRUPT);
	return 0;
}

/* Numbers in front of a SNAPSHOT: events that it stands for, and how many were lost before it. */
static void take_totals(struct vs_reader *reader, struct vs_wire *payload)
{
	uint64_t nr_events = vs_wire_get_varint(payload);
	uint64_t nr_lost = vs_wire_get_varint(payload);

	/* All blocks of a snapshot say the same. */
	if (reader->has_events)
		return;
	reader->state.nr_dropped = nr_events;
	reader->nr_lost_told += nr_lost;
}

/* A snapshot that is the beginning; of several blocks, if they stand side by side. */
static bool is_beginning(const struct vs_reader *reader)
{
	uint64_t offset =
		reader->file.offset - VS_FORMAT_BLOCK_HEADER_SIZE - reader->file.header.stored_size;

	return !reader->has_events || offset <= reader->snapshot_end;
}

/* EVENTS, or the SNAPSHOT that a trace without its beginning begins with. */
static int take_events(struct vs_reader *reader)
{
	const struct vs_block_header *header = &reader->file.header;
	bool is_snapshot = header->kind == VS_BLOCK_SNAPSHOT;
	struct vs_ring_ends_change change;
	bool is_missing;
	struct vs_wire payload;
	int err;

	vs_wire_init(&payload, reader->file.raw, header->raw_size);
	if (is_snapshot)
		take_totals(reader, &payload);
	err = vs_ring_ends_take(&reader->ends, &payload, &change);
	if (!err && header->nr_records && (is_snapshot || !change.is_known)) {
		reader->place = IN_EVENTS;
		err = vs_columns_reader_begin(reader->columns, payload.next, vs_wire_left(&payload),
					      header->nr_records);
	}
	if (err) {
		reader->place = IN_BLOCKS;
		return damage_block(reader, err);
	}
	if (is_snapshot) {
		if (reader->file.offset > reader->snapshot_end)
			reader->snapshot_end = reader->file.offset;
		reader->state.dropped_until_ns = header->last_time_ns;
	} else if (header->nr_records && !reader->nr_blocks++ && reader->state.nr_dropped) {
		reader->state.dropped_until_ns = header->first_time_ns;
	}
	reader->has_known |= change.is_known;
	/* What it covers is events and definitions: the latter stand in front of it. */
	is_missing = change.has_gap ||
		     change.nr_records > (uint64_t)header->nr_records + reader->nr_definitions;
	reader->nr_definitions = 0;
	reader->has_events = true;
	if (!is_missing || is_snapshot)
		return 0;
	reader->state.nr_gaps++;
	return reader->has_told ? 0 : damage(reader, -VS_ERR_CORRUPT);
}

static int take_block(struct vs_reader *reader)
{
	const struct vs_block_header *header = &reader->file.header;

	switch (header->kind) {
	case VS_BLOCK_DEFINITIONS:
		reader->place = IN_DEFINITIONS;
		reader->next = 0;
		reader->nr_left = header->nr_records;
		return 0;
	case VS_BLOCK_EVENTS:
		reader->state.nr_events_in_blocks += header->nr_records;
		return take_events(reader);
	case VS_BLOCK_SNAPSHOT: /* one further on is for those who do not read from the start */
		return is_beginning(reader) ? take_events(reader) : 0;
	case VS_BLOCK_END:
		return take_end(reader);
	default: /* INFO was read when the trace was opened; the others are of later versions */
		return 0;
	}
}

/* Makes a copy of the log, once. */
static int copy_log(struct vs_reader *reader)
{
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	int err = -VS_ERR_NOT_A_TRACE;

	if (!reader->live && reader->path && identity) {
		err = vs_live_find(&reader->live, reader->path,
				   vs_reader_get_info(reader, VS_INFO_LIVE), identity, NULL);
	}
	if (!reader->live)
		return err;
	reader->is_running = vs_live_is_running(reader->live);
	err = vs_live_take(reader->live);
	reader->has_copy = !err;
	return err;
}

static int enter_log(struct vs_reader *reader)
{
	int err = vs_live_begin(reader->live, &reader->ends, reader->last_time_ns);

	reader->limit_offset = reader->file.offset;
	reader->place = err ? AT_END : IN_LOG;
	reader->state.is_running = reader->is_running;
	reader->state.nr_unfinished = vs_live_get_unfinished(reader->live);
	if (vs_live_get_lost(reader->live) > reader->state.nr_lost)
		reader->state.nr_lost = vs_live_get_lost(reader->live);
	return err ? damage(reader, err) : 0;
}

/* Whether the file is a later state of this trace. */
static bool is_same_trace(const struct vs_reader *reader, int fd)
{
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	struct vs_info_list info = {0};
	struct vs_block_file file;
	const char *other;
	bool is_same = false;

	if (!identity || vs_block_file_init(&file, fd))
		return false;
	if (vs_block_file_next(&file) == 1 && file.header.kind == VS_BLOCK_INFO &&
	    !vs_info_list_add(&info, file.raw, file.header.raw_size)) {
		other = vs_info_list_get(&info, VS_INFO_IDENTITY);
		is_same = other && !strcmp(identity, other);
	}
	vs_info_list_fini(&info);
	vs_block_file_fini(&file);
	return is_same;
}

/* Goes to the file that has taken the place of the one that is open, if there is one. */
static bool follow(struct vs_reader *reader)
{
	struct stat old, new;
	int fd;

	if (fstat(reader->fd, &old) || stat(reader->path, &new) ||
	    (old.st_dev == new.st_dev &&old.st_ino == new.st_ino))
		return false;
	fd = open_file(reader->path);
	if (fd < 0)
		return false;
	if (!is_same_trace(reader, fd)) {
		close(fd);
		return false;
	}
	close(reader->fd);
	reader->fd = fd;
	reader->file.fd = fd;
	return true;
}

/*
 * Before the first record of a trace that is kept small. Once the file was the same before and
 * after the copy was made, it has all that the log had given up by then.
 */
static void begin(struct vs_reader *reader)
{
	struct stat st;

	if (!reader->path || !vs_reader_get_info(reader, VS_INFO_MAX_SIZE))
		return;
	(void)follow(reader);
	for (int i = 0; i < MAX_COPIES; i++) {
		(void)copy_log(reader);
		if (!follow(reader) || i == MAX_COPIES - 1)
			break;
		vs_live_close(reader->live);
		reader->live = NULL;
		reader->has_copy = false;
	}
	if (reader->has_copy && fstat(reader->fd, &st) == 0)
		reader->limit_offset = (uint64_t)st.st_size;
}

/* The blocks are over, without an END: 0 to go on, wherever that is, or an error to be told. */
static int leave_blocks(struct vs_reader *reader)
{
	bool has_grown = !reader->nr_rounds || reader->file.offset > reader->retry_offset;
	int err;

	if (reader->has_copy)
		return enter_log(reader);
	err = copy_log(reader);
	/*
	 * There is a copy, and the file may have more by now than it had when it ended for us; or
	 * there is no log, perhaps because the program has ended meanwhile: then again.
	 */
	if (!err || (err == -VS_ERR_NOT_A_TRACE && has_grown && reader->nr_rounds < MAX_ROUNDS)) {
		reader->retry_offset = reader->file.offset;
		reader->nr_rounds++;
		return 0;
	}
	reader->place = AT_END;
	reader->limit_offset = reader->file.offset;
	reader->state.is_cut = true;
	return damage(reader, err == -VS_ERR_NOT_A_TRACE ? -VS_ERR_TRUNCATED : err);
}

static int next_block(struct vs_reader *reader)
{
	int ret = 0;

	if (!reader->has_begun)
		begin(reader);
	reader->has_begun = true;
	if (reader->file.offset >= reader->stop_offset) {
		reader->place = AT_END;
		return 0;
	}
	if (reader->file.offset < reader->limit_offset)
		ret = vs_block_file_next(&reader->file);
	switch (ret) {
	case 1:
		return take_block(reader);
	case 0:
	case -VS_ERR_TRUNCATED:
		return leave_blocks(reader);
	case -VS_ERR_CORRUPT:
		if (reader->file.header.kind == VS_BLOCK_EVENTS)
			reader->state.nr_events_in_blocks += reader->file.header.nr_records;
		return damage_block(reader, ret);
	default:
		reader->place = AT_END;
		return damage(reader, ret);
	}
}

/* ---- Records --------------------------------------------------------------------------------- */

/* A bit for each type that this version knows: none is 63 or more. */
static const uint64_t known_types = 0
#define VS_RECORD(number, NAME, name) | (uint64_t)1 << (number)
#include "record.def"
#undef VS_RECORD
	;

static bool is_known(const struct vs_record *record)
{
	return record->type < 63 && (known_types >> record->type & 1);
}

static int next_definition(struct vs_reader *reader, struct vs_record *record)
{
	const struct vs_block_header *header = &reader->file.header;
	const uint8_t *bytes = reader->file.raw + reader->next;
	size_t left = header->raw_size - reader->next;
	bool is_record;
	int taken;

	if (!left && !reader->nr_left) {
		reader->place = IN_BLOCKS;
		return 0;
	}
	taken = -VS_ERR_CORRUPT;
	if (left && reader->nr_left)
		taken = vs_definitions_reader_get(&reader->definitions, bytes, left, record,
						  &is_record, reader->frames);
	if (taken < 0) {
		/* The checksum was right, so whoever wrote it was wrong. */
		reader->place = IN_BLOCKS;
		return damage_block(reader, taken == -VS_ERR_NO_MEMORY ? taken : -VS_ERR_CORRUPT);
	}
	reader->next += (size_t)taken;
	reader->nr_left--;
	reader->nr_definitions += bytes[0] != VS_FORMAT_NODES;
	return is_record;
}

/* What is left of them without those that this version does not know. */
static int leave_out_unknown(struct vs_record *records, int nr)
{
	int nr_known = 0;

	for (int i = 0; i < nr; i++) {
		if (!is_known(&records[i]))
			continue;
		if (nr_known < i)
			records[nr_known] = records[i];
		nr_known++;
	}
	return nr_known;
}

/* As many as there are in the block. 0: none that this version knows, or none at all. */
static int next_events(struct vs_reader *reader, struct vs_record *records, uint32_t most)
{
	int ret = vs_columns_reader_next_some(reader->columns, records, most);

	if (ret <= 0) {
		reader->place = IN_BLOCKS;
		return ret ? damage_block(reader, ret) : 0;
	}
	/* Nearly always all are known, and nobody has to look at each. */
	if (vs_columns_reader_get_types(reader->columns) & ~known_types)
		ret = leave_out_unknown(records, ret);
	return ret;
}

static int next_in_log(struct vs_reader *reader, struct vs_record *record)
{
	uint64_t sequence;
	uint32_t ring;
	int ret = vs_live_next(reader->live, record, &ring, &sequence);

	switch (ret) {
	case VS_LIVE_RECORD:
		reader->state.used_log = true;
		return 1;
	case VS_LIVE_UNKNOWN:
		return 0;
	case VS_LIVE_END:
		reader->place = AT_END;
		return 0;
	default:
		reader->state.nr_bad_in_log++;
		return damage(reader, ret);
	}
}

static void note_records(struct vs_reader *reader, const struct vs_record *records, uint32_t nr)
{
	reader->state.nr_records += nr;
	/* They are events, or there is one. */
	if (vs_record_is_event(records[nr - 1].type))
		reader->last_time_ns = records[nr - 1].time_ns;
	if (reader->place == IN_EVENTS &&
	    !(vs_columns_reader_get_types(reader->columns) >> VS_RECORD_LOST & 1))
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (records[i].type == VS_RECORD_LOST)
			reader->nr_lost_told += records[i].lost.nr_events;
}

int vs_reader_next_some(struct vs_reader *reader, struct vs_record *records, uint32_t most)
{
	int ret = 0;

	while (!ret) {
		switch (reader->place) {
		case IN_BLOCKS:
			ret = next_block(reader);
			break;
		case IN_DEFINITIONS:
			ret = next_definition(reader, records);
			break;
		case IN_EVENTS:
			ret = next_events(reader, records, most);
			break;
		case IN_LOG:
			ret = next_in_log(reader, records);
			break;
		case AT_END:
			return 0;
		}
	}
	if (ret > 0)
		note_records(reader, records, (uint32_t)ret);
	return ret;
}

int vs_reader_next(struct vs_reader *reader, struct vs_record *record)
{
	return vs_reader_next_some(reader, record, 1);
}

int vs_reader_rewind(struct vs_reader *reader)
{
	const struct vs_reader_state last = reader->state;

	/* What is known of the file stays known, also if this round is broken off. */
	reader->state = (struct vs_reader_state){.is_complete = last.is_complete,
						 .is_damaged = last.is_damaged};
	vs_block_file_rewind(&reader->file);
	vs_definitions_reader_fini(&reader->definitions);
	reader->definitions = (struct vs_definitions_reader){0};
	vs_ring_ends_clear(&reader->ends);
	reader->place = IN_BLOCKS;
	reader->nr_rounds = 0;
	reader->nr_definitions = 0;
	reader->last_time_ns = 0;
	reader->nr_lost_told = 0;
	reader->has_events = false;
	reader->nr_blocks = 0;
	reader->has_told = false;
	reader->stop_offset = UINT64_MAX;
	return 0;
}

/* ---- What is known --------------------------------------------------------------------------- */

const char *vs_reader_get_path(const struct vs_reader *reader)
{
	return reader->path;
}

const char *vs_reader_get_info(const struct vs_reader *reader, const char *key)
{
	return vs_info_list_get(&reader->info, key);
}

void vs_reader_get_state(const struct vs_reader *reader, struct vs_reader_state *state)
{
	*state = reader->state;
	if (reader->nr_lost_told > state->nr_lost)
		state->nr_lost = reader->nr_lost_told;
}

/* ---- Not from the start ---------------------------------------------------------------------- */

bool vs_reader_can_seek(const struct vs_reader *reader)
{
	return reader->has_ended && !reader->has_known && !reader->has_copy &&
	       !reader->state.nr_dropped && !reader->state.is_damaged;
}

int vs_reader_get_file(const struct vs_reader *reader, struct vs_reader_file *file)
{
	struct stat st;

	if (fstat(reader->fd, &st))
		return -VS_ERR_IO;
	file->size = (uint64_t)st.st_size;
	file->written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	file->mode = st.st_mode & 0777;
	return 0;
}

int vs_reader_get_fd(const struct vs_reader *reader)
{
	return reader->fd;
}

static void survey_events(struct vs_reader_survey *survey, const struct vs_block_header *header,
			  uint64_t offset)
{
	if (!survey->nr_events)
		survey->first_ns = header->first_time_ns;
	if (header->last_time_ns > survey->last_ns)
		survey->last_ns = header->last_time_ns;
	survey->nr_events += header->nr_records;
	survey->last_block = (struct vs_reader_block){
		offset, offset + VS_FORMAT_BLOCK_HEADER_SIZE + header->stored_size,
		header->payload_crc};
}

int vs_reader_survey(const struct vs_reader *reader, struct vs_reader_survey *survey)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header header = {0};
	uint64_t offset = VS_FORMAT_HEADER_SIZE;
	int64_t size;

	*survey = (struct vs_reader_survey){0};
	while (header.kind != VS_BLOCK_END) {
		size = vs_block_file_read(reader->fd, bytes, sizeof(bytes), offset);
		if (size < 0)
			return (int)size;
		if (size < VS_FORMAT_BLOCK_HEADER_SIZE || vs_block_get_header(bytes, &header))
			return 0;
		if (header.kind == VS_BLOCK_EVENTS && header.nr_records)
			survey_events(survey, &header, offset);
		offset += VS_FORMAT_BLOCK_HEADER_SIZE + header.stored_size;
	}
	return survey->nr_events > 0;
}

void vs_reader_get_block(const struct vs_reader *reader, struct vs_reader_block *block)
{
	const struct vs_block_header *header = &reader->file.header;

	block->end = reader->file.offset;
	block->offset = block->end - VS_FORMAT_BLOCK_HEADER_SIZE - header->stored_size;
	block->payload_crc = header->payload_crc;
}

int vs_reader_seek(struct vs_reader *reader, const struct vs_reader_block *block, uint64_t end)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header header;
	int64_t size = vs_block_file_read(reader->fd, bytes, sizeof(bytes), block->offset);

	if (size < 0)
		return (int)size;
	if (size < VS_FORMAT_BLOCK_HEADER_SIZE || vs_block_get_header(bytes, &header) ||
	    header.payload_crc != block->payload_crc)
		return -VS_ERR_CORRUPT;
	reader->file.offset = block->offset;
	reader->stop_offset = end;
	reader->place = IN_BLOCKS;
	vs_ring_ends_clear(&reader->ends);
	/* What is behind cannot be compared with what is not read. */
	reader->has_events = true;
	reader->has_told = true;
	return 0;
}

uint64_t vs_reader_seek_types(struct vs_reader *reader, const struct vs_reader_block *block)
{
	if (vs_reader_seek(reader, block, block->end) || next_block(reader) ||
	    reader->place != IN_EVENTS)
		return 0;
	return vs_columns_reader_foretell_types(reader->columns);
}
