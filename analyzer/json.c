#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "utf8.h"

void vs_json_init(struct vs_json *json, FILE *file)
{
	memset(json, 0, sizeof(*json));
	json->file = file;
}

static void put_newline(const struct vs_json *json)
{
	fprintf(json->file, "\n%*s", (int)json->depth * 2, "");
}

static void put_quoted(FILE *file, const char *text)
{
	const char *at = text;
	size_t size;

	fputc('"', file);
	while (*at) {
		unsigned char byte = (unsigned char)*at;

		size = vs_utf8_get_size(at);
		if (byte == '"' || byte == '\\')
			fprintf(file, "\\%c", byte);
		else if (byte == '\n')
			fputs("\\n", file);
		else if (byte == '\t')
			fputs("\\t", file);
		else if (byte < 0x20 || byte == 0x7f)
			fprintf(file, "\\u%04x", byte);
		else if (size == 2 && byte == 0xc2 && (unsigned char)at[1] < 0xa0)
			/* JSON need not escape these, but a terminal may obey them. */
			fprintf(file, "\\u%04x", (unsigned char)at[1]);
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
