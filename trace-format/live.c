#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_file.h"
#include "codec.h"
#include "info.h"
#include "wire.h"

/* What is copied out of the ring in one go; many times the longest record. */
#define CHUNK_SIZE (256u << 10)

#define RING_SIZE_MIN (64u << 10)
#define RING_SIZE_MAX (1ull << 40)

struct header {
	uint32_t pid;
	uint8_t identity[VS_LIVE_ID_SIZE];
	uint64_t ring_offset;
	uint64_t ring_size;
	uint64_t start_ticks;
	uint64_t pid_namespace;
	uint64_t head;
	uint64_t tail;
	uint64_t nr_lost;
};

struct vs_live {
	int fd;
	struct header header; /* as of the last look */
	uint64_t end;         /* what is reserved later is not read */
	uint64_t chunk_first; /* position of chunk[0] */
	uint64_t chunk_size;
	uint64_t nr_unfinished;
	uint64_t gap_end; /* the gap before this position is counted */
	uint8_t chunk[CHUNK_SIZE];
};

/* ---- Header ---------------------------------------------------------------------------------- */

/* docs/trace-format.md, section 6.1 */
static int parse_header(const uint8_t *bytes, struct header *header)
{
	struct vs_wire in;
	const uint8_t *identity;
	uint32_t version;

	if (memcmp(bytes, VS_LIVE_MAGIC, 8) != 0)
		return -VS_ERR_NOT_A_TRACE;
	vs_wire_init(&in, bytes + 8, VS_LIVE_HEADER_SIZE - 8);
	version = vs_wire_get_le32(&in);
	if (version > VS_LIVE_VERSION)
		return -VS_ERR_NEWER;
	header->pid = vs_wire_get_le32(&in);
	identity = vs_wire_get_bytes(&in, VS_LIVE_ID_SIZE);
	memcpy(header->identity, identity, VS_LIVE_ID_SIZE);
	header->ring_offset = vs_wire_get_le64(&in);
	header->ring_size = vs_wire_get_le64(&in);
	header->start_ticks = vs_wire_get_le64(&in);
	header->pid_namespace = vs_wire_get_le64(&in);
	vs_wire_init(&in, bytes + offsetof(struct vs_live_header, head), 8);
	header->head = vs_wire_get_le64(&in);
	vs_wire_init(&in, bytes + offsetof(struct vs_live_header, tail), 8);
	header->tail = vs_wire_get_le64(&in);
	vs_wire_init(&in, bytes + offsetof(struct vs_live_header, nr_lost), 8);
	header->nr_lost = vs_wire_get_le64(&in);
	return 0;
}

static bool is_sound(const struct header *header)
{
	uint64_t size = header->ring_size;

	return size >= RING_SIZE_MIN && size <= RING_SIZE_MAX && !(size & (size - 1)) &&
	       header->ring_offset >= VS_LIVE_HEADER_SIZE && header->ring_offset <= RING_SIZE_MAX &&
	       !((header->head | header->tail) % VS_LIVE_ALIGN);
}

static int read_header(int fd, struct header *header)
{
	uint8_t bytes[VS_LIVE_HEADER_SIZE];
	int64_t size = vs_block_file_read(fd, bytes, sizeof(bytes), 0);
	int err;

	if (size < 0)
		return (int)size;
	if (size < VS_LIVE_HEADER_SIZE)
		return -VS_ERR_NOT_A_TRACE;
	err = parse_header(bytes, header);
	if (err)
		return err;
	return is_sound(header) ? 0 : -VS_ERR_CORRUPT;
}

int vs_live_update(struct vs_live *live)
{
	struct header header;
	int err = read_header(live->fd, &header);

	if (err)
		return err;
	/* The page is read in one go but not at one instant: head may be older than tail. */
	if (header.head < header.tail)
		header.head = header.tail;
	if (header.head - header.tail > header.ring_size)
		return -VS_ERR_CORRUPT;
	live->header = header;
	live->end = header.head;
	live->chunk_size = 0;
	return 0;
}

uint64_t vs_live_get_tail(const struct vs_live *live)
{
	return live->header.tail;
}

uint64_t vs_live_get_lost(const struct vs_live *live)
{
	return live->header.nr_lost;
}

uint64_t vs_live_get_unfinished(const struct vs_live *live)
{
	return live->nr_unfinished;
}

/* ---- Opening --------------------------------------------------------------------------------- */

int vs_live_open_fd(struct vs_live **live, int fd, const char *identity)
{
	char found[2 * VS_LIVE_ID_SIZE + 1];
	struct vs_live *new;
	struct stat st;
	int err;

	new = calloc(1, sizeof(*new));
	if (!new) {
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	new->fd = fd;
	err = fstat(fd, &st) ? -VS_ERR_IO : vs_live_update(new);
	if (err)
		goto close_new;
	vs_info_put_identity(found, new->header.identity);
	if (strcmp(found, identity) != 0)
		err = -VS_ERR_NOT_A_TRACE;
	else if ((uint64_t)st.st_size < new->header.ring_offset + new->header.ring_size)
		err = -VS_ERR_TRUNCATED;
	if (err)
		goto close_new;
	*live = new;
	return 0;
close_new:
	vs_live_close(new);
	return err;
}

int vs_live_open(struct vs_live **live, const char *path, const char *identity)
{
	/* Not to wait for a writer, should somebody have put a FIFO there. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -VS_ERR_IO : vs_live_open_fd(live, fd, identity);
}

void vs_live_close(struct vs_live *live)
{
	if (!live)
		return;
	close(live->fd);
	free(live);
}

int vs_live_find(struct vs_live **live, const char *trace_path, const char *info_path,
		 const char *identity, char **found_path)
{
	char *path;
	int err;

	if (asprintf(&path, "%s" VS_LIVE_SUFFIX, trace_path) < 0)
		return -VS_ERR_NO_MEMORY;
	err = vs_live_open(live, path, identity);
	if (err && err != -VS_ERR_NO_MEMORY && info_path) {
		free(path);
		path = strdup(info_path);
		if (!path)
			return -VS_ERR_NO_MEMORY;
		err = vs_live_open(live, path, identity);
	}
	if (!err && found_path)
		*found_path = path;
	else
		free(path);
	return !err || err == -VS_ERR_NO_MEMORY ? err : -VS_ERR_NOT_A_TRACE;
}

int vs_live_get_trace_path(int fd, char path[VS_LIVE_PATH_MAX])
{
	struct header header;
	int64_t size;
	int err = read_header(fd, &header);

	if (err)
		return err;
	size = vs_block_file_read(fd, path, VS_LIVE_PATH_MAX,
				  offsetof(struct vs_live_header, trace_path));
	if (size < 0)
		return (int)size;
	if (size < VS_LIVE_PATH_MAX || !memchr(path, '\0', VS_LIVE_PATH_MAX))
		return -VS_ERR_CORRUPT;
	return 0;
}

/* ---- Whose it is ----------------------------------------------------------------------------- */

/* State and start time of a process: fields 3 and 22 of /proc/PID/stat. */
static bool read_process(uint32_t pid, char *state, unsigned long long *start_ticks)
{
	char path[32], text[1024], *fields;
	int64_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = vs_block_file_read(fd, text, sizeof(text) - 1, 0);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	/* The name in parentheses may hold anything, parentheses too. */
	fields = strrchr(text, ')');
	return fields && sscanf(fields,
				") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %llu",
				state, start_ticks) == 2;
}

bool vs_live_is_running(const struct vs_live *live)
{
	const struct header *header = &live->header;
	unsigned long long start_ticks;
	struct stat st;
	char state;

	/* Numbers of another namespace mean nothing here. */
	if (header->pid_namespace &&
	    (stat("/proc/self/ns/pid", &st) || st.st_ino != header->pid_namespace))
		return true;
	if (!header->pid || header->pid > INT32_MAX)
		return false;
	if (read_process(header->pid, &state, &start_ticks))
		return state != 'Z' && state != 'X' &&
		       (!header->start_ticks || header->start_ticks == start_ticks);
	return kill((pid_t)header->pid, 0) == 0 || errno == EPERM;
}

/* ---- Records --------------------------------------------------------------------------------- */

static int copy_ring(const struct vs_live *live, uint8_t *out, uint64_t position, uint64_t size)
{
	uint64_t ring_size = live->header.ring_size;

	while (size) {
		uint64_t at = position & (ring_size - 1);
		uint64_t part = size < ring_size - at ? size : ring_size - at;
		int64_t done =
			vs_block_file_read(live->fd, out, part, live->header.ring_offset + at);

		if (done < 0)
			return (int)done;
		if ((uint64_t)done < part)
			return -VS_ERR_TRUNCATED;
		out += part;
		position += part;
		size -= part;
	}
	return 0;
}

/* Copies what stands at a position. VS_LIVE_RECORD, VS_LIVE_MOVED_ON or an error. */
static int load_chunk(struct vs_live *live, uint64_t position)
{
	uint64_t size = live->end - position;
	struct header now;
	int err;

	if (size > CHUNK_SIZE)
		size = CHUNK_SIZE;
	live->chunk_size = 0;
	err = copy_ring(live, live->chunk, position, size);
	if (!err)
		err = read_header(live->fd, &now);
	if (err)
		return err;
	/*
	 * Good only if no producer has come round to it meanwhile. They get there only after tail
	 * has left it, that is, after the trace file had it.
	 */
	if (now.head > position && now.head - position > live->header.ring_size)
		return VS_LIVE_MOVED_ON;
	live->chunk_first = position;
	live->chunk_size = size;
	return VS_LIVE_RECORD;
}

static bool has_chunk(const struct vs_live *live, uint64_t position, uint64_t size)
{
	return position >= live->chunk_first && position - live->chunk_first <= live->chunk_size &&
	       live->chunk_size - (position - live->chunk_first) >= size;
}

/* Makes sure that `size` bytes at a position are in the chunk; they end at or before live->end. */
static int need_chunk(struct vs_live *live, uint64_t position, uint64_t size)
{
	return has_chunk(live, position, size) ? VS_LIVE_RECORD : load_chunk(live, position);
}

/* VS_LIVE_RECORD, VS_LIVE_END if there is none published at this position, or as need_chunk. */
static int get_record(struct vs_live *live, uint64_t position, struct vs_live_record *record)
{
	const uint8_t *bytes;
	struct vs_wire in;
	uint32_t size;
	int ret;

	ret = need_chunk(live, position, VS_LIVE_WORD_SIZE);
	if (ret != VS_LIVE_RECORD)
		return ret;
	vs_wire_init(&in, live->chunk + (position - live->chunk_first), VS_LIVE_WORD_SIZE);
	size = vs_live_size(vs_wire_get_le64(&in), position);
	if (!size || size > VS_CODEC_MAX || vs_live_stride(size) > live->end - position)
		return VS_LIVE_END;
	ret = need_chunk(live, position, vs_live_stride(size));
	if (ret != VS_LIVE_RECORD)
		return ret;
	bytes = live->chunk + (position - live->chunk_first) + VS_LIVE_WORD_SIZE;
	if (vs_codec_get_size(bytes, size) != (int)size)
		return VS_LIVE_END;
	record->position = position;
	record->bytes = bytes;
	record->size = size;
	return VS_LIVE_RECORD;
}

int vs_live_next(struct vs_live *live, uint64_t position, struct vs_live_record *record)
{
	uint64_t gap_first;
	int ret = VS_LIVE_END;

	if (position < live->header.tail)
		position = live->header.tail;
	if (position >= live->end)
		return VS_LIVE_END;
	position += -position % VS_LIVE_ALIGN; /* a damaged trace may say anything */
	gap_first = position;
	while (position < live->end) {
		ret = get_record(live, position, record);
		if (ret == VS_LIVE_END) {
			position += VS_LIVE_ALIGN; /* a gap: search behind it */
			continue;
		}
		break;
	}
	if (position > gap_first && position > live->gap_end) {
		live->gap_end = position;
		live->nr_unfinished++;
	}
	return position < live->end ? ret : VS_LIVE_END;
}
