#ifndef VS_SLOW_DRIVER_H
#define VS_SLOW_DRIVER_H

#include <stdbool.h>

#include <cuda.h>

/*
 * A libcuda.so.1 with no card behind it, whose free may be told to wait. It allocates nothing, and
 * makes no system call but to wait.
 */

/* The next free does not return before it is let go. */
void slow_driver_hold_free(void);
void slow_driver_let_go(void);

/* Whether somebody is waiting in it. */
bool slow_driver_is_held(void);

#endif
