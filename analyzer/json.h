#ifndef VS_JSON_H
#define VS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON (RFC 8259) to a file: integers exact, text as valid UTF-8 whatever bytes came in.
 * key is NULL for elements of an array and for the outermost value. Errors stay in the file's error
 * flag.
 */
#define VS_JSON_MAX_DEPTH 32

struct vs_json {
	FILE *file;
	unsigned int depth;
	bool has_elements[VS_JSON_MAX_DEPTH];
	bool is_array[VS_JSON_MAX_DEPTH];
};

void vs_json_init(struct vs_json *json, FILE *file);

void vs_json_begin_object(struct vs_json *json, const char *key);
void vs_json_end_object(struct vs_json *json);
void vs_json_begin_array(struct vs_json *json, const char *key);
void vs_json_end_array(struct vs_json *json);

/* Ends whatever was begun last. */
void vs_json_end(struct vs_json *json);

void vs_json_put_number(struct vs_json *json, const char *key, uint64_t number);
void vs_json_put_signed(struct vs_json *json, const char *key, int64_t number);
/* null for what is not finite. */
void vs_json_put_real(struct vs_json *json, const char *key, double number);
void vs_json_put_bool(struct vs_json *json, const char *key, bool value);
/* null for NULL. */
void vs_json_put_text(struct vs_json *json, const char *key, const char *text);
void vs_json_put_null(struct vs_json *json, const char *key);

#endif
