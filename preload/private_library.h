#ifndef VS_PRIVATE_LIBRARY_H
#define VS_PRIVATE_LIBRARY_H

#include <stdbool.h>

#include "writer.h"

/*
 * Libraries of others that the shim uses. They are opened privately (RTLD_LOCAL: the program does
 * not see them) and bound to themselves first (RTLD_DEEPBIND: they do not see the program's own
 * `deflate` or `unw_...`). They stay open. One that is missing is said once and done without.
 *
 * Once, at the start.
 */
void vs_private_library_open(bool with_unwind);

/* libz, or NULL: blocks are stored as they are. */
const struct vs_writer_zlib *vs_private_library_zlib(void);

/* libunwind.h, without depending on it. Cursor and context are memory of the sizes below. */
struct vs_private_library_unwind {
	int (*backtrace)(void **frames, int nr_frames);

	/* Code went away: forget what was cached about it; backtrace does not. NULL if missing. */
	void (*flush)(void *space, unsigned long low, unsigned long high);
	void **space;

	/* 0: keep no rules, and so take no lock around them. NULL if missing. */
	int (*set_caching_policy)(void *space, int policy);

	/* Frame by frame. get_context is NULL where it is not a function. */
	int (*get_context)(void *context);
	int (*init_local)(void *cursor, void *context);
	int (*step)(void *cursor);
	int (*get_register)(void *cursor, int number, unsigned long *value);
};

#define VS_PRIVATE_LIBRARY_CURSOR_SIZE  4096
#define VS_PRIVATE_LIBRARY_CONTEXT_SIZE 8192

/* libunwind, or NULL: it is missing, was not asked for, or would do harm beside ThreadSanitizer. */
const struct vs_private_library_unwind *vs_private_library_unwind(void);

#endif
