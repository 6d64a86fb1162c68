#ifndef VS_FAKE_STACK_H
#define VS_FAKE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_memory.h"

/*
 * A stack made by hand, and code to return to. The code lies in no library and is known by its
 * looks (unwind_arch.h), so that each return address means a rule that the test has chosen.
 */
#define FAKE_STACK_NR_WORDS 4096

struct fake_stack {
	uint8_t *code;   /* a page; zeros at first */
	uint64_t *words; /* pages between two that cannot be read */
	size_t nr_used;  /* words, from words[0] up */
	struct vs_unwind_window window;
};

/* Fails the test if there is no memory. */
void fake_stack_init(struct fake_stack *stack);
void fake_stack_fini(struct fake_stack *stack);

/*
 * Return addresses, one for each number up to 200. By slots: the frame that it returns to has so
 * many words below its own return address. With bp: the first of two words is the caller's bp.
 */
uint64_t fake_stack_return_by_slots(struct fake_stack *stack, unsigned number, unsigned nr_slots);
uint64_t fake_stack_return_with_bp(struct fake_stack *stack, unsigned number);

/* Where nobody knows how to go on. */
uint64_t fake_stack_return_to_nowhere(struct fake_stack *stack);

/* Puts a word at the outer end. */
void fake_stack_push(struct fake_stack *stack, uint64_t word);

/* Begins anew: bp, then an address, as __builtin_frame_address(0) would point to. */
void fake_stack_begin(struct fake_stack *stack, uint64_t bp, uint64_t address);

#endif
