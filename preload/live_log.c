#include "live_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "populate.h"

/* linux/magic.h; that header is not everywhere as new as this list. */
#define FS_EXT4    0xef53
#define FS_XFS     0x58465342
#define FS_TMPFS   0x01021994
#define FS_OVERLAY 0x794c7630 /* passes fallocate on to the file system below */

#define SLOTS_OFFSET  VS_LIVE_HEADER_SIZE
#define CHUNKS_OFFSET ((uint64_t)SLOTS_OFFSET + VS_LIVE_NR_SLOTS * VS_LIVE_SLOT_SIZE)

/* With less than this there is no log: one ring, one spare chunk, and some more threads. */
#define MIN_CHUNKS 8u

/*
 * How often a thread looks whether another one has made room: first at once, then every so many
 * nanoseconds, two seconds in all. A disk is slow where others use it too, the thread that asks it
 * may be one of many that want to run, and an event that is dropped is worse than one that is late.
 */
#define NR_YIELDS 200
#define NR_SLEEPS 10000
#define SLEEP_NS  200000

/* What part of a limit on addresses it may have. */
#define ADDRESS_SHARE 16u

/* How long a disk that gave no more room is left alone: every lost event asks for some. */
#define RETRY_NS UINT64_C(1000000000)

/* Chunks that are written at the start, and at once later. */
#define NR_WRITTEN_FIRST 32u
#define NR_WRITTEN_STEP  128u

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- The file -------------------------------------------------------------------------------- */

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

static int allocate(int fd, uint64_t offset, uint64_t size)
{
	int ret;

	if (!is_within_limit(offset + size)) {
		errno = EFBIG;
		return -1;
	}
	do
		ret = fallocate(fd, 0, (off_t)offset, (off_t)size);
	while (ret < 0 && errno == EINTR);
	return ret;
}

/* How large the log, which has `size` bytes, may become: the trace needs as much of the disk. */
static uint64_t get_share(int fd, uint64_t size)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return 0;
	return ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize + size) / 2;
}

static uint64_t size_of(uint32_t nr_chunks)
{
	return CHUNKS_OFFSET + (uint64_t)nr_chunks * VS_LIVE_CHUNK_SIZE;
}

static bool is_full(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/* Not constant: that would be as many bytes of the library's file. */
static unsigned char zeros[64 << 10];

#define NR_ZEROS 16 /* in one call */

/*
 * Writes zeros: pages that are written together are one piece of memory, where the file system can
 * do that (ext4 from Linux 6.16, XFS), and come with a single fault. To fault them in one by one
 * takes twice as long, at least; and the first one to be touched would make the kernel read ahead,
 * which may be megabytes.
 */
static bool write_pages(int fd, uint64_t offset, uint64_t size)
{
	struct iovec parts[NR_ZEROS];
	ssize_t done;

	while (size) {
		uint64_t left = size;
		int nr = 0;

		while (left && nr < NR_ZEROS) {
			size_t length = left < sizeof(zeros) ? left : sizeof(zeros);

			parts[nr++] = (struct iovec){zeros, length};
			left -= length;
		}
		done = pwritev(fd, parts, nr, (off_t)offset);
		if (done <= 0)
			return false;
		offset += (uint64_t)done;
		size -= (uint64_t)done;
	}
	return true;
}

/* How many chunks could be had, at most `wanted`; 0 for none (errno). */
static uint32_t allocate_first(int fd, uint32_t wanted)
{
	uint64_t share = get_share(fd, 0);

	for (; wanted >= MIN_CHUNKS; wanted /= 2) {
		errno = ENOSPC;
		if (size_of(wanted) <= share && allocate(fd, 0, size_of(wanted)) == 0)
			return wanted;
		if (!is_full(errno))
			break;
	}
	return 0;
}

static uint32_t to_chunks(uint64_t size)
{
	uint64_t nr = size / VS_LIVE_CHUNK_SIZE;

	if (nr < MIN_CHUNKS)
		nr = MIN_CHUNKS;
	/* An index plus one must fit into half of the stock's word. */
	return nr < INT32_MAX ? (uint32_t)nr : INT32_MAX;
}

/* Where addresses are few (ulimit -v), they are the program's. */
static uint32_t limit_to_addresses(uint32_t max_chunks)
{
	struct rlimit limit;
	uint32_t share;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return max_chunks;
	share = to_chunks(limit.rlim_cur / ADDRESS_SHARE);
	return share < max_chunks ? share : max_chunks;
}

/* Maps room for max_chunks, or for as many as address space is left for. */
static int map_file(struct vs_live_log *log, int fd, uint32_t nr_chunks, uint32_t max_chunks)
{
	void *base = MAP_FAILED;

	for (; max_chunks >= nr_chunks; max_chunks /= 2) {
		base = mmap(NULL, size_of(max_chunks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base != MAP_FAILED || errno != ENOMEM)
			break;
	}
	if (base == MAP_FAILED)
		return -VS_ERR_IO;
	log->header = base;
	log->slots = (struct vs_live_slot *)((char *)base + SLOTS_OFFSET);
	log->chunks = (unsigned char *)base + CHUNKS_OFFSET;
	log->map_size = size_of(max_chunks);
	log->max_chunks = max_chunks;
	atomic_init(&log->grower, 0);
	atomic_store_explicit(&log->failed_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&log->nr_closed, 0, memory_order_relaxed);
	atomic_store_explicit(&log->nr_populated, 0, memory_order_relaxed);
	return 0;
}

static long get_nr_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : LONG_MAX;
}

/*
 * Whether pages that were written together come together: then most chunks are no fault. (To read
 * them would tell nothing, the kernel maps some pages around what is read anyway.)
 */
static bool is_in_large_pieces(const struct vs_live_log *log, uint32_t nr_chunks)
{
	long before = get_nr_faults();

	for (uint32_t i = 0; i < nr_chunks; i++)
		atomic_store_explicit(&vs_live_log_chunk(log, i)->ring, 0, memory_order_relaxed);
	return get_nr_faults() - before < nr_chunks / 2;
}

static void fill_header(struct vs_live_header *header, const struct vs_live_log_facts *facts,
			uint32_t nr_chunks)
{
	size_t path_size = strnlen(facts->trace_path, VS_LIVE_PATH_MAX - 1);

	header->version = VS_LIVE_VERSION;
	header->pid = (uint32_t)getpid();
	memcpy(header->identity, facts->identity, sizeof(header->identity));
	header->slots_offset = SLOTS_OFFSET;
	header->chunks_offset = CHUNKS_OFFSET;
	header->nr_slots = VS_LIVE_NR_SLOTS;
	header->chunk_size = VS_LIVE_CHUNK_SIZE;
	header->start_ticks = facts->start_ticks;
	header->pid_namespace = facts->pid_namespace;
	header->clock = facts->clock;
	header->anchors[0] = facts->start;
	header->anchors[1] = facts->now;
	header->newest = 1;
	header->nr_chunks = nr_chunks;
	memcpy(header->trace_path, facts->trace_path, path_size);
	vs_live_seal(header);
}

int vs_live_log_create(struct vs_live_log *log, const char *path,
		       const struct vs_live_log_facts *facts)
{
	uint32_t max_chunks = limit_to_addresses(to_chunks(facts->max_size));
	uint32_t nr_chunks = to_chunks(facts->first_size);
	int err = -VS_ERR_IO, saved;
	uint32_t nr_written;
	bool is_written;
	int fd;

	if (nr_chunks > max_chunks)
		nr_chunks = max_chunks;
	/* Whose trace has this name owns the log's name as well. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -VS_ERR_IO;
	if (!keeps_pages(fd)) {
		err = -VS_ERR_INVALID;
		goto unlink_file;
	}
	nr_chunks = allocate_first(fd, nr_chunks);
	if (!nr_chunks) {
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			err = -VS_ERR_INVALID;
		goto unlink_file;
	}
	nr_written = min(nr_chunks, NR_WRITTEN_FIRST);
	is_written = write_pages(fd, 0, size_of(nr_written));
	err = map_file(log, fd, nr_chunks, max_chunks);
	if (err)
		goto unlink_file;
	log->is_written = is_written && is_in_large_pieces(log, nr_written);
	log->nr_first = nr_chunks;
	fill_header(log->header, facts, nr_chunks);
	close(fd);
	return 0;
unlink_file:
	saved = errno;
	unlink(path);
	close(fd);
	errno = saved;
	return err;
}

/* Whether the file of that name is still the log: its folder may have been emptied. */
static bool is_log(int fd, const struct vs_live_log *log)
{
	uint8_t identity[VS_LIVE_ID_SIZE];

	return pread(fd, identity, sizeof(identity), offsetof(struct vs_live_header, identity)) ==
		       (ssize_t)sizeof(identity) &&
	       memcmp(identity, log->header->identity, sizeof(identity)) == 0;
}

/*
 * By as many chunks as there are, or as many as can be had; where pages are written, others wait
 * for that.
 */
static void grow(struct vs_live_log *log, const char *path)
{
	uint32_t nr = vs_live_log_get_nr_chunks(log);
	uint32_t more =
		min(min(nr, log->max_chunks - nr), log->is_written ? NR_WRITTEN_STEP : UINT32_MAX);
	bool has_grown = false;
	uint64_t share, size;
	int fd;

	if (!more)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (!is_log(fd, log))
		goto close_fd;
	share = get_share(fd, size_of(nr));
	for (; more; more /= 2) {
		if (size_of(nr + more) > share)
			continue;
		size = size_of(nr + more) - size_of(nr);
		has_grown = allocate(fd, size_of(nr), size) == 0;
		if (has_grown || !is_full(errno))
			break;
	}
	if (has_grown && log->is_written)
		(void)write_pages(fd, size_of(nr), size);
close_fd:
	close(fd);
	if (has_grown)
		atomic_store_explicit(&log->header->nr_chunks, nr + more, memory_order_release);
}

static void await_growth(const struct vs_live_log *log, uint32_t before)
{
	static const struct timespec pause = {.tv_nsec = SLEEP_NS};
	int saved = errno;

	for (int i = 0; i < NR_YIELDS + NR_SLEEPS; i++) {
		if (vs_live_log_get_nr_chunks(log) != before ||
		    !atomic_load_explicit(&log->grower, memory_order_acquire))
			break;
		if (i < NR_YIELDS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	errno = saved;
}

/*
 * Others wait for the thread that does it: no handler of the program's may keep it, or leave it by
 * a jump. What it does to itself comes through.
 */
static void shut_out_signals(sigset_t *old)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

bool vs_live_log_grow(struct vs_live_log *log, const char *path)
{
	uint32_t before = vs_live_log_get_nr_chunks(log);
	uintptr_t self = (uintptr_t)pthread_self(), grower = 0;
	uint64_t failed_ns = atomic_load_explicit(&log->failed_ns, memory_order_relaxed);
	uint64_t now_ns = vs_clock_now_ns();
	sigset_t signals;

	if (failed_ns && now_ns - failed_ns < RETRY_NS)
		return false;
	shut_out_signals(&signals);
	/* Its own mark: it was in here before, and left by a jump out of a signal handler. */
	if (atomic_compare_exchange_strong(&log->grower, &grower, self) || grower == self) {
		grow(log, path);
		if (vs_live_log_get_nr_chunks(log) == before)
			failed_ns = now_ns;
		else
			failed_ns = 0;
		atomic_store_explicit(&log->failed_ns, failed_ns, memory_order_relaxed);
		atomic_store_explicit(&log->grower, 0, memory_order_release);
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
	} else {
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
		await_growth(log, before);
		/* It may have grown since the caller found nothing, and before we looked. */
		if (vs_live_log_get_nr_free(log))
			return true;
	}
	return vs_live_log_get_nr_chunks(log) > before;
}

void vs_live_log_unlink(struct vs_live_log *log, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (is_log(fd, log))
		unlink(path);
	close(fd);
}

void vs_live_log_detach(struct vs_live_log *log)
{
	if (!log->header)
		return;
	mmap(log->header, log->map_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void vs_live_log_close(struct vs_live_log *log)
{
	munmap(log->header, log->map_size);
	log->header = NULL;
}

void vs_live_log_set_anchor(struct vs_live_log *log, const struct vs_live_anchor *now)
{
	struct vs_live_header *header = log->header;
	uint32_t other = atomic_load_explicit(&header->newest, memory_order_relaxed) == 1 ? 2 : 1;

	header->anchors[other] = *now;
	atomic_store_explicit(&header->newest, other, memory_order_release);
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static void note_slot(struct vs_live_log *log, uint32_t index)
{
	uint32_t end = atomic_load_explicit(&log->header->slots_end, memory_order_relaxed);

	while (end <= index &&
	       !atomic_compare_exchange_weak_explicit(&log->header->slots_end, &end, index + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

uint64_t vs_live_log_count_records(const struct vs_live_log *log)
{
	uint32_t nr = atomic_load_explicit(&log->header->slots_end, memory_order_acquire);
	uint64_t sum = 0;

	/* Marks only ever grow. */
	for (uint32_t i = 0; i < nr; i++)
		sum += atomic_load_explicit(&log->slots[i].mark, memory_order_acquire);
	return sum;
}

struct vs_live_slot *vs_live_log_take_slot(struct vs_live_log *log, uint32_t ring)
{
	for (uint32_t i = 0; i < VS_LIVE_NR_SLOTS; i++) {
		/* Numbers of rings grow from 1 on, so the first try mostly finds a place. */
		uint32_t index = (ring - 1 + i) % VS_LIVE_NR_SLOTS;
		struct vs_live_slot *slot = &log->slots[index];
		uint32_t expected = VS_LIVE_SLOT_FREE;

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) != expected)
			continue;
		/* Acquire: the drain has left it. */
		if (atomic_compare_exchange_strong_explicit(
			    &slot->state, &expected, VS_LIVE_SLOT_OWNED, memory_order_acquire,
			    memory_order_relaxed)) {
			atomic_store_explicit(&slot->ring, ring, memory_order_release);
			note_slot(log, index);
			return slot;
		}
	}
	return NULL;
}

bool vs_live_log_has_slot(const struct vs_live_log *log)
{
	for (uint32_t i = 0; i < VS_LIVE_NR_SLOTS; i++)
		if (atomic_load_explicit(&log->slots[i].state, memory_order_relaxed) ==
		    VS_LIVE_SLOT_FREE)
			return true;
	return false;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/*
 * The stock is a stack, so that the same few pages are used again and again: index + 1 of its top
 * in the lower half of the word, and in the upper half a number that changes with every take, so
 * that nobody mistakes a top that went and came back for one that stayed. Free chunks are linked by
 * `next`.
 */
static uint32_t take_from_stock(struct vs_live_log *log)
{
	uint64_t old = atomic_load_explicit(&log->header->stock, memory_order_acquire);
	uint64_t new;

	do {
		uint32_t top = (uint32_t)old;

		if (!top)
			return VS_LIVE_LOG_NONE;
		/* May be another thread's chunk by now; then the exchange fails. */
		new = (old & ~(uint64_t)UINT32_MAX) + ((uint64_t)1 << 32);
		new |= atomic_load_explicit(&vs_live_log_chunk(log, top - 1)->next,
					    memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		&log->header->stock, &old, new, memory_order_acquire, memory_order_acquire));
	return (uint32_t)old - 1;
}

/* At most nr, which becomes how many they are; the index of the first. */
static uint32_t take_unused(struct vs_live_log *log, uint32_t *nr)
{
	uint32_t used = atomic_load_explicit(&log->header->nr_used, memory_order_relaxed);
	uint32_t all = vs_live_log_get_nr_chunks(log);

	do {
		if (used >= all)
			return VS_LIVE_LOG_NONE;
		*nr = min(*nr, all - used);
	} while (!atomic_compare_exchange_weak_explicit(&log->header->nr_used, &used, used + *nr,
							memory_order_relaxed,
							memory_order_relaxed));
	return used;
}

uint32_t vs_live_log_take_chunk(struct vs_live_log *log)
{
	uint32_t index = take_from_stock(log), nr = 1;

	if (index == VS_LIVE_LOG_NONE)
		index = take_unused(log, &nr);
	if (index != VS_LIVE_LOG_NONE)
		atomic_fetch_add_explicit(&log->header->nr_taken, 1, memory_order_relaxed);
	return index;
}

void vs_live_log_give_chunk(struct vs_live_log *log, uint32_t index)
{
	struct vs_live_chunk *chunk = vs_live_log_chunk(log, index);
	uint64_t old = atomic_load_explicit(&log->header->stock, memory_order_relaxed);
	uint64_t new;

	atomic_store_explicit(&chunk->ring, 0, memory_order_release);
	do {
		atomic_store_explicit(&chunk->next, (uint32_t)old, memory_order_relaxed);
		new = (old & ~(uint64_t)UINT32_MAX) | (index + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&log->header->stock, &old, new, memory_order_release, memory_order_relaxed));
	atomic_fetch_sub_explicit(&log->header->nr_taken, 1, memory_order_relaxed);
}

uint32_t vs_live_log_get_nr_free(const struct vs_live_log *log)
{
	uint32_t taken = atomic_load_explicit(&log->header->nr_taken, memory_order_relaxed);
	uint32_t nr = vs_live_log_get_nr_chunks(log);

	return taken < nr ? nr - taken : 0;
}

uint32_t vs_live_log_get_nr_chunks(const struct vs_live_log *log)
{
	return atomic_load_explicit(&log->header->nr_chunks, memory_order_acquire);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/*
 * In chunks: how many have pages before the first is full, which most processes never get to; how
 * many behind those that are in use; and how many at once are faulted in, while others who want to
 * map memory wait.
 */
#define NR_FIRST_PAGES 8u
#define NR_AHEAD       64u
#define NR_FAULTS_STEP 8u

static uint32_t get_nr_used(const struct vs_live_log *log)
{
	return atomic_load_explicit(&log->header->nr_used, memory_order_relaxed);
}

/*
 * Writes the pages of some that were never used, and puts them into the stock, the first on top.
 * Nobody else has them meanwhile: what is written would be in the place of records. So as many stay
 * for threads that come now.
 */
static void write_chunks(struct vs_live_log *log, const char *path, uint32_t nr)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	uint32_t first, nr_wanted;

	if (fd < 0)
		return;
	if (!is_log(fd, log))
		goto close_fd;
	/* Before they are: they must not look free to those who find none. */
	atomic_fetch_add_explicit(&log->header->nr_taken, nr, memory_order_relaxed);
	nr_wanted = nr;
	first = take_unused(log, &nr);
	if (first == VS_LIVE_LOG_NONE)
		nr = 0;
	atomic_fetch_sub_explicit(&log->header->nr_taken, nr_wanted - nr, memory_order_relaxed);
	if (nr)
		(void)write_pages(fd, size_of(first), size_of(nr) - size_of(0));
	while (nr-- > 0)
		vs_live_log_give_chunk(log, first + nr);
close_fd:
	close(fd);
}

/* Later ones were written when the log grew. */
static void write_first(struct vs_live_log *log, const char *path)
{
	uint32_t used = get_nr_used(log);
	uint32_t taken = atomic_load_explicit(&log->header->nr_taken, memory_order_relaxed);
	uint32_t ready = used > taken ? used - taken : 0;

	if (taken < 2 || ready >= NR_AHEAD / 2 || used + 1 >= log->nr_first)
		return;
	write_chunks(log, path, min(NR_AHEAD, (log->nr_first - used) / 2));
}

static void fault_in(struct vs_live_log *log)
{
	uint32_t nr = atomic_load_explicit(&log->nr_populated, memory_order_relaxed);
	uint32_t used = get_nr_used(log);
	uint32_t wanted =
		min(used < 2 ? NR_FIRST_PAGES : used + NR_AHEAD, vs_live_log_get_nr_chunks(log));

	/* What is in use has its pages. */
	for (nr = nr < used ? used - 1 : nr; nr < wanted;) {
		uint32_t end = min(nr + NR_FAULTS_STEP, wanted);

		if (madvise(vs_live_log_chunk(log, nr), (size_t)(end - nr) * VS_LIVE_CHUNK_SIZE,
			    MADV_POPULATE_WRITE) < 0) {
			atomic_store_explicit(&log->nr_populated, UINT32_MAX, memory_order_relaxed);
			break;
		}
		nr = end;
		atomic_store_explicit(&log->nr_populated, nr, memory_order_relaxed);
	}
}

void vs_live_log_populate(struct vs_live_log *log, const char *path)
{
	int saved = errno;

	if (log->is_written)
		write_first(log, path);
	else
		fault_in(log);
	errno = saved;
}
