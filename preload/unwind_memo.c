#include "unwind_memo.h"

#include "hot.h"

#include <string.h>

/* Odd numbers without a pattern. */
#define MIX_ADDRESS UINT64_C(0x9e3779b97f4a7c15)
#define MIX_FIRST   UINT64_C(0xd6e8feb86659fd93)

/*
 * The first return address behind this, where the rule says without more ado where it is: of all
 * that a run could be known by beside its beginning, what differs most.
 */
VS_UNWIND_UNWATCHED static uint64_t get_first(const struct vs_unwind_state *from,
					      const struct vs_unwind_window *window, uint64_t rule)
{
	uintptr_t slot = vs_unwind_rule_cfa_offset(rule) - VS_UNWIND_ARCH_RETURN_SIZE;

	if (vs_unwind_rule_kind(rule) == VS_UNWIND_SP)
		slot += from->sp;
	else if (vs_unwind_rule_kind(rule) == VS_UNWIND_BP)
		slot += from->bp;
	else
		return 0;
	return vs_unwind_memory_has(window, slot) ? vs_unwind_memory_load(slot) : 0;
}

static uint64_t make_tag(const struct vs_unwind_state *from, const struct vs_unwind_window *window,
			 uint64_t rule)
{
	uint64_t tag = from->address * MIX_ADDRESS + get_first(from, window, rule) * MIX_FIRST;

	tag ^= tag >> 32;
	return tag * MIX_ADDRESS | 1;
}

static struct vs_unwind_memo_entry *get_set(struct vs_unwind_memo *memo, uint64_t tag)
{
	return memo->sets[tag >> (64 - VS_UNWIND_MEMO_SET_BITS)];
}

/* One to one in either. */
static inline uint64_t stir(uint64_t lane, uint64_t word)
{
	return (lane + word) * MIX_ADDRESS;
}

/* Not inlined: where it is called from there are too few registers left for it. */
VS_HOT VS_UNWIND_UNWATCHED __attribute__((noinline)) uint64_t vs_unwind_memo_print(
	const struct vs_unwind_memo_run *run, uintptr_t sp)
{
	const uint16_t *slot = run->slots, *end = slot + run->nr_frames;
	/* The four lanes do not wait for each other. */
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (; slot < end; slot += 4) {
		a = stir(a, vs_unwind_memo_load(sp, slot[0]));
		b = stir(b, vs_unwind_memo_load(sp, slot[1]));
		c = stir(c, vs_unwind_memo_load(sp, slot[2]));
		d = stir(d, vs_unwind_memo_load(sp, slot[3]));
	}
	for (end = slot + run->nr_led; __builtin_expect(slot < end, 0); slot++)
		a = stir(a, vs_unwind_memo_load(sp, *slot) - sp);
	return stir(stir(a, b), stir(c, d) ^ d >> 32);
}

/* ---- Making a run ---------------------------------------------------------------------------- */

/* A run while it is made. */
struct making {
	struct vs_unwind_memo_run *run;
	uint64_t *frames;
	uintptr_t from_sp;
	/* Beside return addresses: where what else led the walk is. */
	uint16_t led[VS_UNWIND_MEMO_NR_SLOTS];
	uint16_t bp_slot;   /* where the bp of the frame comes from */
	bool is_bp_checked; /* it is among them */
};

static unsigned round_up(unsigned nr_frames)
{
	return (nr_frames + 3) & ~3u;
}

/* Whether one more frame has room, with all that may lead to it: the return address, bp, CFA. */
static bool has_room(const struct vs_unwind_memo_run *run)
{
	return round_up(run->nr_frames + 1u) + run->nr_led + 2 <= VS_UNWIND_MEMO_NR_SLOTS;
}

static bool get_slot(struct making *making, uintptr_t address, uint16_t *slot)
{
	uintptr_t offset = address - making->from_sp;

	if (offset % 8 || offset / 8 >= VS_UNWIND_MEMO_NO_SLOT)
		return false;
	*slot = (uint16_t)(offset / 8);
	if (*slot > making->run->reach)
		making->run->reach = *slot;
	return true;
}

static void add_led(struct making *making, uint16_t slot)
{
	making->led[making->run->nr_led++] = slot;
}

/* A step was led by the bp of its frame: that has to be the same again. */
static void add_bp(struct making *making)
{
	if (making->bp_slot == VS_UNWIND_MEMO_NO_SLOT)
		making->run->bp_mask = UINTPTR_MAX;
	else if (!making->is_bp_checked)
		add_led(making, making->bp_slot);
	making->is_bp_checked = true;
}

/* A step to *after. False: there is no room for what led it. */
static bool add_step(struct making *making, const struct vs_unwind_state *after,
		     const struct vs_unwind_trail *trail)
{
	struct vs_unwind_memo_run *run = making->run;
	uint16_t return_slot, cfa_slot = 0, bp_slot = 0;

	if (!has_room(run) || !get_slot(making, trail->return_slot, &return_slot) ||
	    (trail->bp_slot && !get_slot(making, trail->bp_slot, &bp_slot)) ||
	    (trail->cfa_slot && !get_slot(making, trail->cfa_slot, &cfa_slot)))
		return false;
	if (trail->uses_bp)
		add_bp(making);
	if (trail->cfa_slot)
		add_led(making, cfa_slot);
	if (trail->bp_slot) {
		making->bp_slot = bp_slot;
		making->is_bp_checked = false;
	}
	making->frames[run->nr_frames] = after->address;
	run->slots[run->nr_frames++] = return_slot;
	run->to_sp = (uint32_t)(after->sp - making->from_sp);
	run->to_bp_slot = making->bp_slot;
	return true;
}

/* Whether runs end where a walk comes to this instruction, if they are not too short. */
static bool is_end(uint64_t address)
{
	return address * MIX_FIRST >> 60 == 0;
}

/* With so many frames at most; with none, if not even one step is a plain one. */
static void make(struct making *making, const struct vs_unwind_state *from,
		 const struct vs_unwind_window *window, unsigned max_frames)
{
	struct vs_unwind_memo_run *run = making->run;
	struct vs_unwind_state state = *from;
	struct vs_unwind_trail trail;
	unsigned nr;
	uint64_t rule;

	making->from_sp = from->sp;
	making->bp_slot = VS_UNWIND_MEMO_NO_SLOT;
	making->is_bp_checked = false;
	run->address = from->address;
	run->bp = from->bp - from->sp;
	run->bp_mask = 0;
	run->reach = 0;
	run->nr_frames = 0;
	run->nr_led = 0;
	for (;;) {
		rule = vs_unwind_rules_get(state.address);
		/* Address 0 is the end of the stack, which the walk sees for itself. */
		if (run->nr_frames == max_frames ||
		    (run->nr_frames >= VS_UNWIND_MEMO_MIN_FRAMES && is_end(state.address)) ||
		    !vs_unwind_step(&state, window, rule, &trail) || !state.address ||
		    !add_step(making, &state, &trail))
			break;
	}
	run->end_kind = (uint8_t)vs_unwind_rule_kind(rule);
	for (nr = run->nr_frames; nr % 4; nr++)
		run->slots[nr] = run->slots[0];
	memcpy(run->slots + nr, making->led, run->nr_led * sizeof(run->slots[0]));
	if (run->nr_frames > 0)
		run->print = vs_unwind_memo_print(run, from->sp);
}

/* ---- Where runs part ------------------------------------------------------------------------- */

/* How many frames two runs have in common, from their beginning on. */
static unsigned count_common(const struct vs_unwind_memo *memo, uint32_t a, uint32_t b)
{
	const struct vs_unwind_memo_run *one = &memo->runs[a], *other = &memo->runs[b];
	unsigned nr = one->nr_frames < other->nr_frames ? one->nr_frames : other->nr_frames;
	unsigned i = 0;

	while (i < nr && memo->frames[a][i] == memo->frames[b][i] &&
	       one->slots[i] == other->slots[i])
		i++;
	return i;
}

/* Whether the entry is that of a run which begins as number does, and another one. */
static bool is_alike(const struct vs_unwind_memo *memo, const struct vs_unwind_memo_entry *entry,
		     uint64_t tag, uint32_t number)
{
	const struct vs_unwind_memo_run *run = &memo->runs[entry->run];

	return entry->tag == (uint32_t)tag && entry->run != number &&
	       run->address == memo->runs[number].address && run->serial >= memo->first_serial;
}

/* How many frames the run is to have, which was just made: fewer than it has, if enough others
 * begin in the same way. */
static unsigned choose_end(struct vs_unwind_memo *memo, uint64_t tag, uint32_t number)
{
	const struct vs_unwind_memo_entry *set = get_set(memo, tag);
	unsigned nr_alike = 0, longest = 0;

	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WAYS; i++) {
		unsigned nr_common;

		if (!is_alike(memo, &set[i], tag, number))
			continue;
		nr_alike++;
		nr_common = count_common(memo, set[i].run, number);
		if (nr_common > longest)
			longest = nr_common;
	}
	return nr_alike >= VS_UNWIND_MEMO_NR_ALIKE && longest > 0 ? longest
								  : memo->runs[number].nr_frames;
}

/* Where in its set a run goes. */
static unsigned choose_way(struct vs_unwind_memo *memo, uint64_t tag)
{
	const struct vs_unwind_memo_entry *set = get_set(memo, tag);

	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WAYS; i++)
		if (!set[i].tag)
			return i;
	return memo->next_way++ % VS_UNWIND_MEMO_NR_WAYS;
}

/* What begins with the run that was just made is found by way of it from now on. */
static void forget_longer(struct vs_unwind_memo *memo, uint64_t tag, uint32_t number)
{
	struct vs_unwind_memo_entry *set = get_set(memo, tag);

	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WAYS; i++)
		if (is_alike(memo, &set[i], tag, number) &&
		    count_common(memo, set[i].run, number) == memo->runs[number].nr_frames) {
			memo->runs[set[i].run].serial = 0;
			set[i].tag = 0;
		}
}

/* In place of the oldest one. */
static struct vs_unwind_memo_run *remember(struct vs_unwind_memo *memo, uint64_t tag,
					   const struct vs_unwind_state *from,
					   const struct vs_unwind_window *window)
{
	uint32_t number = memo->nr_made++ % VS_UNWIND_MEMO_NR_RUNS;
	struct vs_unwind_memo_run *run = &memo->runs[number];
	struct making making = {.run = run, .frames = memo->frames[number]};
	unsigned nr_frames;

	/* A signal handler may jump out of here: until the end nobody finds it. */
	run->serial = 0;
	atomic_signal_fence(memory_order_seq_cst);
	run->number = number;
	make(&making, from, window, VS_UNWIND_MEMO_NR_SLOTS);
	if (run->nr_frames == 0)
		return NULL;
	nr_frames = choose_end(memo, tag, number);
	if (nr_frames < run->nr_frames) {
		make(&making, from, window, nr_frames);
		forget_longer(memo, tag, number);
	}
	atomic_signal_fence(memory_order_seq_cst);
	run->serial = ++memo->last_serial;
	get_set(memo, tag)[choose_way(memo, tag)] =
		(struct vs_unwind_memo_entry){(uint32_t)tag, number};
	return run;
}

/* ---- Finding a run --------------------------------------------------------------------------- */

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
	const struct vs_unwind_memo_entry *set = get_set(memo, tag);

	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WAYS; i++) {
		struct vs_unwind_memo_run *run = &memo->runs[set[i].run];

		if (set[i].tag == (uint32_t)tag &&
		    vs_unwind_memo_fits(run, from, memo->first_serial, window))
			return run;
	}
	return NULL;
}

struct vs_unwind_memo_run *vs_unwind_memo_recall(struct vs_unwind_memo *memo,
						 const struct vs_unwind_state *from,
						 const struct vs_unwind_window *window)
{
	uint64_t rule = vs_unwind_rules_get(from->address);

	return recall(memo, make_tag(from, window, rule), from, window);
}

struct vs_unwind_memo_run *vs_unwind_memo_find(struct vs_unwind_memo *memo,
					       const struct vs_unwind_state *from,
					       const struct vs_unwind_window *window)
{
	uint64_t rule = vs_unwind_rules_get(from->address);
	uint64_t tag = make_tag(from, window, rule);
	struct vs_unwind_memo_run *run = recall(memo, tag, from, window);

	if (run) {
		earn(memo);
		return run;
	}
	/* Nothing to be remembered is nothing that was forgotten. */
	if (!vs_unwind_rule_is_plain(rule))
		return NULL;
	pay(memo);
	return remember(memo, tag, from, window);
}

VS_HOT void vs_unwind_memo_expect(struct vs_unwind_memo *memo, const struct vs_unwind_state *from)
{
	const struct vs_unwind_memo_trail *trail = vs_unwind_memo_get_trail(memo, from);

	for (unsigned i = 0; i < VS_UNWIND_MEMO_TRAIL_NR_RUNS && trail->runs[i]; i++) {
		const char *run = (const char *)&memo->runs[trail->runs[i] - 1];

		__builtin_prefetch(run);
		__builtin_prefetch(run + 64);
		__builtin_prefetch(&memo->guesses[trail->guesses[i]]);
	}
}
