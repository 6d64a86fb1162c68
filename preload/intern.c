#include "intern.h"

#include <string.h>
#include <sys/mman.h>

struct entry {
	uint32_t number;
	uint32_t size;
	unsigned char bytes[];
};

#define ENTRY_ALIGN  8
#define HASH_PRIME_1 UINT64_C(0x9e3779b97f4a7c15)
#define HASH_PRIME_2 UINT64_C(0xe7037ed1a0b428db)

int vs_intern_init(struct vs_intern *table, uint32_t max, size_t arena_size)
{
	uint32_t nr_slots = 2;
	size_t slots_size, map_size;
	void *map;

	while (nr_slots < 2 * max)
		nr_slots *= 2;
	slots_size = nr_slots * sizeof(*table->slots);
	map_size = slots_size + arena_size;
	map = mmap(NULL, map_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	memset(table, 0, sizeof(*table));
	table->map = map;
	table->map_size = map_size;
	table->slots = map;
	table->nr_slots = nr_slots;
	table->max = max;
	table->arena = (unsigned char *)map + slots_size;
	table->arena_size = arena_size;
	return 0;
}

void vs_intern_fini(struct vs_intern *table)
{
	if (table->map)
		munmap(table->map, table->map_size);
	memset(table, 0, sizeof(*table));
}

void vs_intern_clear(struct vs_intern *table)
{
	if (!table->map)
		return;
	/* Gives zeroed pages and the memory back; by hand where that is refused. */
	if (madvise(table->map, table->map_size, MADV_DONTNEED) < 0)
		memset(table->slots, 0, table->nr_slots * sizeof(*table->slots));
	atomic_store_explicit(&table->arena_used, 0, memory_order_relaxed);
	atomic_store_explicit(&table->nr, 0, memory_order_relaxed);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Fast before strong: whoever finds an entry compares it byte by byte. */
static uint64_t stir(uint64_t lane, const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return ((lane << 29 | lane >> 35) ^ word) * HASH_PRIME_1;
}

uint64_t vs_intern_hash(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *p = bytes;
	uint64_t a = seed ^ HASH_PRIME_1, b = size ^ HASH_PRIME_2, c = seed + size, d = 0;
	uint64_t word = 0;

	/* A stack has many words: multiplications that wait for each other are what costs. */
	for (; size >= 4 * sizeof(word); size -= 4 * sizeof(word), p += 4 * sizeof(word)) {
		a = stir(a, p);
		b = stir(b, p + sizeof(word));
		c = stir(c, p + 2 * sizeof(word));
		d = stir(d, p + 3 * sizeof(word));
	}
	if (size >= 2 * sizeof(word)) {
		a = stir(a, p);
		b = stir(b, p + sizeof(word));
		size -= 2 * sizeof(word);
		p += 2 * sizeof(word);
	}
	if (size >= sizeof(word)) {
		c = stir(c, p);
		size -= sizeof(word);
		p += sizeof(word);
	}
	memcpy(&word, p, size);
	return mix(mix(a ^ HASH_PRIME_2, b ^ word), mix(c ^ HASH_PRIME_1, d ^ HASH_PRIME_2));
}

static uint32_t upper(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Slots hold places in units of ENTRY_ALIGN, from 1 on. */
static const struct entry *entry_of(const struct vs_intern *table, uint64_t slot)
{
	return (const void *)(table->arena + ((size_t)(uint32_t)slot - 1) * ENTRY_ALIGN);
}

static const struct entry *find(const struct vs_intern *table, uint64_t hash, const void *bytes,
				size_t size)
{
	for (uint32_t i = 0; i < table->nr_slots; i++) {
		uint32_t at = ((uint32_t)hash + i) & (table->nr_slots - 1);
		uint64_t slot = atomic_load_explicit(&table->slots[at], memory_order_acquire);
		const struct entry *entry;

		if (!slot)
			break;
		if (upper(slot) != upper(hash))
			continue;
		entry = entry_of(table, slot);
		if (entry->size == size && memcmp(entry->bytes, bytes, size) == 0)
			return entry;
	}
	return NULL;
}

uint32_t vs_intern_find(const struct vs_intern *table, uint64_t hash, const void *bytes,
			size_t size)
{
	const struct entry *entry = find(table, hash, bytes, size);

	return entry ? entry->number : 0;
}

const void *vs_intern_find_kept(const struct vs_intern *table, uint64_t hash, const void *bytes,
				size_t size)
{
	const struct entry *entry = find(table, hash, bytes, size);

	return entry ? entry->bytes : NULL;
}

/* Room for an entry, NULL when there is none. Room and count that are taken are never given back.
 */
static struct entry *allocate(struct vs_intern *table, size_t size)
{
	size_t room = (sizeof(struct entry) + size + ENTRY_ALIGN - 1) & ~(size_t)(ENTRY_ALIGN - 1);
	size_t used;

	if (atomic_load_explicit(&table->nr, memory_order_relaxed) >= table->max ||
	    atomic_fetch_add_explicit(&table->nr, 1, memory_order_relaxed) >= table->max)
		return NULL;
	used = atomic_load_explicit(&table->arena_used, memory_order_relaxed);
	do {
		if (room > table->arena_size - used)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&table->arena_used, &used, used + room,
							memory_order_relaxed,
							memory_order_relaxed));
	return (struct entry *)(void *)(table->arena + used);
}

const void *vs_intern_add(struct vs_intern *table, uint64_t hash, const void *bytes, size_t size,
			  uint32_t number)
{
	struct entry *entry = table->map ? allocate(table, size) : NULL;
	uint64_t slot, empty;

	if (!entry)
		return NULL;
	entry->number = number;
	entry->size = (uint32_t)size;
	memcpy(entry->bytes, bytes, size);
	slot = (uint64_t)upper(hash) << 32 |
	       ((size_t)((unsigned char *)entry - table->arena) / ENTRY_ALIGN + 1);
	/* There are more slots than entries: the search ends. */
	for (uint32_t at = (uint32_t)hash;; at++) {
		empty = 0;
		if (atomic_compare_exchange_strong_explicit(
			    &table->slots[at & (table->nr_slots - 1)], &empty, slot,
			    memory_order_release, memory_order_relaxed))
			return entry->bytes;
	}
}
