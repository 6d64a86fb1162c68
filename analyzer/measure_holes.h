#ifndef VS_MEASURE_HOLES_H
#define VS_MEASURE_HOLES_H

#include "measure_fragmentation.h"

/*
 * The holes of one device over time, and when a request of some size would have been served: for
 * `frag`, in a pass of its own. docs/analyses.md, "Fragmentation".
 */
#define VS_HOLES_SAMPLES 24

/* At an instant: the pool with the most bytes in holes. */
struct vs_holes_sample {
	uint64_t time_ns;
	uint64_t live_bytes; /* of the device */
	uint64_t reserved_bytes;
	uint32_t pool; /* index; UINT32_MAX: there were no holes */
	uint64_t held_bytes;
	uint64_t hole_bytes;
	uint64_t largest_bytes;
	uint64_t nr_holes;
	double share;
	double scatter;
	uint64_t below_bytes; /* in holes smaller than the request; 0 without one */
};

/* When it would have been served in one way. */
struct vs_holes_fit {
	bool is_now;
	bool was_ever;
	uint64_t first_ns; /* if it ever was */
	uint64_t last_ns;
	uint64_t time_ns; /* all in all */
};

struct vs_measure_holes {
	struct vs_observer observer;
	struct vs_measure_fragmentation inner;
	uint32_t ordinal; /* of the device */
	uint64_t request; /* 0: none */
	uint64_t start_ns;
	uint64_t interval_ns;
	struct vs_holes_sample samples[VS_HOLES_SAMPLES];
	size_t nr_samples;
	struct vs_holes_fit in_hole;   /* in a hole of some pool */
	struct vs_holes_fit in_device; /* total - reserved: at most that was left */
	uint64_t latest_ns;
};

/* Times of the first and the last event. */
void vs_measure_holes_init(struct vs_measure_holes *measure, uint32_t ordinal, uint64_t request,
			   uint64_t first_ns, uint64_t last_ns);
void vs_measure_holes_fini(struct vs_measure_holes *measure);

#endif
