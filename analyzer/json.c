#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void vs_json_init(struct vs_json *json, FILE *file)
{
	memset(json, 0, sizeof(*json));
	json->file = file;
}

static void put_newline(const struct vs_json *json)
{
	fprintf(json->file, "\n%*s", (int)json->depth * 2, "");
}

/* The bytes of a well-formed UTF-8 character (Unicode, table 3-7), or 0. */
static size_t get_utf8_size(const unsigned char *text)
{
	size_t size = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2, i;

	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	for (i = 1; i < size; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return size;
}

static void put_quoted(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t size;

	fputc('"', file);
	while (*at) {
		size = *at < 0x80 ? 1 : get_utf8_size(at);
		if (*at == '"' || *at == '\\')
			fprintf(file, "\\%c", *at);
		else if (*at == '\n')
			fputs("\\n", file);
		else if (*at == '\t')
			fputs("\\t", file);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(file, "\\u%04x", *at);
		else if (size)
			fwrite(at, 1, size, file);
		else
			fputs("\\ufffd", file);
		at += size ? size : 1;
	}
	fputc('"', file);
}

static void start_value(struct vs_json *json, const char *key)
{
	if (json->depth) {
		if (json->has_elements[json->depth - 1])
			fputc(',', json->file);
		json->has_elements[json->depth - 1] = true;
		put_newline(json);
	}
	if (key) {
		put_quoted(json->file, key);
		fputs(": ", json->file);
	}
}

static void end_value(const struct vs_json *json)
{
	if (!json->depth)
		fputc('\n', json->file);
}

static void begin(struct vs_json *json, const char *key, char bracket)
{
	assert(json->depth < VS_JSON_MAX_DEPTH);
	start_value(json, key);
	fputc(bracket, json->file);
	json->is_array[json->depth] = bracket == '[';
	json->has_elements[json->depth++] = false;
}

void vs_json_end(struct vs_json *json)
{
	assert(json->depth);
	json->depth--;
	if (json->has_elements[json->depth])
		put_newline(json);
	fputc(json->is_array[json->depth] ? ']' : '}', json->file);
	end_value(json);
}

void vs_json_begin_object(struct vs_json *json, const char *key)
{
	begin(json, key, '{');
}

void vs_json_end_object(struct vs_json *json)
{
	assert(json->depth && !json->is_array[json->depth - 1]);
	vs_json_end(json);
}

void vs_json_begin_array(struct vs_json *json, const char *key)
{
	begin(json, key, '[');
}

void vs_json_end_array(struct vs_json *json)
{
	assert(json->depth && json->is_array[json->depth - 1]);
	vs_json_end(json);
}

void vs_json_put_number(struct vs_json *json, const char *key, uint64_t number)
{
	start_value(json, key);
	fprintf(json->file, "%" PRIu64, number);
	end_value(json);
}

void vs_json_put_signed(struct vs_json *json, const char *key, int64_t number)
{
	start_value(json, key);
	fprintf(json->file, "%" PRId64, number);
	end_value(json);
}

void vs_json_put_real(struct vs_json *json, const char *key, double number)
{
	if (!isfinite(number)) {
		vs_json_put_null(json, key);
		return;
	}
	start_value(json, key);
	fprintf(json->file, "%.9g", number);
	end_value(json);
}

void vs_json_put_bool(struct vs_json *json, const char *key, bool value)
{
	start_value(json, key);
	fputs(value ? "true" : "false", json->file);
	end_value(json);
}

void vs_json_put_null(struct vs_json *json, const char *key)
{
	start_value(json, key);
	fputs("null", json->file);
	end_value(json);
}

void vs_json_put_text(struct vs_json *json, const char *key, const char *text)
{
	if (!text) {
		vs_json_put_null(json, key);
		return;
	}
	start_value(json, key);
	put_quoted(json->file, text);
	end_value(json);
}
