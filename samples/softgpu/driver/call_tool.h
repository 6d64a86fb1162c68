#ifndef SG_CALL_TOOL_H
#define SG_CALL_TOOL_H

#include "calls.h"
#include "context.h"

/*
 * The driver's side of common/calls.h: the list of domains, the one tool, and what it is told
 * besides calls. A lock of its own guards list and tool; it is held while a tool is told of a
 * domain and at no other time.
 */

/* The driver's own calls, and the functions behind them by index: driver_calls.c, generated. */
extern struct sg_calls_domain sg_call_tool_driver;
extern void (*const sg_call_tool_functions[])(void);

/* What cuGetProcAddress answers to SG_CALLS_NAME. */
const struct sg_calls_api *sg_call_tool_get_api(void);

const char *sg_call_tool_find_kernel_name(const struct sg_call *call);

/*
 * Tell the tool, if there is one, of something that came or goes. Without any lock of the driver:
 * the tool may call it.
 */
void sg_call_tool_report(enum sg_calls_resource what, struct sg_context *context, void *handle);

/* A context is about to go: its streams, its modules, then the context itself. */
void sg_call_tool_report_going(struct sg_context *context);

#endif
