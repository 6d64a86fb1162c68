#ifndef VS_NUMBER_COLUMN_H
#define VS_NUMBER_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack.h"

/*
 * Many numbers of one kind as few bytes that are quickly read: what they have in common is taken
 * out, and byte 0 of all of them, byte 1 of all of them, ... are packed each by itself
 * (columns_pack.h). docs/trace-format.md, section 9.5.
 */
enum vs_number_kind {
	VS_NUMBERS_PLAIN,
	VS_NUMBERS_SIGNED, /* differences: modulo 2^64, small ones of either sign */
};

/* Errors stay in the pack. */
void vs_number_column_put(struct vs_pack *pack, enum vs_number_kind kind, const uint64_t *numbers,
			  size_t nr);

/*
 * As many as were put, of the same kind. Errors stay in the wire. Bytes of any content are safe.
 * False: all of them are 0.
 */
bool vs_number_column_get(struct vs_wire *in, enum vs_number_kind kind, uint64_t *numbers,
			  size_t nr);

#endif
