#include "utf8.h"

#include <stdint.h>

struct range {
	uint32_t first;
	uint32_t last;
};

size_t vs_utf8_get_size(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2, i;

	if (at[0] < 0x80)
		return at[0] != 0;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	for (i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than need be, surrogates, and what is behind the last character. */
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

static uint32_t get_code(const char *text, size_t size)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)text[0] & first_bits[size];
	size_t i;

	for (i = 1; i < size; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

static bool is_in(uint32_t code, const struct range *ranges, size_t nr_ranges)
{
	size_t i;

	for (i = 0; i < nr_ranges; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

bool vs_utf8_is_shown(const char *text, size_t size)
{
	static const struct range hidden[] = {
		{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
		{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
	};

	return !is_in(get_code(text, size), hidden, sizeof(hidden) / sizeof(hidden[0]));
}

size_t vs_utf8_get_columns(const char *text, size_t size)
{
	/* East Asian Wide and Fullwidth (Unicode, annex 11), and emoji. Blocks that have both wide
	 * and narrow characters are here as a whole. */
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x231a, 0x23ff},   {0x2600, 0x27bf},   {0x2b00, 0x2bff},
		{0x2e80, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
		{0xfe10, 0xfe1f},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
		{0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff}, {0x1d300, 0x1d37f}, {0x1f000, 0x1faff},
		{0x20000, 0x3fffd},
	};

	return is_in(get_code(text, size), wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}
