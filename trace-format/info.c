#include "info.h"

#include <string.h>

size_t vs_info_put_argument(char *out, size_t size, const char *argument)
{
	size_t needed = strlen(argument) + 1;
	char *p = out;

	for (const char *c = argument; *c; c++)
		needed += *c == '\n' || *c == '\\';
	if (needed >= size)
		return 0;
	for (const char *c = argument; *c; c++) {
		if (*c == '\n' || *c == '\\')
			*p++ = '\\';
		*p++ = *c == '\n' ? 'n' : *c;
	}
	*p++ = '\n';
	*p = '\0';
	return needed;
}

int vs_info_get_argument(const char **next, char *out, size_t size)
{
	const char *c = *next;
	size_t length = 0;

	if (!*c)
		return 0;
	for (; *c && *c != '\n'; c++) {
		char byte = *c;

		if (byte == '\\' && c[1])
			byte = *++c == 'n' ? '\n' : *c;
		if (length + 1 < size)
			out[length++] = byte;
	}
	if (size)
		out[length] = '\0';
	*next = *c ? c + 1 : c;
	return 1;
}

void vs_info_put_identity(char out[33], const unsigned char identity[16])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		out[2 * i] = digits[identity[i] >> 4];
		out[2 * i + 1] = digits[identity[i] & 15];
	}
	out[32] = '\0';
}
