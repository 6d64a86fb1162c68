#ifndef VS_SHORTEN_H
#define VS_SHORTEN_H

#include <stdint.h>

#include "error.h"

/*
 * Takes the oldest events out of a trace that is being written: what stands behind a snapshot goes
 * into a new file, with the definitions that stand before it, and the new file takes the trace's
 * name. At every instant the name stands for a trace that is whole. Runs inside other people's
 * programs: system calls only. One thread, that of the trace's writer.
 */
struct vs_shorten_request {
	const char *path;
	const char *new_path; /* of the new file, until it takes the trace's name */
	uint64_t offset;      /* of the snapshot's first block */
	uint64_t end;         /* of the last whole block */
};

/* While it is made: the trace's name and this. A kill may leave such a file behind. */
#define VS_SHORTEN_SUFFIX ".cut"

/*
 * 0, the new file's descriptor, which stands at its end, and where the snapshot is in it. Else the
 * trace is as it was: -VS_ERR_IO (see errno), -VS_ERR_CORRUPT when it is not what was written.
 */
VS_MUST_CHECK int vs_shorten_trace(const struct vs_shorten_request *request, int *fd,
				   uint64_t *offset);

/* Removes what a kill has left at new_path, if there is something and it is a trace. */
void vs_shorten_remove(const char *new_path);

#endif
