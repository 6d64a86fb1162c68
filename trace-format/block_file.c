#include "block_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "wire.h"

#define HEADER_SIZE VS_FORMAT_BLOCK_HEADER_SIZE

/* What is looked at in one go when the next block has to be searched. */
#define WINDOW_SIZE (64u << 10)

int64_t vs_block_file_read(int fd, void *bytes, size_t size, uint64_t offset)
{
	uint8_t *out = bytes;
	size_t nr_read = 0;

	while (nr_read < size) {
		ssize_t done = pread(fd, out + nr_read, size - nr_read, (off_t)(offset + nr_read));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -VS_ERR_IO;
		if (!done)
			break;
		nr_read += (size_t)done;
	}
	return (int64_t)nr_read;
}

int vs_block_file_init(struct vs_block_file *file, int fd)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE];
	int64_t size = vs_block_file_read(fd, header, sizeof(header), 0);
	int err;

	if (size < 0)
		return (int)size;
	err = vs_block_get_file_header(header, (size_t)size);
	if (err)
		return err;
	memset(file, 0, sizeof(*file));
	file->fd = fd;
	file->offset = VS_FORMAT_HEADER_SIZE;
	return 0;
}

void vs_block_file_fini(struct vs_block_file *file)
{
	free(file->raw);
	free(file->stored);
}

void vs_block_file_rewind(struct vs_block_file *file)
{
	file->offset = VS_FORMAT_HEADER_SIZE;
}

static int reserve(uint8_t **bytes, size_t *capacity, size_t size)
{
	uint8_t *larger;

	if (size <= *capacity)
		return 0;
	larger = realloc(*bytes, size);
	if (!larger)
		return -VS_ERR_NO_MEMORY;
	*bytes = larger;
	*capacity = size;
	return 0;
}

/*
 * The header at file->offset is damaged, so the block's length is unknown: go to the next place
 * that is a header beyond doubt, or to the end of the file.
 */
static int search_header(struct vs_block_file *file)
{
	struct vs_block_header header;
	uint64_t offset = file->offset + 1;
	uint8_t *window = malloc(WINDOW_SIZE);
	int64_t size;

	if (!window)
		return -VS_ERR_NO_MEMORY;
	for (;;) {
		size = vs_block_file_read(file->fd, window, WINDOW_SIZE, offset);
		if (size < HEADER_SIZE)
			break;
		for (int64_t i = 0; i + HEADER_SIZE <= size; i++) {
			if (window[i] == (VS_FORMAT_BLOCK_MAGIC & 0xff) &&
			    !vs_block_get_header(window + i, &header)) {
				file->offset = offset + (uint64_t)i;
				goto free_window;
			}
		}
		offset += (uint64_t)size - HEADER_SIZE + 1;
	}
	if (size >= 0)
		file->offset = offset + (uint64_t)size;
free_window:
	free(window);
	return size < 0 ? (int)size : -VS_ERR_CORRUPT;
}

/* Unpacks file->stored into file->raw. */
static int unpack(struct vs_block_file *file)
{
	const struct vs_block_header *header = &file->header;
	uLongf size = header->raw_size;
	int err;

	/* The sum is that of zlib, which is several times as fast at it as crc32.c. */
	if (crc32_z(0, file->stored, header->stored_size) != header->payload_crc ||
	    (header->flags & ~VS_BLOCK_ZLIB))
		return -VS_ERR_CORRUPT;
	err = reserve(&file->raw, &file->raw_capacity, header->raw_size);
	if (err)
		return err;
	if (!(header->flags & VS_BLOCK_ZLIB)) {
		if (header->stored_size != header->raw_size)
			return -VS_ERR_CORRUPT;
		vs_wire_put_bytes(file->raw, file->stored, header->raw_size);
		return 0;
	}
	/* zlib wants a place to write to even if there is nothing to write. */
	if (!size || uncompress(file->raw, &size, file->stored, header->stored_size) != Z_OK ||
	    size != header->raw_size)
		return -VS_ERR_CORRUPT;
	return 0;
}

static int read_payload(struct vs_block_file *file)
{
	uint32_t stored_size = file->header.stored_size;
	off_t file_size = lseek(file->fd, 0, SEEK_END);
	int64_t size;
	int err;

	if (file_size < 0)
		return -VS_ERR_IO;
	/* Before any memory is taken for what is not there. */
	if ((uint64_t)file_size < file->offset + HEADER_SIZE + stored_size)
		return -VS_ERR_TRUNCATED;
	err = reserve(&file->stored, &file->stored_capacity, stored_size);
	if (err)
		return err;
	size = vs_block_file_read(file->fd, file->stored, stored_size, file->offset + HEADER_SIZE);
	if (size < 0)
		return (int)size;
	return size < stored_size ? -VS_ERR_TRUNCATED : 0;
}

int vs_block_file_next(struct vs_block_file *file)
{
	uint8_t bytes[HEADER_SIZE];
	int64_t size;
	int err;

	file->header.kind = 0;
	size = vs_block_file_read(file->fd, bytes, sizeof(bytes), file->offset);
	if (size <= 0)
		return (int)size;
	if (size < HEADER_SIZE)
		return -VS_ERR_TRUNCATED;
	if (vs_block_get_header(bytes, &file->header))
		return search_header(file);
	err = read_payload(file);
	if (!err)
		err = unpack(file);
	if (!err || err == -VS_ERR_CORRUPT)
		file->offset += HEADER_SIZE + file->header.stored_size;
	return err ? err : 1;
}
