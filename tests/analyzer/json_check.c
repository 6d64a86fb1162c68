#include "json_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define DEPTH_MAX 64

/* Each skip_* gets the first byte of its thing and returns the first one behind it; NULL: it is not
 * well-formed. */

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static const char *skip_escape(const char *at)
{
	at++;
	if (*at == 'u') {
		for (int i = 1; i <= 4; i++)
			if (!isxdigit((unsigned char)at[i]))
				return NULL;
		return at + 5;
	}
	return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

/* Decoded and compared with the least number that needs so many bytes. */
static const char *skip_utf8(const char *at)
{
	static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)*at;
	int size = first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
	unsigned long code = first & (0x7fu >> size);

	if (!size)
		return NULL;
	for (int i = 1; i < size; i++) {
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return NULL;
		code = code << 6 | ((unsigned char)at[i] & 0x3f);
	}
	if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return NULL;
	return at + size;
}

static const char *skip_text(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (at && *at != '"') {
		unsigned char byte = (unsigned char)*at;

		if (byte < 0x20)
			return NULL;
		at = byte == '\\' ? skip_escape(at) : byte < 0x80 ? at + 1 : skip_utf8(at);
	}
	return at ? at + 1 : NULL;
}

static const char *skip_digits(const char *at)
{
	size_t nr = strspn(at, "0123456789");

	return nr ? at + nr : NULL;
}

static const char *skip_number(const char *at)
{
	at += *at == '-';
	at = *at == '0' ? at + 1 : skip_digits(at);
	if (at && *at == '.')
		at = skip_digits(at + 1);
	if (at && (*at == 'e' || *at == 'E'))
		at = skip_digits(at + 1 + (at[1] == '+' || at[1] == '-'));
	return at;
}

static const char *skip_value(const char *at, int depth);

/* One member or element; what stands before the value is skipped, too. */
static const char *skip_key(const char *at)
{
	at = skip_text(at);
	if (!at)
		return NULL;
	at = skip_space(at);
	return *at == ':' ? skip_space(at + 1) : NULL;
}

static const char *skip_list(const char *at, bool is_object, int depth)
{
	char end = is_object ? '}' : ']';

	at = skip_space(at + 1);
	if (*at == end)
		return at + 1;
	for (;;) {
		if (is_object)
			at = skip_key(at);
		at = at ? skip_value(at, depth + 1) : NULL;
		if (!at)
			return NULL;
		at = skip_space(at);
		if (*at == end)
			return at + 1;
		if (*at != ',')
			return NULL;
		at = skip_space(at + 1);
	}
}

static const char *skip_value(const char *at, int depth)
{
	static const char *const words[] = {"true", "false", "null"};

	if (depth == DEPTH_MAX)
		return NULL;
	if (*at == '{' || *at == '[')
		return skip_list(at, *at == '{', depth);
	if (*at == '"')
		return skip_text(at);
	for (size_t i = 0; i < 3; i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	return skip_number(at);
}

void json_check_whole(const char *text)
{
	const char *end = skip_value(skip_space(text), 0);

	if (!end || *skip_space(end))
		fail_msg("this is not JSON:\n%s", text);
}

static bool is_key(const char *at, const char *name, size_t name_size)
{
	return strncmp(at + 1, name, name_size) == 0 && at[1 + name_size] == '"';
}

/* The member or element of that name in the well-formed value at *at, or NULL. */
static const char *find_member(const char *at, const char *name, size_t name_size)
{
	bool is_object = *at == '{';
	unsigned long wanted = strtoul(name, NULL, 10), i = 0;
	const char *found = NULL;

	if (*at != '{' && *at != '[')
		return NULL;
	at = skip_space(at + 1);
	while (*at != '}' && *at != ']') {
		bool is_it = is_object ? is_key(at, name, name_size) : i++ == wanted;

		if (is_object)
			at = skip_key(at);
		if (is_it && found)
			fail_msg("the key %.*s is there twice", (int)name_size, name);
		if (is_it)
			found = at;
		at = skip_space(skip_value(at, 0));
		if (*at == ',')
			at = skip_space(at + 1);
	}
	return found;
}

static const char *find(const char *text, const char *path)
{
	const char *at = skip_space(text);

	json_check_whole(text);
	while (at && *path) {
		size_t size = strcspn(path, "/");

		at = find_member(at, path, size);
		path += size + (path[size] == '/');
	}
	return at;
}

void json_check_value(const char *text, const char *path, const char *expected)
{
	const char *at = find(text, path);
	size_t size;

	if (!at)
		fail_msg("nothing is at %s in:\n%s", path, text);
	size = (size_t)(skip_value(at, 0) - at);
	if (size != strlen(expected) || memcmp(at, expected, size) != 0)
		fail_msg("at %s is %.*s, not %s", path, (int)size, at, expected);
}

void json_check_absent(const char *text, const char *path)
{
	if (find(text, path))
		fail_msg("something is at %s in:\n%s", path, text);
}
