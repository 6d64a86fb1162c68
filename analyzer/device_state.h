#ifndef VS_DEVICE_STATE_H
#define VS_DEVICE_STATE_H

#include "address_map.h"
#include "analysis.h"
#include "cause.h"

/*
 * A device at the instant that --at names, and why it ran out if that is what happened there. The
 * map's pointers belong to `then`; accounts, pools and sites have the same index in the analysis.
 */
struct vs_device_state {
	const struct vs_replay_device *device; /* of the analysis */
	enum vs_at named;                      /* as asked for */
	struct vs_instant at;
	struct vs_replay *then;
	struct vs_address_map map;
	struct vs_retained retained;        /* of the whole trace */
	const struct vs_failure_group *oom; /* NULL: the instant is no out-of-memory */
	struct vs_cause cause;              /* if it is one */
	struct vs_memory_sample after;      /* the sample that the failure caused, if it is there */
};

VS_MUST_CHECK int vs_device_state_init(struct vs_device_state *state,
				       const struct vs_analysis *analysis,
				       const struct vs_replay_device *device, enum vs_at at,
				       uint64_t at_ns);
void vs_device_state_fini(struct vs_device_state *state);

/*
 * The sample that tells of other processes at that instant: the one a failure caused, else the
 * latest before; is_known false: there is none. Never NULL.
 */
const struct vs_memory_sample *vs_device_state_get_memory(const struct vs_device_state *state);

/* Where the whole device is at that instant. The six add up to total_bytes. */
struct vs_whereabouts {
	uint64_t total_bytes; /* 0: not known, and so are those that need it */
	uint64_t live_bytes;
	uint64_t hole_bytes;
	uint64_t cached_bytes;
	bool is_free_known;     /* the driver told at the failure, or NVML before */
	uint64_t outside_bytes; /* context, libraries, other processes; 0 if !is_free_known */
	struct vs_memory_split outside; /* of outside_bytes, if it is known */
	uint64_t not_taken_bytes;       /* free; 0 if !is_free_known */
	uint64_t not_seen_bytes;        /* if !is_free_known: the two above together */
	uint64_t excess_bytes;          /* reserved beyond the total: managed memory can be */
};

void vs_device_state_get_whereabouts(const struct vs_device_state *state,
				     struct vs_whereabouts *where);

#endif
