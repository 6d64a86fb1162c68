#ifndef VS_UNWIND_MEMO_H
#define VS_UNWIND_MEMO_H

#include "unwind_rules.h"
#include "unwind_step.h"

/*
 * Programs allocate from the same stacks again and again. What one thread remembers of its walks:
 * runs of frames, found by where they begin (instruction and stack pointer), with all words of the
 * stack that the walk was led by. If these words are still the same, so is the run: that is not
 * guessed but looked up, and costs a fraction of the steps, because no load has to wait for
 * another.
 *
 * A run ends where the stack crosses a line of so many bytes: two stacks that differ in their
 * innermost frames have the runs of the others in common.
 *
 * Every run has a serial number, which no other run of the thread ever gets: the serials of the
 * runs that a stack consists of say which stack it is (vs_unwind_recall).
 *
 * Only its own thread touches it. A thread that is interrupted, or even jumps away, while it fills
 * in a run leaves one that is not found.
 */
#define VS_UNWIND_MEMO_LINE_SIZE  2048u
#define VS_UNWIND_MEMO_NR_WORDS   16
#define VS_UNWIND_MEMO_SET_BITS   11
#define VS_UNWIND_MEMO_NR_WAYS    4 /* also: runs with the same beginning that can be remembered */
#define VS_UNWIND_MEMO_START_BITS 12
#define VS_UNWIND_MEMO_NR_RUNS    ((1u << VS_UNWIND_MEMO_SET_BITS) * VS_UNWIND_MEMO_NR_WAYS)

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
#define VS_UNWIND_MEMO_NO_SLOT UINT32_MAX

/* Slots are offsets from the sp that it begins with. Four lines of the cache. */
struct vs_unwind_memo_run {
	_Alignas(64) struct vs_unwind_state from;
	uintptr_t bp_mask; /* 0: any bp will do; else all ones */
	uint64_t serial;   /* 0: none yet */
	uintptr_t to_sp;
	uint32_t to_bp_slot;
	uint32_t reach;    /* the highest slot */
	uint8_t nr_frames; /* not 0 */
	uint8_t nr_words;
	uint8_t end_kind; /* of the rule at its end: enum vs_unwind_kind */
	uint32_t next;    /* number of the run that came behind it last time */
	/* Return addresses, then what else led the walk; repeated to a multiple of four. */
	uint64_t words[VS_UNWIND_MEMO_NR_WORDS];
	uint32_t slots[VS_UNWIND_MEMO_NR_WORDS];
};

/*
 * The runs of a walk, each its number plus one; 0 behind the last. Who comes by so rarely that the
 * runs have left the cache fetches all of them at once: each says where the next one is, and to
 * wait for one after the other takes longer than all the rest.
 */
#define VS_UNWIND_MEMO_TRAIL_BITS    8
#define VS_UNWIND_MEMO_TRAIL_NR_RUNS 16

struct vs_unwind_memo_trail {
	_Alignas(64) uint32_t runs[VS_UNWIND_MEMO_TRAIL_NR_RUNS];
};

/* All zero at first: pages that are not used are not touched. */
struct vs_unwind_memo {
	/* What the run of the same number begins with, hashed; 0: none. A set is four in a row. */
	uint64_t tags[VS_UNWIND_MEMO_NR_RUNS];
	struct vs_unwind_memo_run runs[VS_UNWIND_MEMO_NR_RUNS];
	uint32_t next_way; /* where in its set the next run goes */
	/* Of the rules that runs from first_serial on were made by (unwind_rules.h), inverted: so
	 * that there is none at first. */
	uint64_t no_seal;
	uint64_t first_serial;
	uint64_t last_serial;
	int32_t credit;
	uint32_t nr_plain; /* walks to be made without it */
	/* Number of the run that a walk began with last time, by a few bits of its beginning. */
	uint32_t starts[1u << VS_UNWIND_MEMO_START_BITS];
	/* Of walks that were asked to be kept, in the same way. */
	struct vs_unwind_memo_trail trails[1u << VS_UNWIND_MEMO_TRAIL_BITS];
};

/* What differs in the four words from number first on: 0, if nothing does. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_unwind_memo_compare(
	const struct vs_unwind_memo_run *run, uintptr_t sp, unsigned first)
{
	uint64_t difference = 0;

	for (unsigned i = first; i < first + 4; i++)
		difference |= vs_unwind_memory_load(sp + run->slots[i]) ^ run->words[i];
	return difference;
}

/* Whether a walk from here would read the same words as the one that the run was made from. */
VS_UNWIND_UNWATCHED static inline bool vs_unwind_memo_fits(const struct vs_unwind_memo_run *run,
							   const struct vs_unwind_state *from,
							   uint64_t first_serial,
							   const struct vs_unwind_window *window)
{
	uintptr_t sp = from->sp;
	uint64_t difference = 0;

	if (run->from.address != from->address || run->from.sp != sp ||
	    run->serial < first_serial || ((run->from.bp ^ from->bp) & run->bp_mask) != 0 ||
	    !vs_unwind_memory_has(window, sp + run->reach))
		return false;
	/* No loop: with numbers that the compiler knows each word takes four instructions. */
	switch (run->nr_words / 4) {
	case 4:
		difference |= vs_unwind_memo_compare(run, sp, 12);
		__attribute__((fallthrough));
	case 3:
		difference |= vs_unwind_memo_compare(run, sp, 8);
		__attribute__((fallthrough));
	case 2:
		difference |= vs_unwind_memo_compare(run, sp, 4);
		__attribute__((fallthrough));
	default:
		difference |= vs_unwind_memo_compare(run, sp, 0);
	}
	return difference == 0;
}

/*
 * A walk begins: where the number of the run is kept that it is likely to begin with. What was made
 * by rules that are forgotten by now is so from here on.
 */
static inline uint32_t *vs_unwind_memo_get_start(struct vs_unwind_memo *memo,
						 const struct vs_unwind_state *from)
{
	uint64_t no_seal = ~vs_unwind_rules_get_seal();

	if (__builtin_expect(memo->no_seal != no_seal, 0)) {
		memo->first_serial = memo->last_serial + 1;
		memo->no_seal = no_seal;
	}
	return &memo->starts[(from->address ^ from->sp << 16) * VS_UNWIND_RULES_MIX >>
			     (64 - VS_UNWIND_MEMO_START_BITS)];
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
 * *likely: number of the run that it may be, from vs_unwind_memo_get_start() or from the run
 * before; it is put right if it was another one.
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
		*likely = (uint32_t)(run - memo->runs);
	return run;
}

/* Has the runs fetched that a walk from here met when its trail was kept. */
void vs_unwind_memo_expect(const struct vs_unwind_memo *memo, const struct vs_unwind_state *from);

/* Keeps the trail of a walk from here, all of which has just been recalled. */
void vs_unwind_memo_keep_trail(struct vs_unwind_memo *memo, const struct vs_unwind_state *from);

/* Sets *state, which was at the beginning of the run, to its end. */
VS_UNWIND_UNWATCHED static inline void vs_unwind_memo_leave(const struct vs_unwind_memo_run *run,
							    struct vs_unwind_state *state)
{
	if (run->to_bp_slot != VS_UNWIND_MEMO_NO_SLOT)
		state->bp = vs_unwind_memory_load(state->sp + run->to_bp_slot);
	state->address = run->words[run->nr_frames - 1];
	state->sp = run->to_sp;
}

#endif
