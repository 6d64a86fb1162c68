#ifndef VS_UNWIND_STEP_H
#define VS_UNWIND_STEP_H

#include "unwind_arch.h"
#include "unwind_memory.h"
#include "unwind_rule.h"

/* One step of a walk. In a header because it is to be inlined: it takes less time than a call. */

/* A frame, as its caller will find it. */
struct vs_unwind_state {
	uint64_t address; /* behind the instruction it is at (unwind_rules.h) */
	uintptr_t sp;
	uintptr_t bp;
};

/* What a step looked at: as long as all of it is the same, the step is. */
struct vs_unwind_trail {
	uintptr_t return_slot;
	uintptr_t cfa_slot; /* 0: none */
	uintptr_t bp_slot;  /* 0: bp is kept */
	bool uses_bp;       /* the bp that the frame had */
};

/* Whether a word lies below all that belongs to the frame, if it is on the same stack. */
static inline bool vs_unwind_step_is_below(const struct vs_unwind_state *state, uintptr_t address)
{
	return address < state->sp - VS_UNWIND_ARCH_RED_ZONE;
}

/*
 * To the caller, by a rule that is nothing but loads from the window. False: it is another kind of
 * rule, or leads out of the window or down the stack; nothing is changed then.
 */
VS_UNWIND_UNWATCHED static inline bool vs_unwind_step(struct vs_unwind_state *state,
						      const struct vs_unwind_window *window,
						      uint64_t rule, struct vs_unwind_trail *trail)
{
	enum vs_unwind_kind kind = vs_unwind_rule_kind(rule);
	enum vs_unwind_bp where = vs_unwind_rule_bp(rule);
	uintptr_t cfa = vs_unwind_rule_cfa_offset(rule);

	*trail = (struct vs_unwind_trail){
		.uses_bp = kind != VS_UNWIND_SP || where == VS_UNWIND_BP_AT_BP,
	};
	if (__builtin_expect(kind == VS_UNWIND_SP, 1)) {
		cfa += state->sp;
	} else if (kind == VS_UNWIND_BP) {
		cfa += state->bp;
	} else if (kind == VS_UNWIND_BP_LOAD) {
		trail->cfa_slot = cfa + state->bp;
		if (vs_unwind_step_is_below(state, trail->cfa_slot) ||
		    !vs_unwind_memory_has(window, trail->cfa_slot))
			return false;
		cfa = vs_unwind_memory_load(trail->cfa_slot);
	} else {
		return false;
	}
	trail->return_slot = cfa - VS_UNWIND_ARCH_RETURN_SIZE;
	if (__builtin_expect(cfa <= state->sp || !vs_unwind_memory_has(window, trail->return_slot),
			     0))
		return false;
	if (where != VS_UNWIND_BP_KEPT) {
		trail->bp_slot = vs_unwind_rule_bp_offset(rule) +
				 (where == VS_UNWIND_BP_AT_CFA ? cfa : state->bp);
		if (vs_unwind_step_is_below(state, trail->bp_slot) ||
		    !vs_unwind_memory_has(window, trail->bp_slot))
			return false;
		state->bp = vs_unwind_memory_load(trail->bp_slot);
	}
	state->address = vs_unwind_memory_load(trail->return_slot);
	state->sp = cfa;
	return true;
}

#endif
