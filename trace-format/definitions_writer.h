#ifndef VS_DEFINITIONS_WRITER_H
#define VS_DEFINITIONS_WRITER_H

#include "codec.h"
#include "record.h"
#include "stack_tree.h"

/*
 * The payload of a DEFINITIONS block in the making: docs/trace-format.md, section 3.3. One thread,
 * in other people's programs.
 */

/* Bytes that one definition takes at most: a stack all of whose frames are new, twice a row. */
#define VS_DEFINITIONS_WRITER_MAX (2u * VS_CODEC_MAX)

/*
 * Writes a definition at `out`, where VS_DEFINITIONS_WRITER_MAX bytes are free; a STACK as the
 * nodes that are new and one row that names the innermost. Returns the bytes; adds to *nr_rows.
 */
size_t vs_definitions_writer_put(uint8_t *out, const struct vs_record *record,
				 struct vs_stack_tree *tree, uint32_t *nr_rows);

#endif
