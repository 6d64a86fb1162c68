#include "wire.h"

static uint64_t get_le(struct vs_wire *wire, uint32_t size)
{
	const uint8_t *bytes = vs_wire_get_bytes(wire, size);
	uint64_t value = 0;

	if (!bytes)
		return 0;
	for (uint32_t i = size; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

uint16_t vs_wire_get_le16(struct vs_wire *wire)
{
	return (uint16_t)get_le(wire, 2);
}

uint32_t vs_wire_get_le32(struct vs_wire *wire)
{
	return (uint32_t)get_le(wire, 4);
}

uint64_t vs_wire_get_le64(struct vs_wire *wire)
{
	return get_le(wire, 8);
}

uint64_t vs_wire_get_varint(struct vs_wire *wire)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 7 * VS_WIRE_VARINT_MAX; shift += 7) {
		const uint8_t *byte = vs_wire_get_bytes(wire, 1);

		if (!byte)
			return 0;
		/* The tenth byte has room for one bit. */
		if (shift == 63 && *byte > 1)
			break;
		value |= (uint64_t)(*byte & 0x7f) << shift;
		if (!(*byte & 0x80))
			return value;
	}
	wire->error = -VS_ERR_CORRUPT;
	return 0;
}

uint32_t vs_wire_get_varint32(struct vs_wire *wire)
{
	uint64_t value = vs_wire_get_varint(wire);

	if (value > UINT32_MAX) {
		wire->error = -VS_ERR_CORRUPT;
		return 0;
	}
	return (uint32_t)value;
}
