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
#include "info.h"
#include "live_record.h"
#include "live_snapshot.h"
#include "wire.h"

/* Limits that no log reaches, so that nothing overflows. */
#define OFFSET_MAX     (1ull << 40)
#define CHUNK_SIZE_MAX (1u << 24)
#define NR_SLOTS_MAX   (1u << 20)

/* How often the header is looked at until it stays as it is. */
#define MAX_LOOKS 100

struct header {
	uint32_t pid;
	uint8_t identity[VS_LIVE_ID_SIZE];
	uint64_t slots_offset;
	uint32_t nr_slots;
	struct vs_live_layout layout;
	uint64_t start_ticks;
	uint64_t pid_namespace;
	uint32_t newest;
	struct vs_live_anchor anchors[3];
	uint64_t nr_lost;
};

struct vs_live {
	int fd;
	struct header header; /* as of the last look */
	uint64_t nr_unfinished;
	struct vs_live_snapshot *snapshot;
	uint64_t time_ns; /* of the event before */
	uint64_t frames[VS_STACK_MAX];
};

/* ---- Header ---------------------------------------------------------------------------------- */

/* The number at a place of the header page that its structure names. */
#define GET32(bytes, member) get_number(bytes, offsetof(struct vs_live_header, member), 4)
#define GET64(bytes, member) get_number(bytes, offsetof(struct vs_live_header, member), 8)

static uint64_t get_number(const uint8_t *bytes, size_t offset, size_t size)
{
	struct vs_wire in;

	vs_wire_init(&in, bytes + offset, size);
	return size == 4 ? vs_wire_get_le32(&in) : vs_wire_get_le64(&in);
}

/* docs/trace-format.md, section 6.1 */
static int parse_header(const uint8_t *bytes, struct header *header)
{
	uint32_t version = (uint32_t)GET32(bytes, version);

	if (memcmp(bytes, VS_LIVE_MAGIC, 8) != 0)
		return -VS_ERR_NOT_A_TRACE;
	if (version != VS_LIVE_VERSION)
		return version < VS_LIVE_VERSION ? -VS_ERR_PROVISIONAL : -VS_ERR_NEWER;
	header->pid = (uint32_t)GET32(bytes, pid);
	memcpy(header->identity, bytes + offsetof(struct vs_live_header, identity),
	       VS_LIVE_ID_SIZE);
	header->slots_offset = GET64(bytes, slots_offset);
	header->nr_slots = (uint32_t)GET32(bytes, nr_slots);
	header->layout.chunks_offset = GET64(bytes, chunks_offset);
	header->layout.chunk_size = (uint32_t)GET32(bytes, chunk_size);
	header->layout.nr_chunks = (uint32_t)GET32(bytes, nr_chunks);
	header->start_ticks = GET64(bytes, start_ticks);
	header->pid_namespace = GET64(bytes, pid_namespace);
	header->newest = (uint32_t)GET32(bytes, newest);
	for (uint32_t i = 0; i < 3; i++) {
		header->anchors[i].ticks = GET64(bytes, anchors[i].ticks);
		header->anchors[i].ns = GET64(bytes, anchors[i].ns);
	}
	header->nr_lost = GET64(bytes, nr_lost);
	return 0;
}

static bool is_sound(const struct header *header)
{
	const struct vs_live_layout *layout = &header->layout;

	return header->slots_offset >= VS_LIVE_HEADER_SIZE && header->slots_offset <= OFFSET_MAX &&
	       header->nr_slots <= NR_SLOTS_MAX && layout->chunks_offset >= VS_LIVE_HEADER_SIZE &&
	       layout->chunks_offset <= OFFSET_MAX && layout->chunk_size > VS_LIVE_CHUNK_HEAD &&
	       layout->chunk_size <= CHUNK_SIZE_MAX && header->newest < 3;
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

/* Its file is as large as a log's must be. */
static int check_size(int fd, const struct header *header)
{
	const struct vs_live_layout *layout = &header->layout;
	uint64_t slots_end = header->slots_offset + (uint64_t)header->nr_slots * VS_LIVE_SLOT_SIZE;
	uint64_t chunks_end =
		layout->chunks_offset + (uint64_t)layout->nr_chunks * layout->chunk_size;
	struct stat st;

	if (fstat(fd, &st))
		return -VS_ERR_IO;
	return (uint64_t)st.st_size < slots_end || (uint64_t)st.st_size < chunks_end
		       ? -VS_ERR_TRUNCATED
		       : 0;
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
	int err;

	new = calloc(1, sizeof(*new));
	if (!new) {
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	new->fd = fd;
	err = read_header(fd, &new->header);
	if (err)
		goto close_new;
	vs_info_put_identity(found, new->header.identity);
	err = strcmp(found, identity) ? -VS_ERR_NOT_A_TRACE : check_size(fd, &new->header);
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
	vs_live_snapshot_destroy(live->snapshot);
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

/* The page is read in one go but not at one instant: the anchor may be half of the next. */
static int read_settled_header(int fd, struct header *header)
{
	struct header again;
	int err = read_header(fd, header);

	for (uint32_t i = 0; !err && i < MAX_LOOKS; i++) {
		err = read_header(fd, &again);
		if (!err && again.newest == header->newest &&
		    !memcmp(again.anchors, header->anchors, sizeof(again.anchors)))
			return 0;
		*header = again;
	}
	return err;
}

/* Slots whose thread has begun a record: marks are odd then. */
static int count_unfinished(int fd, const struct header *header, uint64_t *nr_unfinished)
{
	size_t size = (size_t)header->nr_slots * VS_LIVE_SLOT_SIZE;
	struct vs_live_slot *slots = malloc(size + 1);
	uint64_t nr_found = 0;
	int err = 0;

	if (!slots)
		return -VS_ERR_NO_MEMORY;
	if (vs_block_file_read(fd, slots, size, header->slots_offset) < (int64_t)size)
		err = -VS_ERR_IO;
	for (uint32_t i = 0; !err && i < header->nr_slots; i++)
		nr_found += slots[i].state != VS_LIVE_SLOT_FREE && slots[i].mark & 1;
	free(slots);
	if (!err)
		*nr_unfinished = nr_found;
	return err;
}

/* Everything but the records. In this order: what a program leaves is not older than its end. */
static int look(struct vs_live *live, uint64_t *newest)
{
	bool is_running = vs_live_is_running(live);
	int err = 0;

	*newest = UINT64_MAX;
	if (is_running) {
		err = read_header(live->fd, &live->header);
		if (!err)
			err = vs_live_snapshot_find_newest(live->fd, &live->header.layout, newest);
	}
	if (!err)
		err = read_settled_header(live->fd, &live->header);
	if (!err)
		err = check_size(live->fd, &live->header);
	if (!err)
		err = count_unfinished(live->fd, &live->header, &live->nr_unfinished);
	return err;
}

int vs_live_take(struct vs_live *live)
{
	uint64_t newest;
	int err = look(live, &newest);

	if (err)
		return err;
	vs_live_snapshot_destroy(live->snapshot);
	live->snapshot = NULL;
	return vs_live_snapshot_create(&live->snapshot, live->fd, &live->header.layout, newest);
}

int vs_live_begin(struct vs_live *live, const struct vs_ring_ends *ends, uint64_t time_ns)
{
	live->time_ns = time_ns;
	return vs_live_snapshot_begin(live->snapshot, ends);
}

/* The line moves a little with each new anchor, and the trace was written by an earlier one. */
static uint64_t get_time(struct vs_live *live, uint64_t ticks)
{
	const struct header *header = &live->header;
	uint64_t time_ns =
		vs_live_time_ns(&header->anchors[0], &header->anchors[header->newest], ticks);

	if (time_ns > live->time_ns)
		live->time_ns = time_ns;
	return live->time_ns;
}

int vs_live_next(struct vs_live *live, struct vs_record *record, uint32_t *ring, uint64_t *sequence)
{
	struct vs_live_item item;
	int ret = vs_live_snapshot_next(live->snapshot, &item);

	if (ret <= 0)
		return ret;
	ret = vs_live_record_get(item.bytes, item.size, item.ring, record, live->frames);
	if (ret < 0)
		return ret;
	*ring = item.ring;
	*sequence = item.sequence;
	if (!ret)
		return VS_LIVE_UNKNOWN;
	if (vs_record_is_event(record->type))
		record->time_ns = get_time(live, item.ticks);
	return VS_LIVE_RECORD;
}
