#include "fuzz_pair.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "crc32.h"
#include "info.h"
#include "live_format.h"

#define IDENTITY     "00000000000000000000000000000000"
#define MAX_BLOCKS   8
#define NR_CHUNKS    6
#define CHUNK_SIZE   1024u
#define NR_SLOTS     4
#define SLOTS_OFFSET VS_LIVE_HEADER_SIZE
#define LOG_SIZE     (SLOTS_OFFSET + NR_SLOTS * VS_LIVE_SLOT_SIZE + NR_CHUNKS * CHUNK_SIZE)

void vs_fuzz_pair_write(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
}

size_t vs_fuzz_pair_get_limit(size_t size)
{
	/* nr_records is one byte. An event may take less than one in its columns. */
	return size + MAX_BLOCKS * 256 + 64;
}

/* The next byte, 0 when there is none left. */
static uint8_t get_byte(struct vs_wire *in)
{
	return vs_wire_left(in) ? *vs_wire_get_bytes(in, 1) : 0;
}

/* Up to so many of the next bytes. */
static const uint8_t *get_some(struct vs_wire *in, uint32_t *size)
{
	if (*size > vs_wire_left(in))
		*size = (uint32_t)vs_wire_left(in);
	return vs_wire_get_bytes(in, *size);
}

/* ---- The trace ------------------------------------------------------------------------------- */

static void add_block(int fd, struct vs_block_header *header, const uint8_t *payload)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];

	header->payload_crc = vs_crc32_add(0, payload, header->stored_size);
	vs_block_put_header(bytes, header);
	vs_fuzz_pair_write(fd, bytes, sizeof(bytes));
	vs_fuzz_pair_write(fd, payload, header->stored_size);
}

static void add_identity(int fd)
{
	static const uint8_t payload[] = "\x08" VS_INFO_IDENTITY "\x20" IDENTITY;
	struct vs_block_header header = {
		.kind = VS_BLOCK_INFO,
		.stored_size = sizeof(payload) - 1,
		.raw_size = sizeof(payload) - 1,
	};

	add_block(fd, &header, payload);
}

/* Bytes: kind, flags, records, what is wrong with the sizes, the payload's size, the payload. */
static void add_next_block(int fd, struct vs_wire *in)
{
	struct vs_block_header header = {0};
	const uint8_t *payload;
	uint8_t wrong;
	uint32_t size;

	header.kind = get_byte(in) % 8;
	header.flags = get_byte(in) % 4;
	header.nr_records = get_byte(in);
	wrong = get_byte(in);
	header.last_time_ns = wrong * 100u;
	size = get_byte(in);
	payload = get_some(in, &size);
	header.stored_size = size;
	header.raw_size = wrong % 8 ? size : wrong * 1000u;
	add_block(fd, &header, payload);
}

void vs_fuzz_pair_put_empty_trace(int fd)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE];

	vs_block_put_file_header(header);
	vs_fuzz_pair_write(fd, header, sizeof(header));
	add_identity(fd);
}

void vs_fuzz_pair_put_trace(int fd, struct vs_wire *in)
{
	uint32_t nr_blocks = get_byte(in) % (MAX_BLOCKS + 1);

	vs_fuzz_pair_put_empty_trace(fd);
	for (uint32_t i = 0; i < nr_blocks; i++)
		add_next_block(fd, in);
}

/* ---- The log --------------------------------------------------------------------------------- */

/* Bytes: type, flags, size, ticks, the body. Every 16th has a size that cannot be. */
static uint32_t put_record(uint8_t *out, uint32_t room, struct vs_wire *in)
{
	struct vs_live_record head = {.type = get_byte(in), .flags = get_byte(in)};
	uint8_t control = get_byte(in);
	uint32_t size = control % 16 * 8;
	const uint8_t *body;

	head.ticks = get_byte(in);
	head.size = (uint16_t)(sizeof(head) + size);
	if (head.size > room)
		return 0;
	if (control / 16 == 15)
		head.size ^= control;
	memcpy(out, &head, sizeof(head));
	body = get_some(in, &size);
	memcpy(out + sizeof(head), body, size);
	return (uint32_t)sizeof(head) + control % 16 * 8;
}

/* Bytes: ring, number, first, records, what is wrong with the end; the records. */
static void put_chunk(uint8_t *out, struct vs_wire *in)
{
	struct vs_live_chunk chunk = {0};
	uint32_t end = VS_LIVE_CHUNK_HEAD, size;
	uint32_t nr_records;
	uint8_t wrong;

	chunk.ring = get_byte(in) % 4;
	chunk.number = get_byte(in);
	chunk.first = get_byte(in);
	nr_records = get_byte(in) % 16;
	wrong = get_byte(in);
	for (uint32_t i = 0; i < nr_records; i++) {
		size = put_record(out + end, CHUNK_SIZE - end, in);
		if (!size)
			break;
		end += size;
	}
	chunk.end = wrong < 8 ? end + wrong * 1000u : end;
	memcpy(out, &chunk, sizeof(chunk));
}

void vs_fuzz_pair_put_log(int fd, struct vs_wire *in)
{
	static _Alignas(struct vs_live_header) uint8_t log[LOG_SIZE];
	struct vs_live_header *header = (struct vs_live_header *)(void *)log;
	uint8_t *chunks = log + SLOTS_OFFSET + NR_SLOTS * VS_LIVE_SLOT_SIZE;
	uint8_t control = get_byte(in);

	memset(log, 0, sizeof(log));
	header->version = VS_LIVE_VERSION;
	header->slots_offset = SLOTS_OFFSET;
	header->nr_slots = NR_SLOTS;
	header->chunks_offset = SLOTS_OFFSET + NR_SLOTS * VS_LIVE_SLOT_SIZE;
	header->chunk_size = CHUNK_SIZE;
	header->nr_chunks = NR_CHUNKS;
	/* Also read as one that is being written: ours. */
	header->pid = control & 1 ? (uint32_t)getpid() : 0;
	header->newest = control / 2 % 3;
	header->anchors[control / 8 % 3] = (struct vs_live_anchor){
		.ticks = UINT64_MAX / (1 + control), .ns = UINT64_MAX / (1 + control % 5)};
	vs_live_seal(header);
	for (uint32_t i = 0; i < NR_CHUNKS && vs_wire_left(in); i++)
		put_chunk(chunks + (size_t)i * CHUNK_SIZE, in);
	vs_fuzz_pair_write(fd, log, sizeof(log));
}

void vs_fuzz_pair_put_raw_log(int fd, struct vs_wire *in)
{
	static _Alignas(struct vs_live_header) uint8_t page[VS_LIVE_HEADER_SIZE];
	struct vs_live_header *header = (struct vs_live_header *)(void *)page;
	uint32_t size = offsetof(struct vs_live_header, nr_lost) + 8;
	const uint8_t *bytes = get_some(in, &size);

	memset(page, 0, sizeof(page));
	memcpy(page, bytes, size);
	memset(header->identity, 0, sizeof(header->identity));
	header->version = VS_LIVE_VERSION;
	vs_live_seal(header);
	vs_fuzz_pair_write(fd, page, sizeof(page));
	vs_fuzz_pair_write(fd, in->next, vs_wire_left(in));
}
