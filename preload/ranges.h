#ifndef VS_RANGES_H
#define VS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/*
 * Ranges that any thread may end, as long as there is no trace to say them to. Lock-free, any
 * thread. Holds VS_RANGES_MAX; what is more is not remembered.
 */
#define VS_RANGES_MAX 64u

/* A number for a range, never given twice, never 0. */
uint64_t vs_ranges_new_id(void);

/* A range begins; false: there is no room. And: it ends; false: it is not here. */
bool vs_ranges_add(uint64_t id, uint32_t name, struct vs_clock_instant at);
bool vs_ranges_remove(uint64_t id);

/* Takes one out, any of them; false: there is none. */
bool vs_ranges_take(uint64_t *id, uint32_t *name, struct vs_clock_instant *at);

/* In a forked child: they were the parent's. */
void vs_ranges_clear(void);

#endif
