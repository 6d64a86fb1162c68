#ifndef VS_SIZE_LIMIT_H
#define VS_SIZE_LIMIT_H

#include "merge.h"
#include "record.h"
#include "writer.h"

/*
 * Keeps a trace small (VRAMSCOPE_MAX_SIZE): knows what is alive, puts that into the trace now and
 * then as a snapshot, and takes what stands before one of them away when the file has become too
 * large. One thread, the one that writes the trace. Posts messages.
 *
 * If there is no memory to know what is alive, that is said, and the trace grows without limit:
 * better a large trace than one that is wrong.
 */
struct vs_size_limit;

/* Less is not to be had: a block alone may have some hundred KiB. */
#define VS_SIZE_LIMIT_MIN (UINT64_C(1) << 20)

/* -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_size_limit_create(struct vs_size_limit **limit, uint64_t max_size);

/* An event that is handed to the writer. */
void vs_size_limit_add(struct vs_size_limit *limit, const struct vs_record *event);

/*
 * Right after a flush: all events that were added are in the file. path: of the trace, which must
 * be the writer's file. The number of events that were taken away, and the new file's descriptor,
 * which the writer has; 0 and nothing if the file stays.
 */
uint64_t vs_size_limit_keep(struct vs_size_limit *limit, struct vs_writer *writer,
			    const struct vs_merge *merge, const char *path, int *fd);

#endif
