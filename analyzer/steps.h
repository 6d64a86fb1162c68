#ifndef VS_STEPS_H
#define VS_STEPS_H

#include <stdatomic.h>

#include "analysis.h"
#include "read_ahead.h"

/*
 * Steps of a program that marks none: its requests for memory come in a rhythm, and a request that
 * comes once in each beat is taken for the beginning of a step. docs/analyses.md, "Derived steps".
 *
 * The sequence of requests (site, and size where that helps) is compared with itself, shifted by
 * each of a few lags that are likely. Memory is bounded: a ring of the latest requests.
 */
#define VS_STEPS_RING    (1u << 17)
#define VS_STEPS_LONGEST (VS_STEPS_RING / 4) /* requests of a step */
#define VS_STEPS_LAGS    32
#define VS_STEPS_GROUP   256 /* requests that are compared in one go; a part of the ring */
#define VS_STEPS_LEAST   4   /* fewer repetitions prove nothing */

/* One way to look at requests. */
struct vs_steps_sequence {
	uint32_t *keys;   /* ring: hashes of requests; behind it the first group again */
	uint32_t *votes;  /* by lag, up to the longest: how often a request came again after it */
	uint64_t *latest; /* by a part of the hash: the rest of it; number of the latest, from 1 */
	uint32_t lags[VS_STEPS_LAGS];
	uint64_t nr_equal[VS_STEPS_LAGS]; /* since they were chosen */
	uint64_t chosen_at;               /* number of requests then */
	uint64_t nr_counted;              /* requests that were compared since then */
	uint64_t counted_to;              /* from this one on, others will be */
	uint64_t voted_to;                /* and so many have voted */
	size_t nr_lags;
	bool is_wide; /* the processor has large registers */
};

/*
 * A request that waits to be compared. They are passed on in groups, to the same thread or to
 * another (vs_steps_finder.is_shared): nr_taken <= nr_passed <= nr_pushed <= nr_taken + QUEUE.
 */
struct vs_steps_request {
	uint64_t size;
	uint32_t site;
};
#define VS_STEPS_QUEUE (1u << 14) /* a power of two; more than twice what a batch can hold */

struct vs_steps_finder {
	struct vs_observer observer;
	bool has_blocks; /* pools tell of their blocks: what they take from the driver is no request
			  */
	bool is_learning;   /* that is not known before it is so */
	bool is_unsure;     /* it came after blocks: what was before them cannot be undone */
	uint64_t nr_blocks; /* requests so far that were blocks, while it is not so */
	size_t nr_pools;    /* that were looked at */
	uint64_t nr_requests;
	uint64_t *live;     /* ring: live bytes before each request */
	uint64_t nr_freed;  /* how often something was given back, all in all */
	uint64_t nr_before; /* the same, before the latest request */
	uint64_t freed_at;  /* the latest request with something given back between it and the one
			     * before */
	uint64_t *sorted;   /* room for the requests of two repetitions */

	/* Who replays writes requests, who compares them reads; stored with release, loaded with
	 * acquire by the other. */
	struct vs_steps_request *requests;
	uint64_t nr_pushed;         /* the replaying thread's own */
	_Atomic uint64_t nr_passed; /* by the replaying thread */
	_Atomic uint64_t nr_taken;  /* by the one that compares */
	_Atomic uint64_t
		learnt_at; /* by the replaying thread: those before it are to be forgotten */
	bool is_shared;    /* somebody else may compare: vs_steps_finder_get_chore */
	struct vs_chore chore;

	/* Of the thread that compares, as is all of the sequences: */
	uint64_t first;       /* number in the queue of the first request that counts */
	uint64_t nr_compared; /* from there on */
	struct vs_steps_sequence sized;
	struct vs_steps_sequence plain; /* sites alone */
};

/* What was found. */
struct vs_steps {
	bool is_found;
	bool is_round; /* it is not known what begins a step: `key` comes once in a repetition */
	bool is_key_sized; /* `key` is of site and size, not of the site alone */
	bool is_sized;     /* the rhythm is one of sites and sizes */
	uint32_t key;      /* of its beginning */
	uint64_t period;   /* requests from one to the next, about */
	double confidence; /* share of requests that are the same one repetition before, 0 to 1 */
	bool has_blocks;
};

VS_MUST_CHECK int vs_steps_finder_init(struct vs_steps_finder *finder, bool has_blocks);
void vs_steps_finder_fini(struct vs_steps_finder *finder);

/* Something that was charged is given back. For those who know the finder. */
static inline void vs_steps_finder_note_free(struct vs_steps_finder *finder)
{
	finder->nr_freed++;
}

/* A group is complete. */
void vs_steps_finder_pass_on(struct vs_steps_finder *finder);

/* The first pool that has blocks, perhaps. */
void vs_steps_finder_learn(struct vs_steps_finder *finder, const struct vs_replay *replay);

/* A request, before it is served. The same. */
static inline void vs_steps_finder_note_request(struct vs_steps_finder *finder,
						const struct vs_replay *replay, uint32_t site,
						uint64_t size)
{
	uint64_t number = finder->nr_requests++, live = 0;
	size_t i;

	for (i = 0; i < replay->nr_devices; i++)
		live += replay->devices[i]->live_bytes;
	finder->live[number % VS_STEPS_RING] = live;
	finder->freed_at = finder->nr_freed != finder->nr_before ? number : finder->freed_at;
	finder->nr_before = finder->nr_freed;
	finder->requests[finder->nr_pushed++ % VS_STEPS_QUEUE] =
		(struct vs_steps_request){size, site};
	if ((number + 1) % VS_STEPS_GROUP == 0)
		vs_steps_finder_pass_on(finder);
}

/* Before a BLOCK_ALLOC, or an ALLOC of memory on a device, that is charged to the account. */
static inline void vs_steps_finder_note_birth(struct vs_steps_finder *finder,
					      const struct vs_replay *replay,
					      const struct vs_account *account, uint64_t size,
					      bool is_block)
{
	if (finder->is_learning && !finder->has_blocks) {
		if (replay->nr_pools != finder->nr_pools)
			vs_steps_finder_learn(finder, replay);
		finder->nr_blocks += is_block;
	}
	if (is_block || !finder->has_blocks)
		vs_steps_finder_note_request(finder, replay, account->site->index, size);
}

/* What another thread may do during the pass (read_ahead.h), which ends before anybody asks. */
const struct vs_chore *vs_steps_finder_get_chore(struct vs_steps_finder *finder);

/* One that finds out for itself whether there are blocks; NULL is nothing. */
VS_MUST_CHECK int vs_steps_finder_create(struct vs_steps_finder **finder);
void vs_steps_finder_destroy(struct vs_steps_finder *finder);

/* After the pass. */
void vs_steps_finder_get(struct vs_steps_finder *finder, struct vs_steps *steps);

/* Whether a record is a request; its key. */
bool vs_steps_read(const struct vs_replay *replay, const struct vs_record *record, bool has_blocks,
		   bool is_sized, uint32_t *key);

/*
 * Looks for steps, if the analysis did not (vs_wants.steps), and if there are any does the measure
 * of what is retained again with these as boundaries: a pass for each. Without is_forced only if
 * the program marked neither steps nor phases. Where there are none, vs_request_cuts_try().
 */
VS_MUST_CHECK int vs_steps_derive(struct vs_analysis *analysis, bool is_forced);

#endif
