#ifndef VS_INTERN_H
#define VS_INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * Numbers for byte strings (names, stacks): a hash table that only grows, of fixed size, without
 * locks. Any thread may find and add at any time.
 *
 * A slot is 0, or the upper half of the hash and the place of an entry in the arena. It is set once
 * (compare-and-exchange, release) after the entry is complete, so whoever sees it (acquire) sees
 * the whole entry. Two threads that add the same bytes at the same moment may both succeed, with
 * two numbers; later finds agree on one.
 */
struct vs_intern {
	_Atomic uint64_t *slots;
	uint32_t nr_slots; /* a power of two, at least twice max */
	uint32_t max;      /* most entries */
	unsigned char *arena;
	size_t arena_size;
	_Atomic size_t arena_used;
	_Atomic uint32_t nr;
	void *map; /* all of the above lies in it */
	size_t map_size;
};

/* Maps the memory; it is touched only as it fills. -VS_ERR_NO_MEMORY. One thread. */
VS_MUST_CHECK int vs_intern_init(struct vs_intern *table, uint32_t max, size_t arena_size);
void vs_intern_fini(struct vs_intern *table);

/* Forgets everything. One thread: a child right after its fork. */
void vs_intern_clear(struct vs_intern *table);

uint64_t vs_intern_hash(const void *bytes, size_t size, uint64_t seed);

/* The number under which the bytes were added, 0 for none. */
uint32_t vs_intern_find(const struct vs_intern *table, uint64_t hash, const void *bytes,
			size_t size);

/* Where the bytes lie that were added, NULL if they were not. */
const void *vs_intern_find_kept(const struct vs_intern *table, uint64_t hash, const void *bytes,
				size_t size);

/*
 * Keeps a copy of the bytes under a number. Returns where it lies, for good, or NULL when the table
 * is full.
 */
const void *vs_intern_add(struct vs_intern *table, uint64_t hash, const void *bytes, size_t size,
			  uint32_t number);

#endif
