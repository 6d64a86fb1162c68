#ifndef VS_INDEX_FILE_H
#define VS_INDEX_FILE_H

#include "index_directory.h"
#include "reader.h"

/*
 * TRACE.vscope.index: a header, the directory, then the snapshots. docs/trace-format.md, section 9.
 * It is of one trace, and of one version of vramscope: what a replay makes of a trace may change
 * with every version.
 */
#define VS_INDEX_FILE_SUFFIX ".index"

/*
 * Raise it with every change of what is in the file, or of the state that a replay has after the
 * same records: the sizes in snapshot_put.c are there to remind of it.
 */
#define VS_INDEX_FILE_VERSION 6

#define VS_INDEX_FILE_HEADER_SIZE 64

/* The name of a trace's index: the caller's to free; NULL: no memory. */
char *vs_index_file_name(const char *trace_path);

/*
 * Writes an index of the trace to a new file, and gives it the path; snapshots are taken from
 * `spool_fd`, at their offsets. -VS_ERR_IO, -VS_ERR_NO_MEMORY: then the path is as it was.
 */
VS_MUST_CHECK int vs_index_file_write(const char *path, const struct vs_reader *reader,
				      const struct vs_index_directory *directory, int spool_fd);

/* Bytes that it would take. */
VS_MUST_CHECK int vs_index_file_measure(const struct vs_reader *reader,
					const struct vs_index_directory *directory, uint64_t *size);

struct vs_index_file {
	int fd;
	uint64_t size;
	uint8_t *raw; /* of the directory */
	struct vs_index_directory directory;
};

/*
 * Opens the index of a trace. -VS_ERR_IO: there is none; -VS_ERR_INVALID: it is of another trace or
 * version; -VS_ERR_TRUNCATED, -VS_ERR_CORRUPT, -VS_ERR_NO_MEMORY. Any content is safe.
 */
VS_MUST_CHECK int vs_index_file_open(struct vs_index_file *file, const char *path,
				     const struct vs_reader *reader);
void vs_index_file_close(struct vs_index_file *file);

/*
 * The bytes of a snapshot of the directory and of those before it that it is told from, one behind
 * the other: the caller's to free. *first: which is the first of them, a whole one.
 */
VS_MUST_CHECK int vs_index_file_read_chain(const struct vs_index_file *file,
					   const struct vs_index_snapshot *snapshot,
					   const struct vs_index_snapshot **first, uint8_t **bytes);

#endif
