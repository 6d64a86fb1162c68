#ifndef VS_INDEX_TRACE_H
#define VS_INDEX_TRACE_H

#include "script.h"

/* Writes a script as a trace with so many records in a flush, the last of them not counted. */
void index_trace_write(const struct script *script, const char *path, size_t nr_in_flush);

/* Makes the next index finer than people get it: so many events from snapshot to snapshot. */
void index_trace_plan(uint64_t interval, uint64_t share);

#endif
