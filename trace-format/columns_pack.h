#ifndef VS_COLUMNS_PACK_H
#define VS_COLUMNS_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * A column whose bytes follow no pattern but are unequally frequent, as close to its entropy as it
 * goes (range ANS, a table for the whole column): docs/trace-format.md, section 3.5.2. zlib would
 * need a tenth more, and ten times as long. Any thread.
 */

/*
 * Packs a column; out has room for size bytes. Returns the bytes, or `size` if it cannot be made
 * smaller: then out holds the column as it is.
 */
size_t vs_columns_pack_put(uint8_t *out, const uint8_t *column, size_t size);

/* The column of `size` bytes that was packed. -VS_ERR_CORRUPT: it was not. */
VS_MUST_CHECK int vs_columns_pack_get(uint8_t *column, size_t size, const uint8_t *packed,
				      size_t packed_size);

#endif
