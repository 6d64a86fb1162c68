#ifndef VS_OUTPUT_H
#define VS_OUTPUT_H

#include <limits.h>

#include "error.h"
#include "settings.h"

/*
 * Names of traces. The pattern of the settings with %p, %h, %r and %% filled in, or
 * PROGRAM.PID.vscope in the folder of the settings. A name is taken by creating the file (O_EXCL),
 * so that nothing is ever overwritten and two processes never share one:
 *
 *   with %p, or by default   NAME, NAME.1, NAME.2, ...             (a re-exec has the same pid)
 *   without %p               NAME, NAME.PID, NAME.PID.1, ...       (the first process takes NAME)
 *
 * Only a file that the launcher found before the run, and lists in the settings, makes room for
 * NAME. It is known by its key DEVICE:INODE:TIME, the time being that of its last change in
 * nanoseconds: an inode's number alone is used again.
 */

/*
 * Takes a name and opens the file for writing. -VS_ERR_IO: see errno; `path` then says which file
 * it was.
 */
VS_MUST_CHECK int vs_output_open(const struct vs_settings *settings, char path[PATH_MAX], int *fd);

/* Fills in a pattern; is_own: whether it had a %p. -VS_ERR_INVALID: it is too long. */
VS_MUST_CHECK int vs_output_expand(const struct vs_settings *settings, char path[PATH_MAX],
				   bool *is_own);

/* Adds the path as a line to the index, if one is wanted. Failing to is nobody's concern. */
void vs_output_add_to_index(const struct vs_settings *settings, const char *path);

/* The same with VS_INFO_INDEX_REFUSED before it: there is no such trace, but there should be. */
void vs_output_add_refused(const struct vs_settings *settings, const char *path);

#endif
