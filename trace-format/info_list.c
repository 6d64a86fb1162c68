#include "info_list.h"

#include <stdlib.h>
#include <string.h>

#include "wire.h"

void vs_info_list_fini(struct vs_info_list *list)
{
	free(list->text);
}

/* One length and that many bytes, as a terminated string at out. */
static char *get_string(struct vs_wire *in, char *out)
{
	uint64_t size = vs_wire_get_varint(in);
	const uint8_t *bytes = vs_wire_get_bytes(in, size);

	if (!bytes)
		return out;
	/* A NUL inside would shift keys and values against each other. */
	if (size && memchr(bytes, '\0', size)) {
		in->error = -VS_ERR_CORRUPT;
		return out;
	}
	memcpy(out, bytes, size);
	out[size] = '\0';
	return out + size + 1;
}

int vs_info_list_add(struct vs_info_list *list, const uint8_t *payload, size_t size)
{
	struct vs_wire in;
	char *text, *end;

	/* A string and its length take one byte at least: so does its terminator. */
	text = realloc(list->text, list->size + size + 1);
	if (!text)
		return -VS_ERR_NO_MEMORY;
	list->text = text;
	vs_wire_init(&in, payload, size);
	while (vs_wire_left(&in) && !in.error) {
		end = get_string(&in, text + list->size);
		end = get_string(&in, end);
		if (!in.error)
			list->size = (size_t)(end - text);
	}
	return in.error ? -VS_ERR_CORRUPT : 0;
}

const char *vs_info_list_get(const struct vs_info_list *list, const char *key)
{
	size_t at = 0;

	while (at < list->size) {
		const char *found = list->text + at;
		const char *value = found + strlen(found) + 1;

		if (strcmp(found, key) == 0)
			return value;
		at = (size_t)(value - list->text) + strlen(value) + 1;
	}
	return NULL;
}
