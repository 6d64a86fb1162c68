#ifndef VS_COLUMNS_BYTES_H
#define VS_COLUMNS_BYTES_H

#include "columns.h"
#include "columns_fields.h"
#include "columns_layout.h"
#include "wire.h"

/*
 * What the encoder has made of the events of a block, column by column, and how it is written.
 * columns_encode.c fills it in; then it belongs to who writes it: another thread, as it may be.
 */

/* Numbers for a column in planes, in order. */
struct vs_columns_numbers {
	uint32_t nr;
	uint64_t values[VS_COLUMNS_MAX];
};

struct vs_columns_bytes {
	uint32_t time_unit_ns;
	uint32_t nr; /* events */
	uint64_t first_time;
	uint8_t *ends[VS_NR_COLUMNS]; /* of what is in the buffers */
	uint32_t nr_parts;            /* of what was written last */
	struct vs_byte_texture_part parts[VS_COLUMNS_NR_PARTS];
	struct vs_columns_numbers sizes, addresses;
	/* Bytes of time columns with their classes, event by event; and the bytes class by class.
	 * To write them into 16 columns at once would touch more memory, and more of it with every
	 * block that has other times. */
	uint8_t times[VS_COLUMNS_MAX], time_classes[VS_COLUMNS_MAX], sorted_times[VS_COLUMNS_MAX];
	uint32_t time_ends[VS_NR_TIME_CLASSES];
	/* As long as a column can become. */
	uint8_t codes[VS_COLUMN_TIME][VS_COLUMNS_MAX * 2];
	uint8_t lows[4][VS_COLUMNS_MAX * 3];
	uint8_t time_rests[VS_COLUMNS_MAX * VS_WIRE_VARINT_MAX];
	uint8_t threads[VS_COLUMNS_MAX * 8];
	uint8_t new_sites[VS_COLUMNS_MAX * (3 + 5 * VS_COLUMNS_FIELDS_MAX)];
	uint8_t rows[VS_COLUMNS_MAX * VS_WIRE_VARINT_MAX * VS_COLUMNS_ROWS_MAX];
};

/* Where a column begins; NULL: it is made from numbers, or from all times. */
uint8_t *vs_columns_bytes_of(struct vs_columns_bytes *content, enum vs_column column);

#endif
