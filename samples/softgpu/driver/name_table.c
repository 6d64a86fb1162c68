#include "name_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 16
#define CHUNK_SIZE  4096
#define MAX_NAMES   (UINT32_MAX / 4)

struct sg_name_chunk {
	struct sg_name_chunk *next;
	size_t size;
	size_t used;
	char bytes[];
};

/* FNV-1a: names are short and nobody attacks their own kernels. */
static uint32_t hash_name(const char *name, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

/* The slot that holds the name, or the empty one where it belongs. nr_slots is not 0. */
static uint32_t *find_slot(const struct sg_name_table *table, const char *name, size_t length)
{
	uint32_t mask = table->nr_slots - 1;
	uint32_t i = hash_name(name, length) & mask;

	while (table->slots[i]) {
		const char *other = table->names[table->slots[i] - 1];

		if (!strncmp(other, name, length) && !other[length])
			break;
		i = (i + 1) & mask;
	}
	return &table->slots[i];
}

uint32_t sg_name_table_find(const struct sg_name_table *table, const char *name, size_t length)
{
	uint32_t *slot;

	if (!table->nr_slots)
		return SG_NAME_TABLE_NONE;
	slot = find_slot(table, name, length);
	return *slot ? *slot - 1 : SG_NAME_TABLE_NONE;
}

/* Twice the room; at most half of the slots are ever taken. */
static bool grow(struct sg_name_table *table)
{
	struct sg_name_table bigger = *table;

	bigger.nr_slots = table->nr_slots ? table->nr_slots * 2 : FIRST_SLOTS;
	bigger.names = realloc(table->names, bigger.nr_slots / 2 * sizeof(*bigger.names));
	if (!bigger.names)
		return false;
	table->names = bigger.names;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (uint32_t i = 0; i < table->nr_names; i++)
		*find_slot(&bigger, bigger.names[i], strlen(bigger.names[i])) = i + 1;
	free(table->slots);
	*table = bigger;
	return true;
}

static char *copy_name(struct sg_name_table *table, const char *name, size_t length)
{
	struct sg_name_chunk *chunk = table->chunks;
	char *copy;

	if (!chunk || chunk->size - chunk->used <= length) {
		size_t size = length >= CHUNK_SIZE ? length + 1 : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		*chunk = (struct sg_name_chunk){.next = table->chunks, .size = size};
		table->chunks = chunk;
	}
	copy = chunk->bytes + chunk->used;
	memcpy(copy, name, length);
	copy[length] = '\0';
	chunk->used += length + 1;
	return copy;
}

uint32_t sg_name_table_add(struct sg_name_table *table, const char *name, size_t length)
{
	uint32_t number = sg_name_table_find(table, name, length);
	char *copy;

	if (number != SG_NAME_TABLE_NONE)
		return number;
	if (table->nr_names == MAX_NAMES)
		return SG_NAME_TABLE_NONE;
	if (table->nr_names == table->nr_slots / 2 && !grow(table))
		return SG_NAME_TABLE_NONE;
	copy = copy_name(table, name, length);
	if (!copy)
		return SG_NAME_TABLE_NONE;
	number = table->nr_names;
	*find_slot(table, copy, length) = number + 1;
	table->names[number] = copy;
	table->nr_names++;
	return number;
}

void sg_name_table_fini(struct sg_name_table *table)
{
	while (table->chunks) {
		struct sg_name_chunk *next = table->chunks->next;

		free(table->chunks);
		table->chunks = next;
	}
	free(table->names);
	free(table->slots);
	*table = (struct sg_name_table){0};
}
