#ifndef VS_UNWIND_MEMO_H
#define VS_UNWIND_MEMO_H

#include "unwind_rules.h"
#include "unwind_step.h"

/*
 * Programs allocate from the same stacks again and again. What one thread remembers of its walks:
 * runs of frames, each with the places of all words of the stack that the walk was led by, and a
 * print of these words. If the print is still the same, so is the run: that is not guessed but
 * looked up, and costs a fraction of the steps, because no load has to wait for another.
 *
 * A run is found by the instruction it begins with and the first return address behind it. Where on
 * the stack it lies does not matter: places are told from the stack pointer on, and so is what the
 * words hold that point into the stack.
 *
 * Stacks have runs in common. A run ends at the first instruction behind its sixteenth frame whose
 * address, hashed, says so: wherever two stacks come together they soon end their runs at the same
 * places. And if there are more than a few ways on from where a run begins, it ends where these
 * part: what is remembered is then a tree, not every way through it.
 *
 * Every run has a serial number, which no other run of the thread ever gets: the serials of the
 * runs that a stack consists of say which stack it is (vs_unwind_recall).
 *
 * The print has 64 bits. If one word differs it always differs; if several do, it is the same by a
 * chance of 2^-64.
 *
 * Only its own thread touches it. A thread that is interrupted, or even jumps away, while it fills
 * in a run leaves one that is not found.
 */
#define VS_UNWIND_MEMO_NR_SLOTS   36
#define VS_UNWIND_MEMO_MIN_FRAMES 16
#define VS_UNWIND_MEMO_RUN_BITS   13
#define VS_UNWIND_MEMO_NR_RUNS    (1u << VS_UNWIND_MEMO_RUN_BITS)
#define VS_UNWIND_MEMO_SET_BITS   11
#define VS_UNWIND_MEMO_NR_WAYS    8
#define VS_UNWIND_MEMO_GUESS_BITS 12

/* So many runs that begin in the same way are remembered before a run ends where they part. */
#define VS_UNWIND_MEMO_NR_ALIKE 6

/*
 * A program may have more stacks than can be remembered; to look for them in vain, and to remember
 * what is forgotten before it comes again, takes longer than to walk. So a run that is found earns
 * a credit, one that has to be made costs some, and when none is left so many walks are made
 * without the memo before it gets another chance.
 */
#define VS_UNWIND_MEMO_MOST_CREDIT 64
#define VS_UNWIND_MEMO_NEW_CREDIT  8
#define VS_UNWIND_MEMO_COST        3
#define VS_UNWIND_MEMO_NR_PLAIN    63

/* bp at the end of a run is the one it began with. */
#define VS_UNWIND_MEMO_NO_SLOT UINT16_MAX

/* Slots are words of eight bytes, counted from the sp that it begins with. Two lines of the cache.
 */
struct vs_unwind_memo_run {
	_Alignas(64) uint64_t address; /* that it begins with */
	uint64_t print;
	uint64_t serial;   /* 0: none yet */
	uintptr_t bp;      /* that it begins with, less its sp */
	uintptr_t bp_mask; /* 0: any bp will do; else all ones */
	uint32_t number;   /* its own */
	uint32_t to_sp;    /* the sp behind it, less its own: bytes */
	uint16_t to_bp_slot;
	uint16_t reach;    /* the highest slot */
	uint8_t nr_frames; /* not 0 */
	uint8_t nr_led;
	uint8_t end_kind; /* of the rule at its end: enum vs_unwind_kind */
	/* Return addresses, the first one repeated to a multiple of four; behind them, what else
	 * led the walk. */
	uint16_t slots[VS_UNWIND_MEMO_NR_SLOTS];
};

_Static_assert(sizeof(struct vs_unwind_memo_run) == 128, "two lines of the cache");

/* Where a run of this tag may be; that it is the one is up to its print. */
struct vs_unwind_memo_entry {
	uint32_t tag; /* 0: none */
	uint32_t run;
};

/*
 * The runs of a walk, each its number plus one; 0 behind the last. Who comes by so rarely that the
 * runs have left the cache fetches all of them at once: each says where the next one is, and to
 * wait for one after the other takes longer than all the rest.
 */
#define VS_UNWIND_MEMO_TRAIL_BITS    8
#define VS_UNWIND_MEMO_TRAIL_NR_RUNS 8

struct vs_unwind_memo_trail {
	_Alignas(64) uint32_t runs[VS_UNWIND_MEMO_TRAIL_NR_RUNS];
	uint32_t guesses[VS_UNWIND_MEMO_TRAIL_NR_RUNS]; /* that led to them */
};

/* All zero at first: pages that are not used are not touched. */
struct vs_unwind_memo {
	/* One next to the other, so that those in use share pages; the oldest make room. */
	struct vs_unwind_memo_run runs[VS_UNWIND_MEMO_NR_RUNS];
	/* Return addresses of the run of the same number: only read where two runs part. */
	uint64_t frames[VS_UNWIND_MEMO_NR_RUNS][VS_UNWIND_MEMO_NR_SLOTS];
	struct vs_unwind_memo_entry sets[1u << VS_UNWIND_MEMO_SET_BITS][VS_UNWIND_MEMO_NR_WAYS];
	uint32_t nr_made;  /* runs */
	uint32_t next_way; /* where in its set the next run goes */
	/* Of the rules that runs from first_serial on were made by (unwind_rules.h), inverted: so
	 * that there is none at first. */
	uint64_t no_seal;
	uint64_t first_serial;
	uint64_t last_serial;
	int32_t credit;
	uint32_t nr_plain; /* walks to be made without it */
	/* Number of the run that was met in the same situation last time: vs_unwind_memo_guess().
	 */
	uint32_t guesses[1u << VS_UNWIND_MEMO_GUESS_BITS];
	/* Of walks that were asked to be kept, by a few bits of their beginning. */
	struct vs_unwind_memo_trail trails[1u << VS_UNWIND_MEMO_TRAIL_BITS];
};

VS_UNWIND_UNWATCHED static inline uint64_t vs_unwind_memo_load(uintptr_t sp, uint16_t slot)
{
	return vs_unwind_memory_load(sp + (uintptr_t)slot * 8);
}

/* Of the words that a run has its slots for, on the stack from sp on. */
uint64_t vs_unwind_memo_print(const struct vs_unwind_memo_run *run, uintptr_t sp);

/* Whether a walk from here would read the same words as the one that the run was made from. */
VS_UNWIND_UNWATCHED static inline bool vs_unwind_memo_fits(const struct vs_unwind_memo_run *run,
							   const struct vs_unwind_state *from,
							   uint64_t first_serial,
							   const struct vs_unwind_window *window)
{
	uintptr_t sp = from->sp;

	return run->address == from->address && run->serial >= first_serial &&
	       ((run->bp ^ (from->bp - sp)) & run->bp_mask) == 0 &&
	       vs_unwind_memory_has(window, sp + (uintptr_t)run->reach * 8) &&
	       vs_unwind_memo_print(run, sp) == run->print;
}

/*
 * Where the number is kept of the run that a walk met last time behind this one (by its number,
 * plus one) at this place of the stack; at its start: 0, and the instruction. Where a frame lies
 * says much of the frames around it.
 */
static inline uint32_t *vs_unwind_memo_guess(struct vs_unwind_memo *memo, uint64_t before,
					     uintptr_t sp)
{
	return &memo->guesses[(before ^ sp << 16) * VS_UNWIND_RULES_MIX >>
			      (64 - VS_UNWIND_MEMO_GUESS_BITS)];
}

/* A walk begins. What was made by rules that are forgotten by now is so from here on. */
static inline uint32_t *vs_unwind_memo_start(struct vs_unwind_memo *memo,
					     const struct vs_unwind_state *from)
{
	uint64_t no_seal = ~vs_unwind_rules_get_seal();

	if (__builtin_expect(memo->no_seal != no_seal, 0)) {
		memo->first_serial = memo->last_serial + 1;
		memo->no_seal = no_seal;
	}
	return vs_unwind_memo_guess(memo, from->address, from->sp);
}

/* The run that begins here and fits, if it is remembered; else NULL. */
struct vs_unwind_memo_run *vs_unwind_memo_recall(struct vs_unwind_memo *memo,
						 const struct vs_unwind_state *from,
						 const struct vs_unwind_window *window);

/* The same as get, for a run whose number is not known. */
struct vs_unwind_memo_run *vs_unwind_memo_find(struct vs_unwind_memo *memo,
					       const struct vs_unwind_state *from,
					       const struct vs_unwind_window *window);

/*
 * The frames that a walk finds next; it goes on where the run ends, see vs_unwind_memo_leave().
 * NULL: not even one step is a plain one. Valid until the next call.
 *
 * from: its sp is not below the window.
 * *likely: number of the run that it may be, from vs_unwind_memo_start() or
 * vs_unwind_memo_leave(); it is put right if it was another one.
 */
VS_UNWIND_UNWATCHED static inline struct vs_unwind_memo_run *vs_unwind_memo_get(
	struct vs_unwind_memo *memo, uint32_t *likely, const struct vs_unwind_state *from,
	const struct vs_unwind_window *window)
{
	struct vs_unwind_memo_run *run = &memo->runs[*likely];
	/* Copies, so that the others can stay in registers. */
	struct vs_unwind_window found_in;
	struct vs_unwind_state found_from;

	if (__builtin_expect(vs_unwind_memo_fits(run, from, memo->first_serial, window), 1))
		return run;
	found_from = *from;
	found_in = *window;
	run = vs_unwind_memo_find(memo, &found_from, &found_in);
	if (run)
		*likely = run->number;
	return run;
}

/* Where the runs of a walk from here are kept. */
static inline struct vs_unwind_memo_trail *vs_unwind_memo_get_trail(
	struct vs_unwind_memo *memo, const struct vs_unwind_state *from)
{
	return &memo->trails[(from->address ^ from->sp << 16) * VS_UNWIND_RULES_MIX >>
			     (64 - VS_UNWIND_MEMO_TRAIL_BITS)];
}

/* The walk met this run, as number i; none behind it so far. */
static inline void vs_unwind_memo_keep(const struct vs_unwind_memo *memo,
				       struct vs_unwind_memo_trail *trail, uint32_t i,
				       const uint32_t *guess)
{
	if (i >= VS_UNWIND_MEMO_TRAIL_NR_RUNS)
		return;
	trail->runs[i] = *guess + 1;
	trail->guesses[i] = (uint32_t)(guess - memo->guesses);
	if (i + 1 < VS_UNWIND_MEMO_TRAIL_NR_RUNS)
		trail->runs[i + 1] = 0;
}

/* Has all fetched that a walk from here met when its trail was kept. */
void vs_unwind_memo_expect(struct vs_unwind_memo *memo, const struct vs_unwind_state *from);

/* Sets *state, which was at the beginning of the run, to its end. Returns where the number is of
 * the run that it may go on with. */
VS_UNWIND_UNWATCHED static inline uint32_t *vs_unwind_memo_leave(
	struct vs_unwind_memo *memo, const struct vs_unwind_memo_run *run,
	struct vs_unwind_state *state)
{
	if (run->to_bp_slot != VS_UNWIND_MEMO_NO_SLOT)
		state->bp = vs_unwind_memo_load(state->sp, run->to_bp_slot);
	state->address = vs_unwind_memo_load(state->sp, run->slots[run->nr_frames - 1]);
	state->sp += run->to_sp;
	return vs_unwind_memo_guess(memo, run->number + 1, state->sp);
}

#endif
