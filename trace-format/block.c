#include "block.h"

#include <string.h>

#include "crc32.h"
#include "wire.h"

#define MAGIC_SIZE (sizeof(VS_FORMAT_MAGIC) - 1)

/* docs/trace-format.md, section 3.1 */
void vs_block_put_file_header(uint8_t out[VS_FORMAT_HEADER_SIZE])
{
	uint8_t *p = vs_wire_put_bytes(out, VS_FORMAT_MAGIC, MAGIC_SIZE);

	p = vs_wire_put_le32(p, VS_FORMAT_VERSION);
	vs_wire_put_le32(p, vs_crc32_add(0, out, (size_t)(p - out)));
}

int vs_block_get_file_header(const uint8_t *bytes, size_t size)
{
	struct vs_wire in;
	uint32_t version, crc;

	if (!size)
		return -VS_ERR_EMPTY;
	if (memcmp(bytes, VS_FORMAT_MAGIC, size < MAGIC_SIZE ? size : MAGIC_SIZE) != 0)
		return -VS_ERR_NOT_A_TRACE;
	if (size < VS_FORMAT_HEADER_SIZE)
		return -VS_ERR_TRUNCATED;
	vs_wire_init(&in, bytes + MAGIC_SIZE, VS_FORMAT_HEADER_SIZE - MAGIC_SIZE);
	version = vs_wire_get_le32(&in);
	crc = vs_wire_get_le32(&in);
	if (crc != vs_crc32_add(0, bytes, VS_FORMAT_HEADER_SIZE - sizeof(crc)))
		return -VS_ERR_CORRUPT;
	if (version < VS_FORMAT_VERSION)
		return -VS_ERR_PROVISIONAL;
	return version > VS_FORMAT_VERSION ? -VS_ERR_NEWER : 0;
}

/* docs/trace-format.md, section 3.2 */
void vs_block_put_header(uint8_t out[VS_FORMAT_BLOCK_HEADER_SIZE],
			 const struct vs_block_header *header)
{
	uint8_t *p = out;

	p = vs_wire_put_le32(p, VS_FORMAT_BLOCK_MAGIC);
	p = vs_wire_put_le16(p, header->kind);
	p = vs_wire_put_le16(p, header->flags);
	p = vs_wire_put_le32(p, header->stored_size);
	p = vs_wire_put_le32(p, header->raw_size);
	p = vs_wire_put_le32(p, header->nr_records);
	p = vs_wire_put_le32(p, header->payload_crc);
	p = vs_wire_put_le64(p, header->first_time_ns);
	p = vs_wire_put_le64(p, header->last_time_ns);
	p = vs_wire_put_le32(p, 0);
	vs_wire_put_le32(p, vs_crc32_add(0, out, (size_t)(p - out)));
}

int vs_block_get_header(const uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE],
			struct vs_block_header *header)
{
	struct vs_block_header found;
	struct vs_wire in;
	uint32_t crc;

	vs_wire_init(&in, bytes, VS_FORMAT_BLOCK_HEADER_SIZE);
	if (vs_wire_get_le32(&in) != VS_FORMAT_BLOCK_MAGIC)
		return -VS_ERR_CORRUPT;
	found.kind = vs_wire_get_le16(&in);
	found.flags = vs_wire_get_le16(&in);
	found.stored_size = vs_wire_get_le32(&in);
	found.raw_size = vs_wire_get_le32(&in);
	found.nr_records = vs_wire_get_le32(&in);
	found.payload_crc = vs_wire_get_le32(&in);
	found.first_time_ns = vs_wire_get_le64(&in);
	found.last_time_ns = vs_wire_get_le64(&in);
	(void)vs_wire_get_le32(&in);
	crc = vs_wire_get_le32(&in);
	if (crc != vs_crc32_add(0, bytes, VS_FORMAT_BLOCK_HEADER_SIZE - sizeof(crc)))
		return -VS_ERR_CORRUPT;
	/* From a file that was made to fool us, not from one that was damaged. */
	if (found.stored_size > VS_FORMAT_PAYLOAD_MAX || found.raw_size > VS_FORMAT_PAYLOAD_MAX)
		return -VS_ERR_CORRUPT;
	*header = found;
	return 0;
}

/* docs/trace-format.md, section 3.7 */
void vs_block_put_end(uint8_t out[VS_FORMAT_END_SIZE], const struct vs_block_end *end)
{
	uint8_t *p = out;

	p = vs_wire_put_le64(p, end->nr_events);
	p = vs_wire_put_le64(p, end->nr_lost);
	vs_wire_put_le32(p, end->how);
}

int vs_block_get_end(const uint8_t *bytes, size_t size, struct vs_block_end *end)
{
	struct vs_block_end found;
	struct vs_wire in;

	vs_wire_init(&in, bytes, size);
	found.nr_events = vs_wire_get_le64(&in);
	found.nr_lost = vs_wire_get_le64(&in);
	found.how = vs_wire_get_le32(&in);
	if (in.error)
		return -VS_ERR_CORRUPT;
	*end = found;
	return 0;
}
