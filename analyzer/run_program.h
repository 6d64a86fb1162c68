#ifndef VS_RUN_PROGRAM_H
#define VS_RUN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "error.h"

/*
 * The program that `vramscope run` is about to start, looked at from outside.
 */

/* Why a preloaded library does not reach a program. */
enum vs_run_program_sight {
	VS_SIGHT_CLEAR,
	VS_SIGHT_STATIC,     /* no dynamic linker */
	VS_SIGHT_PRIVILEGED, /* set-user-id and the like: the linker ignores LD_PRELOAD */
	VS_SIGHT_FOREIGN,    /* for another kind of machine, or 32 bits */
};

/* The exit statuses of shells. */
#define VS_RUN_NOT_EXECUTABLE 126
#define VS_RUN_NOT_FOUND      127

/*
 * Finds the file that execvp would start. 0; otherwise VS_RUN_NOT_FOUND or VS_RUN_NOT_EXECUTABLE,
 * with *reason for a line on stderr.
 */
VS_MUST_CHECK int vs_run_program_find(char path[PATH_MAX], const char *name, const char **reason);

/*
 * A script is as visible as its interpreter. What cannot be read is thought to be clear. seen: the
 * file that was judged, the program or its interpreter.
 */
enum vs_run_program_sight vs_run_program_inspect(const char *path, char seen[PATH_MAX]);

/* Whether the file is a program of some machine's, as opposed to a script. */
bool vs_run_program_is_elf(const char *path);

/* Whether the file is an ELF program that links or carries ThreadSanitizer. */
bool vs_run_program_is_tsan(const char *path);

#endif
