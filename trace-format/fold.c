#include "fold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "block_file.h"
#include "codec.h"
#include "info.h"
#include "info_list.h"
#include "live.h"
#include "writer.h"

static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};

/* What a trace holds by itself. */
struct contents {
	struct vs_info_list info;
	uint64_t size;       /* bytes up to the end of the last block */
	uint64_t end;        /* position behind the last record */
	uint64_t nr_records; /* by the headers of the blocks */
	bool has_end;
};

/* A block that is damaged but has a header stays in the file, and what it should hold counts. */
static int note_block(struct contents *contents, const struct vs_block_file *file, bool is_good)
{
	const struct vs_block_header *header = &file->header;

	contents->size = file->offset;
	switch (header->kind) {
	case VS_BLOCK_RECORDS:
		contents->nr_records += header->nr_records;
		if (header->first + header->span > contents->end)
			contents->end = header->first + header->span;
		return 0;
	case VS_BLOCK_INFO:
		return is_good ? vs_info_list_add(&contents->info, file->raw, header->raw_size) : 0;
	case VS_BLOCK_END:
		contents->has_end = true;
		return 0;
	default:
		return 0;
	}
}

static int survey(int fd, struct contents *contents)
{
	struct vs_block_file file;
	int ret, err;

	err = vs_block_file_init(&file, fd);
	if (err)
		return err;
	contents->size = file.offset;
	while ((ret = vs_block_file_next(&file)) == 1 || ret == -VS_ERR_CORRUPT) {
		if (ret == -VS_ERR_CORRUPT && !file.header.kind)
			continue;
		err = note_block(contents, &file, ret == 1);
		if (err == -VS_ERR_NO_MEMORY)
			break;
		err = 0;
	}
	vs_block_file_fini(&file);
	if (err)
		return err;
	return ret == -VS_ERR_TRUNCATED ? 0 : ret;
}

static int copy_bytes(int to, int from, uint64_t size)
{
	uint8_t bytes[64 << 10];
	uint64_t offset = 0;

	while (offset < size) {
		size_t part = size - offset < sizeof(bytes) ? size - offset : sizeof(bytes);
		int64_t nr_read = vs_block_file_read(from, bytes, part, offset);
		ssize_t done;

		if (nr_read <= 0)
			return -VS_ERR_IO;
		done = write(to, bytes, (size_t)nr_read);
		if (done < 0 && errno != EINTR)
			return -VS_ERR_IO;
		offset += done > 0 ? (uint64_t)done : 0;
	}
	return 0;
}

static int append_log(struct vs_writer *writer, struct vs_live *live, uint64_t position)
{
	struct vs_live_record record;
	int ret, err;

	while ((ret = vs_live_next(live, position, &record)) == VS_LIVE_RECORD) {
		err = vs_writer_add_records(writer, record.position, record.bytes, record.size, 1);
		if (err)
			return err;
		position = record.position + vs_live_stride(record.size);
	}
	return ret == VS_LIVE_MOVED_ON ? -VS_ERR_RUNNING : ret;
}

/* Writes the whole of it to `to`, which is closed in any case. */
static int write_folded(int to, int from, const struct contents *contents, struct vs_live *live)
{
	struct vs_writer *writer;
	int err, sync_fd;

	err = copy_bytes(to, from, contents->size);
	if (err) {
		close(to);
		return err;
	}
	/* The writer closes its own; the bytes must be safe before the log goes. */
	sync_fd = fcntl(to, F_DUPFD_CLOEXEC, 0);
	err = vs_writer_resume(&writer, to, &zlib, contents->nr_records);
	if (!err) {
		err = append_log(writer, live, contents->end);
		if (err)
			vs_writer_abandon(writer);
		else
			err = vs_writer_close_folded(writer, vs_live_get_lost(live));
	}
	if (sync_fd < 0)
		return err ? err : -VS_ERR_IO;
	if (!err && fdatasync(sync_fd))
		err = -VS_ERR_IO;
	close(sync_fd);
	return err;
}

/* A file beside `path` that takes its name when it is whole. */
static int replace(const char *path, int from, const struct contents *contents,
		   struct vs_live *live)
{
	struct stat st;
	char *temp;
	int to, err, saved;

	if (asprintf(&temp, "%s.fold-XXXXXX", path) < 0)
		return -VS_ERR_NO_MEMORY;
	to = mkostemp(temp, O_CLOEXEC);
	if (to < 0) {
		err = -VS_ERR_IO;
		goto free_temp;
	}
	if (fstat(from, &st) == 0)
		(void)fchmod(to, st.st_mode & 07777);
	err = write_folded(to, from, contents, live);
	if (!err && rename(temp, path))
		err = -VS_ERR_IO;
	if (err) {
		saved = errno;
		unlink(temp);
		errno = saved;
	}
free_temp:
	free(temp);
	return err;
}

static int fold(const char *path, int fd, const struct contents *contents)
{
	const char *identity = vs_info_list_get(&contents->info, VS_INFO_IDENTITY);
	struct vs_live *live;
	char *live_path;
	int err;

	if (!identity)
		return 0;
	err = vs_live_find(&live, path, vs_info_list_get(&contents->info, VS_INFO_LIVE), identity,
			   &live_path);
	if (err)
		return err == -VS_ERR_NOT_A_TRACE ? 0 : err;
	if (vs_live_is_running(live))
		err = -VS_ERR_RUNNING;
	else if (!contents->has_end && vs_live_get_tail(live) > contents->end)
		err = -VS_ERR_CORRUPT;
	else if (!contents->has_end)
		err = replace(path, fd, contents, live);
	if (!err && unlink(live_path) && errno != ENOENT)
		err = -VS_ERR_IO;
	free(live_path);
	vs_live_close(live);
	return err;
}

int vs_fold_trace(const char *path)
{
	struct contents contents = {0};
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -VS_ERR_IO;
	err = survey(fd, &contents);
	if (!err)
		err = fold(path, fd, &contents);
	vs_info_list_fini(&contents.info);
	close(fd);
	return err;
}
