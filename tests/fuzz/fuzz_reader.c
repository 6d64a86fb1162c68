/*
 * A trace and its log made of any bytes. By the first byte: the input is the file as it stands, or
 * it says what the blocks contain and the checksums are right, for otherwise hardly anything would
 * ever come past them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.h"
#include "codec.h"
#include "crc32.h"
#include "info.h"
#include "live_format.h"
#include "reader.h"
#include "wire.h"

#define RING_SIZE  (64u << 10)
#define IDENTITY   "00000000000000000000000000000000"
#define MAX_BLOCKS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_fd(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

static void add(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
}

static void add_block(int fd, struct vs_block_header *header, const uint8_t *payload)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];

	header->payload_crc = vs_crc32_add(0, payload, header->stored_size);
	vs_block_put_header(bytes, header);
	add(fd, bytes, sizeof(bytes));
	add(fd, payload, header->stored_size);
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

/* kind, flags, records, what is wrong with the sizes, 2 bytes first, 2 span, 2 payload's size. */
static void add_next_block(int fd, struct vs_wire *in)
{
	const uint8_t *control = vs_wire_get_bytes(in, 4);
	struct vs_block_header header = {0};
	const uint8_t *payload;
	uint16_t size;

	if (!control)
		return;
	header.kind = control[0] % 5;
	header.flags = control[1] % 4;
	header.nr_records = control[2];
	header.first = vs_wire_get_le16(in);
	header.span = vs_wire_get_le16(in);
	size = vs_wire_get_le16(in);
	if (size > vs_wire_left(in))
		size = (uint16_t)vs_wire_left(in);
	payload = vs_wire_get_bytes(in, size);
	if (!payload)
		return;
	header.stored_size = size;
	header.raw_size = control[3] % 8 ? size : control[3] * 1000u;
	add_block(fd, &header, payload);
}

static int make_trace(struct vs_wire *in)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE];
	int fd = make_fd();

	vs_block_put_file_header(header);
	add(fd, header, sizeof(header));
	add_identity(fd);
	for (uint32_t i = 0; i < MAX_BLOCKS && vs_wire_left(in) > 64; i++)
		add_next_block(fd, in);
	return fd;
}

static void put_ring(uint8_t *ring, uint64_t position, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring[(position + i) % RING_SIZE] = bytes[i];
}

/* The bytes of the ring from a place on, around its end if need be. */
static void put_file(int fd, const uint8_t *ring, uint64_t at, uint64_t size)
{
	uint64_t part = size < RING_SIZE - at ? size : RING_SIZE - at;

	if (pwrite(fd, ring + at, part, (off_t)(VS_LIVE_HEADER_SIZE + at)) != (ssize_t)part ||
	    pwrite(fd, ring, size - part, VS_LIVE_HEADER_SIZE) != (ssize_t)(size - part))
		abort();
}

/*
 * What is left of the input goes into the ring. Before each piece a byte: its size, and whether it
 * is published, which without help would hardly ever come right.
 */
static int make_log(struct vs_wire *in)
{
	static uint8_t ring[RING_SIZE];
	uint64_t tail = vs_wire_get_le16(in) & ~7u; /* 0 if that was all */
	uint64_t position = tail;
	struct vs_live_header header = {.ring_offset = VS_LIVE_HEADER_SIZE, .ring_size = RING_SIZE};
	int fd = make_fd();

	in->error = 0;
	memset(ring, 0, sizeof(ring));
	while (vs_wire_left(in) && position - tail < RING_SIZE / 2) {
		uint8_t control = *vs_wire_get_bytes(in, 1);
		uint32_t size = control & 0x7f;
		uint8_t word[VS_LIVE_WORD_SIZE];

		if (size > vs_wire_left(in))
			size = (uint32_t)vs_wire_left(in);
		vs_wire_put_le64(word, vs_live_word(position, size));
		if (control & 0x80)
			put_ring(ring, position, word, sizeof(word));
		put_ring(ring, position + sizeof(word), vs_wire_get_bytes(in, size), size);
		position += vs_live_stride(size);
	}
	header.tail = tail;
	header.head = position;
	memcpy(header.magic, VS_LIVE_MAGIC, sizeof(header.magic));
	add(fd, &header, sizeof(header));
	/* Only what is not zero: a log of full size would take most of the time. */
	if (ftruncate(fd, VS_LIVE_HEADER_SIZE + RING_SIZE))
		abort();
	put_file(fd, ring, tail % RING_SIZE, position - tail);
	return fd;
}

/* Everything, and an end: no input of this size holds more records and errors than bytes. */
static void read_all(struct vs_reader *reader, size_t limit)
{
	uint8_t bytes[VS_CODEC_MAX];
	struct vs_record record;
	size_t nr_calls = 0;
	int ret;

	while ((ret = vs_reader_next(reader, &record)) != 0) {
		if (ret == 1)
			vs_codec_put_record(bytes, &record); /* touches all there is */
		if (nr_calls++ > limit)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vs_reader *reader;
	struct vs_wire in;
	int fd, log_fd = -1;

	if (!size)
		return 0;
	vs_wire_init(&in, data + 1, size - 1);
	if (data[0] & 1) {
		fd = make_fd();
		add(fd, in.next, vs_wire_left(&in));
	} else {
		fd = make_trace(&in);
		log_fd = make_log(&in);
	}
	if (vs_reader_open_fds(&reader, fd, log_fd))
		return 0;
	read_all(reader, size + 64);
	if (vs_reader_rewind(reader))
		abort();
	read_all(reader, size + 64);
	vs_reader_close(reader);
	return 0;
}
