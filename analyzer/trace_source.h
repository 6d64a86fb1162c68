#ifndef VS_TRACE_SOURCE_H
#define VS_TRACE_SOURCE_H

#include "reader.h"
#include "source.h"

/* The records of a trace as a source that goes on behind damaged parts (vs_trace_open_next). The
 * reader outlives it. */
struct vs_source vs_trace_source_make(struct vs_reader *reader);

#endif
