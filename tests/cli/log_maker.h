#ifndef VS_LOG_MAKER_H
#define VS_LOG_MAKER_H

#include <stdint.h>

#include "error.h"

/*
 * Writes the log of a trace of trace_maker.h beside it: after the nr_allocs allocations in the
 * trace, nr_logged more, 2 events lost, and one call that was being recorded.
 *
 * how: "whole"; "running": by a process that still runs, the one that has started this one;
 * "missing": without the first record; "newer": of a later version; "other": of another trace;
 * "unknown": its last record is of a type of a later version.
 */
VS_MUST_CHECK int vs_log_maker_create(const char *trace_path, uint32_t nr_allocs,
				      uint32_t nr_logged, const char *how);

#endif
