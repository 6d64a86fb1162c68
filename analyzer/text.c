#include "text.h"

#include <stdarg.h>
#include <string.h>

#include "utf8.h"

void vs_text_add(struct vs_text_line *line, const char *format, ...)
{
	size_t room = sizeof(line->bytes) - line->size;
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(line->bytes + line->size, room, format, args);
	va_end(args);
	if (size > 0)
		line->size += (size_t)size < room ? (size_t)size : room - 1;
}

void vs_text_mark(struct vs_text_line *line, enum vs_text_mark mark)
{
	line->mark = mark;
	line->strong_size = line->size;
}

/* The length of the character at *text: 1 for what is not UTF-8. */
static size_t get_size(const char *text)
{
	size_t size = vs_utf8_get_size(text);

	return size ? size : 1;
}

static bool is_shown(const char *text, size_t size)
{
	/* A single byte from 0x80 on is not UTF-8. */
	return (size > 1 || (unsigned char)text[0] < 0x80) && vs_utf8_is_shown(text, size);
}

/* What is not shown becomes a '?'. */
static size_t get_columns(const char *text, size_t size)
{
	return is_shown(text, size) ? vs_utf8_get_columns(text, size) : 1;
}

size_t vs_text_get_width(const char *text)
{
	size_t width = 0, size;

	for (; *text; text += size) {
		size = get_size(text);
		width += get_columns(text, size);
	}
	return width;
}

/* Bytes of the text that have room in so many columns. */
static size_t get_fitting(const char *text, size_t columns)
{
	size_t at = 0, size;

	while (text[at]) {
		size = get_size(text + at);
		if (get_columns(text + at, size) > columns)
			break;
		columns -= get_columns(text + at, size);
		at += size;
	}
	return at;
}

void vs_text_add_name(struct vs_text_line *line, const char *name, size_t columns)
{
	static const char dots[] = "...";

	if (vs_text_get_width(name) <= columns)
		vs_text_add(line, "%s", name);
	else
		vs_text_add(line, "%.*s%s", (int)get_fitting(name, columns - strlen(dots)), name,
			    dots);
}

void vs_text_fill(struct vs_text_line *line, size_t column)
{
	size_t width = vs_text_get_width(line->bytes);

	vs_text_add(line, "%*s", width < column ? (int)(column - width) : 1, "");
}

/* One character of the line as it goes out. */
static void put_char(const struct vs_text_style *style, const char *text, size_t size)
{
	if (!is_shown(text, size))
		fputc('?', style->file);
	else if (size == 1 || !style->is_ascii)
		fwrite(text, 1, size, style->file);
	else if (size == 2 && !memcmp(text, "\u00b7", 2))
		fputc('-', style->file);
	else if (size == 3 && !memcmp(text, "\u202f", 3))
		fputc(' ', style->file);
	else
		fputc('?', style->file);
}

static void start_mark(const struct vs_text_style *style, enum vs_text_mark mark)
{
	if (style->has_color)
		fputs(mark == VS_TEXT_ALARM ? "\033[1;31m" : "\033[1m", style->file);
}

static void end_mark(const struct vs_text_style *style)
{
	if (style->has_color)
		fputs("\033[0m", style->file);
}

void vs_text_put(const struct vs_text_style *style, struct vs_text_line *line)
{
	const char *dots = style->is_ascii ? "..." : "\u2026";
	size_t width, limit = style->width, dots_width = style->is_ascii ? 3 : 1, at = 0,
		      column = 0;
	bool is_marked = line->mark != VS_TEXT_PLAIN && line->strong_size;

	while (line->size && line->bytes[line->size - 1] == ' ')
		line->bytes[--line->size] = '\0';
	width = vs_text_get_width(line->bytes);
	if (width > limit)
		limit = limit > dots_width ? limit - dots_width : 0;
	if (is_marked)
		start_mark(style, line->mark);
	while (line->bytes[at]) {
		size_t size = get_size(line->bytes + at);

		column += get_columns(line->bytes + at, size);
		if (column > limit)
			break;
		if (is_marked && at >= line->strong_size) {
			end_mark(style);
			is_marked = false;
		}
		put_char(style, line->bytes + at, size);
		at += size;
	}
	if (is_marked)
		end_mark(style);
	if (width > style->width)
		fputs(dots, style->file);
	fputc('\n', style->file);
	*line = (struct vs_text_line){0};
}

/* Where to end a line that is too wide: at a blank, best at two. 0: nowhere. */
static size_t find_break(const struct vs_text_line *line, size_t indent, size_t width)
{
	size_t at = 0, column = 0, single = 0, wide = 0, size;

	while (line->bytes[at] && column <= width) {
		if (line->bytes[at] == ' ' && column > indent && line->bytes[at - 1] != ' ') {
			single = at;
			if (line->bytes[at + 1] == ' ' && column > width / 2)
				wide = at;
		}
		size = get_size(line->bytes + at);
		column += get_columns(line->bytes + at, size);
		at += size;
	}
	return wide ? wide : single;
}

void vs_text_put_whole(const struct vs_text_style *style, struct vs_text_line *line, size_t indent)
{
	while (vs_text_get_width(line->bytes) > style->width) {
		size_t end = find_break(line, indent, style->width);
		struct vs_text_line rest = {0};

		if (!end)
			break;
		vs_text_add(&rest, "%*s%s", (int)indent, "",
			    line->bytes + end + strspn(line->bytes + end, " "));
		line->bytes[end] = '\0';
		line->size = end;
		vs_text_put(style, line);
		*line = rest;
	}
	vs_text_put(style, line);
}

void vs_text_keep_tail(char *text, size_t width, bool is_ascii)
{
	const char *dots = is_ascii ? "..." : "\u2026", *tail = text;
	size_t columns = vs_text_get_width(text), dots_width = is_ascii ? 3 : 1, size;

	if (columns <= width || width <= dots_width)
		return;
	/* The dots need room in bytes as well as in columns. */
	while (*tail && (columns > width - dots_width || (size_t)(tail - text) < strlen(dots))) {
		size = get_size(tail);
		columns -= get_columns(tail, size);
		tail += size;
	}
	if ((size_t)(tail - text) < strlen(dots))
		return;
	memmove(text + strlen(dots), tail, strlen(tail) + 1);
	memcpy(text, dots, strlen(dots));
}
