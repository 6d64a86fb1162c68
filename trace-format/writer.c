#include "writer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.h"
#include "codec.h"
#include "crc32.h"
#include "live_format.h"
#include "wire.h"

/* Raw bytes of a block: large enough to compress well, small enough to keep twice. */
#define RAW_SIZE (256u << 10)

/* The drain shares the machine with the host: fast before small. A stream of allocations and frees
 * shrinks to 56 % of its rows, and to 52 % with level 4. */
#define ZLIB_LEVEL 1

/*
 * pending: raw[0 .. raw_size), one block of one kind; RECORDS: nr_records at positions first <= p <
 * end, without a gap.
 */
struct vs_writer {
	int fd;
	bool has_failed;
	bool has_records; /* INFO is over */
	struct vs_writer_zlib zlib;
	size_t map_size;
	uint64_t file_size;      /* whole blocks only */
	uint64_t written_end;    /* position behind the last record in the file */
	uint64_t nr_written;     /* records in the file */
	uint64_t nr_dropped;     /* records that did not get there */
	enum vs_block_kind kind; /* pending */
	uint32_t nr_records;     /* pending */
	uint64_t first;          /* pending */
	uint64_t end;            /* pending */
	size_t raw_size;         /* pending */
	size_t stored_capacity;
	uint8_t *stored; /* a block header and room for stored_capacity bytes */
	uint8_t raw[RAW_SIZE];
};

/* ---- Bytes into the file --------------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -VS_ERR_IO;
		if (done == 0) {
			errno = EIO;
			return -VS_ERR_IO;
		}
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

/* All of it, or the file is as before. */
static int append(struct vs_writer *writer, const uint8_t *bytes, size_t size)
{
	off_t old_size = (off_t)writer->file_size;
	int saved;

	if (!write_all(writer->fd, bytes, size)) {
		writer->file_size += size;
		return 0;
	}
	saved = errno;
	/* If this fails, too, the reader meets a block that is cut: as good as none. */
	if (ftruncate(writer->fd, old_size) == 0)
		(void)lseek(writer->fd, old_size, SEEK_SET);
	writer->has_failed = true;
	errno = saved;
	return -VS_ERR_IO;
}

/* Puts the payload behind the header's place in `stored`, compressed if that makes it smaller. */
static void store_payload(struct vs_writer *writer, const uint8_t *raw, size_t size,
			  struct vs_block_header *header)
{
	uint8_t *payload = writer->stored + VS_FORMAT_BLOCK_HEADER_SIZE;
	unsigned long stored_size = writer->stored_capacity;

	header->raw_size = (uint32_t)size;
	if (writer->zlib.compress &&
	    writer->zlib.compress(payload, &stored_size, raw, size, ZLIB_LEVEL) == 0 &&
	    stored_size < size) {
		header->flags = VS_BLOCK_ZLIB;
	} else {
		vs_wire_put_bytes(payload, raw, size);
		stored_size = size;
	}
	header->stored_size = (uint32_t)stored_size;
	header->payload_crc = vs_crc32_add(0, payload, stored_size);
}

static int write_block(struct vs_writer *writer, const uint8_t *raw, size_t size,
		       struct vs_block_header *header)
{
	store_payload(writer, raw, size, header);
	vs_block_put_header(writer->stored, header);
	return append(writer, writer->stored, VS_FORMAT_BLOCK_HEADER_SIZE + header->stored_size);
}

static int write_pending(struct vs_writer *writer)
{
	struct vs_block_header header = {
		.kind = (uint16_t)writer->kind,
		.nr_records = writer->nr_records,
		.first = writer->first,
		.span = (uint32_t)(writer->end - writer->first),
	};
	int err;

	if (!writer->raw_size)
		return 0;
	err = write_block(writer, writer->raw, writer->raw_size, &header);
	if (err) {
		writer->nr_dropped += writer->nr_records;
	} else {
		writer->nr_written += writer->nr_records;
		writer->written_end = writer->end;
	}
	writer->raw_size = 0;
	writer->nr_records = 0;
	return err;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int create(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib)
{
	size_t capacity = zlib ? zlib->bound(RAW_SIZE) : RAW_SIZE;
	size_t map_size;
	struct vs_writer *new;
	off_t here;

	if (capacity < RAW_SIZE)
		capacity = RAW_SIZE;
	map_size = sizeof(*new) + VS_FORMAT_BLOCK_HEADER_SIZE + capacity;
	new = mmap(NULL, map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED) {
		close(fd);
		return -VS_ERR_NO_MEMORY;
	}
	new->fd = fd;
	new->map_size = map_size;
	new->stored = (uint8_t *)(new + 1);
	new->stored_capacity = capacity;
	new->kind = VS_BLOCK_INFO;
	if (zlib)
		new->zlib = *zlib;
	here = lseek(fd, 0, SEEK_CUR);
	new->file_size = here > 0 ? (uint64_t)here : 0;
	*writer = new;
	return 0;
}

int vs_writer_create(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE];
	struct vs_writer *new;
	int err, saved;

	err = create(&new, fd, zlib);
	if (err)
		return err;
	vs_block_put_file_header(header);
	err = append(new, header, sizeof(header));
	if (err) {
		saved = errno;
		vs_writer_abandon(new);
		errno = saved;
		return err;
	}
	*writer = new;
	return 0;
}

int vs_writer_resume(struct vs_writer **writer, int fd, const struct vs_writer_zlib *zlib,
		     uint64_t nr_records)
{
	struct vs_writer *new;
	int err;

	err = create(&new, fd, zlib);
	if (err)
		return err;
	new->nr_written = nr_records;
	*writer = new;
	return 0;
}

void vs_writer_abandon(struct vs_writer *writer)
{
	close(writer->fd);
	munmap(writer, writer->map_size);
}

static int finish(struct vs_writer *writer, uint64_t nr_lost, enum vs_end how)
{
	struct vs_block_header header = {.kind = VS_BLOCK_END};
	uint8_t payload[VS_FORMAT_END_SIZE];
	struct vs_block_end end;
	int err, end_err, saved;

	err = vs_writer_flush(writer);
	saved = errno;
	end.nr_records = writer->nr_written;
	end.nr_lost = nr_lost + writer->nr_dropped;
	end.how = how;
	vs_block_put_end(payload, &end);
	/* Tried after a failure, too: there may be room again, and the loss is worth a block. */
	end_err = write_block(writer, payload, sizeof(payload), &header);
	if (!err && end_err) {
		err = end_err;
		saved = errno;
	}
	vs_writer_abandon(writer);
	errno = saved;
	return err;
}

int vs_writer_close(struct vs_writer *writer, uint64_t nr_lost)
{
	return finish(writer, nr_lost, VS_END_IN_ORDER);
}

int vs_writer_close_folded(struct vs_writer *writer, uint64_t nr_lost)
{
	return finish(writer, nr_lost, VS_END_FOLDED);
}

/* ---- What goes in ---------------------------------------------------------------------------- */

int vs_writer_add_info(struct vs_writer *writer, const char *key, const char *value)
{
	size_t key_size = strlen(key);
	size_t value_size = strnlen(value, VS_WRITER_VALUE_MAX);
	uint8_t *p;
	int err;

	if (writer->has_records || !key_size || key_size > UINT8_MAX)
		return -VS_ERR_INVALID;
	if (writer->has_failed)
		return 0;
	if (writer->raw_size + key_size + value_size + 2 * VS_WIRE_VARINT_MAX > RAW_SIZE) {
		err = write_pending(writer);
		if (err)
			return err;
	}
	p = writer->raw + writer->raw_size;
	p = vs_wire_put_varint(p, key_size);
	p = vs_wire_put_bytes(p, key, key_size);
	p = vs_wire_put_varint(p, value_size);
	p = vs_wire_put_bytes(p, value, value_size);
	writer->raw_size = (size_t)(p - writer->raw);
	return 0;
}

/* One record of `size` bytes at a position. */
static int add_record(struct vs_writer *writer, uint64_t position, const uint8_t *bytes,
		      size_t size)
{
	/* Blocks have no gaps, so that a reader can tell the position of every record. */
	if (writer->raw_size + size > RAW_SIZE || (writer->raw_size && position != writer->end)) {
		int err = write_pending(writer);

		if (err)
			return err;
	}
	if (!writer->raw_size)
		writer->first = position;
	vs_wire_put_bytes(writer->raw + writer->raw_size, bytes, size);
	writer->raw_size += size;
	writer->nr_records++;
	writer->end = position + vs_live_stride(size);
	return 0;
}

static int begin_records(struct vs_writer *writer)
{
	int err;

	if (writer->has_records)
		return 0;
	err = write_pending(writer); /* INFO */
	writer->has_records = true;
	writer->kind = VS_BLOCK_RECORDS;
	return err;
}

int vs_writer_add_records(struct vs_writer *writer, uint64_t first, const uint8_t *bytes,
			  size_t size, uint32_t nr_records)
{
	uint32_t nr_taken = 0;
	int err = 0;

	if (!writer->has_failed)
		err = begin_records(writer);
	while (size && !err && !writer->has_failed && nr_taken < nr_records) {
		int record_size = vs_codec_get_size(bytes, size);

		if (record_size < 0)
			return -VS_ERR_INVALID;
		err = add_record(writer, first, bytes, (size_t)record_size);
		if (err)
			break;
		first += vs_live_stride((uint64_t)record_size);
		bytes += record_size;
		size -= (size_t)record_size;
		nr_taken++;
	}
	if (writer->has_failed) {
		writer->nr_dropped += nr_records - nr_taken;
		return err;
	}
	return size || nr_taken < nr_records ? -VS_ERR_INVALID : 0;
}

int vs_writer_flush(struct vs_writer *writer)
{
	return writer->has_failed ? 0 : write_pending(writer);
}

uint64_t vs_writer_get_end(const struct vs_writer *writer)
{
	return writer->written_end;
}
