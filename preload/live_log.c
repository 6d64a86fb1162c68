#include "live_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* linux/magic.h; that header is not everywhere as new as this list. */
#define FS_EXT4    0xef53
#define FS_XFS     0x58465342
#define FS_TMPFS   0x01021994
#define FS_OVERLAY 0x794c7630 /* passes fallocate on to the file system below */

#define RING_MIN (64u << 10)

/* A type that no reader knows, so that every reader skips it by its size. */
#define FILLER_TYPE 0xff

/* Whether allocated pages stay allocated when written to: not so where writing copies. */
static bool keeps_pages(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == FS_EXT4 || fs.f_type == FS_XFS || fs.f_type == FS_TMPFS ||
	       fs.f_type == FS_OVERLAY;
}

/* A limit on file sizes would send SIGXFSZ, which the program did not ask for. */
static bool is_within_limit(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       size <= limit.rlim_cur;
}

/* Size of the ring that could be had, 0 for none (errno). */
static uint64_t allocate(int fd, uint64_t ring_size)
{
	errno = EFBIG;
	for (; ring_size >= RING_MIN; ring_size /= 2) {
		uint64_t size = VS_LIVE_HEADER_SIZE + ring_size;

		if (!is_within_limit(size))
			continue;
		if (fallocate(fd, 0, 0, (off_t)size) == 0)
			return ring_size;
		if (errno == EINTR)
			ring_size *= 2; /* the same again */
		else if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
			break;
	}
	return 0;
}

static void fill_header(struct vs_live_header *header, const struct vs_live_log_facts *facts,
			uint64_t ring_size)
{
	size_t path_size = strnlen(facts->trace_path, VS_LIVE_PATH_MAX - 1);

	header->version = VS_LIVE_VERSION;
	header->pid = (uint32_t)getpid();
	memcpy(header->identity, facts->identity, sizeof(header->identity));
	header->ring_offset = VS_LIVE_HEADER_SIZE;
	header->ring_size = ring_size;
	header->start_ticks = facts->start_ticks;
	header->pid_namespace = facts->pid_namespace;
	memcpy(header->trace_path, facts->trace_path, path_size);
	vs_live_seal(header);
}

int vs_live_log_create(struct vs_live_log *log, const char *path,
		       const struct vs_live_log_facts *facts)
{
	int err = -VS_ERR_IO, saved;
	uint64_t ring_size;
	void *base;
	int fd;

	/* Whose trace has this name owns the log's name as well. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -VS_ERR_IO;
	if (!keeps_pages(fd)) {
		err = -VS_ERR_INVALID;
		goto unlink_file;
	}
	ring_size = allocate(fd, facts->ring_size);
	if (!ring_size) {
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			err = -VS_ERR_INVALID;
		goto unlink_file;
	}
	base = mmap(NULL, VS_LIVE_HEADER_SIZE + ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (base == MAP_FAILED)
		goto unlink_file;
	fill_header(base, facts, ring_size);
	log->header = base;
	log->ring = (unsigned char *)base + VS_LIVE_HEADER_SIZE;
	log->ring_size = ring_size;
	close(fd);
	return 0;
unlink_file:
	saved = errno;
	unlink(path);
	close(fd);
	errno = saved;
	return err;
}

void vs_live_log_detach(struct vs_live_log *log)
{
	if (!log->header)
		return;
	mmap(log->header, VS_LIVE_HEADER_SIZE + log->ring_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void vs_live_log_close(struct vs_live_log *log)
{
	munmap(log->header, VS_LIVE_HEADER_SIZE + log->ring_size);
	log->header = NULL;
}

/* Room for `stride` bytes at the head, or UINT64_MAX when it is full. */
static uint64_t reserve(struct vs_live_log *log, uint64_t stride)
{
	struct vs_live_header *header = log->header;
	uint64_t head = atomic_load_explicit(&header->head, memory_order_relaxed);

	do {
		/* Acquire: what the drain read there was read before we overwrite it. */
		uint64_t tail = atomic_load_explicit(&header->tail, memory_order_acquire);

		/* Signed: an old head may lie below a new tail; the exchange then fails. */
		if ((int64_t)(head + stride - tail) > (int64_t)log->ring_size)
			return UINT64_MAX;
	} while (!atomic_compare_exchange_weak_explicit(
		&header->head, &head, head + stride, memory_order_acquire, memory_order_relaxed));
	return head;
}

static void copy_in(struct vs_live_log *log, uint64_t position, const uint8_t *bytes, uint32_t size)
{
	uint64_t at = position & (log->ring_size - 1);
	uint64_t to_end = log->ring_size - at;
	uint64_t first = size < to_end ? size : to_end;

	memcpy(log->ring + at, bytes, first);
	memcpy(log->ring, bytes + first, size - first);
}

static void publish(struct vs_live_log *log, uint64_t position, uint32_t size)
{
	atomic_store_explicit(vs_live_slot(log->ring, log->ring_size, position),
			      vs_live_word(position, size), memory_order_release);
}

bool vs_live_log_push(struct vs_live_log *log, struct vs_live_log_claim *claim,
		      const uint8_t *bytes, uint32_t size)
{
	uint64_t position = reserve(log, vs_live_stride(size));

	if (position == UINT64_MAX)
		return false;
	claim->position = position;
	claim->size = size;
	claim->log = log;
	copy_in(log, position + VS_LIVE_WORD_SIZE, bytes, size);
	publish(log, position, size);
	claim->log = NULL;
	return true;
}

void vs_live_log_give_up(struct vs_live_log_claim *claim)
{
	struct vs_live_log *log = claim->log;
	uint64_t position = claim->position;
	uint32_t size = claim->size;
	uint8_t head[3] = {FILLER_TYPE};

	claim->log = NULL;
	if (!log || !log->header)
		return;
	/* Any bytes will do behind the size, which is written in two bytes whatever it is. */
	head[1] = (uint8_t)((size - sizeof(head)) | 0x80);
	head[2] = (uint8_t)((size - sizeof(head)) >> 7);
	copy_in(log, position + VS_LIVE_WORD_SIZE, head, sizeof(head));
	publish(log, position, size);
	vs_live_log_add_lost(log);
}

void vs_live_log_add_lost(struct vs_live_log *log)
{
	atomic_fetch_add_explicit(&log->header->nr_lost, 1, memory_order_relaxed);
}

uint64_t vs_live_log_get_lost(const struct vs_live_log *log)
{
	return atomic_load_explicit(&log->header->nr_lost, memory_order_relaxed);
}

bool vs_live_log_is_filling(const struct vs_live_log *log)
{
	uint64_t head = atomic_load_explicit(&log->header->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&log->header->tail, memory_order_relaxed);

	return (int64_t)(head - tail) >= (int64_t)(log->ring_size / 4);
}

static void copy_out(const struct vs_live_log *log, uint64_t position, uint8_t *out, uint32_t size)
{
	uint64_t at = position & (log->ring_size - 1);
	uint64_t to_end = log->ring_size - at;
	uint64_t first = size < to_end ? size : to_end;

	memcpy(out, log->ring + at, first);
	memcpy(out + first, log->ring, size - first);
}

size_t vs_live_log_read(const struct vs_live_log *log, uint64_t *position, uint8_t *out,
			size_t room, uint32_t *nr_records)
{
	uint64_t at = *position;
	uint32_t nr = 0;
	size_t used = 0;

	for (;;) {
		uint64_t word = atomic_load_explicit(vs_live_slot(log->ring, log->ring_size, at),
						     memory_order_acquire);
		uint32_t size = vs_live_size(word, at);

		if (size == 0 || size > room - used)
			break;
		copy_out(log, at + VS_LIVE_WORD_SIZE, out + used, size);
		used += size;
		at += vs_live_stride(size);
		nr++;
	}
	*position = at;
	*nr_records = nr;
	return used;
}

uint64_t vs_live_log_get_head(const struct vs_live_log *log)
{
	return atomic_load_explicit(&log->header->head, memory_order_acquire);
}

void vs_live_log_release(struct vs_live_log *log, uint64_t position)
{
	/* A writer that was opened anew knows of no position yet. */
	if (position > atomic_load_explicit(&log->header->tail, memory_order_relaxed))
		atomic_store_explicit(&log->header->tail, position, memory_order_release);
}
