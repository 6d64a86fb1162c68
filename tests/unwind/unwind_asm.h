#ifndef VS_UNWIND_ASM_H
#define VS_UNWIND_ASM_H

#include <stdint.h>

/* Functions that no compiler makes: unwind_asm.S. Each calls callback() and returns. */

/* Nobody describes it, but its frame pointer would be a good guess. Ends at the other symbol. */
void unwind_asm_bare(void (*callback)(void));
extern const char unwind_asm_bare_end[];

/* The CFA hangs on rbx; is computed by an expression; rbp is kept in another register. */
void unwind_asm_by_register(void (*callback)(void));
void unwind_asm_by_expression(void (*callback)(void));
void unwind_asm_in_register(void (*callback)(void));

/* It aligned its stack: the CFA is *(rbp - 8), and the caller's rbp is where rbp points to. */
void unwind_asm_by_load(void (*callback)(void));
extern const char unwind_asm_by_load_return[]; /* where the callback returns to */

/* Goes on with another stack, whose highest address this is, and says so. */
void unwind_asm_switch(void (*callback)(void), void *stack_end);

/* What is said about these is wrong: the CFA is gigabytes above; a little off; a stray rbp. */
void unwind_asm_lie_far(void (*callback)(void));
void unwind_asm_lie_near(void (*callback)(void));
void unwind_asm_lie_bp(void (*callback)(void), uint64_t bp);

/* Calls callback() with the flag set that makes the processor raise SIGTRAP at each instruction. */
void unwind_asm_trace(void (*callback)(void));

#endif
