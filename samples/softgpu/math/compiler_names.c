#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Past white space, comments and text in quotation marks. */
static const char *skip_blank(const char *at)
{
	for (;;) {
		if (isspace((unsigned char)*at)) {
			at++;
		} else if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");

			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

/* @at is on the opening bracket; past the closing one, or the end. */
static const char *skip_brackets(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (depth == 0)
			return at + 1;
	}
	return at;
}

static bool is_attribute(const char *word, size_t size)
{
	return (size == 17 && !memcmp(word, "__launch_bounds__", size)) ||
	       (size == 16 && !memcmp(word, "__cluster_dims__", size)) ||
	       (size == 13 && !memcmp(word, "__attribute__", size));
}

/* The word before the brackets of the arguments, after __global__. */
static const char *find_name(const char *at, size_t *size)
{
	const char *word = NULL;

	*size = 0;
	while (*(at = skip_blank(at))) {
		if (is_word(*at)) {
			word = at;
			while (is_word(*at))
				at++;
			*size = (size_t)(at - word);
		} else if (*at == '(' && word && is_attribute(word, *size)) {
			at = skip_brackets(at);
			word = NULL;
		} else if (*at == '(') {
			return word;
		} else if (*at == ';' || *at == '{') {
			return NULL;
		} else {
			at++;
		}
	}
	return NULL;
}

void sg_compiler_names_scan(const char *source,
			    void (*found)(const char *name, size_t size, void *argument),
			    void *argument)
{
	static const char mark[] = "__global__";
	const char *at = source;
	const char *name;
	size_t size;

	while (*(at = skip_blank(at))) {
		if (!is_word(*at)) {
			at++;
			continue;
		}
		size = strspn(at,
			      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		at += size;
		if (size != sizeof(mark) - 1 || memcmp(at - size, mark, size) != 0)
			continue;
		name = find_name(at, &size);
		if (name)
			found(name, size, argument);
	}
}

char *sg_compiler_names_lower(const char *expression)
{
	const char *start = skip_blank(expression);
	uint64_t hash = UINT64_C(1469598103934665603);
	size_t size, room;
	char *name;

	while (*start == '&' || *start == '(' || isspace((unsigned char)*start))
		start++;
	for (size = 0; is_word(start[size]); size++)
		;
	if (start[size] == '\0' || start[size] == ')')
		return strndup(start, size);
	for (const char *at = expression; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
	room = size + 48;
	name = malloc(room);
	if (name)
		snprintf(name, room, "_Z%zu%.*sI%016llxE", size, (int)size, start,
			 (unsigned long long)hash);
	return name;
}
