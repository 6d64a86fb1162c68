#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* recursive mutexes that need no code to initialise them */
#endif
#include "object.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK 64 /* slots; each further chunk holds twice as many */
#define NR_CHUNKS   20
#define NONE        UINT32_MAX

/* Before each object. */
struct slot {
	_Atomic uint32_t is_live;
	uint32_t next_free; /* index, guarded by the table's lock */
	uint64_t padding;   /* objects start on 16 bytes */
};

/*
 * chunks[] and nr_chunks only grow. A chunk is stored before nr_chunks counts it, so readers need
 * no lock. The free list is a queue.
 */
struct table {
	pthread_mutex_t lock;
	size_t stride;
	_Atomic(char *) chunks[NR_CHUNKS];
	_Atomic uint32_t nr_chunks;
	uint32_t free_head;
	uint32_t free_tail;
	uint32_t nr_free;
};

static struct table tables[SG_NR_OBJECT_TYPES] = {
	/* recursive: an object may be destroyed by who visits it */
	[0 ... SG_NR_OBJECT_TYPES - 1] = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
					  .free_head = NONE,
					  .free_tail = NONE},
};

static uint32_t chunk_length(uint32_t chunk)
{
	return (uint32_t)FIRST_CHUNK << chunk;
}

static struct slot *slot_at(struct table *table, uint32_t index)
{
	uint32_t chunk = 0;

	while (index >= chunk_length(chunk))
		index -= chunk_length(chunk++);
	return (struct slot *)(void *)(table->chunks[chunk] + index * table->stride);
}

static void append_free(struct table *table, uint32_t index)
{
	struct slot *slot = slot_at(table, index);

	slot->next_free = NONE;
	if (table->free_tail == NONE)
		table->free_head = index;
	else
		slot_at(table, table->free_tail)->next_free = index;
	table->free_tail = index;
	table->nr_free++;
}

static bool grow(struct table *table)
{
	uint32_t chunk = table->nr_chunks, first = 0;
	char *memory;

	if (chunk == NR_CHUNKS)
		return false;
	memory = calloc(chunk_length(chunk), table->stride);
	if (!memory)
		return false;
	table->chunks[chunk] = memory;
	atomic_store_explicit(&table->nr_chunks, chunk + 1, memory_order_release);
	for (uint32_t i = 0; i < chunk; i++)
		first += chunk_length(i);
	for (uint32_t i = 0; i < chunk_length(chunk); i++)
		append_free(table, first + i);
	return true;
}

void *sg_object_create_from(enum sg_object_type type, const void *contents, unsigned size)
{
	struct table *table = &tables[type];
	struct slot *slot = NULL;

	pthread_mutex_lock(&table->lock);
	if (!table->stride)
		table->stride = (sizeof(struct slot) + size + 15) & ~(size_t)15;
	if (table->nr_free || grow(table)) {
		slot = slot_at(table, table->free_head);
		table->free_head = slot->next_free;
		if (table->free_head == NONE)
			table->free_tail = NONE;
		table->nr_free--;
		memset(slot + 1, 0, table->stride - sizeof(*slot));
		if (contents)
			memcpy(slot + 1, contents, size);
		atomic_store_explicit(&slot->is_live, 1, memory_order_release);
	}
	pthread_mutex_unlock(&table->lock);
	return slot ? slot + 1 : NULL;
}

void *sg_object_create(enum sg_object_type type, unsigned size)
{
	return sg_object_create_from(type, NULL, size);
}

/* The slot and its index if handle is an address that was ever given out. */
static struct slot *find_slot(struct table *table, const void *handle, uint32_t *index)
{
	uint32_t nr_chunks = atomic_load_explicit(&table->nr_chunks, memory_order_acquire);
	uintptr_t address = (uintptr_t)handle - sizeof(struct slot);
	uint32_t first = 0;

	for (uint32_t i = 0; i < nr_chunks; i++) {
		uintptr_t base = (uintptr_t)table->chunks[i];
		uintptr_t offset = address - base;

		if (address >= base && offset < chunk_length(i) * table->stride) {
			if (offset % table->stride)
				return NULL;
			*index = first + (uint32_t)(offset / table->stride);
			return (struct slot *)address;
		}
		first += chunk_length(i);
	}
	return NULL;
}

void *sg_object_get(enum sg_object_type type, const void *handle)
{
	uint32_t index;
	struct slot *slot = find_slot(&tables[type], handle, &index);

	if (!slot || !atomic_load_explicit(&slot->is_live, memory_order_acquire))
		return NULL;
	return slot + 1;
}

void sg_object_destroy(enum sg_object_type type, void *object)
{
	struct table *table = &tables[type];
	uint32_t index;
	struct slot *slot = find_slot(table, object, &index);

	if (!slot)
		return;
	pthread_mutex_lock(&table->lock);
	if (atomic_exchange(&slot->is_live, 0))
		append_free(table, index);
	pthread_mutex_unlock(&table->lock);
}

void sg_object_for_each(enum sg_object_type type, void (*visit)(void *object, void *argument),
			void *argument)
{
	struct table *table = &tables[type];
	uint32_t nr_chunks;

	pthread_mutex_lock(&table->lock);
	nr_chunks = table->nr_chunks;
	for (uint32_t c = 0; c < nr_chunks; c++) {
		for (uint32_t i = 0; i < chunk_length(c); i++) {
			struct slot *slot =
				(struct slot *)(void *)(table->chunks[c] + i * table->stride);

			if (atomic_load_explicit(&slot->is_live, memory_order_acquire))
				visit(slot + 1, argument);
		}
	}
	pthread_mutex_unlock(&table->lock);
}
