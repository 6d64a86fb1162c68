#ifndef VS_DEVICE_STATE_H
#define VS_DEVICE_STATE_H

#include "address_map.h"
#include "analysis.h"
#include "reconcile.h"
#include "why.h"

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
	uint64_t nr_after;                  /* allocations that were served after it, of all */
	struct vs_memory_sample after;      /* the sample that the failure caused, if it is there */
	struct vs_reconcile where;          /* the whole device is */
	bool is_judged;                     /* there is something to explain: */
	struct vs_why why;
};

/* What a device keeps, of the whole trace; the caller's to fini. */
VS_MUST_CHECK int vs_device_state_sum_retained(struct vs_retained *retained,
					       const struct vs_analysis *analysis,
					       const struct vs_replay_device *device);

VS_MUST_CHECK int vs_device_state_init(struct vs_device_state *state,
				       const struct vs_analysis *analysis,
				       const struct vs_replay_device *device, enum vs_at at,
				       uint64_t at_ns);

/* The same at the last out-of-memory of a group. */
VS_MUST_CHECK int vs_device_state_init_failure(struct vs_device_state *state,
					       const struct vs_analysis *analysis,
					       const struct vs_failure_group *group);

/* The same where no request failed: at the end of a program that was killed, else at the reserved
 * peak. */
VS_MUST_CHECK int vs_device_state_init_end(struct vs_device_state *state,
					   const struct vs_analysis *analysis,
					   const struct vs_replay_device *device,
					   enum vs_why_occasion occasion);
/* What init_end makes of a state that is there, at that instant: judges it. */
void vs_device_state_judge_end(struct vs_device_state *state, enum vs_why_occasion occasion);

void vs_device_state_fini(struct vs_device_state *state);

/*
 * The sample that tells of other processes at that instant: the one a failure caused, else the
 * latest before; is_known false: there is none. Never NULL.
 */
const struct vs_memory_sample *vs_device_state_get_memory(const struct vs_device_state *state);

#endif
