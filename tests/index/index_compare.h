#ifndef VS_INDEX_COMPARE_H
#define VS_INDEX_COMPARE_H

#include <stdint.h>

/*
 * Fails the test unless every command says the same of a trace with its index and without: at the
 * instants that have names and at others, in windows, as text and as JSON. The index is made anew.
 * seed: which instants.
 */
void assert_index_changes_nothing(const char *trace, unsigned int seed, unsigned int nr_instants);

/* The same for one command line, whose last word is the trace; NULL behind it. */
void assert_same_output(const char *const *words);

#endif
