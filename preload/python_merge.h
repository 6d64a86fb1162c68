#ifndef VS_PYTHON_MERGE_H
#define VS_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One stack of two: the frames of Python, and those of the program in C, in which each call of the
 * evaluator is one frame, whatever number of Python functions it executes. They stand in front of
 * it, because what it calls is called by them.
 */
struct vs_python_merge {
	const uint64_t *native; /* innermost first */
	const bool *is_evaluator;
	uint32_t nr_native;
	bool is_whole;          /* no native frame is missing */
	const uint64_t *python; /* as a stack has them, innermost first; 0: an evaluator without */
	const bool *ends_call;  /* the next one belongs to the next frame of the evaluator */
	uint32_t nr_python;
	bool is_whole_python; /* none of Python's is missing */
};

/*
 * Writes at most max frames; returns how many there are in all. If the calls of the evaluator are
 * not as many as Python says, its frames stand together, in front of the innermost of these calls.
 */
uint32_t vs_python_merge(const struct vs_python_merge *merge, uint64_t *out, uint32_t max);

#endif
