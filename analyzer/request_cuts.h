#ifndef VS_REQUEST_CUTS_H
#define VS_REQUEST_CUTS_H

#include "analysis.h"

/*
 * Intervals of equal time say nothing of a program that asked for nearly all of its memory within a
 * few of them: one that prepared itself for long, or took its time to end after it had run out.
 * Then intervals are those in which equally many requests were made.
 *
 * If the boundaries are intervals, an out-of-memory is to be explained, and more than half of all
 * requests lie between two of them: does the measure of what is retained again. has_blocks: which
 * requests count, as for steps; nr_requests: how many they are.
 */
VS_MUST_CHECK int vs_request_cuts_try(struct vs_analysis *analysis, bool has_blocks,
				      uint64_t nr_requests);

#endif
