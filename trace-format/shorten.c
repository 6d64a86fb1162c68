#include "shorten.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"

#define PART_SIZE (32u << 10) /* of the drain's small stack */

static int read_at(int fd, uint8_t *bytes, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t done = pread(fd, bytes, size, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -VS_ERR_IO;
		if (done == 0)
			return -VS_ERR_CORRUPT;
		bytes += done;
		offset += (uint64_t)done;
		size -= (size_t)done;
	}
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			errno = done < 0 ? errno : EIO;
			return -VS_ERR_IO;
		}
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

static int copy(int to, int from, uint64_t offset, uint64_t end)
{
	uint8_t bytes[PART_SIZE];
	int err = 0;

	while (offset < end && !err) {
		size_t size = end - offset < sizeof(bytes) ? end - offset : sizeof(bytes);

		err = read_at(from, bytes, size, offset);
		if (!err)
			err = write_all(to, bytes, size);
		offset += size;
	}
	return err;
}

/* Of what stands before the snapshot: the header, INFO and the definitions. */
static int copy_definitions(int to, int from, uint64_t end)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	uint64_t offset = VS_FORMAT_HEADER_SIZE;
	struct vs_block_header header;
	uint64_t next;
	int err;

	err = copy(to, from, 0, VS_FORMAT_HEADER_SIZE);
	while (offset < end && !err) {
		err = read_at(from, bytes, sizeof(bytes), offset);
		if (!err)
			err = vs_block_get_header(bytes, &header);
		if (err)
			return err;
		next = offset + VS_FORMAT_BLOCK_HEADER_SIZE + header.stored_size;
		if (next > end)
			return -VS_ERR_CORRUPT;
		if (header.kind == VS_BLOCK_INFO || header.kind == VS_BLOCK_DEFINITIONS)
			err = copy(to, from, offset, next);
		offset = next;
	}
	return err;
}

static int fill(const struct vs_shorten_request *request, int to, int from, uint64_t *offset)
{
	struct stat file;
	off_t here;
	int err;

	if (fstat(from, &file) < 0 || fchmod(to, file.st_mode & 07777) < 0)
		return -VS_ERR_IO;
	err = copy_definitions(to, from, request->offset);
	if (err)
		return err;
	here = lseek(to, 0, SEEK_CUR);
	if (here < 0)
		return -VS_ERR_IO;
	err = copy(to, from, request->offset, request->end);
	if (err)
		return err;
	/* A machine that crashes must not find a name without its bytes. */
	if (fdatasync(to) < 0 && errno != EINVAL && errno != EROFS)
		return -VS_ERR_IO;
	*offset = (uint64_t)here;
	return 0;
}

/* A trace, left there by a process that was killed: nothing else is ever removed. */
static bool is_leftover(const char *path)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t size;

	if (fd < 0)
		return false;
	size = pread(fd, header, sizeof(header), 0);
	close(fd);
	/* Killed before its first byte: nothing is lost with that either. */
	return size == 0 || (size > 0 && !vs_block_get_file_header(header, (size_t)size));
}

void vs_shorten_remove(const char *new_path)
{
	if (is_leftover(new_path))
		unlink(new_path);
}

static int create_file(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	vs_shorten_remove(path);
	return open(path, flags, 0600);
}

int vs_shorten_trace(const struct vs_shorten_request *request, int *fd, uint64_t *offset)
{
	uint64_t new_offset;
	int from, to, err, saved;

	from = open(request->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (from < 0)
		return -VS_ERR_IO;
	to = create_file(request->new_path);
	if (to < 0) {
		err = -VS_ERR_IO;
		goto close_from;
	}
	err = fill(request, to, from, &new_offset);
	if (!err && rename(request->new_path, request->path) < 0)
		err = -VS_ERR_IO;
	if (err) {
		saved = errno;
		unlink(request->new_path);
		close(to);
		errno = saved;
		goto close_from;
	}
	*fd = to;
	*offset = new_offset;
close_from:
	saved = errno;
	close(from);
	errno = saved;
	return err;
}
