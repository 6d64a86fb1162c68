#ifndef VS_BENCH_STACK_LEVELS_H
#define VS_BENCH_STACK_LEVELS_H

/*
 * Sixty functions that call one another, each with a frame of its own size. Twice: with frame
 * pointers and without, which is how Python and the frameworks are built.
 */
#define VS_BENCH_STACK_LEVELS_MAX 60

/* Calls leaf(argument) with so many of them on the stack. */
void vs_bench_stack_levels_with(unsigned depth, void (*leaf)(void *argument), void *argument);
void vs_bench_stack_levels_without(unsigned depth, void (*leaf)(void *argument), void *argument);

#endif
