#ifndef VS_UNWIND_MAZE_H
#define VS_UNWIND_MAZE_H

#include <stdint.h>

/*
 * Functions with frames of all kinds that call one another at random: small and large ones, of
 * sizes known only at run time, aligned, with variable arguments, with and without frame pointer,
 * by tail calls, through pointers. Compiled for speed, without frame pointers where C allows it.
 */

/* Goes about depth calls deep and calls visit() there, and now and then on the way. */
void unwind_maze_run(uint64_t seed, unsigned depth, void (*visit)(void));

#endif
