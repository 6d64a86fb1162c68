#ifndef VS_PROGRESS_H
#define VS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How far the reading of a trace is: one line on stderr, written over and over and removed at the
 * end, if it takes longer than a second and a person is watching: stderr is a terminal, and nobody
 * said --quiet. One thread.
 *
 *	vs_progress_enable(path, quiet);    // what is read from now on; NULL: nothing is shown
 *	vs_progress_begin(size);            // a pass over it
 *	vs_progress_set(done);              // often: costs a look at the clock
 *	vs_progress_end();                  // the line is gone
 */

/* When it is shown, and how often. Tests are in a hurry. */
struct vs_progress_plan {
	uint64_t after_ns;
	uint64_t interval_ns;
};
extern struct vs_progress_plan vs_progress_plan;

void vs_progress_enable(const char *path, bool is_quiet);

/* size: bytes of the whole; 0: not known, nothing is shown. */
void vs_progress_begin(uint64_t size);
void vs_progress_set(uint64_t done);
void vs_progress_end(void);

#endif
