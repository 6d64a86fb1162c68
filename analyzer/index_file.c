#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_file.h"
#include "crc32.h"
#include "info.h"
#include "interrupt.h"

#define HEADER_SIZE VS_INDEX_FILE_HEADER_SIZE
#define MAGIC       "VSINDX\r\n"
#define MAGIC_SIZE  8

/* The numbers of the header. */
struct header {
	uint32_t stored_size; /* of the directory */
	uint32_t raw_size;
	uint32_t crc; /* of what is stored */
	uint64_t trace_size;
	uint64_t trace_written_ns;
	uint64_t file_size; /* its own */
};

char *vs_index_file_name(const char *trace_path)
{
	char *name;

	return asprintf(&name, "%s" VS_INDEX_FILE_SUFFIX, trace_path) < 0 ? NULL : name;
}

static const char *get_identity(const struct vs_reader *reader)
{
	const char *identity = vs_reader_get_info(reader, VS_INFO_IDENTITY);

	return identity ? identity : "";
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void put_header(uint8_t out[HEADER_SIZE], const struct header *header)
{
	uint8_t *start = out;

	memset(out, 0, HEADER_SIZE);
	out = vs_wire_put_bytes(out, MAGIC, MAGIC_SIZE);
	out = vs_wire_put_le32(out, VS_INDEX_FILE_VERSION);
	out = vs_wire_put_le32(out, header->stored_size);
	out = vs_wire_put_le32(out, header->raw_size);
	out = vs_wire_put_le32(out, header->crc);
	out = vs_wire_put_le64(out, header->trace_size);
	out = vs_wire_put_le64(out, header->trace_written_ns);
	vs_wire_put_le64(out, header->file_size);
	vs_wire_put_le32(start + HEADER_SIZE - 4, vs_crc32_add(0, start, HEADER_SIZE - 4));
}

/* The header and the directory, which are in front of the snapshots. */
static int put_front(struct vs_pack *front, const struct vs_reader *reader,
		     const struct vs_index_directory *directory, struct header *header)
{
	uint8_t place[HEADER_SIZE] = {0};
	struct vs_pack raw = {0};
	size_t stored_size, i;
	int err;

	vs_pack_put_text(&raw, VS_VERSION);
	vs_pack_put_text(&raw, get_identity(reader));
	vs_index_directory_put(&raw, directory);
	vs_pack_put_bytes(front, place, sizeof(place));
	err = raw.error ? raw.error : front->error;
	if (!err)
		err = vs_pack_deflate(front, raw.bytes, raw.size, &stored_size);
	/* Nobody has such a directory: it would be that of a trace of some 100 GiB. */
	if (!err && raw.size > UINT32_MAX)
		err = -VS_ERR_NO_MEMORY;
	header->raw_size = (uint32_t)raw.size;
	vs_pack_fini(&raw);
	if (err)
		return err;
	header->stored_size = (uint32_t)stored_size;
	header->crc = vs_crc32_add(0, front->bytes + HEADER_SIZE, stored_size);
	header->file_size = front->size;
	for (i = 0; i < directory->nr_snapshots; i++)
		header->file_size += directory->snapshots[i].size;
	return 0;
}

int vs_index_file_measure(const struct vs_reader *reader,
			  const struct vs_index_directory *directory, uint64_t *size)
{
	struct vs_pack front = {0};
	struct header header;
	int err = put_front(&front, reader, directory, &header);

	vs_pack_fini(&front);
	if (!err)
		*size = header.file_size;
	return err;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -VS_ERR_IO;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

static int copy_snapshots(int fd, const struct vs_index_directory *directory, int spool_fd)
{
	uint8_t *bytes = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < directory->nr_snapshots && !err; i++) {
		const struct vs_index_snapshot *snapshot = &directory->snapshots[i];
		uint8_t *larger = realloc(bytes, snapshot->size + 1u);

		if (!larger) {
			err = -VS_ERR_NO_MEMORY;
			break;
		}
		bytes = larger;
		if (vs_block_file_read(spool_fd, bytes, snapshot->size, snapshot->offset) !=
		    snapshot->size)
			err = -VS_ERR_IO;
		else
			err = write_all(fd, bytes, snapshot->size);
	}
	free(bytes);
	return err;
}

/* Whoever may read the trace may read what is said of it. */
static int write_file(const char *path, uint32_t mode, const struct vs_pack *front,
		      const struct vs_index_directory *directory, int spool_fd)
{
	char *name;
	int fd, err;

	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return -VS_ERR_NO_MEMORY;
	err = -VS_ERR_IO;
	fd = vs_interrupt_make_file(name);
	if (fd < 0)
		goto free_name;
	err = write_all(fd, front->bytes, front->size);
	if (!err)
		err = copy_snapshots(fd, directory, spool_fd);
	if (!err && fchmod(fd, mode & 0666))
		err = -VS_ERR_IO;
	if (close(fd) && !err)
		err = -VS_ERR_IO;
	if (!err && rename(name, path))
		err = -VS_ERR_IO;
	if (err)
		unlink(name);
	vs_interrupt_release_file();
free_name:
	free(name);
	return err;
}

int vs_index_file_write(const char *path, const struct vs_reader *reader,
			const struct vs_index_directory *directory, int spool_fd)
{
	struct vs_reader_file trace;
	struct vs_pack front = {0};
	struct header header = {0};
	int err = vs_reader_get_file(reader, &trace);

	if (err)
		return err;
	header.trace_size = trace.size;
	header.trace_written_ns = trace.written_ns;
	err = put_front(&front, reader, directory, &header);
	if (!err) {
		put_header(front.bytes, &header);
		err = write_file(path, trace.mode, &front, directory, spool_fd);
	}
	vs_pack_fini(&front);
	return err;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* -VS_ERR_INVALID: not of this trace, or not of this version. */
static int get_header(struct header *header, int fd, const struct vs_reader *reader)
{
	uint8_t bytes[HEADER_SIZE];
	struct vs_reader_file trace;
	struct vs_wire in;
	int64_t size = vs_block_file_read(fd, bytes, sizeof(bytes), 0);
	int err = vs_reader_get_file(reader, &trace);

	if (err || size < 0)
		return -VS_ERR_IO;
	vs_wire_init(&in, bytes, (size_t)size);
	if (size < HEADER_SIZE)
		return -VS_ERR_TRUNCATED;
	if (memcmp(vs_wire_get_bytes(&in, MAGIC_SIZE), MAGIC, MAGIC_SIZE) ||
	    vs_wire_get_le32(&in) != VS_INDEX_FILE_VERSION)
		return -VS_ERR_INVALID;
	header->stored_size = vs_wire_get_le32(&in);
	header->raw_size = vs_wire_get_le32(&in);
	header->crc = vs_wire_get_le32(&in);
	header->trace_size = vs_wire_get_le64(&in);
	header->trace_written_ns = vs_wire_get_le64(&in);
	header->file_size = vs_wire_get_le64(&in);
	vs_wire_init(&in, bytes + HEADER_SIZE - 4, 4);
	if (vs_wire_get_le32(&in) != vs_crc32_add(0, bytes, HEADER_SIZE - 4))
		return -VS_ERR_CORRUPT;
	if (header->trace_size != trace.size || header->trace_written_ns != trace.written_ns)
		return -VS_ERR_INVALID;
	return 0;
}

/* Bytes of the file, checked and unpacked. No memory is taken for what is not there. */
static int read_part(const struct vs_index_file *file, uint64_t offset, uint32_t stored_size,
		     uint32_t raw_size, uint32_t crc, uint8_t **raw)
{
	uint8_t *stored;
	int err = -VS_ERR_CORRUPT;

	if (offset > file->size || stored_size > file->size - offset)
		return -VS_ERR_TRUNCATED;
	stored = malloc(stored_size + 1u);
	if (!stored)
		return -VS_ERR_NO_MEMORY;
	if (vs_block_file_read(file->fd, stored, stored_size, offset) == stored_size &&
	    vs_crc32_add(0, stored, stored_size) == crc)
		err = vs_pack_inflate(raw, raw_size, stored, stored_size);
	free(stored);
	return err;
}

static int get_directory(struct vs_index_file *file, const struct header *header,
			 const struct vs_reader *reader)
{
	const char *version, *identity;
	struct vs_wire in;
	int err = read_part(file, HEADER_SIZE, header->stored_size, header->raw_size, header->crc,
			    &file->raw);

	if (err)
		return err;
	vs_wire_init(&in, file->raw, header->raw_size);
	version = vs_pack_get_text(&in);
	identity = vs_pack_get_text(&in);
	if (!version || !identity)
		return -VS_ERR_CORRUPT;
	if (strcmp(version, VS_VERSION) != 0 || strcmp(identity, get_identity(reader)) != 0)
		return -VS_ERR_INVALID;
	return vs_index_directory_get(&file->directory, in.next, vs_wire_left(&in),
				      (uint64_t)HEADER_SIZE + header->stored_size);
}

int vs_index_file_open(struct vs_index_file *file, const char *path, const struct vs_reader *reader)
{
	struct header header;
	struct stat st;
	int err;

	*file = (struct vs_index_file){0};
	/* Not to wait for a writer, should it be a FIFO. */
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return -VS_ERR_IO;
	err = -VS_ERR_IO;
	if (fstat(file->fd, &st) == 0 && S_ISREG(st.st_mode))
		err = get_header(&header, file->fd, reader);
	file->size = (uint64_t)st.st_size;
	if (!err && header.file_size != file->size)
		err = -VS_ERR_TRUNCATED;
	if (!err)
		err = get_directory(file, &header, reader);
	if (err)
		vs_index_file_close(file);
	return err;
}

void vs_index_file_close(struct vs_index_file *file)
{
	vs_index_directory_fini(&file->directory);
	free(file->raw);
	close(file->fd);
	*file = (struct vs_index_file){.fd = -1};
}

int vs_index_file_read_chain(const struct vs_index_file *file,
			     const struct vs_index_snapshot *snapshot,
			     const struct vs_index_snapshot **first, uint8_t **out)
{
	const struct vs_index_snapshot *start = snapshot, *next;
	uint64_t size;
	uint8_t *bytes;
	int err = 0;

	/* The first of all is whole. */
	while (!start->is_whole)
		start--;
	size = snapshot->offset + snapshot->size - start->offset;
	if (start->offset > file->size || size > file->size - start->offset)
		return -VS_ERR_TRUNCATED;
	bytes = malloc(size + 1);
	if (!bytes)
		return -VS_ERR_NO_MEMORY;
	if (vs_block_file_read(file->fd, bytes, size, start->offset) != (int64_t)size)
		err = -VS_ERR_CORRUPT;
	for (next = start; next <= snapshot && !err; next++)
		if (vs_crc32_add(0, bytes + (next->offset - start->offset), next->size) !=
		    next->crc)
			err = -VS_ERR_CORRUPT;
	if (err) {
		free(bytes);
		return err;
	}
	*first = start;
	*out = bytes;
	return 0;
}
