#ifndef VS_MAP_H
#define VS_MAP_H

/*
 * The address space of one device at an instant, as text for a terminal. Who fills it in sees to
 * the order: segments by address, the blocks of a segment together and by address. Knows no replay.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "text.h"

struct vs_map_block {
	uint64_t address;
	uint64_t size;
};

struct vs_map_segment {
	uint64_t address;
	uint64_t size;
	char *label;   /* owned: the pool, else the API function it came from */
	bool is_owned; /* by a pool: what no block covers is free. Else all of it is live */
	size_t first_block;
	size_t nr_blocks;
};

struct vs_map_state {
	struct vs_map_segment *segments;
	size_t nr_segments;
	size_t segments_capacity;
	struct vs_map_block *blocks;
	size_t nr_blocks;
	size_t blocks_capacity;
	uint64_t live_bytes;     /* of the device, also what has no address */
	uint64_t reserved_bytes; /* likewise */
	/* The rest of the device, as far as known (reconcile.h): either both or the last. */
	uint64_t outside_bytes; /* context, others, rest of pages */
	uint64_t not_taken_bytes;
	uint64_t not_seen_bytes;
	size_t height; /* lines of the terminal; 0: none, or it is not known */
};

void vs_map_init(struct vs_map_state *state);
void vs_map_fini(struct vs_map_state *state);

/* Copies the label. */
VS_MUST_CHECK int vs_map_add_segment(struct vs_map_state *state, uint64_t address, uint64_t size,
				     const char *label, bool is_owned);

/* To the segment added last. */
VS_MUST_CHECK int vs_map_add_block(struct vs_map_state *state, uint64_t address, uint64_t size);

/*
 * Prints it; no line is wider than the style says, which is at least 40 columns. If it says how
 * many lines the terminal has, there are no more, down to about twenty: more segments are put
 * together, and a sign stands for more. -VS_ERR_IO, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_map_put(const struct vs_map_state *state, const struct vs_text_style *style);

#endif
