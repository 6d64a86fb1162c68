#ifndef VS_BLOCK_FILE_H
#define VS_BLOCK_FILE_H

#include "block.h"

/* The blocks of a trace file, one after the other. The caller keeps and closes the descriptor. */
struct vs_block_file {
	int fd;
	uint64_t offset; /* of the next block */
	struct vs_block_header header;
	uint8_t *raw; /* payload of the current block, unpacked: header.raw_size bytes */
	uint8_t *stored;
	size_t raw_capacity;
	size_t stored_capacity;
};

/* Checks the file's header: the errors of vs_block_get_file_header, -VS_ERR_IO. */
VS_MUST_CHECK int vs_block_file_init(struct vs_block_file *file, int fd);
void vs_block_file_fini(struct vs_block_file *file);

/* The first block again. */
void vs_block_file_rewind(struct vs_block_file *file);

/*
 * 1 and a block in header and raw; 0 at the end of the file; -VS_ERR_TRUNCATED when it ends inside
 * a block: the same call tries again, for the file may be growing. -VS_ERR_CORRUPT: a damaged block
 * was skipped; header.kind is 0 if its header was damaged, otherwise header is good.
 * -VS_ERR_IO, -VS_ERR_NO_MEMORY: nothing was skipped.
 */
VS_MUST_CHECK int vs_block_file_next(struct vs_block_file *file);

/* Up to size bytes at an offset, fewer at the file's end. How many, or -VS_ERR_IO. Any file. */
VS_MUST_CHECK int64_t vs_block_file_read(int fd, void *bytes, size_t size, uint64_t offset);

#endif
