#include "unwind_memo.h"

#include <string.h>

#include "hot.h"

/* ---- What a walk looks at -------------------------------------------------------------------- */

/* The steps from one place on, as far as a run may go. */
struct stretch {
	uint16_t slots[VS_UNWIND_MEMO_NR_WORDS];
	unsigned nr_words;
	uint32_t returns; /* bits */
	/* Behind each step. */
	uint8_t words_by[VS_UNWIND_MEMO_NR_WORDS];
	uint16_t bp_slots[VS_UNWIND_MEMO_NR_WORDS];
	unsigned nr_steps;
	bool uses_bp;     /* the first step does */
	bool ends;        /* behind the last step */
	bool has_bp;      /* the bp is among the words */
	uint16_t bp_slot; /* where the bp of the frame comes from */
};

static bool get_slot(uintptr_t sp, uintptr_t address, uint16_t *slot)
{
	uintptr_t offset = address - sp;

	if (offset % sizeof(uint64_t) || offset / sizeof(uint64_t) >= VS_UNWIND_MEMO_NO_SLOT)
		return false;
	*slot = (uint16_t)(offset / sizeof(uint64_t));
	return true;
}

/*
 * A step that began with *stretch, from a walk at sp. False: it is no part of it. A step that is
 * led by the bp with which the stretch began is, if any, its first one: the bp is no word of the
 * stack.
 */
static bool add_step(struct stretch *stretch, uintptr_t sp, const struct vs_unwind_trail *trail)
{
	uint16_t slot, cfa_slot = 0, bp_slot = stretch->bp_slot;
	bool is_by_start = trail->uses_bp && bp_slot == VS_UNWIND_MEMO_NO_SLOT;
	unsigned nr = stretch->nr_words;

	/* At most: the bp, the CFA, the return address. */
	if (nr + 3 > VS_UNWIND_MEMO_NR_WORDS || (is_by_start && stretch->nr_steps > 0) ||
	    !get_slot(sp, trail->return_slot, &slot) ||
	    (trail->cfa_slot && (!get_slot(sp, trail->cfa_slot, &cfa_slot) || cfa_slot > slot)) ||
	    (trail->bp_slot && (!get_slot(sp, trail->bp_slot, &bp_slot) || bp_slot > slot)))
		return false;
	stretch->uses_bp |= is_by_start;
	if (trail->uses_bp && !is_by_start && !stretch->has_bp) {
		stretch->slots[nr++] = stretch->bp_slot;
		stretch->has_bp = true;
	}
	if (trail->cfa_slot)
		stretch->slots[nr++] = cfa_slot;
	stretch->returns |= 1u << nr;
	stretch->slots[nr++] = slot;
	if (trail->bp_slot) {
		stretch->bp_slot = bp_slot;
		stretch->has_bp = false;
	}
	stretch->nr_words = nr;
	stretch->words_by[stretch->nr_steps] = (uint8_t)nr;
	stretch->bp_slots[stretch->nr_steps++] = stretch->bp_slot;
	return true;
}

static bool is_same_line(uintptr_t a, uintptr_t b)
{
	return a / VS_UNWIND_MEMO_LINE_SIZE == b / VS_UNWIND_MEMO_LINE_SIZE;
}

static struct stretch look(const struct vs_unwind_state *from,
			   const struct vs_unwind_window *window)
{
	struct stretch stretch = {.bp_slot = VS_UNWIND_MEMO_NO_SLOT};
	struct vs_unwind_state state = *from;
	struct vs_unwind_trail trail;

	for (;;) {
		uint64_t rule = vs_unwind_rules_get(state.address);

		stretch.ends = vs_unwind_kind_is_last((uint8_t)vs_unwind_rule_kind(rule));
		if (stretch.ends || (stretch.nr_steps && !is_same_line(from->sp, state.sp)) ||
		    !vs_unwind_step(&state, window, rule, &trail) ||
		    !add_step(&stretch, from->sp, &trail))
			break;
		if (!state.address) {
			stretch.ends = true; /* as stacks end that are made by hand */
			break;
		}
	}
	return stretch;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static uint64_t stir(uint64_t value, uint64_t word)
{
	value = (value ^ word) * VS_UNWIND_RULES_MIX;
	return value ^ value >> 29;
}

static uint64_t get_shape(const struct vs_unwind_memo_run *run)
{
	uint64_t shape =
		stir(run->nr_words | (uint64_t)run->flags << 8 | (uint64_t)run->to_bp_slot << 16 |
			     (uint64_t)run->returns << 32,
		     run->sp);

	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WORDS; i++)
		shape = stir(shape, run->slots[i]);
	return shape;
}

/* The run begins here and is the first steps of the stretch. */
static void fill(struct vs_unwind_memo_run *run, const struct vs_unwind_state *from,
		 const struct stretch *stretch, unsigned nr_steps, bool is_last)
{
	unsigned nr_words = nr_steps ? stretch->words_by[nr_steps - 1] : 0;
	uint16_t last;

	/* A signal handler may jump out of here: until the end nobody finds it. */
	run->key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	run->sp = from->sp;
	run->bp = from->bp;
	run->flags = (nr_steps && stretch->uses_bp ? VS_UNWIND_MEMO_USES_BP : 0) |
		     (is_last ? VS_UNWIND_MEMO_IS_LAST : 0);
	run->nr_words = (uint8_t)nr_words;
	run->returns = stretch->returns & ((1u << nr_words) - 1) & 0xfff;
	run->nr_frames = (unsigned)__builtin_popcount(run->returns) & 0xf;
	run->to_bp_slot = nr_steps ? stretch->bp_slots[nr_steps - 1] : VS_UNWIND_MEMO_NO_SLOT;
	last = nr_words ? stretch->slots[nr_words - 1] : 0;
	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WORDS; i++)
		run->slots[i] = i && i < nr_words ? stretch->slots[i - 1] : last;
	run->shape = get_shape(run);
	atomic_signal_fence(memory_order_seq_cst);
	run->key = vs_unwind_memo_get_key(from->address);
}

/* A place in the set: an empty one, or that of another run. */
static unsigned choose_way(struct vs_unwind_memo *memo, const struct vs_unwind_memo_set *set)
{
	for (unsigned way = 0; way < VS_UNWIND_MEMO_NR_WAYS; way++)
		if (!(set->tags >> 16 * way & 0xffff))
			return way;
	return memo->next_way++ % VS_UNWIND_MEMO_NR_WAYS;
}

/*
 * Seldom, and what is needed is learned again. The runs go first: they are also found by the number
 * of the one before (vs_unwind_recall), and one that is not in its set any more would not be made
 * right for the stacks that are learned from now on, but followed by them.
 */
static void begin_anew(struct vs_unwind_memo *memo)
{
	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_RUNS; i++)
		memo->runs[i].key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memset(memo->sets, 0, sizeof(memo->sets));
	memo->nr_runs = 0;
}

static struct vs_unwind_memo_run *add(struct vs_unwind_memo *memo,
				      const struct vs_unwind_state *from,
				      const struct stretch *stretch)
{
	uint64_t hash = vs_unwind_memo_hash(from);
	struct vs_unwind_memo_set *set = &memo->sets[vs_unwind_memo_get_set(hash)];
	unsigned way, shift;

	if (memo->nr_runs == VS_UNWIND_MEMO_NR_RUNS)
		begin_anew(memo);
	way = choose_way(memo, set);
	shift = 16 * way;
	if (!(set->tags >> shift & 0xffff))
		set->runs[way] = (uint16_t)memo->nr_runs++;
	fill(&memo->runs[set->runs[way]], from, stretch, stretch->nr_steps, stretch->ends);
	set->tags = (set->tags & ~(UINT64_C(0xffff) << shift)) | vs_unwind_memo_get_tag(hash)
									 << shift;
	return &memo->runs[set->runs[way]];
}

/* In the order in which a walk reads them. */
static uint16_t get_slot_of(const struct vs_unwind_memo_run *run, unsigned word)
{
	return run->slots[word + 1 < run->nr_words ? word + 1 : 0];
}

/* How many steps of the stretch are those of the run, too. */
static unsigned count_common(const struct vs_unwind_memo_run *run, const struct stretch *stretch)
{
	unsigned nr_words = 0, nr_steps = 0;

	while (nr_words < run->nr_words && nr_words < stretch->nr_words &&
	       get_slot_of(run, nr_words) == stretch->slots[nr_words] &&
	       (run->returns >> nr_words & 1) == (stretch->returns >> nr_words & 1))
		nr_words++;
	while (nr_steps < stretch->nr_steps && stretch->words_by[nr_steps] <= nr_words)
		nr_steps++;
	return nr_steps;
}

/*
 * Makes the run right for the stretch, too: cuts it where they part. Where the bp comes from is
 * only known of its end; if that is elsewhere, it is one step shorter, until they agree.
 */
static void adapt(struct vs_unwind_memo_run *run, const struct vs_unwind_state *from,
		  const struct stretch *stretch)
{
	unsigned nr_steps = count_common(run, stretch);
	bool is_whole = nr_steps && stretch->words_by[nr_steps - 1] == run->nr_words;
	bool ends = stretch->ends && nr_steps == stretch->nr_steps;

	if (is_whole && run->to_bp_slot != stretch->bp_slots[nr_steps - 1])
		nr_steps--;
	else if (is_whole && (ends || !(run->flags & VS_UNWIND_MEMO_IS_LAST)))
		return;
	if (nr_steps)
		fill(run, from, stretch, nr_steps, false);
	else
		fill(run, from, stretch, stretch->nr_steps, stretch->ends);
}

struct vs_unwind_memo_run *vs_unwind_memo_learn(struct vs_unwind_memo *memo,
						const struct vs_unwind_state *from,
						const struct vs_unwind_window *window)
{
	struct stretch stretch = look(from, window);
	struct vs_unwind_memo_run *run;

	if (!stretch.nr_steps && !stretch.ends)
		return NULL;
	run = vs_unwind_memo_find(memo, vs_unwind_memo_get_key(from->address), from);
	if (!run)
		return add(memo, from, &stretch);
	adapt(run, from, &stretch);
	return run;
}

void vs_unwind_memo_connect(struct vs_unwind_memo *memo, struct vs_unwind_memo_run *run,
			    const struct vs_unwind_memo_run *next)
{
	uint16_t number = (uint16_t)(next - memo->runs);

	if (run->next == number || (run->flags & VS_UNWIND_MEMO_FORKS))
		return;
	run->next = number;
	run->flags += VS_UNWIND_MEMO_ONE_MORE;
	if (run->flags > VS_UNWIND_MEMO_MOST_WAYS)
		run->flags |= VS_UNWIND_MEMO_FORKS;
}

bool vs_unwind_memo_spend(struct vs_unwind_memo *memo, uint64_t nr_events)
{
	uint64_t nr_paid = nr_events - memo->paid_until;

	memo->paid_until = nr_events;
	memo->debt -= nr_paid < memo->debt ? nr_paid : memo->debt;
	if (memo->nr_plain) {
		memo->nr_plain--;
		return false;
	}
	memo->debt += VS_UNWIND_MEMO_COST;
	if (memo->debt > VS_UNWIND_MEMO_MOST_DEBT)
		memo->nr_plain = VS_UNWIND_MEMO_NR_PLAIN;
	return true;
}

/* ---- Trails ---------------------------------------------------------------------------------- */

static uint32_t get_trail(const struct vs_unwind_state *from)
{
	return (uint32_t)((from->address ^ from->sp << 16) * VS_UNWIND_RULES_MIX >>
			  (64 - VS_UNWIND_MEMO_TRAIL_BITS));
}

VS_HOT void vs_unwind_memo_expect(const struct vs_unwind_memo *memo,
				  const struct vs_unwind_state *from)
{
	const uint16_t *runs = memo->trails[get_trail(from)].runs;

	/* All of them, whether there is one or not: a branch would wait for the trail. */
	for (unsigned i = 0; i < VS_UNWIND_MEMO_TRAIL_NR_RUNS; i++)
		__builtin_prefetch(&memo->runs[runs[i]]);
}

VS_HOT void vs_unwind_memo_keep_trail(struct vs_unwind_memo *memo,
				      const struct vs_unwind_state *from, uint32_t path)
{
	struct vs_unwind_memo_trail *trail = &memo->trails[get_trail(from)];
	uint16_t *runs = trail->runs;
	uint16_t number = *vs_unwind_memo_get_start(memo, from);
	unsigned nr = 0;

	if (trail->path == path)
		return;
	trail->path = path;
	/* Whatever it finds is the number of a run: at worst it is of no use. */
	while (nr < VS_UNWIND_MEMO_TRAIL_NR_RUNS) {
		runs[nr++] = number;
		if (!(memo->runs[number].flags & VS_UNWIND_MEMO_IS_LAST))
			number = memo->runs[number].next;
	}
}
