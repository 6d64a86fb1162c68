#ifndef VS_WRITER_H
#define VS_WRITER_H

#include <stddef.h>

#include "error.h"
#include "format.h"

/*
 * Writes a trace. One thread at a time. Uses only write(2), memory of its own (mmap, not the host's
 * malloc) and a deflate function it is given (NULL: blocks are stored as they are), because it runs
 * inside other people's programs.
 *
 * When the disk is full or breaks, the call that notices returns -VS_ERR_IO (see errno) and takes
 * the half-written block off the file again. From then on records are dropped and counted, calls
 * return 0, and vs_writer_close adds what was dropped to the lost events of the END block, if that
 * can be written.
 */
struct vs_writer;

/* compress(): as zlib's compress2, with compressBound's promise kept by the caller. */
struct vs_writer_zlib {
	unsigned long (*bound)(unsigned long size);
	int (*compress)(unsigned char *out, unsigned long *out_size, const unsigned char *in,
			unsigned long size, int level);
};

/* fd is the writer's from now on, also on failure. Writes the header. */
VS_MUST_CHECK int vs_writer_create(struct vs_writer **writer, int fd,
				   const struct vs_writer_zlib *zlib);

/*
 * Goes on with a trace: fd stands behind its last whole block, before which there are nr_records.
 * The writer does not read them: vs_writer_get_end is 0 until it has written a block of its own.
 * fd is the writer's from now on, also on failure.
 */
VS_MUST_CHECK int vs_writer_resume(struct vs_writer **writer, int fd,
				   const struct vs_writer_zlib *zlib, uint64_t nr_records);

/*
 * Key and value of the INFO block (info.h); all calls before the first records, otherwise
 * -VS_ERR_INVALID. A value is cut to VS_WRITER_VALUE_MAX bytes.
 */
#define VS_WRITER_VALUE_MAX 65536
VS_MUST_CHECK int vs_writer_add_info(struct vs_writer *writer, const char *key, const char *value);

/*
 * Append encoded records (vs_codec_put_record, one after the other, without the log's words).
 * first: position of the first one in the log; the others follow it without a gap. Writes whole
 * blocks when there is enough for one. -VS_ERR_INVALID: these are not nr_records whole records; the
 * whole ones in front were taken.
 */
VS_MUST_CHECK int vs_writer_add_records(struct vs_writer *writer, uint64_t first,
					const uint8_t *bytes, size_t size, uint32_t nr_records);

/*
 * Write what is left as a block; afterwards everything given so far is in the file. Call it right
 * after the last vs_writer_add_info: a log is only believed if INFO says that it belongs here.
 */
VS_MUST_CHECK int vs_writer_flush(struct vs_writer *writer);

/*
 * Position behind the last record that is in the file; 0 before the first. The log's tail may move
 * there and no further, because what the writer still holds dies with the program.
 */
uint64_t vs_writer_get_end(const struct vs_writer *writer);

/* END block, close. `nr_lost`: events that could not be recorded. The writer is gone in any case.
 */
VS_MUST_CHECK int vs_writer_close(struct vs_writer *writer, uint64_t nr_lost);

/* The same for a trace whose program did not get so far itself. */
VS_MUST_CHECK int vs_writer_close_folded(struct vs_writer *writer, uint64_t nr_lost);

/* Close without an END block: the program goes on elsewhere, or the disk is full. */
void vs_writer_abandon(struct vs_writer *writer);

#endif
