#ifndef VS_TEXT_H
#define VS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Lines for a terminal: never wider than it, colour only where it was asked for. What comes from a
 * trace cannot play with the terminal: control characters become '?'.
 */
struct vs_text_style {
	FILE *file;
	size_t width;
	bool is_ascii; /* what is not ASCII becomes '-' or '...' if it is ours, else '?' */
	bool has_color;
};

enum vs_text_mark {
	VS_TEXT_PLAIN,
	VS_TEXT_STRONG, /* headings */
	VS_TEXT_ALARM,  /* out of memory */
};

#define VS_TEXT_LINE_MAX 4096

/* A line while it is put together. {0} is an empty one. What does not fit is left out. */
struct vs_text_line {
	char bytes[VS_TEXT_LINE_MAX];
	size_t size;
	size_t strong_size; /* so many bytes from its start are marked */
	enum vs_text_mark mark;
};

__attribute__((format(printf, 2, 3))) void vs_text_add(struct vs_text_line *line,
						       const char *format, ...);

/*
 * Adds a name that somebody else chose: of more columns than that its end becomes three dots, so
 * that it leaves room for what the sentence has to say.
 */
#define VS_TEXT_NAME_COLUMNS 48
void vs_text_add_name(struct vs_text_line *line, const char *name, size_t columns);

/* The text so far is a heading. */
void vs_text_mark(struct vs_text_line *line, enum vs_text_mark mark);

/* Blanks up to a column, at least one. */
void vs_text_fill(struct vs_text_line *line, size_t column);

/* Columns it takes at most: utf8.h. */
size_t vs_text_get_width(const char *text);

/* Prints the line, cut to the width, and empties it. */
void vs_text_put(const struct vs_text_style *style, struct vs_text_line *line);

/*
 * Prints the line and empties it; what is too wide goes on below, behind `indent` blanks. For
 * sentences: a list of callers is better cut.
 */
void vs_text_put_whole(const struct vs_text_style *style, struct vs_text_line *line, size_t indent);

/* The last `width` columns of a long text ("...tail"), for file names. In place. */
void vs_text_keep_tail(char *text, size_t width, bool is_ascii);

#endif
