#include "python_lines.h"

#include <stdbool.h>

/* A line is what has been added up so far; below 1 or above 32 bits it is damage. */
static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* ---- Up to 3.9: pairs of (bytes of code, lines) --------------------------------------------- */

static uint32_t find_in_lnotab(uint32_t first_line, const uint8_t *table, size_t size,
			       uint64_t offset)
{
	int64_t line = first_line;
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* ---- 3.10: the same, but the lines come first, and -128 is none ----------------------------- */

#define NO_LINE (-128)

static uint32_t find_in_linetable(uint32_t first_line, const uint8_t *table, size_t size,
				  uint64_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line += delta;
		if (offset < end)
			return delta == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

/* ---- Since 3.11: locations ------------------------------------------------------------------ */

/* Kinds of entries: bits 3 to 6 of their first byte. Those below are of one line: none moves it. */
enum {
	KIND_ONE_LINE_0 = 10,
	KIND_ONE_LINE_1,
	KIND_ONE_LINE_2,
	KIND_NO_COLUMNS,
	KIND_LONG,
	KIND_NONE,
};

struct cursor {
	const uint8_t *next;
	const uint8_t *end;
};

/* Six bits a byte, the lowest first; bit 6: there is more. The sign is the lowest bit. */
static int64_t get_signed(struct cursor *in)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (in->next < in->end && shift < 60) {
		uint8_t byte = *in->next++;

		value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t get_delta(struct cursor *in, unsigned kind)
{
	if (kind == KIND_LONG || kind == KIND_NO_COLUMNS)
		return get_signed(in);
	if (kind >= KIND_ONE_LINE_0 && kind <= KIND_ONE_LINE_2)
		return kind - KIND_ONE_LINE_0;
	return 0;
}

static uint32_t find_in_locations(uint32_t first_line, const uint8_t *table, size_t size,
				  uint32_t instruction)
{
	struct cursor in = {table, table + size};
	int64_t line = first_line;
	uint64_t end = 0;

	while (in.next < in.end) {
		uint8_t head = *in.next++;
		unsigned kind = head >> 3 & 15;

		line += get_delta(&in, kind);
		end += (head & 7u) + 1;
		if (instruction < end)
			return kind == KIND_NONE ? 0 : as_line(line);
		/* Only the first byte of an entry has its highest bit set. */
		while (in.next < in.end && !(*in.next & 128))
			in.next++;
	}
	return 0;
}

uint32_t vs_python_lines_find(uint32_t version, uint32_t first_line, const uint8_t *table,
			      size_t size, uint32_t instruction)
{
	if (instruction == UINT32_MAX || !size)
		return first_line;
	if (version >= 0x030b)
		return find_in_locations(first_line, table, size, instruction);
	if (version == 0x030a)
		return find_in_linetable(first_line, table, size, (uint64_t)instruction * 2);
	return find_in_lnotab(first_line, table, size, (uint64_t)instruction * 2);
}
