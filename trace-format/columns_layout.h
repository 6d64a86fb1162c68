#ifndef VS_COLUMNS_LAYOUT_H
#define VS_COLUMNS_LAYOUT_H

/* What the columns of a block are, and their bytes mean: docs/trace-format.md, section 3.5. */
#include "format.h"

/* No event takes more in all columns together, unpacked: the longest is an ALLOC_FAILED. */
#define VS_COLUMNS_EVENT_MAX 96

#define VS_NR_TIME_CLASSES 16

/* Columns in their order. Appended to, never renumbered: a reader skips those behind its own. */
enum vs_column {
	VS_COLUMN_SITE,
	VS_COLUMN_SIZE,
	VS_COLUMN_ADDRESS,
	VS_COLUMN_FREE,
	VS_COLUMN_TIME, /* one for each class */
	VS_COLUMN_TIME_END = VS_COLUMN_TIME + VS_NR_TIME_CLASSES,
	/* From here on, columns are left to zlib. */
	VS_COLUMN_SITE_LOW = VS_COLUMN_TIME_END,
	VS_COLUMN_SIZE_LOW,
	VS_COLUMN_ADDRESS_LOW,
	VS_COLUMN_FREE_LOW,
	VS_COLUMN_TIME_REST,
	VS_COLUMN_THREAD,
	VS_COLUMN_NEW_SITE,
	VS_COLUMN_ROW,
	VS_COLUMN_NEW_SIZE,    /* numbers in planes, as the next one */
	VS_COLUMN_NEW_ADDRESS, /* addresses that are no allocation's of this block */
	VS_NR_COLUMNS
};

/*
 * A byte of the first four columns: one of a few predictions, or a number in two parts: from _KNOWN
 * on the high part, and the low eight bits in the column's _LOW. _FAR: all of it is there, low byte
 * first.
 */
enum vs_column_site {
	VS_SITE_EXPECTED = 0, /* the one that came after the same three sites the last time */
	VS_SITE_NEW = 1,
	VS_SITE_KNOWN = 2,    /* + class + VS_NR_SITE_CLASSES * high part of its index */
	VS_SITE_FAR = 252,    /* class, index */
	VS_SITE_THREAD = 253, /* it is another thread than expected; the site's byte follows */
};

enum vs_column_size {
	VS_SIZE_OF_PLACE = 0, /* as after the same address at this site the last time */
	VS_SIZE_OF_SITE = 1,  /* as at this site the last time */
	VS_SIZE_NEW = 2,
	VS_SIZE_KNOWN = 3,
	VS_SIZE_FAR = 255,
};

enum vs_column_address {
	VS_ADDRESS_OF_PLACE = 0,
	VS_ADDRESS_FREED = 1,  /* of this size, the one freed last */
	VS_ADDRESS_BEHIND = 2, /* right behind the allocation before */
	VS_ADDRESS_NEW = 3,
	VS_ADDRESS_KNOWN = 4, /* + so many allocations ago */
	VS_ADDRESS_FAR = 255,
};

enum vs_column_free {
	VS_FREE_RANKED = 0, /* as many live allocations are newer as the last time */
	VS_FREE_NEW = 1,    /* no allocation of this block */
	VS_FREE_KNOWN = 2,  /* + so many allocations ago */
	VS_FREE_FAR = 255,
};

/* Time since the event before, in units: below 128 as it is, else as a power of two and two bits.
 */
enum vs_column_time {
	VS_TIME_POWER = 128,
	VS_TIME_POWER_BITS = 7, /* 128 is 2 to the power of 7 */
	VS_TIME_LAST_POWER = 37,
	VS_TIME_OTHER = 255, /* more, or backwards: a zigzag varint in VS_COLUMN_TIME_REST */
};

/* Sites are counted by class, so that the number of one is short. */
enum vs_site_class {
	VS_SITE_ALLOC,
	VS_SITE_FREE,
	VS_SITE_BLOCK_ALLOC,
	VS_SITE_BLOCK_FREE,
	VS_SITE_OTHER,
	VS_NR_SITE_CLASSES
};

static inline enum vs_site_class vs_columns_layout_get_class(uint32_t type)
{
	switch (type) {
	case VS_RECORD_ALLOC:
		return VS_SITE_ALLOC;
	case VS_RECORD_FREE:
		return VS_SITE_FREE;
	case VS_RECORD_BLOCK_ALLOC:
		return VS_SITE_BLOCK_ALLOC;
	case VS_RECORD_BLOCK_FREE:
		return VS_SITE_BLOCK_FREE;
	default:
		return VS_SITE_OTHER;
	}
}

#endif
