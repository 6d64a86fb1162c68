#include "number_column.h"

#include <stdlib.h>
#include <string.h>

#include "columns_pack.h"

#define MAX_WIDTH 8

/* ---- Into bytes ----------------------------------------------------------------------------- */

/* The distance from 0, either way. */
static uint64_t get_distance(enum vs_number_kind kind, uint64_t number)
{
	return kind == VS_NUMBERS_SIGNED && number >> 63 ? 0 - number : number;
}

static bool is_power_of_two(uint64_t number)
{
	return number && !(number & (number - 1));
}

/* Without a division where there is another way: mostly it is one already, and a power of two. */
static inline bool is_multiple(uint64_t number, uint64_t unit)
{
	if (!unit)
		return !number;
	return is_power_of_two(unit) ? !(number & (unit - 1)) : number % unit == 0;
}

/* What all numbers are multiples of; at least 1. */
static uint64_t find_unit(enum vs_number_kind kind, const uint64_t *numbers, size_t nr)
{
	uint64_t unit = 0, rest, swap;
	size_t i;

	for (i = 0; i < nr && unit != 1; i++) {
		rest = get_distance(kind, numbers[i]);
		if (is_multiple(rest, unit))
			continue;
		while (rest) {
			swap = unit % rest;
			unit = rest;
			rest = swap;
		}
	}
	return unit ? unit : 1;
}

/* A number in units (shift: 1 << shift if that is one, else -1), as it is stored but for what is
 * the lowest. */
static inline uint64_t fold(enum vs_number_kind kind, uint64_t number, uint64_t unit, int shift)
{
	uint64_t units = get_distance(kind, number);

	units = shift < 0 ? units / unit : units >> shift;
	if (kind == VS_NUMBERS_PLAIN)
		return units;
	return vs_wire_fold_sign(number >> 63 ? 0 - units : units);
}

static void put_plane(struct vs_pack *pack, const uint64_t *folded, size_t nr, unsigned int byte,
		      uint8_t *plane)
{
	uint8_t *packed = plane + nr;
	size_t size, i;

	for (i = 0; i < nr; i++)
		plane[i] = (uint8_t)(folded[i] >> 8 * byte);
	size = vs_columns_pack_put(packed, plane, nr);
	vs_pack_put_varint(pack, size);
	vs_pack_put_bytes(pack, packed, size);
}

static void put_folded(struct vs_pack *pack, uint64_t *folded, size_t nr, uint8_t *room)
{
	uint64_t lowest = UINT64_MAX, most = 0;
	unsigned int width = 0, byte;
	size_t i;

	for (i = 0; i < nr; i++) {
		lowest = folded[i] < lowest ? folded[i] : lowest;
		most = folded[i] > most ? folded[i] : most;
	}
	for (i = 0; i < nr; i++)
		folded[i] -= lowest;
	while (width < MAX_WIDTH && (most - lowest) >> 8 * width)
		width++;
	vs_pack_put_varint(pack, lowest);
	vs_pack_put_varint(pack, width);
	for (byte = 0; byte < width; byte++)
		put_plane(pack, folded, nr, byte, room);
}

static bool are_all_equal(const uint64_t *numbers, size_t nr)
{
	size_t i = 1;

	while (i < nr && numbers[i] == numbers[0])
		i++;
	return i >= nr;
}

void vs_number_column_put(struct vs_pack *pack, enum vs_number_kind kind, const uint64_t *numbers,
			  size_t nr)
{
	bool is_one = are_all_equal(numbers, nr);
	uint64_t unit = find_unit(kind, numbers, is_one && nr ? 1 : nr);
	int shift = is_power_of_two(unit) ? __builtin_ctzll(unit) : -1;
	uint64_t *folded;
	size_t i;

	if (!nr)
		return;
	/* Many columns are one number: what comes of it is that of a column of one. */
	if (is_one)
		nr = 1;
	folded = malloc(nr * (sizeof(*folded) + 2));
	if (!folded) {
		pack->error = pack->error ? pack->error : -VS_ERR_NO_MEMORY;
		return;
	}
	for (i = 0; i < nr; i++)
		folded[i] = fold(kind, numbers[i], unit, shift);
	vs_pack_put_varint(pack, unit);
	put_folded(pack, folded, nr, (uint8_t *)(folded + nr));
	free(folded);
}

/* ---- Out of bytes --------------------------------------------------------------------------- */

static void fail(struct vs_wire *in)
{
	if (!in->error)
		in->error = -VS_ERR_CORRUPT;
}

/* A plane as it is, or NULL: the error is in the wire. room: for nr bytes. */
static const uint8_t *get_plane(struct vs_wire *in, size_t nr, uint8_t *room)
{
	uint64_t size = vs_wire_get_varint(in);
	const uint8_t *stored = vs_wire_get_bytes(in, size);

	if (!stored)
		return NULL;
	if (size == nr)
		return stored;
	if (size > nr || vs_columns_pack_get(room, nr, stored, size)) {
		fail(in);
		return NULL;
	}
	return room;
}

/* Adds one byte of each number; the lowest one comes first. */
static void add_plane(uint64_t *restrict numbers, const uint8_t *restrict plane, size_t nr,
		      unsigned int byte)
{
	size_t i;

	if (!byte) {
		for (i = 0; i < nr; i++)
			numbers[i] = plane[i];
		return;
	}
	for (i = 0; i < nr; i++)
		numbers[i] |= (uint64_t)plane[i] << 8 * byte;
}

/* From what is above the lowest to the number itself. */
static void unfold(enum vs_number_kind kind, uint64_t *numbers, size_t nr, uint64_t lowest,
		   uint64_t unit)
{
	size_t i;

	if (kind == VS_NUMBERS_PLAIN && (lowest || unit != 1)) {
		for (i = 0; i < nr; i++)
			numbers[i] = (numbers[i] + lowest) * unit;
	} else if (kind == VS_NUMBERS_SIGNED) {
		for (i = 0; i < nr; i++)
			numbers[i] = vs_wire_unfold_sign(numbers[i] + lowest) * unit;
	}
}

bool vs_number_column_get(struct vs_wire *in, enum vs_number_kind kind, uint64_t *numbers,
			  size_t nr)
{
	uint64_t unit, lowest, width;
	const uint8_t *plane;
	unsigned int byte;
	uint8_t *room;

	if (!nr)
		return false;
	unit = vs_wire_get_varint(in);
	lowest = vs_wire_get_varint(in);
	width = vs_wire_get_varint(in);
	if (!unit || width > MAX_WIDTH)
		fail(in);
	room = width && !in->error ? malloc(nr) : NULL;
	if (width && !room && !in->error)
		in->error = -VS_ERR_NO_MEMORY;
	for (byte = 0; byte < width && !in->error; byte++) {
		plane = get_plane(in, nr, room);
		if (plane)
			add_plane(numbers, plane, nr, byte);
	}
	free(room);
	if (!width || in->error)
		memset(numbers, 0, nr * sizeof(*numbers));
	if (in->error || (!width && !lowest))
		return false;
	unfold(kind, numbers, nr, lowest, unit);
	return true;
}
