#ifndef VS_STACK_REFEREE_H
#define VS_STACK_REFEREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stands in for a hook, wherever it is called: captures the stack of its caller as the recorder
 * would, several times, and compares each capture with a walk of libunwind's, frame by frame. What
 * differs is printed and counted.
 */
struct stack_referee {
	_Atomic uint64_t nr_captures;
	_Atomic uint64_t nr_frames;
	_Atomic uint64_t nr_different; /* captures */
	_Atomic uint64_t nr_recalls;   /* of stacks seen before, judged by libunwind as well */
	_Atomic uint64_t nr_heard;     /* stacks that were told by their words alone */
	_Atomic uint64_t nr_by_rules;  /* captures that our own unwinder made without libunwind */
};
extern struct stack_referee stack_referee;

/* Once. False: there is no libunwind, and nothing can be compared. */
bool stack_referee_init(void);

/* Any thread, signal handlers included. Each stack is captured so many times. */
#define STACK_REFEREE_REPEATS 4
void stack_referee_check(void);

/*
 * Code that nobody describes: captures end there, and must say that they are cut; libunwind guesses
 * on. NULL, 0: there is none.
 */
void stack_referee_expect_cut(const void *code, size_t size);

/* Forgets about unloaded code, as dlclose does; libunwind has to do so as well. */
void stack_referee_forget_code(void);

#endif
