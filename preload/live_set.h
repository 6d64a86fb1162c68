#ifndef VS_LIVE_SET_H
#define VS_LIVE_SET_H

#include <stdbool.h>

#include "error.h"
#include "record.h"

/*
 * What is alive, by the events that made it so: for a trace that keeps only its newest part
 * (--max-size) and in place of the rest a snapshot. Replaying the snapshot's events gives the state
 * that replaying all of them would.
 *
 * One thread, the drain's. Memory by mmap; it grows with what is alive.
 */
struct vs_live_set;

/* -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_live_set_create(struct vs_live_set **set);
void vs_live_set_destroy(struct vs_live_set *set);

/* An event happened. -VS_ERR_NO_MEMORY: the set does not hold everything any more. */
VS_MUST_CHECK int vs_live_set_add(struct vs_live_set *set, const struct vs_record *event);

/* Events that are needed, in the order in which they happened. */
void vs_live_set_visit(struct vs_live_set *set,
		       void (*visit)(void *context, const struct vs_record *event), void *context);

/* How many that are, about. */
uint64_t vs_live_set_get_nr(const struct vs_live_set *set);

#endif
