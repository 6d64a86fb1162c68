#ifndef VS_UNWIND_MEMO_H
#define VS_UNWIND_MEMO_H

#include "unwind_rules.h"
#include "unwind_step.h"

/*
 * Programs allocate from the same stacks again and again. What one thread remembers of its walks:
 * runs of frames, found by where they begin (instruction and stack pointer), with the slots of the
 * stack that the walk was led by. Not with the words in them: whoever follows the runs mixes the
 * words that lie there now, and the runs themselves, into a path (vs_unwind_recall). A path that
 * was made when the runs were known to be right for its words (vs_unwind_memo_learn) means that
 * stack for good: the same runs and the same words are the same walk. Any other path means nothing
 * at all: the runs may be wrong for those words, and the stack has to be walked.
 *
 * So what is remembered does not grow with the number of stacks but with the number of places in
 * them, and a run is one line of the cache.
 *
 * All walks that come by a run read its slots, whatever the words. Where two of them part, because
 * a frame of one is larger than the other's, the run is cut: behind it the instruction tells which
 * way to go. A run also ends where the stack crosses a line of so many bytes: two stacks that
 * differ in their innermost frames have the runs of the others in common.
 *
 * Only its own thread touches it. A thread that is interrupted, or even jumps away, while it fills
 * in a run leaves one that is not found.
 */
#define VS_UNWIND_MEMO_LINE_SIZE  2048u
#define VS_UNWIND_MEMO_NR_WORDS   12
#define VS_UNWIND_MEMO_SET_BITS   11
#define VS_UNWIND_MEMO_NR_WAYS    4
#define VS_UNWIND_MEMO_START_BITS 12
#define VS_UNWIND_MEMO_NR_RUNS    ((1u << VS_UNWIND_MEMO_SET_BITS) * VS_UNWIND_MEMO_NR_WAYS)

/*
 * A program may have more stacks than can be remembered; to look for them in vain, and to learn
 * what is forgotten before it comes again, takes longer than to walk. So learning makes debts,
 * which every event pays back a bit of; who has too many makes so many walks without the memo.
 */
#define VS_UNWIND_MEMO_COST      8
#define VS_UNWIND_MEMO_MOST_DEBT 65536
#define VS_UNWIND_MEMO_NR_PLAIN  63

/* bp at the end of a run is the one it began with. */
#define VS_UNWIND_MEMO_NO_SLOT UINT16_MAX

/*
 * Slots are offsets from sp, in words. The first one is the last that a walk reads, a return
 * address and the highest of all; the others follow as a walk reads them; the first one is repeated
 * to a multiple of four.
 */
struct vs_unwind_memo_run {
	_Alignas(64) uint64_t key; /* of the instruction: vs_unwind_memo_get_key(); 0: none yet */
	uintptr_t sp;
	uintptr_t bp;   /* counts if VS_UNWIND_MEMO_USES_BP */
	uint64_t shape; /* a hash of all that leads a walk, but for key */
	uint16_t next;  /* number of the run that came behind it last time */
	uint16_t returns : VS_UNWIND_MEMO_NR_WORDS; /* which words, as a walk reads them, are return
						       addresses */
	uint16_t nr_frames : 4;                     /* how many of them are */
	uint16_t slots[VS_UNWIND_MEMO_NR_WORDS];
	uint16_t to_bp_slot;
	uint8_t nr_words; /* 0: the walk ends where it begins */
	uint8_t flags;
};

enum {
	VS_UNWIND_MEMO_USES_BP = 1, /* the bp that it begins with leads its first step */
	VS_UNWIND_MEMO_IS_LAST = 2, /* the walk ends behind it */
	VS_UNWIND_MEMO_FORKS = 4,   /* which run comes behind it is not to be foreseen */
	VS_UNWIND_MEMO_ONE_MORE =
		8, /* from here on: how often another one than before was learned */
};
#define VS_UNWIND_MEMO_MOST_WAYS (2 * VS_UNWIND_MEMO_ONE_MORE)

_Static_assert(VS_UNWIND_MEMO_NR_WORDS < 1 << 4, "all words of a run may be return addresses");
_Static_assert(sizeof(struct vs_unwind_memo_run) == 64, "a run is one line of the cache");
_Static_assert(VS_UNWIND_MEMO_NR_WAYS == 4, "a set has one word of tags");
_Static_assert(VS_UNWIND_MEMO_NR_RUNS <= UINT16_MAX, "the number of a run has 16 bits");

/*
 * The runs of a walk, each its number plus one; 0 behind the last; and a part of its path. Who
 * comes by so rarely that the runs have left the cache fetches all of them at once: each says where
 * the next one is, and to wait for one after the other takes longer than all the rest.
 */
#define VS_UNWIND_MEMO_TRAIL_BITS    8
#define VS_UNWIND_MEMO_TRAIL_NR_RUNS 14

struct vs_unwind_memo_trail {
	_Alignas(32) uint32_t path;
	uint16_t runs[VS_UNWIND_MEMO_TRAIL_NR_RUNS];
};

/* tags: 16 more bits of the hash for each way, which are 0 where there is none. */
struct vs_unwind_memo_set {
	uint64_t tags;
	uint16_t runs[VS_UNWIND_MEMO_NR_WAYS];
};

/* All zero at first: pages that are not used are not touched. */
struct vs_unwind_memo {
	uint32_t nr_plain; /* walks to be made without it */
	uint32_t next_way; /* where in its set the next run goes */
	uint64_t debt;
	uint64_t paid_until; /* number of the event */
	uint32_t nr_runs;
	/* By hash of what a run begins with. */
	struct vs_unwind_memo_set sets[1u << VS_UNWIND_MEMO_SET_BITS];
	/* In the order in which they were learned: those of a stack are next to each other. */
	struct vs_unwind_memo_run runs[VS_UNWIND_MEMO_NR_RUNS];
	/* Number of the run that a walk began with last time, by a few bits of its beginning. */
	uint16_t starts[1u << VS_UNWIND_MEMO_START_BITS];
	/* Of walks that were asked to be kept, in the same way. */
	struct vs_unwind_memo_trail trails[1u << VS_UNWIND_MEMO_TRAIL_BITS];
};

/* Different after code was unloaded: runs that were made by rules of before are not found. */
static inline uint64_t vs_unwind_memo_get_key(uint64_t address)
{
	return address ^ ~vs_unwind_rules_get_seal();
}

/* Where the number of the run is kept that a walk from here is likely to begin with. */
static inline uint16_t *vs_unwind_memo_get_start(struct vs_unwind_memo *memo,
						 const struct vs_unwind_state *from)
{
	return &memo->starts[(from->address ^ from->sp << 16) * VS_UNWIND_RULES_MIX >>
			     (64 - VS_UNWIND_MEMO_START_BITS)];
}

static inline bool vs_unwind_memo_is_at(const struct vs_unwind_memo_run *run, uint64_t key,
					const struct vs_unwind_state *from)
{
	return run->key == key && run->sp == from->sp &&
	       (!(run->flags & VS_UNWIND_MEMO_USES_BP) || run->bp == from->bp);
}

static inline uint64_t vs_unwind_memo_hash(const struct vs_unwind_state *from)
{
	uint64_t mixed = from->address * UINT64_C(0x9e3779b97f4a7c15) +
			 from->sp * UINT64_C(0xd6e8feb86659fd93);

	return mixed ^ mixed >> 32;
}

static inline uint64_t vs_unwind_memo_get_tag(uint64_t hash)
{
	return (hash & 0xffff) | 1;
}

static inline unsigned vs_unwind_memo_get_set(uint64_t hash)
{
	return (unsigned)(hash >> (64 - VS_UNWIND_MEMO_SET_BITS));
}

/* The run that begins here; NULL: none is remembered. Which one it is is not to be foreseen, so no
 * branch depends on it. */
static inline struct vs_unwind_memo_run *vs_unwind_memo_find(struct vs_unwind_memo *memo,
							     uint64_t key,
							     const struct vs_unwind_state *from)
{
	const uint64_t ones = UINT64_C(0x0001000100010001);
	uint64_t hash = vs_unwind_memo_hash(from);
	const struct vs_unwind_memo_set *set = &memo->sets[vs_unwind_memo_get_set(hash)];
	uint64_t differ = set->tags ^ vs_unwind_memo_get_tag(hash) * ones;
	/* The highest bit of all 16 that are 0, and maybe of some above them. */
	uint64_t found = (differ - ones) & ~differ & ones << 15;

	for (; found; found &= found - 1) {
		struct vs_unwind_memo_run *run =
			&memo->runs[set->runs[(unsigned)__builtin_ctzll(found) / 16]];

		if (__builtin_expect(vs_unwind_memo_is_at(run, key, from), 1))
			return run;
	}
	return NULL;
}

/*
 * Makes sure that there is a run that begins here and is right for the words that lie on the stack
 * now, and returns it. NULL: not even one step is a plain one. Valid until the next call.
 *
 * from: its sp is not below the window.
 */
struct vs_unwind_memo_run *vs_unwind_memo_learn(struct vs_unwind_memo *memo,
						const struct vs_unwind_state *from,
						const struct vs_unwind_window *window);

/* In a walk that is learned the second run came behind the first one. */
void vs_unwind_memo_connect(struct vs_unwind_memo *memo, struct vs_unwind_memo_run *run,
			    const struct vs_unwind_memo_run *next);

/* Whether another stack may be learned. nr_events: of the thread. False: walk without the memo. */
bool vs_unwind_memo_spend(struct vs_unwind_memo *memo, uint64_t nr_events);

/* Has the runs fetched that a walk from here met when its trail was kept. */
void vs_unwind_memo_expect(const struct vs_unwind_memo *memo, const struct vs_unwind_state *from);

/* Keeps the trail of a walk from here, all of which has just been recalled. path: a part of what it
 * was recalled as. */
void vs_unwind_memo_keep_trail(struct vs_unwind_memo *memo, const struct vs_unwind_state *from,
			       uint32_t path);

VS_UNWIND_UNWATCHED static inline uint64_t vs_unwind_memo_load(uintptr_t sp, uint16_t slot)
{
	return vs_unwind_memory_load(sp + slot * sizeof(uint64_t));
}

/* Sets *state, which was at the beginning of the run, to its end. Of a run that has words. */
VS_UNWIND_UNWATCHED static inline void vs_unwind_memo_leave(const struct vs_unwind_memo_run *run,
							    struct vs_unwind_state *state)
{
	if (run->to_bp_slot != VS_UNWIND_MEMO_NO_SLOT)
		state->bp = vs_unwind_memo_load(state->sp, run->to_bp_slot);
	state->address = vs_unwind_memo_load(state->sp, run->slots[0]);
	state->sp += (run->slots[0] + 1u) * sizeof(uint64_t);
}

#endif
