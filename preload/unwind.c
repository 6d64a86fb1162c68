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

/* Frames of a run, nr of them, where there is room for so many. */
static inline void take_frames(uint64_t *frames, size_t room, const struct vs_unwind_memo_run *run,
			       size_t nr)
{
	/* A copy of known length is faster. */
	if (__builtin_expect(room >= VS_UNWIND_MEMO_NR_WORDS, 1))
		memcpy(frames, run->words, sizeof(run->words));
	else
		memcpy(frames, run->words, (nr < room ? nr : room) * sizeof(*frames));
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

/* On from the place that the first frame leads to, without the memo. */
VS_UNWIND_UNWATCHED static __attribute__((noinline)) enum vs_unwind_end walk_plainly(
	struct vs_unwind_thread *self, const struct place *start, uint64_t *frames,
	uint32_t max_frames, uint32_t *nr_frames)
{
	struct vs_unwind_guide_entry *entries = self->guide.entries;
	uint64_t no_seal = ~vs_unwind_rules_get_seal();
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
	/* Only copies of it are given to others: it is to stay in registers. */
	struct place place = {.window = self->own.window}, copy;
	uintptr_t start = (uintptr_t)frame;
	struct vs_unwind_memo_run *run;
	enum vs_unwind_end end;
	uint8_t last = VS_UNWIND_END; /* of the latest run: the walk ends there, or goes on */
	uint32_t *likely;
	size_t nr = 0;

	*nr_frames = 0;
	if (!VS_UNWIND_ARCH_IS_KNOWN)
		return VS_UNWIND_IS_FOREIGN;
	if (!vs_unwind_memory_has(&place.window, start + VS_UNWIND_ARCH_FRAME_BP) ||
	    !vs_unwind_memory_has(&place.window, start + VS_UNWIND_ARCH_FRAME_RETURN)) {
		copy = place;
		if (!open_frame(&self->own, &copy.window, start))
			return VS_UNWIND_IS_CUT;
		place = copy;
	}
	place.state.bp = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_BP);
	place.state.address = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_RETURN);
	place.state.sp = start + VS_UNWIND_ARCH_FRAME_SIZE;
	frames[nr++] = place.state.address;
	if (__builtin_expect(self->memo.nr_plain, 0)) {
		self->memo.nr_plain--;
		copy = place;
		return walk_plainly(self, &copy, frames, max_frames, nr_frames);
	}
	likely = vs_unwind_memo_get_start(&self->memo, &place.state);
	while (nr < max_frames) {
		run = vs_unwind_memo_get(&self->memo, likely, &place.state, &place.window);
		if (run) {
			take_frames(frames + nr, max_frames - nr, run, run->nr_frames);
			nr += run->nr_frames;
			last = run->end_kind;
			if (vs_unwind_kind_is_last(last))
				break;
			vs_unwind_memo_leave(run, &place.state);
			likely = &run->next;
			continue;
		}
		copy = place;
		if (!step_aside(&self->own, &copy, &frames[nr], &end)) {
			*nr_frames = (uint32_t)nr;
			return end;
		}
		nr++;
		place = copy;
		likely = vs_unwind_memo_get_start(&self->memo, &place.state);
	}
	*nr_frames = nr < max_frames ? (uint32_t)nr : max_frames;
	if (nr >= max_frames)
		return VS_UNWIND_IS_DEEP;
	return last == VS_UNWIND_BARE ? VS_UNWIND_IS_CUT : VS_UNWIND_IS_WHOLE;
}

/* ---- The walk that was made before ----------------------------------------------------------- */

#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0xe7037ed1a0b428db)

/* Each step is one to one: two paths that differ once do not meet again but by chance, twice. */
static inline void follow(struct vs_unwind_path *path, uint64_t serial)
{
	path->a = (path->a ^ serial) * MIX_A;
	path->b = (path->b ^ serial) * MIX_B;
	path->a ^= path->a >> 32;
	path->b ^= path->b >> 29;
}

VS_HOT VS_UNWIND_UNWATCHED bool vs_unwind_recall(struct vs_unwind_thread *self, const void *frame,
						 uint32_t max_frames, struct vs_unwind_path *path)
{
	struct vs_unwind_memo *memo = &self->memo;
	struct vs_unwind_window window = self->own.window;
	struct vs_unwind_path found = {MIX_A, MIX_B};
	uintptr_t start = (uintptr_t)frame;
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state state;
	uint32_t *likely, nr = 1;

	if (!VS_UNWIND_ARCH_IS_KNOWN || memo->nr_plain ||
	    !vs_unwind_memory_has(&window, start + VS_UNWIND_ARCH_FRAME_BP) ||
	    !vs_unwind_memory_has(&window, start + VS_UNWIND_ARCH_FRAME_RETURN))
		return false;
	state.bp = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_BP);
	state.address = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_RETURN);
	state.sp = start + VS_UNWIND_ARCH_FRAME_SIZE;
	likely = vs_unwind_memo_get_start(memo, &state);
	for (;;) {
		run = &memo->runs[*likely];
		if (__builtin_expect(!vs_unwind_memo_fits(run, &state, memo->first_serial, &window),
				     0)) {
			struct vs_unwind_state from = state; /* the other one stays in registers */

			run = vs_unwind_memo_recall(memo, &from, &window);
			if (!run)
				return false;
			*likely = (uint32_t)(run - memo->runs);
		}
		follow(&found, run->serial);
		nr += run->nr_frames;
		if (__builtin_expect(nr > max_frames, 0))
			return false;
		if (vs_unwind_kind_is_last(run->end_kind))
			break;
		vs_unwind_memo_leave(run, &state);
		likely = &run->next;
	}
	*path = found;
	return true;
}

/* ---- What will be recalled ------------------------------------------------------------------- */

/* Where a walk of this frame begins. */
VS_UNWIND_UNWATCHED static struct vs_unwind_state get_beginning(const void *frame)
{
	uintptr_t start = (uintptr_t)frame;

	return (struct vs_unwind_state){
		.address = vs_unwind_memory_load(start + VS_UNWIND_ARCH_FRAME_RETURN),
		.sp = start + VS_UNWIND_ARCH_FRAME_SIZE,
	};
}

void vs_unwind_expect(struct vs_unwind_thread *self, const void *frame)
{
	struct vs_unwind_state from = get_beginning(frame);

	vs_unwind_memo_expect(&self->memo, &from);
}

void vs_unwind_keep(struct vs_unwind_thread *self, const void *frame)
{
	struct vs_unwind_state from = get_beginning(frame);

	vs_unwind_memo_keep_trail(&self->memo, &from);
}
