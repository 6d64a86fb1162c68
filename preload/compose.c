#include "compose.h"

#include <string.h>

void vs_compose_init(struct vs_compose *text, char *bytes, size_t room)
{
	*text = (struct vs_compose){.bytes = bytes, .room = room};
	bytes[0] = '\0';
}

void vs_compose_add_bytes(struct vs_compose *text, const char *more, size_t size)
{
	size_t room = text->room - 1 - text->size;

	if (size > room) {
		size = room;
		text->is_cut = true;
	}
	memcpy(text->bytes + text->size, more, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void vs_compose_add(struct vs_compose *text, const char *more)
{
	vs_compose_add_bytes(text, more, strlen(more));
}

void vs_compose_add_number(struct vs_compose *text, uint64_t number)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	vs_compose_add_bytes(text, digits + first, sizeof(digits) - first);
}
