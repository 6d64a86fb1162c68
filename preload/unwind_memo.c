#include "unwind_memo.h"

#include "hot.h"

/* Odd numbers without a pattern. */
#define MIX_ADDRESS UINT64_C(0x9e3779b97f4a7c15)
#define MIX_SP      UINT64_C(0xd6e8feb86659fd93)

static uint64_t make_tag(const struct vs_unwind_state *from)
{
	uint64_t tag = from->address * MIX_ADDRESS + from->sp * MIX_SP;

	tag ^= tag >> 32;
	return tag ? tag : 1;
}

/* A run while it is made. */
struct making {
	struct vs_unwind_memo_run *run;
	/* Beside return addresses: what else led the walk. */
	uint64_t words[VS_UNWIND_MEMO_NR_WORDS];
	uint32_t slots[VS_UNWIND_MEMO_NR_WORDS];
	unsigned nr_words;
	uint32_t bp_slot;   /* where the bp of the frame comes from */
	bool is_bp_checked; /* it is among the words */
};

/* Whether so many more words have room. */
static bool has_room(const struct making *making, unsigned nr)
{
	return making->run->nr_frames + making->nr_words + nr <= VS_UNWIND_MEMO_NR_WORDS;
}

static bool get_slot(struct making *making, uintptr_t address, uint32_t *slot)
{
	uintptr_t offset = address - making->run->from.sp;

	if (offset >= VS_UNWIND_MEMO_NO_SLOT)
		return false;
	*slot = (uint32_t)offset;
	if (*slot > making->run->reach)
		making->run->reach = *slot;
	return true;
}

static void add_word(struct making *making, uint32_t slot, uint64_t word)
{
	making->slots[making->nr_words] = slot;
	making->words[making->nr_words++] = word;
}

/* A step was led by the bp of its frame: that has to be the same again. */
static void add_bp(struct making *making, uintptr_t bp)
{
	if (making->bp_slot == VS_UNWIND_MEMO_NO_SLOT)
		making->run->bp_mask = UINTPTR_MAX;
	else if (!making->is_bp_checked)
		add_word(making, making->bp_slot, bp);
	making->is_bp_checked = true;
}

/* A step from *before to *after. False: there is no room for what led it. */
static bool add_step(struct making *making, const struct vs_unwind_state *before,
		     const struct vs_unwind_state *after, const struct vs_unwind_trail *trail)
{
	struct vs_unwind_memo_run *run = making->run;
	uint32_t return_slot, cfa_slot = 0, bp_slot = 0;

	/* At most: the return address, the bp, the CFA. */
	if (!has_room(making, 3) || !get_slot(making, trail->return_slot, &return_slot) ||
	    (trail->bp_slot && !get_slot(making, trail->bp_slot, &bp_slot)) ||
	    (trail->cfa_slot && !get_slot(making, trail->cfa_slot, &cfa_slot)))
		return false;
	if (trail->uses_bp)
		add_bp(making, before->bp);
	if (trail->cfa_slot)
		add_word(making, cfa_slot, after->sp);
	if (trail->bp_slot) {
		making->bp_slot = bp_slot;
		making->is_bp_checked = false;
	}
	run->words[run->nr_frames] = after->address;
	run->slots[run->nr_frames++] = return_slot;
	run->to_sp = after->sp;
	run->to_bp_slot = making->bp_slot;
	return true;
}

/* Puts the other words behind the return addresses. */
static void finish(struct making *making)
{
	struct vs_unwind_memo_run *run = making->run;
	unsigned nr = run->nr_frames;

	for (unsigned i = 0; i < making->nr_words; i++, nr++) {
		run->words[nr] = making->words[i];
		run->slots[nr] = making->slots[i];
	}
	for (; nr % 4; nr++) {
		run->words[nr] = run->words[0];
		run->slots[nr] = run->slots[0];
	}
	run->nr_words = (uint8_t)nr;
}

static bool is_same_line(uintptr_t a, uintptr_t b)
{
	return a / VS_UNWIND_MEMO_LINE_SIZE == b / VS_UNWIND_MEMO_LINE_SIZE;
}

static void make(struct vs_unwind_memo_run *run, const struct vs_unwind_state *from,
		 const struct vs_unwind_window *window)
{
	struct making making = {.run = run, .bp_slot = VS_UNWIND_MEMO_NO_SLOT};
	struct vs_unwind_state state = *from, before;
	struct vs_unwind_trail trail;
	uint64_t rule;

	run->from = *from;
	run->reach = 0;
	run->nr_frames = 0;
	run->bp_mask = 0;
	run->next = 0; /* whichever that is */
	for (;;) {
		rule = vs_unwind_rules_get(state.address);
		before = state;
		/* Address 0 is the end of the stack, which the walk sees for itself. */
		if ((run->nr_frames > 0 && !is_same_line(from->sp, state.sp)) ||
		    !vs_unwind_step(&state, window, rule, &trail) || !state.address ||
		    !add_step(&making, &before, &state, &trail))
			break;
	}
	run->end_kind = (uint8_t)vs_unwind_rule_kind(rule);
	if (run->nr_frames > 0)
		finish(&making);
}

static unsigned first_of_set(uint64_t tag)
{
	return (unsigned)(tag >> (64 - VS_UNWIND_MEMO_SET_BITS)) * VS_UNWIND_MEMO_NR_WAYS;
}

/* In place of another one of the set. */
static struct vs_unwind_memo_run *remember(struct vs_unwind_memo *memo, uint64_t tag,
					   const struct vs_unwind_state *from,
					   const struct vs_unwind_window *window)
{
	unsigned number = first_of_set(tag) + memo->next_way++ % VS_UNWIND_MEMO_NR_WAYS;
	struct vs_unwind_memo_run *run = &memo->runs[number];

	/* A signal handler may jump out of here: until the end nobody finds it. */
	memo->tags[number] = 0;
	run->serial = 0;
	atomic_signal_fence(memory_order_seq_cst);
	make(run, from, window);
	if (run->nr_frames == 0)
		return NULL;
	atomic_signal_fence(memory_order_seq_cst);
	run->serial = ++memo->last_serial;
	memo->tags[number] = tag;
	return run;
}

static void earn(struct vs_unwind_memo *memo)
{
	if (memo->credit < VS_UNWIND_MEMO_MOST_CREDIT)
		memo->credit++;
}

static void pay(struct vs_unwind_memo *memo)
{
	memo->credit -= VS_UNWIND_MEMO_COST;
	if (memo->credit >= 0)
		return;
	memo->credit = VS_UNWIND_MEMO_NEW_CREDIT;
	memo->nr_plain = VS_UNWIND_MEMO_NR_PLAIN;
}

VS_HOT static struct vs_unwind_memo_run *recall(struct vs_unwind_memo *memo, uint64_t tag,
						const struct vs_unwind_state *from,
						const struct vs_unwind_window *window)
{
	unsigned first = first_of_set(tag);

	for (unsigned i = first; i < first + VS_UNWIND_MEMO_NR_WAYS; i++)
		if (memo->tags[i] == tag &&
		    vs_unwind_memo_fits(&memo->runs[i], from, memo->first_serial, window))
			return &memo->runs[i];
	return NULL;
}

struct vs_unwind_memo_run *vs_unwind_memo_recall(struct vs_unwind_memo *memo,
						 const struct vs_unwind_state *from,
						 const struct vs_unwind_window *window)
{
	return recall(memo, make_tag(from), from, window);
}

struct vs_unwind_memo_run *vs_unwind_memo_find(struct vs_unwind_memo *memo,
					       const struct vs_unwind_state *from,
					       const struct vs_unwind_window *window)
{
	uint64_t tag = make_tag(from);
	struct vs_unwind_memo_run *run = recall(memo, tag, from, window);

	if (run) {
		earn(memo);
		return run;
	}
	/* Nothing to be remembered is nothing that was forgotten. */
	if (!vs_unwind_rule_is_plain(vs_unwind_rules_get(from->address)))
		return NULL;
	pay(memo);
	return remember(memo, tag, from, window);
}

static uint32_t get_trail(const struct vs_unwind_state *from)
{
	return (uint32_t)((from->address ^ from->sp << 16) * VS_UNWIND_RULES_MIX >>
			  (64 - VS_UNWIND_MEMO_TRAIL_BITS));
}

VS_HOT void vs_unwind_memo_expect(const struct vs_unwind_memo *memo,
				  const struct vs_unwind_state *from)
{
	const uint32_t *runs = memo->trails[get_trail(from)].runs;

	for (unsigned i = 0; i < VS_UNWIND_MEMO_TRAIL_NR_RUNS && runs[i]; i++) {
		const char *run = (const char *)&memo->runs[runs[i] - 1];

		for (size_t at = 0; at < sizeof(struct vs_unwind_memo_run); at += 64)
			__builtin_prefetch(run + at);
	}
}

VS_HOT void vs_unwind_memo_keep_trail(struct vs_unwind_memo *memo,
				      const struct vs_unwind_state *from)
{
	uint32_t *runs = memo->trails[get_trail(from)].runs;
	uint32_t number = *vs_unwind_memo_get_start(memo, from);
	unsigned nr = 0;

	/* Whatever it finds is the number of a run: at worst it is of no use. */
	while (nr < VS_UNWIND_MEMO_TRAIL_NR_RUNS) {
		runs[nr++] = number + 1;
		if (vs_unwind_kind_is_last(memo->runs[number].end_kind))
			break;
		number = memo->runs[number].next;
	}
	if (nr < VS_UNWIND_MEMO_TRAIL_NR_RUNS)
		runs[nr] = 0;
}
