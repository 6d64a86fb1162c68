#include "unwind.h"

#include <string.h>

#include "hot.h"
#include "unwind_rules.h"

/* Where a walk is. */
struct place {
	struct vs_unwind_state state;
	struct vs_unwind_window window;
};

/*
 * Whether a word can be loaded; from another stack, if need be. What lies below the frame on the
 * same stack is in no frame: whoever leads us there is mistaken.
 */
static bool open_word(struct vs_unwind_own_stack *own, struct place *place, uintptr_t address)
{
	const struct vs_unwind_window *window = &place->window;

	if (vs_unwind_memory_has(window, address))
		return !vs_unwind_step_is_below(&place->state, address) ||
		       !vs_unwind_memory_has(window, place->state.sp);
	return vs_unwind_memory_open(own, &place->window, address);
}

/* ---- Steps that are not plain ---------------------------------------------------------------- */

/*
 * A plain rule that leads out of the window: the stack is larger than we knew, or it goes on
 * elsewhere. False: there is nothing to be read there, or it goes in circles.
 */
VS_UNWIND_UNWATCHED static bool step_far(struct vs_unwind_own_stack *own, struct place *place,
					 uint64_t rule)
{
	enum vs_unwind_kind kind = vs_unwind_rule_kind(rule);
	enum vs_unwind_bp where = vs_unwind_rule_bp(rule);
	struct vs_unwind_state *state = &place->state;
	uintptr_t cfa = vs_unwind_rule_cfa_offset(rule);
	uintptr_t bp = state->bp, slot;

	cfa += kind == VS_UNWIND_SP ? state->sp : state->bp;
	if (kind == VS_UNWIND_BP_LOAD) {
		if (!open_word(own, place, cfa))
			return false;
		cfa = vs_unwind_memory_load(cfa);
	}
	if (cfa <= state->sp && vs_unwind_memory_has(&place->window, cfa))
		return false; /* down the stack that we are on */
	if (where != VS_UNWIND_BP_KEPT) {
		slot = vs_unwind_rule_bp_offset(rule) + (where == VS_UNWIND_BP_AT_CFA ? cfa : bp);
		if (!open_word(own, place, slot))
			return false;
		bp = vs_unwind_memory_load(slot);
	}
	slot = cfa - VS_UNWIND_ARCH_RETURN_SIZE;
	if (!open_word(own, place, slot))
		return false;
	state->address = vs_unwind_memory_load(slot);
	state->sp = cfa;
	state->bp = bp;
	return true;
}

/* From the handler of a signal to what it interrupted, which may be on another stack. */
VS_UNWIND_UNWATCHED static bool step_signal(struct vs_unwind_own_stack *own, struct place *place)
{
	struct vs_unwind_state *state = &place->state;
	uintptr_t sp = state->sp;

	if (!open_word(own, place, sp + VS_UNWIND_ARCH_SIGNAL_BP) ||
	    !open_word(own, place, sp + VS_UNWIND_ARCH_SIGNAL_SP) ||
	    !open_word(own, place, sp + VS_UNWIND_ARCH_SIGNAL_PC))
		return false;
	state->bp = vs_unwind_memory_load(sp + VS_UNWIND_ARCH_SIGNAL_BP);
	state->sp = vs_unwind_memory_load(sp + VS_UNWIND_ARCH_SIGNAL_SP);
	state->address = vs_unwind_memory_load(sp + VS_UNWIND_ARCH_SIGNAL_PC);
	/* What was interrupted is known, even if nothing can be loaded from there on. */
	if (!vs_unwind_memory_open(own, &place->window, state->sp))
		place->window.size = 0;
	return true;
}

/* The step that no run has, and the frame it leads to. False: the walk ends, and *end says why. */
static __attribute__((noinline)) bool step_aside(struct vs_unwind_own_stack *own,
						 struct place *place, uint64_t *frame,
						 enum vs_unwind_end *end)
{
	uint64_t rule = vs_unwind_rules_get(place->state.address);
	bool is_signal = false;

	*end = VS_UNWIND_IS_CUT;
	switch (vs_unwind_rule_kind(rule)) {
	case VS_UNWIND_SP:
	case VS_UNWIND_BP:
	case VS_UNWIND_BP_LOAD:
		if (!step_far(own, place, rule))
			return false;
		break;
	case VS_UNWIND_SIGNAL:
		if (!step_signal(own, place))
			return false;
		is_signal = true;
		break;
	case VS_UNWIND_END:
		*end = VS_UNWIND_IS_WHOLE;
		return false;
	case VS_UNWIND_FOREIGN:
		*end = VS_UNWIND_IS_FOREIGN;
		return false;
	default:
		return false;
	}
	if (!place->state.address) {
		*end = VS_UNWIND_IS_WHOLE; /* as stacks end that are made by hand */
		return false;
	}
	*frame = place->state.address;
	/* Not behind a call: unwind_rules.h. */
	place->state.address += is_signal;
	return true;
}

/* ---- The walk -------------------------------------------------------------------------------- */

/* So that both words that a frame address points to can be loaded. */
static __attribute__((noinline)) bool open_frame(struct vs_unwind_own_stack *own,
						 struct vs_unwind_window *window, uintptr_t frame)
{
	return vs_unwind_memory_open(own, window, frame + VS_UNWIND_ARCH_FRAME_BP) &&
	       vs_unwind_memory_open(own, window, frame + VS_UNWIND_ARCH_FRAME_RETURN);
}

static __attribute__((noinline)) uint32_t find_guide(struct vs_unwind_guide *guide,
						     uint64_t address, uint64_t key)
{
	uint32_t number = (uint32_t)(address * VS_UNWIND_RULES_MIX >> (64 - VS_UNWIND_GUIDE_BITS));
	struct vs_unwind_guide_entry *entry = &guide->entries[number];

	if (entry->key == key)
		return number;
	/* A signal handler may jump out of here. */
	entry->key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->rule = vs_unwind_rules_get(address);
	atomic_signal_fence(memory_order_seq_cst);
	entry->key = key;
	return number;
}

/* Where a walk of this frame begins. */
VS_UNWIND_UNWATCHED static inline struct vs_unwind_state get_beginning(const void *frame)
{
	uintptr_t start = (uintptr_t)frame;

	return (struct vs_unwind_state){
		.address = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_RETURN),
		.sp = start + VS_UNWIND_ARCH_FRAME_SIZE,
		.bp = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_BP),
	};
}

/* Whether that can be loaded. */
static inline bool has_beginning(const struct vs_unwind_window *window, const void *frame)
{
	uintptr_t start = (uintptr_t)frame;

	return vs_unwind_memory_has(window, start + VS_UNWIND_ARCH_FRAME_BP) &&
	       vs_unwind_memory_has(window, start + VS_UNWIND_ARCH_FRAME_RETURN);
}

/* On from the place that the first frame leads to. */
VS_UNWIND_UNWATCHED static enum vs_unwind_end walk_on(struct vs_unwind_thread *self,
						      const struct place *start, uint64_t *frames,
						      uint32_t max_frames, uint32_t *nr_frames)
{
	struct vs_unwind_guide_entry *entries = self->guide.entries;
	uint64_t no_seal = ~vs_unwind_rules_get_seal();
	/* Only copies of it are given to others: it is to stay in registers. */
	struct place place = *start, copy;
	struct vs_unwind_trail trail;
	uint32_t first = 0, nr = 1;
	uint32_t *guess = &first;
	enum vs_unwind_end end;

	while (nr < max_frames) {
		uint64_t key = place.state.address ^ no_seal;
		struct vs_unwind_guide_entry *entry = &entries[*guess];

		if (__builtin_expect(entry->key != key, 0)) {
			*guess = find_guide(&self->guide, place.state.address, key);
			entry = &entries[*guess];
		}
		guess = &entry->caller;
		if (vs_unwind_step(&place.state, &place.window, entry->rule, &trail)) {
			if (!place.state.address)
				break; /* as stacks end that are made by hand */
			frames[nr++] = place.state.address;
			continue;
		}
		copy = place;
		if (!step_aside(&self->own, &copy, &frames[nr], &end)) {
			*nr_frames = nr;
			return end;
		}
		nr++;
		place = copy;
	}
	*nr_frames = nr;
	return nr < max_frames ? VS_UNWIND_IS_WHOLE : VS_UNWIND_IS_DEEP;
}

VS_UNWIND_UNWATCHED enum vs_unwind_end vs_unwind_walk(struct vs_unwind_thread *self,
						      const void *frame, uint64_t *frames,
						      uint32_t max_frames, uint32_t *nr_frames)
{
	struct place place = {.window = self->own.window};

	*nr_frames = 0;
	if (!VS_UNWIND_ARCH_IS_KNOWN)
		return VS_UNWIND_IS_FOREIGN;
	if (!has_beginning(&place.window, frame) &&
	    !open_frame(&self->own, &place.window, (uintptr_t)frame))
		return VS_UNWIND_IS_CUT;
	place.state = get_beginning(frame);
	frames[0] = place.state.address;
	return walk_on(self, &place, frames, max_frames, nr_frames);
}

/* ---- The walk that was made before ----------------------------------------------------------- */

#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0xe7037ed1a0b428db)

/*
 * A path while it is made. Each word goes into one lane, one to one: two stacks that differ in one
 * word never meet, and others but by chance. The lanes do not wait for each other.
 */
struct lanes {
	uint64_t a, b, c, d;
};

static inline uint64_t stir(uint64_t lane, uint64_t word)
{
	return (lane ^ word) * MIX_A;
}

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* Four words of the run, from number first on. */
VS_UNWIND_UNWATCHED static inline __attribute__((always_inline)) void stir_four(
	struct lanes *lanes, const struct vs_unwind_memo_run *run, uintptr_t sp, unsigned first)
{
	lanes->a = stir(lanes->a, vs_unwind_memo_load(sp, run->slots[first]));
	lanes->b = stir(lanes->b, vs_unwind_memo_load(sp, run->slots[first + 1]));
	lanes->c = stir(lanes->c, vs_unwind_memo_load(sp, run->slots[first + 2]));
	lanes->d = stir(lanes->d, vs_unwind_memo_load(sp, run->slots[first + 3]));
}

/* The words of the run as they are now. */
VS_UNWIND_UNWATCHED static inline __attribute__((always_inline)) void follow(
	struct lanes *lanes, const struct vs_unwind_memo_run *run, uintptr_t sp)
{
	stir_four(lanes, run, sp, 0);
	if (run->nr_words > 4)
		stir_four(lanes, run, sp, 4);
	if (run->nr_words > 8)
		stir_four(lanes, run, sp, 8);
}

static inline struct vs_unwind_path get_path(const struct lanes *lanes)
{
	return (struct vs_unwind_path){
		.a = lanes->a ^ rotate(lanes->b, 17) ^ rotate(lanes->c, 34) ^ rotate(lanes->d, 51),
		.b = (lanes->a ^ rotate(lanes->c, 23)) + (lanes->d ^ rotate(lanes->b, 42)),
	};
}

/* The run that begins here; *likely, if it is not NULL, is the number of what it may be, and is put
 * right. */
static inline __attribute__((always_inline)) struct vs_unwind_memo_run *get_run(
	struct vs_unwind_memo *memo, uint16_t *likely, uint64_t key,
	const struct vs_unwind_state *from)
{
	struct vs_unwind_memo_run *run;

	if (likely && __builtin_expect(vs_unwind_memo_is_at(&memo->runs[*likely], key, from), 1))
		return &memo->runs[*likely];
	run = vs_unwind_memo_find(memo, key, from);
	if (run && likely)
		*likely = (uint16_t)(run - memo->runs);
	return run;
}

/* By runs, from a beginning that is in the window. maker: is told of them, if it is not NULL. */
VS_UNWIND_UNWATCHED static inline __attribute__((always_inline)) bool recall_by_runs(
	struct vs_unwind_thread *self, struct vs_unwind_state state, uint32_t max_frames,
	struct vs_unwind_echo_maker *maker, struct vs_unwind_path *path)
{
	struct vs_unwind_memo *memo = &self->memo;
	uintptr_t end = self->own.window.start + self->own.window.size;
	uint16_t *likely = vs_unwind_memo_get_start(memo, &state);
	struct lanes lanes = {MIX_B, MIX_A, MIX_B, MIX_A};
	uint64_t no_key = vs_unwind_memo_get_key(0);
	struct vs_unwind_memo_run *run;
	uint32_t nr_frames = 1;

	lanes.a = stir(lanes.a, state.address);
	for (;;) {
		run = get_run(memo, likely, state.address ^ no_key, &state);
		if (__builtin_expect(!run, 0))
			return false;
		lanes.d = stir(lanes.d, run->shape);
		if (__builtin_expect(!run->nr_words, 0))
			break;
		/* The window has the first word of the run: it need not be below. */
		if (__builtin_expect(state.sp + run->slots[0] * sizeof(uint64_t) >= end, 0))
			return false;
		follow(&lanes, run, state.sp);
		if (maker && !vs_unwind_echo_add(maker, run, state.sp))
			return false;
		/* Of frames that are not wanted, those count that are in the last run. */
		nr_frames += run->nr_frames;
		if ((run->flags & VS_UNWIND_MEMO_IS_LAST) || nr_frames > max_frames)
			break;
		vs_unwind_memo_leave(run, &state);
		likely = run->flags & VS_UNWIND_MEMO_FORKS ? NULL : &run->next;
	}
	*path = get_path(&lanes);
	return true;
}

VS_HOT VS_UNWIND_UNWATCHED bool vs_unwind_recall(struct vs_unwind_thread *self, const void *frame,
						 uint32_t max_frames, struct vs_unwind_path *path)
{
	return VS_UNWIND_ARCH_IS_KNOWN && !self->memo.nr_plain &&
	       has_beginning(&self->own.window, frame) &&
	       recall_by_runs(self, get_beginning(frame), max_frames, NULL, path);
}

/* ---- Stacks that are known by their words ---------------------------------------------------- */

/* Keeps the stack with this path. False: it is too large, or not what it was. */
VS_COLD VS_UNWIND_UNWATCHED static bool keep_echo(struct vs_unwind_thread *self, const void *frame,
						  uint32_t max_frames, uint64_t key,
						  const struct vs_unwind_path *path)
{
	struct vs_unwind_state state = get_beginning(frame);
	struct vs_unwind_echo_maker maker;
	struct vs_unwind_path now;

	vs_unwind_echo_begin(&maker, &self->echoes, &state, path);
	return recall_by_runs(self, state, max_frames, &maker, &now) && now.a == path->a &&
	       now.b == path->b && vs_unwind_echo_end(&maker, &self->echoes, key, path);
}

VS_HOT VS_UNWIND_UNWATCHED struct vs_unwind_echo *vs_unwind_confirm(
	struct vs_unwind_thread *self, const void *frame, uint32_t max_frames, uint64_t nr_events,
	const struct vs_unwind_path *path)
{
	struct vs_unwind_echoes *echoes = &self->echoes;
	uint64_t key = vs_unwind_memo_get_key(get_beginning(frame).address);
	uint32_t number = vs_unwind_echo_find(echoes, key, path);

	if (number == VS_UNWIND_ECHO_NR && vs_unwind_echo_spend(echoes, nr_events) &&
	    keep_echo(self, frame, max_frames, key, path))
		number = vs_unwind_echo_find(echoes, key, path);
	if (__builtin_expect(number != VS_UNWIND_ECHO_NR, 1))
		return vs_unwind_echo_connect(echoes, number);
	vs_unwind_echo_pass(echoes);
	return NULL;
}

/* ---- Learning -------------------------------------------------------------------------------- */

VS_UNWIND_UNWATCHED bool vs_unwind_learn(struct vs_unwind_thread *self, const void *frame,
					 uint32_t max_frames, uint64_t nr_events)
{
	struct vs_unwind_window window = self->own.window;
	struct vs_unwind_memo_run *run, *before = NULL;
	struct vs_unwind_state state;
	uint32_t nr_frames = 1;

	if (!VS_UNWIND_ARCH_IS_KNOWN || !has_beginning(&window, frame) ||
	    !vs_unwind_memo_spend(&self->memo, nr_events))
		return false;
	for (state = get_beginning(frame);; vs_unwind_memo_leave(run, &state)) {
		run = vs_unwind_memo_learn(&self->memo, &state, &window);
		if (!run)
			return false;
		if (before)
			vs_unwind_memo_connect(&self->memo, before, run);
		before = run;
		nr_frames += run->nr_frames;
		if ((run->flags & VS_UNWIND_MEMO_IS_LAST) || nr_frames > max_frames)
			return true;
	}
}

/* ---- What will be recalled ------------------------------------------------------------------- */

void vs_unwind_expect(struct vs_unwind_thread *self, const void *frame)
{
	struct vs_unwind_state from = get_beginning(frame);

	vs_unwind_memo_expect(&self->memo, &from);
}

void vs_unwind_keep(struct vs_unwind_thread *self, const void *frame,
		    const struct vs_unwind_path *path)
{
	struct vs_unwind_state from = get_beginning(frame);

	vs_unwind_memo_keep_trail(&self->memo, &from, (uint32_t)path->a);
}
