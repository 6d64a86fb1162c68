#ifndef SG_ADVICE_H
#define SG_ADVICE_H

#include "memory.h"

/*
 * What the program said about managed memory (cuMemAdvise, cuMemPrefetchAsync), page by page: kept
 * to be read back, and without other effect. A block that nobody spoke about has nothing; else it
 * has a list of stretches, in order, that together are the whole block; neighbours differ.
 *
 * The lock of memory.h guards all of it.
 */
#define SG_ADVICE_PAGE 4096

struct sg_advice_place {
	CUmemLocationType type; /* CU_MEM_LOCATION_TYPE_INVALID: none */
	int id;
};

struct sg_advice_settings {
	bool is_read_mostly;
	bool is_accessed_by_host;
	uint32_t accessed_by; /* a bit for each device */
	struct sg_advice_place preferred;
	struct sg_advice_place prefetched;
};

struct sg_advice {
	uint64_t begin; /* address; the stretch ends where the next one begins */
	struct sg_advice_settings settings;
	struct sg_advice *next;
};

typedef void sg_advice_change(struct sg_advice_settings *settings, const void *argument);
typedef void sg_advice_visit(const struct sg_advice_settings *settings, void *argument);

/*
 * Locked. The managed block that holds all of a range, rounded to pages: *begin and *end become
 * the part of it that is meant. NULL if there is none.
 */
struct sg_block *sg_advice_find(uint64_t address, uint64_t size, uint64_t *begin, uint64_t *end);

/* Locked. Change the settings of a range of the block. False when memory is out: nothing changed.
 */
bool sg_advice_set(struct sg_block *block, uint64_t begin, uint64_t end, sg_advice_change *change,
		   const void *argument);

/* Locked. Call visit for all settings within a range of the block. */
void sg_advice_for_each(const struct sg_block *block, uint64_t begin, uint64_t end,
			sg_advice_visit *visit, void *argument);

/* Locked. The block goes away. */
void sg_advice_forget(struct sg_block *block);

#endif
