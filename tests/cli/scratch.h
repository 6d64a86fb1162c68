#ifndef VS_SCRATCH_H
#define VS_SCRATCH_H

#include <stddef.h>

/*
 * Set-up and tear-down of a test that makes files and changes variables: an empty folder, in which
 * it is, and after it the environment that was before.
 */
int vs_scratch_enter(void **state);
int vs_scratch_leave(void **state);

/* The folder, absolute and without links. */
const char *vs_scratch_path(void);

/* Writes a file in it, which can be executed. */
void vs_scratch_write(const char *name, const void *bytes, size_t size);
void vs_scratch_write_text(const char *name, const char *text);

#endif
