#include "nvtx_text.h"

#include <stdint.h>
#include <string.h>

#define UNNAMED "unnamed"

void vs_nvtx_text_begin(struct vs_nvtx_text *text, const char *domain)
{
	text->size = 0;
	text->start = 0;
	if (!domain)
		return;
	vs_nvtx_text_add(text, domain);
	vs_nvtx_text_add(text, ": ");
	text->start = text->size;
}

void vs_nvtx_text_add(struct vs_nvtx_text *text, const char *message)
{
	size_t room = VS_NAMES_TEXT_MAX - text->size;
	size_t size = message ? strlen(message) : 0;

	if (size > room)
		size = room;
	if (size)
		memcpy(text->bytes + text->size, message, size);
	text->size += size;
}

/* UTF-8 of a character; its bytes. */
static size_t put_character(char *out, uint32_t character)
{
	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd;
	if (character < 0x80) {
		out[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		out[0] = (char)(0xc0 | character >> 6);
		out[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		out[0] = (char)(0xe0 | character >> 12);
		out[1] = (char)(0x80 | (character >> 6 & 0x3f));
		out[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | character >> 18);
	out[1] = (char)(0x80 | (character >> 12 & 0x3f));
	out[2] = (char)(0x80 | (character >> 6 & 0x3f));
	out[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

void vs_nvtx_text_add_wide(struct vs_nvtx_text *text, const wchar_t *message)
{
	char bytes[4];

	for (; message && *message; message++) {
		size_t size = put_character(bytes, (uint32_t)*message);

		if (text->size + size > VS_NAMES_TEXT_MAX)
			return;
		memcpy(text->bytes + text->size, bytes, size);
		text->size += size;
	}
}

/* Where emit_nvtx's numbers begin, or the end. */
static size_t find_numbers(const struct vs_nvtx_text *text)
{
	static const char *const signs[] = {", seq = ", ", op_id = "};
	const char *message = text->bytes + text->start, *found, *first = NULL;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		found = strstr(message, signs[i]);
		if (found && (!first || found < first))
			first = found;
	}
	return first ? (size_t)(first - text->bytes) : text->size;
}

const char *vs_nvtx_text_end(struct vs_nvtx_text *text)
{
	text->bytes[text->size] = '\0';
	text->size = find_numbers(text);
	if (text->size == text->start)
		vs_nvtx_text_add(text, UNNAMED);
	text->bytes[text->size] = '\0';
	return text->bytes;
}
