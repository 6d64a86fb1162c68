#ifndef VS_WIRE_H
#define VS_WIRE_H

/*
 * Integers as bytes: docs/trace-format.md, section 2. put functions write at `out` and return the
 * place behind; the caller knows that there is room. get functions read through a cursor that knows
 * its end: the first thing that goes wrong stays in `error`, and from then on everything is 0.
 * Inline, because a hook encodes its record in the thread of the host. Any thread.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "error.h"

#define VS_WIRE_VARINT_MAX 10 /* bytes of a 64-bit number */

struct vs_wire {
	const uint8_t *next;
	const uint8_t *end;
	int error; /* 0, -VS_ERR_TRUNCATED or -VS_ERR_CORRUPT */
};

static inline uint8_t *vs_wire_put_le16(uint8_t *out, uint16_t value)
{
	out[0] = (uint8_t)value;
	out[1] = (uint8_t)(value >> 8);
	return out + 2;
}

static inline uint8_t *vs_wire_put_le32(uint8_t *out, uint32_t value)
{
	out = vs_wire_put_le16(out, (uint16_t)value);
	return vs_wire_put_le16(out, (uint16_t)(value >> 16));
}

static inline uint8_t *vs_wire_put_le64(uint8_t *out, uint64_t value)
{
	out = vs_wire_put_le32(out, (uint32_t)value);
	return vs_wire_put_le32(out, (uint32_t)(value >> 32));
}

static inline uint8_t *vs_wire_put_bytes(uint8_t *out, const void *bytes, size_t size)
{
	if (size) /* bytes may be NULL then, which memcpy forbids */
		memcpy(out, bytes, size);
	return out + size;
}

/* LEB128: seven bits a byte, the lowest first, the top bit set on all but the last. */
static inline uint8_t *vs_wire_put_varint(uint8_t *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	return out;
}

/* Small numbers of either sign become small numbers: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t vs_wire_fold_sign(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t vs_wire_unfold_sign(uint64_t folded)
{
	return folded >> 1 ^ (0 - (folded & 1));
}

static inline void vs_wire_init(struct vs_wire *wire, const void *bytes, size_t size)
{
	wire->next = bytes;
	wire->end = wire->next + size;
	wire->error = 0;
}

static inline size_t vs_wire_left(const struct vs_wire *wire)
{
	return (size_t)(wire->end - wire->next);
}

/* The next bytes, which stay where they are; NULL when there are not so many. */
static inline const uint8_t *vs_wire_get_bytes(struct vs_wire *wire, uint64_t size)
{
	const uint8_t *bytes = wire->next;

	if (wire->error)
		return NULL;
	if (size > vs_wire_left(wire)) {
		wire->error = -VS_ERR_TRUNCATED;
		return NULL;
	}
	wire->next += size;
	return bytes;
}

uint16_t vs_wire_get_le16(struct vs_wire *wire);
uint32_t vs_wire_get_le32(struct vs_wire *wire);
uint64_t vs_wire_get_le64(struct vs_wire *wire);

/* -VS_ERR_CORRUPT when the number has more than 64 bits. */
uint64_t vs_wire_get_varint(struct vs_wire *wire);

/* -VS_ERR_CORRUPT when the number has more than 32 bits. */
uint32_t vs_wire_get_varint32(struct vs_wire *wire);

#endif
