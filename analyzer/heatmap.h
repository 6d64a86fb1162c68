#ifndef VS_HEATMAP_H
#define VS_HEATMAP_H

/*
 * Address x time of one device as cells: which share of each cell's bytes x time was held by
 * segments, and which was live. Nothing here draws and nothing here knows the replay: first every
 * range that is ever held is announced, then lifetimes come in any order. Memory grows with cells
 * and ranges, not with lifetimes; a lifetime costs the same however large it is. docs/analyses.md,
 * "Heatmap". One thread at a time.
 *
 * Addresses are folded: the held ranges stand on each other, what is never held takes no room.
 * Times are counted in ticks of 2^k ns, k as small as the largest cell allows (0 for all but very
 * long traces): all sums are whole numbers and exact.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Something that was there. A segment holds its bytes; what is live in it are the blocks of its
 * pool or, where no pool has it, all of them. */
struct vs_lifetime {
	uint64_t address;
	uint64_t size;
	uint64_t start_ns;
	uint64_t end_ns; /* first instant without it */
	bool is_held;    /* a segment, or a block outside any */
	bool is_live;    /* a block, or a segment that no pool divides */
	uint32_t group;  /* what it counts to, if it is live and there are groups */
};

struct vs_heatmap_failure {
	uint64_t time_ns;
	uint64_t size;         /* asked for */
	uint64_t largest_hole; /* of the pool that failed or had most free; 0: no holes are known */
	bool is_final;         /* an out-of-memory; else the program went on */
};

struct vs_heatmap_step {
	uint64_t time_ns;
	uint64_t number;
};

struct vs_heatmap_phase {
	uint64_t start_ns;
	uint64_t end_ns;
	char *name;
};

/* Live bytes told apart by who has them, or by something else: the last group is all the rest. */
#define VS_HEATMAP_GROUPS 12u

/* A stretch of addresses that was held at some time. */
struct vs_heatmap_range {
	uint64_t address;
	uint64_t size;
	uint64_t offset; /* in the folded space */
};

/* The largest values within a column, whose index is that of the cells. */
struct vs_heatmap_level {
	uint64_t live;
	uint64_t reserved;
	double fragmentation; /* 0 to 1 */
};

struct vs_heatmap {
	uint64_t from_ns; /* window */
	uint64_t to_ns;
	unsigned int tick_shift; /* a tick is 1 << tick_shift ns */
	uint64_t nr_ticks;       /* of the window, at least 1 */
	uint64_t column_ticks;   /* all columns but the last, which may be narrower */
	uint64_t row_bytes;      /* all rows but the last, likewise */
	uint64_t total_bytes;    /* folded; 0: nothing was ever held */
	size_t nr_columns;
	size_t nr_rows;                  /* 0: nothing was ever held */
	struct vs_heatmap_range *ranges; /* by address */
	size_t nr_ranges;
	size_t ranges_capacity;
	uint64_t *held; /* [row * nr_columns + column], byte ticks; row 0 is the lowest address */
	uint64_t *live;
	uint64_t *groups[VS_HEATMAP_GROUPS]; /* likewise, of each: they add up to `live` */
	char *group_names[VS_HEATMAP_GROUPS];
	size_t nr_groups; /* 0: not told apart */
	bool is_ordered;  /* the groups are steps of one thing, not different things */
	struct vs_heatmap_level *levels; /* by column */

	/* While lifetimes and levels come. */
	size_t last_range;     /* of the latest lifetime */
	size_t now_column;     /* of now_ns, */
	uint64_t column_until; /* which ends here; 0: not known */
	struct vs_heatmap_level now;
	double next_fragmentation; /* of the level that comes next */
	uint64_t now_ns;
	uint64_t peak_live;
	uint64_t peak_reserved;
	uint64_t peak_ns; /* when peak_live was first reached */

	struct vs_heatmap_failure *failures;
	size_t nr_failures;
	size_t failures_capacity;
	struct vs_heatmap_step *steps;
	size_t nr_steps;
	size_t steps_capacity;
	struct vs_heatmap_phase *phases; /* outermost ones only, by start */
	size_t nr_phases;
	size_t phases_capacity;

	/* For the title; owned. */
	char *program;
	char *device_name;
	char *part; /* that it is of; NULL: of all of the device */
	uint32_t device;
	bool is_simulated;
	uint64_t capacity; /* of the device; 0: not known */
};

/* Zeroes it; the window is [from_ns, to_ns), at least 1 ns. */
void vs_heatmap_init(struct vs_heatmap *heatmap, uint64_t from_ns, uint64_t to_ns);
void vs_heatmap_fini(struct vs_heatmap *heatmap);

/* Before the cells: addresses that are held at some time of the window. They may overlap. */
VS_MUST_CHECK int vs_heatmap_add_range(struct vs_heatmap *heatmap, uint64_t address, uint64_t size);

/* Before the cells: one more group, at most VS_HEATMAP_GROUPS. The name is copied. */
VS_MUST_CHECK int vs_heatmap_add_group(struct vs_heatmap *heatmap, const char *name);

/* Between ranges and lifetimes: makes at most max_columns x max_rows cells. */
VS_MUST_CHECK int vs_heatmap_make_cells(struct vs_heatmap *heatmap, size_t max_columns,
					size_t max_rows);

/* Bytes outside the announced ranges and time outside the window are left out. */
void vs_heatmap_add_lifetime(struct vs_heatmap *heatmap, const struct vs_lifetime *lifetime);

/* From now on so much is live and reserved. Times never go back. */
void vs_heatmap_add_level(struct vs_heatmap *heatmap, uint64_t time_ns, uint64_t live,
			  uint64_t reserved);

/* How cut up what is free will be from the next level on: docs/analyses.md, "Fragmentation". */
void vs_heatmap_set_fragmentation(struct vs_heatmap *heatmap, double share);

VS_MUST_CHECK int vs_heatmap_add_failure(struct vs_heatmap *heatmap,
					 const struct vs_heatmap_failure *failure);
VS_MUST_CHECK int vs_heatmap_add_step(struct vs_heatmap *heatmap, uint64_t time_ns,
				      uint64_t number);
/* The name is copied. */
VS_MUST_CHECK int vs_heatmap_add_phase(struct vs_heatmap *heatmap, uint64_t start_ns,
				       uint64_t end_ns, const char *name);

/* After the last lifetime and level, once: cells and levels can be read from here on. */
void vs_heatmap_finish(struct vs_heatmap *heatmap);

/* The group with most in a cell; nr_groups: nothing is live there. */
size_t vs_heatmap_get_group(const struct vs_heatmap *heatmap, size_t cell);

/* What a cell could hold at most, in byte ticks. */
uint64_t vs_heatmap_get_area(const struct vs_heatmap *heatmap, size_t column, size_t row);

/* The address at an offset of the folded space; offset <= total_bytes. */
uint64_t vs_heatmap_unfold(const struct vs_heatmap *heatmap, uint64_t offset);

#endif
