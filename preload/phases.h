#ifndef VS_PHASES_H
#define VS_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/*
 * The phases that a thread has open, and the steps and marks it said before there was a trace to
 * say them to: phases alone make no trace. One thread's own; touches nothing else.
 *
 * A source is who opens phases: vramscope.h, or a domain of NVTX. Each has a stack of its own; in
 * the trace a thread has one for all.
 */
#define VS_PHASES_MAX   64u /* deeper ones are counted and recorded, their names are not kept */
#define VS_PHASES_NOTES 8u  /* the newest ones */

struct vs_open_phase {
	uint32_t name;
	uint32_t source;
	struct vs_clock_instant at; /* of no use once the trace has it */
};

struct vs_phase_note {
	bool is_step;
	uint64_t value; /* number of a step, name of a mark */
	struct vs_clock_instant at;
};

struct vs_phases {
	uint32_t recording; /* they are of; another one begins with none */
	uint32_t depth;
	struct vs_open_phase open[VS_PHASES_MAX]; /* outermost first */
	uint32_t nr_notes;
	struct vs_phase_note notes[VS_PHASES_NOTES]; /* oldest first */
};

/* Forgets what is of another recording: a forked child is in none of its parent's phases. */
void vs_phases_enter(struct vs_phases *phases, uint32_t recording);

void vs_phases_push(struct vs_phases *phases, uint32_t source, uint32_t name,
		    struct vs_clock_instant at);

/*
 * Closes the innermost phase of a source. Returns how many phases, from the innermost on, the trace
 * has to close for that; all but the outermost of these are still open, and stand at
 * open[depth - result + 1] and up to depth. 0: the source has none open.
 */
uint32_t vs_phases_pop(struct vs_phases *phases, uint32_t source);

void vs_phases_add_note(struct vs_phases *phases, const struct vs_phase_note *note);

/*
 * What is to be said when the trace has begun, in the order it happened. *phase and *note start at
 * 0. True: *is_note tells which of the two came next, and its index was added one to.
 */
bool vs_phases_next(const struct vs_phases *phases, uint32_t *phase, uint32_t *note, bool *is_note);

#endif
