#ifndef VS_FOLD_H
#define VS_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/*
 * Makes one file of a trace and the log that a killed program has left: the log's records become
 * blocks, an END block says so, the new file takes the trace's name at once, the log is removed. 0
 * also when there is no log and so nothing to do.
 *
 * On failure both files are as they were: -VS_ERR_RUNNING while the program runs or where that
 * cannot be told, -VS_ERR_CORRUPT when records between the two are missing or some in the log
 * cannot be read, -VS_ERR_NEWER when some are of a later version, -VS_ERR_IO, -VS_ERR_NO_MEMORY and
 * the errors of vs_reader_open.
 */
VS_MUST_CHECK int vs_fold_trace(const char *path);

struct vs_fold_request {
	const char *path;     /* of the trace */
	const char *log_path; /* of its log; NULL: beside it, or where the trace says */
	const char *output;   /* the new file, whatever was there; NULL: in place */
};

struct vs_fold_result {
	bool had_end;       /* there was nothing to fold */
	bool has_no_output; /* it failed because the new file could not be made */
	uint64_t nr_events; /* that came from the log */
};

/*
 * The same for somebody who wants what can still be had: what is damaged is left out, not refused.
 * With an output the pair stays as it is, and a trace that has its end is copied.
 *
 * The errors of vs_fold_trace but -VS_ERR_CORRUPT of a log; -VS_ERR_TRUNCATED: the trace has no
 * end, and there is no log. *result is filled in as far as it came.
 */
VS_MUST_CHECK int vs_fold_recover(const struct vs_fold_request *request,
				  struct vs_fold_result *result);

#endif
