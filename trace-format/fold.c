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
#include "definitions_reader.h"
#include "info.h"
#include "info_list.h"
#include "live.h"
#include "ring_ends.h"
#include "shorten.h"
#include "writer.h"

static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};

/* What a trace holds by itself. */
struct contents {
	struct vs_info_list info;
	struct vs_ring_ends ends;
	struct vs_definitions_reader definitions; /* for the numbers of its nodes */
	uint64_t size;                            /* bytes up to the end of the last block */
	uint64_t nr_events;                       /* by the headers of the blocks */
	uint64_t last_time_ns;
	bool has_end;
};

/* What is to be done, and what was found on the way. */
struct job {
	struct vs_fold_request request;
	bool is_tolerant; /* goes on behind what is damaged */
	struct vs_fold_result result;
};

/* A row that cannot be read is for readers to tell. */
static int note_definitions(struct contents *contents, const struct vs_block_file *file)
{
	uint64_t frames[VS_STACK_MAX];
	struct vs_record record;
	bool is_record;
	size_t at = 0;
	int taken;

	while (at < file->header.raw_size) {
		taken = vs_definitions_reader_get(&contents->definitions, file->raw + at,
						  file->header.raw_size - at, &record, &is_record,
						  frames);
		if (taken < 0)
			return taken;
		at += (size_t)taken;
	}
	return 0;
}

static int note_events(struct contents *contents, const struct vs_block_file *file)
{
	struct vs_ring_ends_change change;
	struct vs_wire payload;

	vs_wire_init(&payload, file->raw, file->header.raw_size);
	if (file->header.kind == VS_BLOCK_SNAPSHOT) {
		(void)vs_wire_get_varint(&payload);
		(void)vs_wire_get_varint(&payload);
	}
	if (file->header.nr_records)
		contents->last_time_ns = file->header.last_time_ns;
	return vs_ring_ends_take(&contents->ends, &payload, &change);
}

/* A block that is damaged but has a header stays in the file, and what it should hold counts. */
static int note_block(struct contents *contents, const struct vs_block_file *file, bool is_good)
{
	contents->size = file->offset;
	switch (file->header.kind) {
	case VS_BLOCK_INFO:
		return is_good ? vs_info_list_add(&contents->info, file->raw, file->header.raw_size)
			       : 0;
	case VS_BLOCK_DEFINITIONS:
		return is_good ? note_definitions(contents, file) : 0;
	case VS_BLOCK_EVENTS:
		contents->nr_events += file->header.nr_records;
		return is_good ? note_events(contents, file) : 0;
	case VS_BLOCK_SNAPSHOT:
		return is_good ? note_events(contents, file) : 0;
	case VS_BLOCK_END:
		contents->has_end = true;
		return 0;
	default:
		return 0;
	}
}

/* Of all blocks, or only of those that INFO begins with. */
static int survey(int fd, struct contents *contents, bool wants_all)
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
		if (!wants_all && file.header.kind != VS_BLOCK_INFO) {
			ret = 0;
			break;
		}
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

static void forget(struct contents *contents)
{
	vs_info_list_fini(&contents->info);
	vs_ring_ends_fini(&contents->ends);
	vs_definitions_reader_fini(&contents->definitions);
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

static int append_log(struct job *job, struct vs_writer *writer, struct vs_live *live)
{
	struct vs_record record;
	uint64_t sequence;
	uint32_t ring;
	int ret, err;

	while ((ret = vs_live_next(live, &record, &ring, &sequence)) != VS_LIVE_END) {
		if (ret == -VS_ERR_CORRUPT && job->is_tolerant)
			continue;
		if (ret != VS_LIVE_RECORD)
			break;
		vs_writer_add(writer, &record, ring, sequence);
		job->result.nr_events += vs_record_is_event(record.type);
		if (!vs_writer_is_full(writer))
			continue;
		err = vs_writer_flush(writer);
		if (err)
			return err;
	}
	/* What a later version recorded must not get lost: it has a vramscope that folds it. */
	return ret == VS_LIVE_UNKNOWN ? -VS_ERR_NEWER : ret;
}

/* Goes on with the log behind what was copied to `to`, which is closed in any case. */
static int write_rest(struct job *job, int to, const struct contents *contents,
		      struct vs_live *live)
{
	struct vs_writer *writer;
	int err;

	err = vs_writer_resume(&writer, to, &zlib, contents->nr_events,
			       vs_definitions_reader_get_next_node(&contents->definitions));
	if (err)
		return err;
	err = append_log(job, writer, live);
	if (!err)
		return vs_writer_close_folded(writer, vs_live_get_lost(live));
	vs_writer_abandon(writer);
	return err;
}

/* Writes the whole of it to `to`, which is closed in any case. live: NULL if there is no rest. */
static int write_folded(struct job *job, int to, int from, const struct contents *contents,
			struct vs_live *live)
{
	int err, sync_fd;

	err = copy_bytes(to, from, contents->size);
	if (err) {
		close(to);
		return err;
	}
	/* The writer closes its own; the bytes must be safe before the log goes. */
	sync_fd = fcntl(to, F_DUPFD_CLOEXEC, 0);
	if (live)
		err = write_rest(job, to, contents, live);
	else
		close(to);
	if (sync_fd < 0)
		return err ? err : -VS_ERR_IO;
	if (!err && fdatasync(sync_fd))
		err = -VS_ERR_IO;
	close(sync_fd);
	return err;
}

/* A file beside the new one that takes its name when it is whole. */
static int replace(struct job *job, int from, const struct contents *contents, struct vs_live *live)
{
	const char *path = job->request.output ? job->request.output : job->request.path;
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
	err = write_folded(job, to, from, contents, live);
	if (!err && rename(temp, path))
		err = -VS_ERR_IO;
	if (err) {
		saved = errno;
		unlink(temp);
		errno = saved;
	}
free_temp:
	free(temp);
	job->result.has_no_output = err == -VS_ERR_IO;
	return err;
}

/* The log of the trace and its path, to be freed. -VS_ERR_NOT_A_TRACE: there is none. */
static int find_log(const struct vs_fold_request *request, const struct contents *contents,
		    struct vs_live **live, char **live_path)
{
	const char *identity = vs_info_list_get(&contents->info, VS_INFO_IDENTITY);
	char *path;
	int err;

	if (!identity)
		return -VS_ERR_NOT_A_TRACE;
	if (!request->log_path)
		return vs_live_find(live, request->path,
				    vs_info_list_get(&contents->info, VS_INFO_LIVE), identity,
				    live_path);
	path = strdup(request->log_path);
	if (!path)
		return -VS_ERR_NO_MEMORY;
	err = vs_live_open(live, path, identity);
	if (err) {
		free(path);
		return err == -VS_ERR_NO_MEMORY ? err : -VS_ERR_NOT_A_TRACE;
	}
	*live_path = path;
	return 0;
}

/* The log's records that the trace does not have go into the new file. */
static int fold_rest(struct job *job, int fd, const struct contents *contents, struct vs_live *live)
{
	int err = vs_live_take(live);

	if (!err)
		err = vs_live_begin(live, &contents->ends, contents->last_time_ns);
	return err ? err : replace(job, fd, contents, live);
}

/* There is no log. */
static int fold_alone(struct job *job, int fd, const struct contents *contents)
{
	if (!contents->has_end && job->is_tolerant)
		return -VS_ERR_TRUNCATED;
	return job->request.output ? replace(job, fd, contents, NULL) : 0;
}

static int fold(struct job *job, int fd, const struct contents *contents)
{
	struct vs_live *live;
	char *live_path;
	int err;

	err = find_log(&job->request, contents, &live, &live_path);
	if (err)
		return err == -VS_ERR_NOT_A_TRACE ? fold_alone(job, fd, contents) : err;
	if (vs_live_is_running(live))
		err = -VS_ERR_RUNNING;
	else if (!contents->has_end)
		err = fold_rest(job, fd, contents, live);
	else if (job->request.output)
		err = replace(job, fd, contents, NULL);
	if (!err && !job->request.output && unlink(live_path) && errno != ENOENT)
		err = -VS_ERR_IO;
	free(live_path);
	vs_live_close(live);
	return err;
}

/* What a kill in the middle of shortening has left. */
static void remove_leftover(const struct vs_fold_request *request, const struct contents *contents)
{
	const char *identity = vs_info_list_get(&contents->info, VS_INFO_IDENTITY);
	char *path;

	if (!identity || request->output ||
	    asprintf(&path, "%s%s", request->path, VS_SHORTEN_SUFFIX) < 0)
		return;
	vs_shorten_remove(path);
	free(path);
}

static int run_job(struct job *job, int fd)
{
	struct contents contents = {0};
	int err;

	err = survey(fd, &contents, true);
	job->result.had_end = contents.has_end;
	if (!err)
		err = fold(job, fd, &contents);
	if (!err)
		remove_leftover(&job->request, &contents);
	forget(&contents);
	return err;
}

/*
 * Whether there is a log, by the trace's first blocks alone: mostly there is none, somebody waits,
 * and to unpack all of a long trace takes seconds. What cannot be told there counts as one.
 */
static bool may_have_log(const struct vs_fold_request *request, int fd)
{
	struct contents contents = {0};
	struct vs_live *live;
	char *live_path;
	int err = survey(fd, &contents, false);

	if (!err && !vs_info_list_get(&contents.info, VS_INFO_IDENTITY))
		err = -VS_ERR_CORRUPT;
	if (!err)
		err = find_log(request, &contents, &live, &live_path);
	if (!err) {
		free(live_path);
		vs_live_close(live);
	} else if (err == -VS_ERR_NOT_A_TRACE) {
		remove_leftover(request, &contents);
	}
	forget(&contents);
	return err != -VS_ERR_NOT_A_TRACE;
}

int vs_fold_trace(const char *path)
{
	struct job job = {.request = {.path = path}};
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -VS_ERR_IO;
	if (may_have_log(&job.request, fd))
		err = run_job(&job, fd);
	close(fd);
	return err;
}

int vs_fold_recover(const struct vs_fold_request *request, struct vs_fold_result *result)
{
	struct job job = {.request = *request, .is_tolerant = true};
	int fd, err = -VS_ERR_IO;

	fd = open(request->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		err = run_job(&job, fd);
		close(fd);
	}
	*result = job.result;
	return err;
}
