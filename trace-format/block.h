#ifndef VS_BLOCK_H
#define VS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "format.h"

/* The frames of a trace file: its header and the headers of its blocks. docs/trace-format.md,
 * section 3. Any thread. */

void vs_block_put_file_header(uint8_t out[VS_FORMAT_HEADER_SIZE]);

/*
 * 0, -VS_ERR_EMPTY, -VS_ERR_NOT_A_TRACE, -VS_ERR_PROVISIONAL, -VS_ERR_NEWER, -VS_ERR_TRUNCATED or
 * -VS_ERR_CORRUPT.
 */
VS_MUST_CHECK int vs_block_get_file_header(const uint8_t *bytes, size_t size);

struct vs_block_header {
	uint16_t kind;  /* enum vs_block_kind, or one of a later version */
	uint16_t flags; /* enum vs_block_flag */
	uint32_t stored_size;
	uint32_t raw_size;
	uint32_t nr_records;    /* EVENTS, SNAPSHOT: events; DEFINITIONS: rows; else 0 */
	uint32_t payload_crc;   /* of the stored payload */
	uint64_t first_time_ns; /* EVENTS, SNAPSHOT: of the first and the last event; else 0 */
	uint64_t last_time_ns;
};

void vs_block_put_header(uint8_t out[VS_FORMAT_BLOCK_HEADER_SIZE],
			 const struct vs_block_header *header);

/* -VS_ERR_CORRUPT if this is no block header, or not one that can be true. */
VS_MUST_CHECK int vs_block_get_header(const uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE],
				      struct vs_block_header *header);

/* Payload of the END block. */
struct vs_block_end {
	uint64_t nr_events; /* in all EVENTS blocks */
	uint64_t nr_lost;
	uint32_t how; /* enum vs_end */
};

void vs_block_put_end(uint8_t out[VS_FORMAT_END_SIZE], const struct vs_block_end *end);
VS_MUST_CHECK int vs_block_get_end(const uint8_t *bytes, size_t size, struct vs_block_end *end);

#endif
