#ifndef VS_UNWIND_RULES_H
#define VS_UNWIND_RULES_H

#include <stdatomic.h>

#include "unwind_rule.h"

/*
 * The rule for each instruction that was ever on a stack, read from the object it lies in when it
 * is first met. No lock, no memory to be had, no waiting; any thread, signal handlers included. Two
 * threads may find the same rule at the same time and both put it in.
 *
 * Instructions go by the address behind them, which is what a return address is. One that was
 * interrupted by a signal goes by its own address plus one.
 */

/* Once, before the first rule is asked for. has_finder: see unwind_object.h. */
void vs_unwind_rules_init(bool has_finder);

/* Code was unloaded, and other code may come to lie where it was: all rules are forgotten. */
void vs_unwind_rules_forget(void);

/* The child of a fork, before it asks for a rule. */
void vs_unwind_rules_begin_in_child(void);

/* ---- For the walk, which has a few nanoseconds for each frame ---------------------------------
 */

#define VS_UNWIND_RULES_SET_BITS 14
#define VS_UNWIND_RULES_NR_WAYS  2
#define VS_UNWIND_RULES_MIX      UINT64_C(0x9e3779b97f4a7c15) /* odd, no pattern: golden ratio */

/*
 * check = address ^ seal ^ rule * MIX. Both words are stored one by one by any thread: a pair that
 * does not belong together fits no address, and is as good as none.
 */
struct vs_unwind_rules_entry {
	_Atomic uint64_t check;
	_Atomic uint64_t rule;
};

struct vs_unwind_rules_set {
	struct vs_unwind_rules_entry ways[VS_UNWIND_RULES_NR_WAYS];
};

extern struct vs_unwind_rules_set vs_unwind_rules_sets[1u << VS_UNWIND_RULES_SET_BITS];

/*
 * How often code was unloaded, times MIX: what was stored under another seal fits no address, and
 * there are 2^64 of them.
 */
extern _Atomic uint64_t vs_unwind_rules_seal;

static inline uint64_t vs_unwind_rules_get_seal(void)
{
	return atomic_load_explicit(&vs_unwind_rules_seal, memory_order_relaxed);
}

/* The same as get, for a rule that is not in the table. */
uint64_t vs_unwind_rules_find(uint64_t address);

static inline uint64_t vs_unwind_rules_get(uint64_t address)
{
	struct vs_unwind_rules_set *set = &vs_unwind_rules_sets[address * VS_UNWIND_RULES_MIX >>
								(64 - VS_UNWIND_RULES_SET_BITS)];
	uint64_t wanted = address ^ vs_unwind_rules_get_seal();

	for (unsigned i = 0; i < VS_UNWIND_RULES_NR_WAYS; i++) {
		struct vs_unwind_rules_entry *entry = &set->ways[i];
		uint64_t rule = atomic_load_explicit(&entry->rule, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&entry->check, memory_order_relaxed);

		if (__builtin_expect((check ^ rule * VS_UNWIND_RULES_MIX) == wanted, 1))
			return rule;
	}
	return vs_unwind_rules_find(address);
}

#endif
