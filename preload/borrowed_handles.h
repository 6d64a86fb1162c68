#ifndef VS_BORROWED_HANDLES_H
#define VS_BORROWED_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * References to physical memory that were got otherwise than by cuMemCreate: retained from an
 * address, or imported from another process. Each is released by cuMemRelease like one that was
 * created, and that release must not count as the end of an allocation. Any thread; no lock.
 */
void vs_borrowed_handles_add(uint64_t handle);

/* Whether this release gives back a borrowed reference; it is forgotten then. */
bool vs_borrowed_handles_take(uint64_t handle);

#endif
