#ifndef VS_JSON_CHECK_H
#define VS_JSON_CHECK_H

/*
 * A strict reader of JSON (RFC 8259) that shares nothing with the writer it judges: no trailing
 * commas, no unescaped control characters, only well-formed UTF-8, no key twice. For tests: each
 * fails the test that calls it.
 */

/* The text is one value and nothing else. */
void json_check_whole(const char *text);

/*
 * The value at a path is written like this: "devices/0/name" is "\"paper\"". Numbers and names of
 * the path are separated by slashes; a key that has one itself cannot be asked for.
 */
void json_check_value(const char *text, const char *path, const char *expected);

/* There is nothing at the path. */
void json_check_absent(const char *text, const char *path);

#endif
