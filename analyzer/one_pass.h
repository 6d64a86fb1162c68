#ifndef VS_ONE_PASS_H
#define VS_ONE_PASS_H

#include "analysis.h"

/*
 * A program of PyTorch that runs out in its very first forward pass: many layers that are alike ask
 * for the same again and again, and keep it for a backward pass that never comes. In the sequence
 * of requests that is a loop with a leak in each round. What tells them apart is in the stacks: all
 * of it is asked for while a module is called, and nothing else is asked for as often.
 */

/* Sets retained->may_be_pass. The rest of it is known. */
void vs_one_pass_find(struct vs_retained *retained, const struct vs_analysis *analysis,
		      const struct vs_replay_device *device);

/* Whether the memory of a site is asked for while a module of PyTorch is called. */
bool vs_one_pass_is_in_call(const struct vs_definitions *definitions, const struct vs_site *site);

/* Whether the backward pass of PyTorch is in any stack. */
bool vs_one_pass_has_backward(const struct vs_definitions *definitions);

#endif
