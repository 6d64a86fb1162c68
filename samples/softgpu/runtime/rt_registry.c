/*
 * What nvcc's code registers at load time: fat binaries, and in each of them kernels and variables
 * under their host addresses. A large framework registers some 40,000 names before main(), so
 * entries come from blocks, names are not copied, and the table grows by doubling.
 */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

#define FIRST_BLOCK 8
#define LAST_BLOCK  512
#define FIRST_TABLE 1024 /* a power of two */

struct block {
	struct block *next;
	size_t nr_used, nr_entries;
	struct sg_rt_entry entries[];
};

struct sg_rt_fatbin {
	const void *wrapper;
	struct sg_rt_fatbin *next;
	struct block *first, *last; /* lock */
	pthread_mutex_t load_lock;  /* one thread loads, others wait for its library */
	CUlibrary library;          /* load_lock */
};

/*
 * Everything below is under the lock. Chains are newest first: of two fat binaries that register
 * one address (a template kernel in two translation units) the later one answers, and the earlier
 * one again when the later is gone.
 */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct sg_rt_fatbin *fatbins;
static struct sg_rt_entry **table;
static size_t table_size, nr_entries;

static void lock_for_fork(void)
{
	pthread_rwlock_wrlock(&lock);
}

static void unlock_after_fork(void)
{
	pthread_rwlock_unlock(&lock);
}

/* The child has the one thread that forked; a new lock is the only safe one there. */
static void renew_lock(void)
{
	pthread_rwlock_init(&lock, NULL);
}

/* A child may load libraries that register kernels, whatever other threads did at the fork. */
static void watch_forks(void)
{
	pthread_atfork(lock_for_fork, unlock_after_fork, renew_lock);
}

static size_t slot_of(const void *host, size_t size)
{
	uint64_t key = (uint64_t)(uintptr_t)host;

	/* Host stubs are aligned: mix the high bits down (Fibonacci hashing). */
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (size - 1);
}

static void grow_table(void)
{
	size_t size = table_size ? table_size * 2 : FIRST_TABLE;
	struct sg_rt_entry **bigger = calloc(size, sizeof(*bigger));
	size_t i;

	if (!bigger)
		return; /* longer chains, nothing worse */
	/* A chain is turned round before it is moved, so that it stays newest first. */
	for (i = 0; i < table_size; i++) {
		struct sg_rt_entry *reversed = NULL, *entry = table[i], *next;

		for (; entry; entry = next) {
			next = entry->hash_next;
			entry->hash_next = reversed;
			reversed = entry;
		}
		for (entry = reversed; entry; entry = next) {
			size_t slot = slot_of(entry->host, size);

			next = entry->hash_next;
			entry->hash_next = bigger[slot];
			bigger[slot] = entry;
		}
	}
	free(table);
	table = bigger;
	table_size = size;
}

static void unlink_entry(const struct sg_rt_entry *entry)
{
	struct sg_rt_entry **link = &table[slot_of(entry->host, table_size)];

	while (*link && *link != entry)
		link = &(*link)->hash_next;
	if (*link) {
		*link = entry->hash_next;
		nr_entries--;
	}
}

static struct sg_rt_entry *new_entry(struct sg_rt_fatbin *fatbin)
{
	struct block *block = fatbin->last;

	if (!block || block->nr_used == block->nr_entries) {
		size_t count = block ? block->nr_entries * 4 : FIRST_BLOCK;

		if (count > LAST_BLOCK)
			count = LAST_BLOCK;
		block = calloc(1, sizeof(*block) + count * sizeof(block->entries[0]));
		if (!block)
			return NULL;
		block->nr_entries = count;
		if (fatbin->last)
			fatbin->last->next = block;
		else
			fatbin->first = block;
		fatbin->last = block;
	}
	return &block->entries[block->nr_used++];
}

struct sg_rt_fatbin *sg_rt_registry_add_fatbin(const void *wrapper)
{
	struct sg_rt_fatbin *fatbin = calloc(1, sizeof(*fatbin));

	if (!fatbin)
		return NULL;
	pthread_once(&fork_once, watch_forks);
	fatbin->wrapper = wrapper;
	pthread_mutex_init(&fatbin->load_lock, NULL);
	pthread_rwlock_wrlock(&lock);
	fatbin->next = fatbins;
	fatbins = fatbin;
	pthread_rwlock_unlock(&lock);
	return fatbin;
}

struct sg_rt_entry *sg_rt_registry_add(struct sg_rt_fatbin *fatbin, enum sg_rt_kind kind,
				       const void *host, const char *name, size_t size,
				       bool constant)
{
	struct sg_rt_entry *entry = NULL;
	size_t slot;

	if (!fatbin || !host || !name)
		return NULL;
	pthread_rwlock_wrlock(&lock);
	if (nr_entries >= table_size)
		grow_table();
	if (table)
		entry = new_entry(fatbin);
	if (entry) {
		entry->host = host;
		entry->name = name;
		entry->fatbin = fatbin;
		entry->size = size;
		entry->kind = kind;
		entry->constant = constant;
		slot = slot_of(host, table_size);
		entry->hash_next = table[slot];
		table[slot] = entry;
		nr_entries++;
	}
	pthread_rwlock_unlock(&lock);
	return entry;
}

struct sg_rt_entry *sg_rt_registry_find(enum sg_rt_kind kind, const void *host)
{
	struct sg_rt_entry *entry = NULL;

	pthread_rwlock_rdlock(&lock);
	if (table)
		entry = table[slot_of(host, table_size)];
	while (entry && (entry->host != host || entry->kind != kind))
		entry = entry->hash_next;
	pthread_rwlock_unlock(&lock);
	return entry;
}

struct sg_rt_entry *sg_rt_registry_find_handle(const void *handle)
{
	struct sg_rt_entry *found = NULL;

	pthread_rwlock_rdlock(&lock);
	for (size_t i = 0; i < table_size && !found && handle; i++)
		for (struct sg_rt_entry *entry = table[i]; entry; entry = entry->hash_next)
			if (entry->kind == SG_RT_KERNEL && entry->handle == handle)
				found = entry;
	pthread_rwlock_unlock(&lock);
	return found;
}

void sg_rt_registry_visit(struct sg_rt_fatbin *fatbin,
			  bool (*visit)(struct sg_rt_entry *entry, void *data), void *data)
{
	struct block *block;
	size_t i;

	pthread_rwlock_rdlock(&lock);
	for (block = fatbin->first; block; block = block->next) {
		for (i = 0; i < block->nr_used; i++) {
			if (!visit(&block->entries[i], data))
				goto unlock;
		}
	}
unlock:
	pthread_rwlock_unlock(&lock);
}

/* Takes a fat binary off the list; false when it is not there (a foreign or repeated handle). */
static bool unlink_fatbin(const struct sg_rt_fatbin *fatbin)
{
	struct sg_rt_fatbin **link = &fatbins;

	while (*link && *link != fatbin)
		link = &(*link)->next;
	if (!*link)
		return false;
	*link = fatbin->next;
	return true;
}

bool sg_rt_registry_remove_fatbin(struct sg_rt_fatbin *fatbin, CUlibrary *library)
{
	struct block *block, *next;
	size_t i;

	pthread_rwlock_wrlock(&lock);
	if (!unlink_fatbin(fatbin)) {
		pthread_rwlock_unlock(&lock);
		return false;
	}
	for (block = fatbin->first; block; block = next) {
		next = block->next;
		for (i = 0; i < block->nr_used; i++)
			unlink_entry(&block->entries[i]);
		free(block);
	}
	/* Maybe the last call ever: a library that brought a runtime of its own is closed. */
	if (!fatbins) {
		free(table);
		table = NULL;
		table_size = 0;
	}
	pthread_rwlock_unlock(&lock);
	*library = fatbin->library;
	pthread_mutex_destroy(&fatbin->load_lock);
	free(fatbin);
	return true;
}

const void *sg_rt_registry_wrapper(const struct sg_rt_fatbin *fatbin)
{
	return fatbin->wrapper;
}

cudaError_t sg_rt_registry_library(struct sg_rt_fatbin *fatbin,
				   cudaError_t (*load)(struct sg_rt_fatbin *fatbin,
						       CUlibrary *library),
				   CUlibrary *library)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&fatbin->load_lock);
	if (!fatbin->library)
		error = load(fatbin, &fatbin->library);
	*library = fatbin->library;
	pthread_mutex_unlock(&fatbin->load_lock);
	return error;
}

size_t sg_rt_registry_count(void)
{
	size_t count;

	pthread_rwlock_rdlock(&lock);
	count = nr_entries;
	pthread_rwlock_unlock(&lock);
	return count;
}
