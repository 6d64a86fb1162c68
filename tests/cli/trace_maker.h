#ifndef VS_TRACE_MAKER_H
#define VS_TRACE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "record.h"
#include "writer.h"

/* A trace of nr_allocs allocations of 1 MiB, each by the same stack. */
struct vs_trace_maker_plan {
	uint32_t nr_allocs;
	bool is_cut;     /* without an end, as of a program that was killed */
	bool is_odd;     /* with events that contradict each other, or refer to nothing */
	const char *run; /* that it belongs to, by a process and its parent; NULL: none is named */
	uint64_t pid;
	uint64_t parent;
	uint64_t start_ns;
	const struct vs_writer_zlib *zlib; /* NULL: nothing is compressed */
};

/* Definitions that stand before the first allocation, and allocation `number`, from 0 on. */
#define VS_TRACE_MAKER_NR_DEFINITIONS 5
struct vs_record vs_trace_maker_get_alloc(uint32_t number);

/* Writes it to a file that is open and empty, and closes it. */
VS_MUST_CHECK int vs_trace_maker_write(int fd, const struct vs_trace_maker_plan *plan);

/* The same to a file of that name, new or not. */
VS_MUST_CHECK int vs_trace_maker_create(const char *path, const struct vs_trace_maker_plan *plan);

#endif
