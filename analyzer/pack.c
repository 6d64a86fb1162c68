#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "grow.h"

/* No zlib stream holds more bytes than this for each of its own. */
#define MOST_INFLATED 1032u

/* They are written once and read seldom: small before fast. */
#define ZLIB_LEVEL 9

void vs_pack_fini(struct vs_pack *pack)
{
	free(pack->bytes);
	*pack = (struct vs_pack){0};
}

/* Room for so many more bytes, or NULL. */
static uint8_t *reserve(struct vs_pack *pack, size_t size)
{
	if (!pack->error)
		pack->error = VS_GROW(pack->bytes, pack->capacity, pack->size + size);
	return pack->error ? NULL : pack->bytes + pack->size;
}

void vs_pack_put_varint(struct vs_pack *pack, uint64_t value)
{
	uint8_t *out = reserve(pack, VS_WIRE_VARINT_MAX);

	if (out)
		pack->size = (size_t)(vs_wire_put_varint(out, value) - pack->bytes);
}

void vs_pack_put_bytes(struct vs_pack *pack, const void *bytes, size_t size)
{
	uint8_t *out = reserve(pack, size);

	if (!out)
		return;
	vs_wire_put_bytes(out, bytes, size);
	pack->size += size;
}

void vs_pack_put_text(struct vs_pack *pack, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	vs_pack_put_varint(pack, size);
	vs_pack_put_bytes(pack, text, size);
}

const char *vs_pack_get_text(struct vs_wire *wire)
{
	uint64_t size = vs_wire_get_varint(wire);
	const uint8_t *bytes = size ? vs_wire_get_bytes(wire, size) : NULL;

	if (!bytes)
		return NULL;
	if (strnlen((const char *)bytes, size) == size - 1)
		return (const char *)bytes;
	wire->error = -VS_ERR_CORRUPT;
	return NULL;
}

size_t vs_pack_get_count(struct vs_wire *wire)
{
	uint64_t count = vs_wire_get_varint(wire);

	if (count <= vs_wire_left(wire))
		return (size_t)count;
	wire->error = -VS_ERR_TRUNCATED;
	return 0;
}

int vs_pack_deflate(struct vs_pack *out, const void *bytes, size_t bytes_size, size_t *size)
{
	uLongf room = compressBound(bytes_size);
	uint8_t *place = reserve(out, room);

	if (!place)
		return out->error;
	if (compress2(place, &room, bytes, bytes_size, ZLIB_LEVEL) != Z_OK)
		return -VS_ERR_NO_MEMORY;
	out->size += room;
	*size = room;
	return 0;
}

int vs_pack_inflate(uint8_t **raw, size_t raw_size, const void *bytes, size_t size)
{
	uLongf got = raw_size;
	uint8_t *out;

	if (!raw_size || raw_size / MOST_INFLATED > size)
		return -VS_ERR_CORRUPT;
	out = malloc(raw_size);
	if (!out)
		return -VS_ERR_NO_MEMORY;
	if (uncompress(out, &got, bytes, size) != Z_OK || got != raw_size) {
		free(out);
		return -VS_ERR_CORRUPT;
	}
	*raw = out;
	return 0;
}
