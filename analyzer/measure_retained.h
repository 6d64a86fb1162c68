#ifndef VS_MEASURE_RETAINED_H
#define VS_MEASURE_RETAINED_H

#include "growth.h"
#include "replay.h"

/*
 * What is alive at one boundary after the other, by account: docs/analyses.md, "Retained".
 * Boundaries are the starts of steps, else the ends of outermost phases, else those of steps that
 * are derived, else rounds, else equal intervals.
 */
enum vs_boundary_unit {
	VS_BOUNDARY_STEPS,
	VS_BOUNDARY_PHASES,
	VS_BOUNDARY_INTERVALS,
	VS_BOUNDARY_DERIVED, /* steps that nobody marked: steps.h */
	VS_BOUNDARY_ROUNDS,  /* what repeats, where it is not known what begins a step */
};

/*
 * How many boundaries are kept. When there are more, every second one is left out, again and again:
 * memory does not grow with the length of a run. The same when so many levels of all accounts are
 * kept, as long as enough boundaries remain: many sites that change at every boundary.
 */
#define VS_RETAINED_MAX       512
#define VS_RETAINED_LEAST     64
#define VS_RETAINED_LEVELS    (1u << 20)
#define VS_RETAINED_INTERVALS 16

struct vs_boundary {
	uint64_t time_ns;
	uint64_t number; /* of the step that begins there; else counted from 0 */
};

/* Bytes at boundaries: only those that differ from the one before. */
struct vs_series {
	uint64_t *levels; /* from VS_LEVEL_BITS on the boundary, below them the bytes */
	uint32_t nr_levels;
	uint32_t capacity;
};

/* So many bytes at most are told apart: 32 PiB. */
#define VS_LEVEL_BITS 55
#define VS_LEVEL_MOST ((UINT64_C(1) << VS_LEVEL_BITS) - 1)
_Static_assert(VS_RETAINED_MAX <= 1 << (64 - VS_LEVEL_BITS), "a level has room for its boundary");

/* An account at boundaries. */
struct vs_retained_account {
	struct vs_series live;
	struct vs_series old; /* of that, what was alive at the boundary before, too */
	uint64_t young_bytes; /* born since the last boundary, and alive */
	bool is_dirty;        /* changed since the last boundary, or at it */
};

struct vs_measure_retained {
	struct vs_observer observer;
	enum vs_boundary_unit unit;
	uint64_t start_ns; /* of equal intervals */
	uint64_t interval_ns;
	uint64_t next_ns;   /* where the next interval ends; UINT64_MAX: there is none */
	uint64_t period;    /* of derived steps: requests in one, */
	double confidence;  /* and how much they are alike */
	uint64_t nr_passed; /* boundaries so far, kept or not */
	uint64_t stride;    /* one of so many is kept; a power of two */
	struct vs_boundary boundaries[VS_RETAINED_MAX];
	uint32_t nr_boundaries;
	size_t nr_levels;                     /* of all accounts */
	struct vs_retained_account *accounts; /* by account->index */
	size_t accounts_capacity;
	uint64_t boundary_id; /* number of the latest birth before the last boundary */
	uint32_t phase;       /* name of all outermost phases, or VS_NO_ID */
	bool is_mixed;        /* they have different names */
	uint32_t *dirty;      /* accounts that changed since the last boundary */
	size_t nr_dirty;
	size_t dirty_capacity;
};

/* Times of the first and the last event, for equal intervals. */
void vs_measure_retained_init(struct vs_measure_retained *measure, enum vs_boundary_unit unit,
			      uint64_t first_ns, uint64_t last_ns);
void vs_measure_retained_fini(struct vs_measure_retained *measure);

/* Room for all accounts of the replay. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_retained_make_room(struct vs_measure_retained *measure,
						const struct vs_replay *replay);

/* An item is charged or discharged, and there is room for its account. */
static inline void vs_measure_retained_count(struct vs_measure_retained *measure,
					     const struct vs_item *item, bool is_charge)
{
	uint32_t index = item->account->index;
	struct vs_retained_account *account = &measure->accounts[index];
	uint64_t size = item->size;

	if (item->id > measure->boundary_id) {
		if (is_charge)
			account->young_bytes += size;
		else
			account->young_bytes -=
				size < account->young_bytes ? size : account->young_bytes;
	}
	if (!account->is_dirty) {
		account->is_dirty = true;
		measure->dirty[measure->nr_dirty++] = index;
	}
}

/* The observer's own, for those who feed several measures: an item is charged (after) or discharged
 * (before). */
VS_MUST_CHECK int vs_measure_retained_note(struct vs_measure_retained *measure,
					   const struct vs_replay *replay,
					   const struct vs_item *item, bool is_charge);

/* The same: a record was applied, a STEP or a PHASE_POP. */
VS_MUST_CHECK int vs_measure_retained_note_record(struct vs_measure_retained *measure,
						  const struct vs_replay *replay,
						  const struct vs_record *record);

/* A boundary that somebody else found (VS_BOUNDARY_DERIVED): before the record that comes next. */
VS_MUST_CHECK int vs_measure_retained_add_boundary(struct vs_measure_retained *measure,
						   const struct vs_replay *replay,
						   uint64_t time_ns);

/* Whether boundaries are known by numbers, not by when they were. */
static inline bool vs_measure_retained_has_numbers(const struct vs_measure_retained *measure)
{
	return measure->unit == VS_BOUNDARY_STEPS || measure->unit == VS_BOUNDARY_DERIVED ||
	       measure->unit == VS_BOUNDARY_ROUNDS;
}

/* Bytes of an account at every boundary; values has room for nr_boundaries. is_old: only what was
 * alive at the boundary before as well. */
void vs_measure_retained_get_values(const struct vs_measure_retained *measure,
				    const struct vs_account *account, bool is_old,
				    uint64_t *values);

/* One account in the story of what stays. */
struct vs_retained_site {
	const struct vs_account *account;
	struct vs_growth growth;
	uint64_t last_bytes;     /* at the last boundary */
	uint64_t constant_bytes; /* alive from the second boundary to the last */
	uint64_t since;          /* number of the boundary before the onset: where it began */
	uint64_t since_ns;
	bool is_level;        /* it grew, and has stopped: a cache that is full */
	uint64_t level_since; /* number of the boundary since which it is so */
	uint64_t level_since_ns;
};

struct vs_retained {
	uint32_t nr_boundaries;
	uint64_t last_live;      /* of the device, at the last boundary */
	struct vs_growth growth; /* of all growing sites together */
	uint64_t since;
	uint64_t since_ns;
	uint64_t boundary_stride; /* steps between two boundaries that were kept */
	bool has_forecast;
	uint64_t steps_to_full; /* until live bytes reach the capacity, at this rate */
	uint64_t time_to_full_ns;
	struct vs_retained_site *sites; /* growing ones first, by rate; then by last_bytes */
	size_t nr_sites;
	size_t nr_growing;
	/* Filled in by vs_device_state_sum_retained: */
	bool is_start; /* of a program that has only taken memory so far: no leak is proved by that
			*/
	bool may_be_pass; /* it grows, but one forward pass of PyTorch would look the same */
	bool may_load;    /* it grows, but a model that is loaded in a loop would look the same */
};

/* After the end of the replay. */
VS_MUST_CHECK int vs_measure_retained_sum(struct vs_retained *retained,
					  const struct vs_measure_retained *measure,
					  const struct vs_replay *replay,
					  const struct vs_replay_device *device);
void vs_measure_retained_fini_sum(struct vs_retained *retained);

#endif
