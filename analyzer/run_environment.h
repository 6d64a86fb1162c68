#ifndef VS_RUN_ENVIRONMENT_H
#define VS_RUN_ENVIRONMENT_H

#include <limits.h>

#include "error.h"

/*
 * The command's environment. It is made in our own, which the command inherits. Functions return 0,
 * or VS_EXIT_FAILED after one line on stderr.
 */

VS_MUST_CHECK int vs_run_environment_set(const char *name, const char *value);

/*
 * Puts a library in front of a list that the dynamic linker reads, unless it is there already.
 * separators: what ends an entry for the linker; the first of them is used, and a path with any of
 * them cannot be named.
 */
VS_MUST_CHECK int vs_run_environment_prepend(const char *name, const char *library,
					     const char *separators);

/* A path as seen from here, for a command that may go elsewhere; -VS_ERR_INVALID if too long. */
VS_MUST_CHECK int vs_run_environment_get_absolute(char absolute[PATH_MAX], const char *path);

#endif
