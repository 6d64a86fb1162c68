#include "card.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "card_inside.h"
#include "log.h"
#include "process.h"

#define CARD_MAGIC    0x73676332 /* "2cgs": layout of struct sg_card_shared */
#define NR_SLOTS      SG_CARD_NR_SLOTS
#define LABEL_SIZE    240  /* name of the memfd; the kernel takes 249 */
#define LOCK_PATIENCE 5000 /* milliseconds to wait for another newcomer */
#define HIGH_FD       512  /* out of the way of programs that number their own descriptors */

/*
 * How many fork()s lie between the first process and this one: tells a child that what it has
 * inherited is its parent's. Cheaper than getpid() on every charge.
 */
static unsigned nr_forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
	nr_forks++;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

static void rebuild_sums(struct sg_card_shared *shared)
{
	memset(shared->used, 0, sizeof(shared->used));
	for (int i = 0; i < shared->nr_slots; i++) {
		struct sg_card_slot *slot = &shared->slots[i];

		if (!atomic_load(&slot->pid))
			continue;
		for (int d = 0; d < SG_MAX_DEVICES; d++)
			shared->used[d] += atomic_load(&slot->size[d]);
	}
	sg_share_add_sizes(shared, shared->used);
	shared->first_free = 0; /* not a sum, but as easily left behind */
}

void sg_card_lock(struct sg_card *card)
{
	/* The owner may have died between a slot and the sum, also in taking back a slot. */
	if (pthread_mutex_lock(&card->shared->lock) == EOWNERDEAD) {
		rebuild_sums(card->shared);
		pthread_mutex_consistent(&card->shared->lock);
	}
}

void sg_card_unlock(struct sg_card *card)
{
	pthread_mutex_unlock(&card->shared->lock);
}

/* The slot of this process if it has one. Lock held. */
static struct sg_card_slot *get_own(struct sg_card *card)
{
	/* A child of fork() holds its parent's mapping, not its parent's memory. */
	if (card->own && card->forks != nr_forks) {
		card->own = NULL;
		memset(card->nr_holds, 0, sizeof(card->nr_holds));
	}
	return card->own;
}

bool sg_card_reap(struct sg_card *card)
{
	struct sg_card_shared *shared = card->shared;
	const struct sg_card_slot *own = get_own(card);
	bool any = false;

	for (int i = 0; i < shared->nr_slots; i++) {
		struct sg_card_slot *slot = &shared->slots[i];
		pid_t pid = atomic_load(&slot->pid);

		if (!pid || slot == own || sg_process_read_start(pid) == slot->start_time)
			continue;
		for (int d = 0; d < SG_MAX_DEVICES; d++)
			atomic_store(&slot->size[d], 0);
		sg_share_drop_slot(shared, i);
		atomic_store(&slot->pid, 0);
		any = true;
	}
	any |= sg_share_sweep(card);
	if (any)
		rebuild_sums(shared);
	return any;
}

/* A slot for this process. Lock held. */
struct sg_card_slot *sg_card_take_slot(struct sg_card *card)
{
	if (get_own(card))
		return card->own;
	for (int attempt = 0; attempt < 2; attempt++) {
		for (int i = 0; i < NR_SLOTS; i++) {
			struct sg_card_slot *slot = &card->shared->slots[i];

			if (atomic_load(&slot->pid))
				continue;
			for (int d = 0; d < SG_MAX_DEVICES; d++)
				atomic_store(&slot->size[d], 0);
			if (i >= card->shared->nr_slots)
				card->shared->nr_slots = i + 1;
			slot->start_time = sg_process_read_start(getpid());
			atomic_store(&slot->pid, getpid());
			card->own = slot;
			card->forks = nr_forks;
			return slot;
		}
		sg_card_reap(card);
	}
	sg_log_say("more than %d processes on one card", NR_SLOTS);
	return NULL;
}

int sg_card_charge(struct sg_card *card, int device, uint64_t size)
{
	struct sg_card_shared *shared = card->shared;
	struct sg_card_slot *slot;
	int err = -1;

	sg_card_lock(card);
	slot = sg_card_take_slot(card);
	if (!slot || size > shared->capacity[device])
		goto unlock;
	if (shared->used[device] + size > shared->capacity[device] &&
	    (!sg_card_reap(card) || shared->used[device] + size > shared->capacity[device]))
		goto unlock;
	/* Slot first: the sums can be rebuilt from the slots, not the other way round. */
	atomic_fetch_add(&slot->size[device], size);
	shared->used[device] += size;
	err = 0;
unlock:
	sg_card_unlock(card);
	return err;
}

void sg_card_uncharge(struct sg_card *card, int device, uint64_t size)
{
	struct sg_card_slot *slot;

	sg_card_lock(card);
	slot = get_own(card);
	if (slot) {
		if (size > atomic_load(&slot->size[device]))
			size = atomic_load(&slot->size[device]);
		atomic_fetch_sub(&slot->size[device], size);
		card->shared->used[device] -= size;
	}
	sg_card_unlock(card);
}

void sg_card_get_usage(struct sg_card *card, int device, uint64_t *total, uint64_t *used)
{
	sg_card_lock(card);
	sg_card_reap(card);
	*total = card->shared->capacity[device];
	*used = card->shared->used[device];
	sg_card_unlock(card);
}

unsigned sg_card_get_processes(struct sg_card *card, int device, struct sg_card_process *out,
			       unsigned max)
{
	unsigned n = 0;

	sg_card_lock(card);
	sg_card_reap(card);
	for (int i = 0; i < card->shared->nr_slots; i++) {
		struct sg_card_slot *slot = &card->shared->slots[i];
		uint64_t size = atomic_load(&slot->size[device]);

		if (!atomic_load(&slot->pid))
			continue;
		size += sg_share_get_size_of(card->shared, i, device);
		if (!size)
			continue;
		if (n < max)
			out[n] = (struct sg_card_process){.pid = slot->pid, .size = size};
		n++;
	}
	sg_card_unlock(card);
	return n;
}

int sg_card_get_nr_devices(const struct sg_card *card)
{
	return card->shared->nr_devices;
}

/* fd -1: memory without a file, for this process alone. */
static struct sg_card_shared *map_shared(int fd)
{
	int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
	void *base =
		mmap(NULL, sizeof(struct sg_card_shared), PROT_READ | PROT_WRITE, flags, fd, 0);

	return base == MAP_FAILED ? NULL : base;
}

static void fill_shared(struct sg_card_shared *shared, const struct sg_config *config)
{
	pthread_mutexattr_t attr;

	shared->nr_devices = config->nr_devices;
	shared->next_offset = (sizeof(*shared) + SG_PAGE_SIZE - 1) & ~(SG_PAGE_SIZE - 1);
	for (int d = 0; d < config->nr_devices; d++)
		shared->capacity[d] = config->profile.memory_size;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	atomic_store(&shared->magic, CARD_MAGIC);
}

/* A new memfd, filled in. Returns its descriptor or -1. */
static int create_shared(const char *label, const struct sg_config *config)
{
	struct sg_card_shared *shared;
	int fd = memfd_create(label, MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)sizeof(struct sg_card_shared)) < 0 || !(shared = map_shared(fd))) {
		close(fd);
		return -1;
	}
	fill_shared(shared, config);
	munmap(shared, sizeof(*shared));
	return fd;
}

/* Beyond RLIMIT_FSIZE the kernel answers ftruncate() with a signal that ends the program. */
static bool may_have_file(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       limit.rlim_cur >= sizeof(struct sg_card_shared);
}

/*
 * Look through one folder of descriptors for the memfd of that link text. *nr_seen: descriptors the
 * folder had.
 */
static int find_in_folder(const char *path, const char *link_text, int *nr_seen)
{
	char target[LABEL_SIZE + 64];
	struct dirent *entry;
	int found = -1;
	DIR *dir = opendir(path);

	*nr_seen = 0;
	if (!dir)
		return -1;
	while (found < 0 && (entry = readdir(dir))) {
		struct stat st;
		ssize_t n;

		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		++*nr_seen;
		target[n] = '\0';
		if (strcmp(target, link_text) != 0)
			continue;
		found = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
		/* root can look into everybody's processes, but shares with nobody. */
		if (found >= 0 && (fstat(found, &st) < 0 || st.st_uid != geteuid() ||
				   st.st_size < (off_t)sizeof(struct sg_card_shared))) {
			close(found);
			found = -1;
		}
	}
	closedir(dir);
	return found;
}

/* The process is not one of a container inside ours, where pids mean other processes. */
static bool has_our_pids(const char *pid)
{
	char path[300];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &theirs) == 0 && stat("/proc/thread-self/ns/pid", &ours) == 0 &&
	       theirs.st_ino == ours.st_ino;
}

static int find_in_process(const char *pid, const char *link_text)
{
	char path[600];
	struct dirent *entry;
	int nr_seen, fd;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	fd = find_in_folder(path, link_text, &nr_seen);
	if (nr_seen)
		return fd;
	/* A leader that left takes its view of the descriptors along; other threads have it. */
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (!nr_seen && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/fd", pid, entry->d_name);
		fd = find_in_folder(path, link_text, &nr_seen);
	}
	closedir(dir);
	return fd;
}

static int find_shared(const char *label)
{
	char link_text[LABEL_SIZE + 64];
	struct dirent *entry;
	int fd = -1;
	DIR *proc = opendir("/proc");

	if (!proc) {
		sg_log_say("no /proc to find the card in: this process has one of its own");
		return -1;
	}
	snprintf(link_text, sizeof(link_text), "/memfd:%s (deleted)", label);
	while (fd < 0 && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    has_our_pids(entry->d_name))
			fd = find_in_process(entry->d_name, link_text);
	closedir(proc);
	return fd;
}

/*
 * Newcomers take turns, so that two of them do not make two cards. The lock is on a directory that
 * exists anyway and dies with its holder. -1 when it cannot be had.
 */
static int lock_newcomers(void)
{
	static const char *const places[] = {"/dev/shm", "/tmp", "/"};
	const struct timespec pause = {.tv_nsec = 1000000};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(places[0]); i++)
		fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited++) {
		if (waited == LOCK_PATIENCE) {
			close(fd);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* memfd_create() takes 249 characters; names that only differ behind that are told apart, too. */
static void make_label(char label[LABEL_SIZE], const char *name)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	int n = snprintf(label, LABEL_SIZE, "softgpu-card:%s", name);

	if (n < LABEL_SIZE)
		return;
	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
	snprintf(label + LABEL_SIZE - 18, 18, "#%016llx", (unsigned long long)hash);
}

static int find_or_create(const char *name, const struct sg_config *config)
{
	char label[LABEL_SIZE];
	int turn, fd;

	if (!name)
		return create_shared("softgpu-card", config);
	make_label(label, name);
	turn = lock_newcomers();
	fd = turn < 0 ? -1 : find_shared(label);
	if (turn < 0)
		sg_log_say("cannot take turns looking for card %s: this process has its own", name);
	if (fd < 0)
		fd = create_shared(label, config);
	if (turn >= 0) {
		/* Closing alone would not do if another thread has forked meanwhile. */
		flock(turn, LOCK_UN);
		close(turn);
	}
	return fd;
}

struct sg_card *sg_card_open(const char *name, const struct sg_config *config)
{
	struct sg_card *card = calloc(1, sizeof(*card));
	int fd = -1, high;

	pthread_once(&once, watch_forks);
	if (!card)
		goto fail;
	card->fd = -1;
	if (!may_have_file()) {
		sg_log_say("RLIMIT_FSIZE is too low for a card that others could share");
		card->shared = map_shared(-1);
		if (!card->shared)
			goto fail;
		fill_shared(card->shared, config);
		return card;
	}
	fd = find_or_create(name, config);
	if (fd < 0)
		goto fail;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	card->shared = map_shared(fd);
	if (!card->shared)
		goto fail;
	card->fd = fd;
	if (card->shared->magic == CARD_MAGIC)
		return card;
	munmap(card->shared, sizeof(*card->shared));
fail:
	sg_log_say("no memory for the card: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(card);
	return NULL;
}

void sg_card_close(struct sg_card *card)
{
	struct sg_card_slot *own;

	sg_card_lock(card);
	own = get_own(card);
	if (own) {
		for (int d = 0; d < SG_MAX_DEVICES; d++)
			atomic_store(&own->size[d], 0);
		sg_share_drop_slot(card->shared, (int)(own - card->shared->slots));
		atomic_store(&own->pid, 0);
		sg_share_sweep(card);
		rebuild_sums(card->shared);
	}
	sg_card_unlock(card);
	munmap(card->shared, sizeof(*card->shared));
	if (card->fd >= 0)
		close(card->fd);
	free(card);
}
