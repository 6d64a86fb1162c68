#ifndef VS_WRITER_H
#define VS_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_texture.h"
#include "error.h"
#include "format.h"
#include "record.h"

/*
 * Writes a trace. One thread at a time. Uses only write(2), memory of its own (mmap, not the host's
 * malloc) and a deflate function it is given (NULL: blocks are stored as they are), because it runs
 * inside other people's programs.
 *
 * When the disk is full or breaks, the call that notices returns -VS_ERR_IO (see errno) and takes
 * what it half wrote off the file again. The records of that flush stay with the writer: the next
 * vs_writer_flush tries again, and until it succeeds vs_writer_is_full() may stay true.
 */
struct vs_writer;

/*
 * compress(): as zlib's compress2, with compressBound's promise kept by the caller.
 * compress_parts(): the same stream for its readers, made with less work where the parts are said
 * to be such that more would gain nothing; their sizes add up to that of `in`. What would take more
 * than *out_size is an error, as it is for compress2. NULL: there is none.
 */
struct vs_writer_zlib {
	unsigned long (*bound)(unsigned long size);
	int (*compress)(unsigned char *out, unsigned long *out_size, const unsigned char *in,
			unsigned long size, int level);
	int (*compress_parts)(unsigned char *out, unsigned long *out_size, const unsigned char *in,
			      const struct vs_byte_texture_part *parts, uint32_t nr_parts,
			      int level);
};

/* fd is the writer's from now on, also on failure. The first flush writes the header, too. */
VS_MUST_CHECK int vs_writer_create(struct vs_writer **writer, int fd,
				   const struct vs_writer_zlib *zlib);

/*
 * Goes on with a trace: fd stands behind its last whole block, before which there are nr_events,
 * and nodes of stacks up to next_node - 1. fd is the writer's from now on, also on failure.
 */
VS_MUST_CHECK int vs_writer_resume(struct vs_writer **writer, int fd,
				   const struct vs_writer_zlib *zlib, uint64_t nr_events,
				   uint32_t next_node);

/*
 * Key and value of the INFO block (info.h); all calls before the first records, otherwise
 * -VS_ERR_INVALID. A value is cut to VS_WRITER_VALUE_MAX bytes.
 */
#define VS_WRITER_VALUE_MAX 65536
VS_MUST_CHECK int vs_writer_add_info(struct vs_writer *writer, const char *key, const char *value);

/*
 * The next record: record number `sequence` of a ring (live_format.h); those of one ring come in
 * order, without gaps. Only while !vs_writer_is_full(). Cannot fail: nothing is written here.
 */
void vs_writer_add(struct vs_writer *writer, const struct vs_record *record, uint32_t ring,
		   uint64_t sequence);

/*
 * The same for records of several rings, in two steps. Where they come from: nr in a row of a ring,
 * while !vs_writer_is_full(); and then what all of these are, at most vs_writer_get_room(). Only
 * the last one may be a definition. Returns how many are events.
 */
void vs_writer_cover(struct vs_writer *writer, uint32_t ring, uint64_t sequence, uint32_t nr);
uint32_t vs_writer_add_some(struct vs_writer *writer, const struct vs_record *records, uint32_t nr);

/* Both for records of one ring. */
uint32_t vs_writer_add_run(struct vs_writer *writer, const struct vs_record *records, uint32_t nr,
			   uint32_t ring, uint64_t sequence);

/*
 * So many records can be added before vs_writer_is_full() has to be asked again, if they are of one
 * ring and no more than one of them is a definition.
 */
uint32_t vs_writer_get_room(const struct vs_writer *writer);

/* Time for vs_writer_flush: a block is full, or there is no room for one more record. */
bool vs_writer_is_full(const struct vs_writer *writer);

/* Records added that are not in the file. */
uint32_t vs_writer_get_nr_pending(const struct vs_writer *writer);

/*
 * Writes all that was added; afterwards it is in the file, and the log may forget it. Call it right
 * after the last vs_writer_add_info: a log is only believed if INFO says that it belongs here.
 */
VS_MUST_CHECK int vs_writer_flush(struct vs_writer *writer);

/*
 * Somebody with a thread to spare. give: has it do a piece of work; false: nobody is there. await:
 * until what was given is done, and can be seen here. It belongs to the caller, and stays.
 */
struct vs_writer_help {
	bool (*give)(void (*work)(void *what), void *what);
	void (*await)(void);
};

/*
 * As vs_writer_flush(), but events are packed by whoever helps while others are added: what was
 * added may be in the file only after the next flush of either kind, which says so if it cannot be.
 * The log must not forget it before a vs_writer_flush() has succeeded. With nobody there it is
 * that.
 */
VS_MUST_CHECK int vs_writer_flush_aside(struct vs_writer *writer,
					const struct vs_writer_help *help);

/*
 * A snapshot: docs/trace-format.md, section 3.6. Right after a flush, and in this order: begin, how
 * far the trace goes in each ring, the events that rebuild the state, end. It may take several
 * blocks. If they cannot be written they are taken off the file again, and the end returns
 * -VS_ERR_IO.
 */
struct vs_writer_totals {
	uint64_t nr_events; /* that it stands for */
	uint64_t nr_lost;   /* by the LOST events among them */
};
void vs_writer_begin_snapshot(struct vs_writer *writer, const struct vs_writer_totals *totals);
void vs_writer_add_ring_end(struct vs_writer *writer, uint32_t ring, uint64_t end);
void vs_writer_add_to_snapshot(struct vs_writer *writer, const struct vs_record *event);
VS_MUST_CHECK int vs_writer_end_snapshot(struct vs_writer *writer);

/*
 * Goes on in another file, which has taken the trace's place without its oldest nr_events: right
 * after a flush. fd stands at its end and is the writer's from now on; the old one is closed.
 */
void vs_writer_move(struct vs_writer *writer, int fd, uint64_t nr_events);

/* For vs_writer_resume, after a flush. */
uint32_t vs_writer_get_next_node(const struct vs_writer *writer);

/* Bytes of the file so far. */
uint64_t vs_writer_get_size(const struct vs_writer *writer);

/*
 * Flush, END block, close. `nr_lost`: events that could not be recorded; what this writer could not
 * write is added. The writer is gone in any case.
 */
VS_MUST_CHECK int vs_writer_close(struct vs_writer *writer, uint64_t nr_lost);

/* The same for a trace whose program did not get so far itself. */
VS_MUST_CHECK int vs_writer_close_folded(struct vs_writer *writer, uint64_t nr_lost);

/* Close without an END block: the program goes on elsewhere, or the disk is full. */
void vs_writer_abandon(struct vs_writer *writer);

#endif
