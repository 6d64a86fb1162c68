#ifndef VS_TRACE_OPEN_H
#define VS_TRACE_OPEN_H

#include "command.h"
#include "reader.h"

/*
 * The first and the last thing an analysis command does with a trace, so that all of them say the
 *same about one that is missing, empty, cut, not a trace, from a newer version, or a folder.
 *
 *	err = vs_trace_open_reader(&reader, path);
 *	if (err)
 *		return VS_EXIT_FAILED;            // it has been said
 *	while ((got = vs_trace_open_next(reader, &record)) > 0)
 *		...
 *	return vs_trace_open_finish(reader, path); // says it if parts are missing
 */

/*
 * By its first bytes: 1 a trace, or a file of no bytes that may become one; 0 something else;
 * -VS_ERR_IO: see errno.
 */
VS_MUST_CHECK int vs_trace_open_is_trace(const char *path);

/* 0, or the error of vs_reader_open after one line on stderr. */
VS_MUST_CHECK int vs_trace_open_reader(struct vs_reader **reader, const char *path);

/*
 * vs_reader_next that goes on behind a damaged part: 1 a record, 0 the end. What was skipped is in
 * the reader's state, and vs_trace_open_finish tells.
 */
VS_MUST_CHECK int vs_trace_open_next(struct vs_reader *reader, struct vs_record *record);

/* The same for several of one block (vs_reader_next_some): how many they are. */
VS_MUST_CHECK int vs_trace_open_next_some(struct vs_reader *reader, struct vs_record *records,
					  uint32_t most);

/*
 * Closes the reader. VS_EXIT_DONE; or VS_EXIT_DAMAGED after one line on stderr if a part could not
 * be read, or the trace ends in the middle and its log is gone.
 */
int vs_trace_open_finish(struct vs_reader *reader, const char *path);

#endif
