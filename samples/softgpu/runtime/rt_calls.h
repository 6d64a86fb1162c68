#ifndef SG_RT_CALLS_H
#define SG_RT_CALLS_H

#include "../common/calls.h"
#include "runtime.h"

/*
 * The runtime's side of common/calls.h. Its calls join the driver's list when the driver is opened.
 * A tool that is attached before that has opened the driver itself; so until it has joined, every
 * call looks whether the driver is in the process by now, and joins before it goes on.
 */

#pragma GCC visibility push(hidden)

/* The runtime's calls: runtime_calls.c, generated. */
extern struct sg_calls_domain sg_rt_calls_domain;

/* What stands in for a tool until the domain has joined. */
extern const struct sg_calls_tool sg_rt_calls_joiner;

const char *sg_rt_calls_find_kernel_name(const struct sg_call *call);

/* The driver is open: join. Once. */
void sg_rt_calls_join(void);

#pragma GCC visibility pop

#endif
