#ifndef VS_EXIT_HELP_H
#define VS_EXIT_HELP_H

#include <stdbool.h>

/*
 * The thread in which the program ends waits for the drain, which may have a lot left to do: so it
 * takes over a part of it, one piece of work at a time. It lends its processor and its stack, and
 * has nothing else to do with what it works on: no files (the drain has a table of its own), no
 * memory but what it is given.
 *
 * The drain gives and awaits, the other one serves. Nobody waits for a thread that is not there.
 */

/* The drain: whether somebody serves. */
bool vs_exit_help_is_there(void);

/* The drain: hands over a piece of work. False: nobody is there, or the last one is not done. */
bool vs_exit_help_give(void (*work)(void *what), void *what);

/* The drain: until what was given is done, and can be seen. */
void vs_exit_help_await(void);

/* The drain: nothing more will come, now or later. Wakes who serves. */
void vs_exit_help_end(void);

/*
 * The thread that ends the program: works while it is given anything, or sleeps, until
 * vs_exit_help_end(), or for about so many milliseconds. Does nothing where its stack may be small.
 */
void vs_exit_help_serve(unsigned ms);

/* In a forked child, where nobody serves. */
void vs_exit_help_forget(void);

#endif
