#ifndef VS_TRACE_MAKER_H
#define VS_TRACE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/*
 * Writes a trace of nr_allocs allocations of 1 MiB, each by the same stack. is_complete: with an
 * end, as of a program that ended in order.
 */
VS_MUST_CHECK int vs_trace_maker_write(const char *path, uint32_t nr_allocs, bool is_complete);

#endif
