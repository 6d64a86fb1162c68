#ifndef VS_RING_ENDS_H
#define VS_RING_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "wire.h"

/*
 * How far the trace goes in each ring of its log: the sequence behind the last record that was read
 * from a block. One thread. {0} is empty.
 */
struct vs_ring_ends {
	struct vs_ring_ends_entry *entries; /* open addressing */
	size_t capacity;                    /* a power of two, or 0 */
	size_t nr_used;
};

void vs_ring_ends_fini(struct vs_ring_ends *ends);

/* 0 for a ring that was not met yet. */
uint64_t vs_ring_ends_get(const struct vs_ring_ends *ends, uint32_t ring);

/* Sets it to `end` unless it is higher already. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_ring_ends_raise(struct vs_ring_ends *ends, uint32_t ring, uint64_t end);

/* What a block covers, against what came before it. */
struct vs_ring_ends_change {
	uint64_t nr_records; /* definitions and events */
	bool is_known; /* all of it was there before; not when it says that it covers nothing */
	bool has_gap;  /* something before it was not there */
};

/*
 * Takes the coverage at the beginning of an EVENTS block's payload (coverage.h), and moves the wire
 * behind it. -VS_ERR_CORRUPT, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_ring_ends_take(struct vs_ring_ends *ends, struct vs_wire *wire,
				    struct vs_ring_ends_change *change);

/* All of them 0 again. */
void vs_ring_ends_clear(struct vs_ring_ends *ends);

#endif
