#ifndef VS_MEASURE_PHASES_H
#define VS_MEASURE_PHASES_H

#include "replay.h"

/*
 * Memory by phase, range, step and epoch: docs/analyses.md, "Phases". Memory grows with the paths
 * of phases, with what is open and with what is alive, not with events.
 *
 * A visit is one passage through a phase. Phases of one name below the same outer ones are one
 * node, whichever thread they are of.
 */

/* Paths are followed so deep; what is deeper counts to its outer one. */
#define VS_PHASES_DEPTH 64u

/* More paths than that become one, "other phases". */
#define VS_PHASES_NODES 16384u

/* Steps or epochs that are told apart; of more, neighbours are taken together, again and again. */
#define VS_PHASES_ROWS 256u

enum vs_phase_kind {
	VS_PHASE_STACK, /* push and pop of a thread */
	VS_PHASE_RANGE, /* of the process: start and end */
	VS_PHASE_STEP,
	VS_PHASE_EPOCH,
	VS_NR_PHASE_KINDS
};

/* Of one device. */
struct vs_phase_numbers {
	uint64_t begin_live;
	uint64_t end_live;
	uint64_t peak_live;
	uint64_t peak_reserved;
	uint64_t allocated;
	uint64_t derived; /* of these by threads that have no phase of their own */
	uint64_t freed;
	uint64_t kept;  /* allocated in it, alive at its end */
	uint64_t alive; /* allocated in it, alive at the end of all; only in sums and rows */
};

struct vs_phase_visit {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t number; /* of the step or epoch; else of the step it is in */
	bool has_number;
	struct vs_phase_numbers numbers;
};

/* All visits of a node, on one device. numbers: sums, and the highest of peaks; no begin and end.
 */
struct vs_phase_sum {
	struct vs_phase_numbers numbers;
	struct vs_phase_visit first;
	struct vs_phase_visit last;
	struct vs_phase_visit highest; /* the first with the highest live peak */
};

/* Steps or epochs that follow each other. */
struct vs_phase_row {
	uint64_t first; /* their numbers */
	uint64_t last;
	uint64_t nr;
	uint64_t begin_ns;
	uint64_t end_ns;
	struct vs_phase_numbers *devices; /* by device->index */
	size_t devices_capacity;
};

struct vs_phase_node {
	uint32_t index; /* in measure->nodes */
	enum vs_phase_kind kind;
	struct vs_phase_node *parent; /* NULL: outermost */
	char *name;                   /* '#' for the number of those that count; owned */
	uint64_t nr_visits;
	uint64_t nr_open; /* of these, not over at the end */
	uint64_t time_ns; /* sum */
	uint64_t longest_ns;
	uint64_t nr_failed;        /* requests that failed for want of memory */
	struct vs_phase_sum *sums; /* by device->index */
	size_t sums_capacity;
	/* Steps and epochs. */
	struct vs_phase_row *rows;
	size_t nr_rows;
	uint64_t rows_stride; /* so many of them are one row; a power of two */
};

struct vs_measure_phases {
	struct vs_observer observer;
	struct vs_phase_node **nodes; /* in order of their first visits */
	size_t nr_nodes;
	size_t nodes_capacity;
	bool has_too_many; /* VS_PHASES_NODES */
	struct phase_books *books;
};

VS_MUST_CHECK int vs_measure_phases_init(struct vs_measure_phases *measure);
void vs_measure_phases_fini(struct vs_measure_phases *measure);

/* The node's numbers for a device; all zero where it has none. */
const struct vs_phase_sum *vs_measure_phases_get(const struct vs_phase_node *node,
						 const struct vs_replay_device *device);
const struct vs_phase_numbers *vs_measure_phases_get_row(const struct vs_phase_row *row,
							 const struct vs_replay_device *device);

/* "step # > backward". Terminated, cut to size. */
void vs_measure_phases_put_path(const struct vs_phase_node *node, char *out, size_t size);

#endif
