#ifndef VS_UTF8_H
#define VS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Text of a trace: names of functions, phases, pools and files, in UTF-8 or in whatever bytes the
 * program had. Any thread.
 */

/*
 * The bytes of the well-formed character (Unicode, table 3-7) that `text` starts with; 0 if there
 * is none, as at the end. Never looks behind the end.
 */
size_t vs_utf8_get_size(const char *text);

/* For a well-formed character of `size` bytes: */

/* Whether it is shown as something. Control characters are not, nor are those that turn the
 * direction of a line or end it: they would change how other text looks. */
bool vs_utf8_is_shown(const char *text, size_t size);

/* Columns of a terminal, 1 or 2. Rather too many than too few: a line may end early, but must not
 * be too wide. */
size_t vs_utf8_get_columns(const char *text, size_t size);

#endif
