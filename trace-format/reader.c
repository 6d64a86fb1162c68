#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_file.h"
#include "codec.h"
#include "info.h"
#include "info_list.h"
#include "live.h"

/*
 * How often the end of the file is looked at again because the program goes on writing. Each round
 * reads more than the one before, so a limit is only needed against a writer faster than we are.
 */
#define MAX_ROUNDS 64

enum place {
	IN_BLOCKS, /* between blocks: file.offset */
	IN_BLOCK,  /* inside the payload of one: next */
	IN_LOG,
	AT_END,
};

/*
 * Everything below `position` was given out. Blocks and the log say at which positions their
 * records stand, so what is there twice is given once.
 */
struct vs_reader {
	int fd;
	char *path; /* NULL: opened by descriptor, the log is given or there is none */
	struct vs_block_file file;
	struct vs_info_list info;
	struct vs_live *live;
	struct vs_reader_state state;
	enum place place;
	size_t next;            /* IN_BLOCK: in the payload */
	uint32_t nr_left;       /* IN_BLOCK: records that it should still have */
	uint64_t next_position; /* IN_BLOCK */
	uint64_t position;
	uint64_t blocks_end;   /* highest position of a block, readable or not */
	uint64_t nr_in_blocks; /* records by the headers of the blocks */
	uint64_t limit;        /* records from this position on belong to no later round */
	uint64_t retry_offset; /* where the file ended when it was last tried again */
	uint32_t nr_rounds;
	uint64_t nr_lost_told; /* by LOST records; state.nr_lost is the total, once it is known */
	bool has_end;
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

/* INFO blocks stand in front. Whatever is wrong with them is met again by vs_reader_next. */
static int read_info(struct vs_reader *reader)
{
	int ret;

	while ((ret = vs_block_file_next(&reader->file)) == 1 &&
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
	new->limit = UINT64_MAX;
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
	return err;
}

static int take_end(struct vs_reader *reader)
{
	struct vs_block_end end;

	reader->has_end = true;
	reader->place = AT_END;
	if (vs_block_get_end(reader->file.raw, reader->file.header.raw_size, &end))
		return damage(reader, -VS_ERR_CORRUPT);
	reader->state.is_complete = end.how == VS_END_IN_ORDER;
	if (end.nr_lost > reader->state.nr_lost)
		reader->state.nr_lost = end.nr_lost;
	/* A block that is missing altogether leaves no other trace. */
	if (end.nr_records != reader->nr_in_blocks)
		return damage(reader, -VS_ERR_CORRUPT);
	return 0;
}

static void note_block(struct vs_reader *reader)
{
	const struct vs_block_header *header = &reader->file.header;

	if (header->kind != VS_BLOCK_RECORDS)
		return;
	reader->nr_in_blocks += header->nr_records;
	if (header->first + header->span > reader->blocks_end)
		reader->blocks_end = header->first + header->span;
}

static int take_block(struct vs_reader *reader)
{
	const struct vs_block_header *header = &reader->file.header;

	switch (header->kind) {
	case VS_BLOCK_RECORDS:
		note_block(reader);
		reader->place = IN_BLOCK;
		reader->next = 0;
		reader->nr_left = header->nr_records;
		reader->next_position = header->first;
		return 0;
	case VS_BLOCK_END:
		return take_end(reader);
	default: /* INFO was read when the trace was opened; the others are of later versions */
		return 0;
	}
}

/* The blocks are over, without an END: 0 to go on, wherever that is, or an error to be told. */
static int take_log(struct vs_reader *reader, bool is_cut)
{
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);
	bool has_grown = !reader->nr_rounds || reader->file.offset > reader->retry_offset;
	int err = -VS_ERR_NOT_A_TRACE;

	if (!reader->live && reader->path && identity) {
		err = vs_live_find(&reader->live, reader->path,
				   vs_reader_get_info(reader, VS_INFO_LIVE), identity, NULL);
		if (err == -VS_ERR_NO_MEMORY) {
			reader->place = AT_END;
			return err;
		}
	}
	if (reader->live)
		err = vs_live_update(reader->live);
	/*
	 * The log went away (the program has ended meanwhile) or its tail has left what we have:
	 * then the file has it by now, if it ever will.
	 */
	if ((err || vs_live_get_tail(reader->live) > reader->blocks_end) && has_grown &&
	    reader->nr_rounds < MAX_ROUNDS) {
		reader->retry_offset = reader->file.offset;
		reader->nr_rounds++;
		reader->place = IN_BLOCKS;
		return 0;
	}
	if (err) {
		reader->place = AT_END;
		return is_cut || err == -VS_ERR_NOT_A_TRACE ? damage(reader, -VS_ERR_TRUNCATED)
							    : damage(reader, err);
	}
	reader->place = IN_LOG;
	reader->state.is_running = vs_live_is_running(reader->live);
	if (vs_live_get_lost(reader->live) > reader->state.nr_lost)
		reader->state.nr_lost = vs_live_get_lost(reader->live);
	if (vs_live_get_tail(reader->live) > reader->blocks_end)
		return damage(reader, -VS_ERR_CORRUPT);
	return 0;
}

static int next_block(struct vs_reader *reader)
{
	int ret = vs_block_file_next(&reader->file);

	switch (ret) {
	case 1:
		return take_block(reader);
	case 0:
	case -VS_ERR_TRUNCATED:
		return take_log(reader, ret < 0);
	case -VS_ERR_CORRUPT:
		note_block(reader);
		return damage(reader, ret);
	default:
		reader->place = AT_END;
		return damage(reader, ret);
	}
}

/* ---- Records --------------------------------------------------------------------------------- */

/* 1 if the record is to be given out, 0 if it is to be passed over, or an error. */
static int take_record(struct vs_reader *reader, const uint8_t *bytes, size_t size,
		       uint64_t position, struct vs_record *record)
{
	struct vs_record found;
	int taken;

	if (position < reader->position)
		return 0;
	if (position >= reader->limit) {
		reader->place = AT_END;
		return 0;
	}
	taken = vs_codec_get_record(bytes, size, &found, reader->frames);
	if (taken < 0)
		return taken;
	reader->position = position + vs_live_stride((uint64_t)taken);
	switch (found.type) {
#define VS_RECORD(number, NAME, name) case VS_RECORD_##NAME:
#include "record.def"
#undef VS_RECORD
		reader->state.nr_records++;
		*record = found;
		return 1;
	}
	return 0;
}

static int next_in_block(struct vs_reader *reader, struct vs_record *record)
{
	const struct vs_block_header *header = &reader->file.header;
	const uint8_t *bytes = reader->file.raw + reader->next;
	size_t left = header->raw_size - reader->next;
	uint64_t position = reader->next_position;
	int size, ret;

	if (!left) {
		reader->place = IN_BLOCKS;
		/* The checksum was right, so whoever wrote it was wrong. */
		return reader->nr_left || position != header->first + header->span
			       ? damage(reader, -VS_ERR_CORRUPT)
			       : 0;
	}
	size = reader->nr_left ? vs_codec_get_size(bytes, left) : -VS_ERR_CORRUPT;
	ret = size < 0 ? size : take_record(reader, bytes, (size_t)size, position, record);
	if (ret < 0) {
		reader->place = IN_BLOCKS;
		return damage(reader, -VS_ERR_CORRUPT);
	}
	reader->next += (size_t)size;
	reader->nr_left--;
	reader->next_position += vs_live_stride((uint64_t)size);
	return ret;
}

static int next_in_log(struct vs_reader *reader, struct vs_record *record)
{
	struct vs_live_record found;
	int ret = vs_live_next(reader->live, reader->position, &found);

	reader->state.nr_unfinished = vs_live_get_unfinished(reader->live);
	switch (ret) {
	case VS_LIVE_RECORD:
		reader->state.used_log = true;
		ret = take_record(reader, found.bytes, found.size, found.position, record);
		if (ret < 0) {
			reader->position = found.position + vs_live_stride(found.size);
			return damage(reader, -VS_ERR_CORRUPT);
		}
		return ret;
	case VS_LIVE_END:
		reader->place = AT_END;
		return 0;
	case VS_LIVE_MOVED_ON:
		reader->place = reader->nr_rounds++ < MAX_ROUNDS ? IN_BLOCKS : AT_END;
		return 0;
	default:
		reader->place = AT_END;
		return damage(reader, ret);
	}
}

int vs_reader_next(struct vs_reader *reader, struct vs_record *record)
{
	int ret = 0;

	while (!ret) {
		switch (reader->place) {
		case IN_BLOCKS:
			ret = next_block(reader);
			break;
		case IN_BLOCK:
			ret = next_in_block(reader, record);
			break;
		case IN_LOG:
			ret = next_in_log(reader, record);
			break;
		case AT_END:
			if (!reader->has_end && reader->position < reader->limit)
				reader->limit = reader->position;
			return 0;
		}
	}
	if (ret == 1 && record->type == VS_RECORD_LOST)
		reader->nr_lost_told += record->lost.nr_events;
	return ret;
}

int vs_reader_rewind(struct vs_reader *reader)
{
	const struct vs_reader_state last = reader->state;

	/* What is known of the file stays known, also if this round is broken off. */
	reader->state = (struct vs_reader_state){.is_complete = last.is_complete,
						 .is_damaged = last.is_damaged};
	vs_block_file_rewind(&reader->file);
	reader->place = IN_BLOCKS;
	reader->position = 0;
	reader->blocks_end = 0;
	reader->nr_in_blocks = 0;
	reader->nr_rounds = 0;
	reader->nr_lost_told = 0;
	reader->has_end = false;
	return 0;
}

/* ---- What is known --------------------------------------------------------------------------- */

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
