#include "unwind_rules.h"

#include <string.h>

#include "hot.h"
#include "unwind_arch.h"
#include "unwind_memory.h"
#include "unwind_object.h"

/* A line of the cache holds two sets. */
_Alignas(64) struct vs_unwind_rules_set vs_unwind_rules_sets[1u << VS_UNWIND_RULES_SET_BITS];

/* Not 0: an empty entry must not fit address 0. */
VS_HOT_DATA _Atomic uint64_t vs_unwind_rules_seal = VS_UNWIND_RULES_MIX;

void vs_unwind_rules_init(bool has_finder)
{
	vs_unwind_object_init(has_finder);
}

void vs_unwind_rules_forget(void)
{
	vs_unwind_object_forget();
	/* Release: who goes by the new seal asks for the objects as they are now. */
	atomic_fetch_add_explicit(&vs_unwind_rules_seal, VS_UNWIND_RULES_MIX, memory_order_release);
}

void vs_unwind_rules_begin_in_child(void)
{
	vs_unwind_object_begin_in_child();
}

static uint64_t recognise(uint64_t address, bool is_loose)
{
	uint8_t code[VS_UNWIND_ARCH_CODE_SIZE];

	/* It may be no code at all: a walk that went wrong comes by here, too. */
	if (!vs_unwind_memory_is_readable(address, sizeof(code)))
		return vs_unwind_rule_bare(VS_UNWIND_BARE);
	memcpy(code, (const void *)(uintptr_t)address, sizeof(code));
	return vs_unwind_arch_recognise(code, is_loose);
}

/*
 * Described code begins right here, and nothing in front of it calls: the stack was made by hand to
 * return to the beginning of a function, as makecontext does. Whoever walks it is at its end.
 */
static bool is_beginning(uint64_t address)
{
	struct vs_unwind_cfi_row row;

	return vs_unwind_object_find((uintptr_t)address, &row) == VS_UNWIND_OBJECT_FOUND;
}

static uint64_t find_undescribed(uint64_t address, bool is_loose)
{
	uint64_t rule = recognise(address, is_loose);

	if (vs_unwind_rule_kind(rule) == VS_UNWIND_BARE && is_beginning(address))
		return vs_unwind_rule_bare(VS_UNWIND_END);
	return rule;
}

static void keep(uint64_t address, uint64_t rule, uint64_t seal)
{
	struct vs_unwind_rules_set *set = &vs_unwind_rules_sets[address * VS_UNWIND_RULES_MIX >>
								(64 - VS_UNWIND_RULES_SET_BITS)];

	/* The newest one first; the oldest one falls out. */
	for (unsigned i = VS_UNWIND_RULES_NR_WAYS - 1; i > 0; i--) {
		struct vs_unwind_rules_entry *to = &set->ways[i], *from = &set->ways[i - 1];

		atomic_store_explicit(&to->rule,
				      atomic_load_explicit(&from->rule, memory_order_relaxed),
				      memory_order_relaxed);
		atomic_store_explicit(&to->check,
				      atomic_load_explicit(&from->check, memory_order_relaxed),
				      memory_order_relaxed);
	}
	atomic_store_explicit(&set->ways[0].rule, rule, memory_order_relaxed);
	atomic_store_explicit(&set->ways[0].check, address ^ seal ^ rule * VS_UNWIND_RULES_MIX,
			      memory_order_relaxed);
}

uint64_t vs_unwind_rules_find(uint64_t address)
{
	/* Before looking: code that is unloaded meanwhile leaves a rule that nobody finds. */
	uint64_t seal = atomic_load_explicit(&vs_unwind_rules_seal, memory_order_acquire);
	struct vs_unwind_cfi_row row;
	uint64_t rule;

	if (!VS_UNWIND_ARCH_IS_KNOWN)
		return vs_unwind_rule_bare(VS_UNWIND_FOREIGN);
	/* Behind a call, which may be the last instruction of its function. */
	switch (vs_unwind_object_find((uintptr_t)address - 1, &row)) {
	case VS_UNWIND_OBJECT_FOUND:
		rule = vs_unwind_arch_make_rule(&row, address - 1);
		break;
	case VS_UNWIND_OBJECT_BARE:
		rule = find_undescribed(address, false);
		break;
	case VS_UNWIND_OBJECT_LOOSE:
		rule = find_undescribed(address, true);
		break;
	case VS_UNWIND_OBJECT_BUSY:
		return vs_unwind_rule_bare(VS_UNWIND_FOREIGN); /* this time */
	default:
		rule = vs_unwind_rule_bare(VS_UNWIND_FOREIGN);
		break;
	}
	keep(address, rule, seal);
	return rule;
}
