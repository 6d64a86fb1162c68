#ifndef VS_PAGE_COLUMNS_H
#define VS_PAGE_COLUMNS_H

/*
 * The changes of a trace as columns, packed into parts of a page: docs/page-format.md, "Changes".
 * Knows no replay. Memory: one part, however many there are. One thread at a time.
 */
#include <stdio.h>

#include "error.h"
#include "pack.h"

enum vs_page_change {
	VS_PAGE_BORN,
	VS_PAGE_DIED,
	VS_PAGE_CHARGED,
	VS_PAGE_DISCHARGED,
	VS_PAGE_RESERVED,
	VS_PAGE_STEP,
	VS_PAGE_PUSH,
	VS_PAGE_POP,
	VS_PAGE_FAILED,
	VS_PAGE_MARK,
	VS_PAGE_RANGE_START,
	VS_PAGE_RANGE_END,
	VS_PAGE_LOST,
};

/* Bits of an item's flags. */
enum vs_page_flag {
	VS_PAGE_IS_LIVE = 1,
	VS_PAGE_IS_RESERVED = 2,
	VS_PAGE_IS_DIVIDED = 4,
	VS_PAGE_IS_ON_DEVICE = 8,
	VS_PAGE_IS_CONTINUED = 16,
	VS_PAGE_HAS_ADDRESS = 32,
	VS_PAGE_IS_INSIDE = 64,
};

/* Numbers as the columns have them: with 0 for none where there may be none. */
struct vs_page_birth {
	uint64_t address;
	uint64_t size;
	uint32_t flags;
	uint32_t kind;
	uint32_t device;
	uint32_t site;
	uint32_t pool;
	uint32_t owner;
	uint32_t api;
	uint32_t phase;
};

/* The columns of numbers that go as they are. */
enum vs_page_column {
	VS_PAGE_COLUMN_TYPES,
	VS_PAGE_COLUMN_TIMES,
	VS_PAGE_COLUMN_ITEMS,
	VS_PAGE_COLUMN_ARGUMENTS,
	VS_PAGE_COLUMN_FLAGS,
	VS_PAGE_COLUMN_KINDS,
	VS_PAGE_COLUMN_DEVICES,
	VS_PAGE_COLUMN_SITES,
	VS_PAGE_COLUMN_POOLS,
	VS_PAGE_COLUMN_OWNERS,
	VS_PAGE_COLUMN_APIS,
	VS_PAGE_COLUMN_PHASES,
	VS_PAGE_COLUMN_HIGH,
	VS_PAGE_COLUMN_LOW,
	VS_PAGE_COLUMN_SIZES,
	VS_PAGE_NR_COLUMNS
};

struct vs_page_columns {
	FILE *file;     /* where parts go; the caller's */
	uint32_t trace; /* whose they are */
	uint64_t nr_changes;
	uint64_t nr_items;
	/* The part that is being filled. */
	uint32_t nr_in_part;
	uint32_t nr_births;
	struct vs_pack columns[VS_PAGE_NR_COLUMNS];
	uint64_t *addresses; /* of its births */
	uint64_t *sizes;
	size_t addresses_capacity;
	size_t sizes_capacity;
	uint64_t last_ns;
	uint64_t last_address; /* of the part before */
};

void vs_page_columns_init(struct vs_page_columns *columns, FILE *file, uint32_t trace);
void vs_page_columns_fini(struct vs_page_columns *columns);

/* Times never go back. *number: that of the item. Errors: -VS_ERR_NO_MEMORY, -VS_ERR_IO. */
VS_MUST_CHECK int vs_page_columns_add_birth(struct vs_page_columns *columns, uint64_t time_ns,
					    const struct vs_page_birth *birth, uint64_t *number);

/* DIED, CHARGED, DISCHARGED. */
VS_MUST_CHECK int vs_page_columns_add_item(struct vs_page_columns *columns,
					   enum vs_page_change type, uint64_t time_ns,
					   uint64_t number);

/* The others, with their fields; a signed one is zigzag. */
VS_MUST_CHECK int vs_page_columns_add(struct vs_page_columns *columns, enum vs_page_change type,
				      uint64_t time_ns, const uint64_t *fields, size_t nr_fields);

/* After the last change: writes what is left. */
VS_MUST_CHECK int vs_page_columns_finish(struct vs_page_columns *columns);

/* Writes any bytes as a part: deflated, in base64, as an element of the page. */
VS_MUST_CHECK int vs_page_columns_put_part(FILE *file, uint32_t trace, const char *kind,
					   const void *bytes, size_t size);

/* Small numbers for small differences, of either sign. */
static inline uint64_t vs_page_columns_fold(int64_t value)
{
	return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

#endif
