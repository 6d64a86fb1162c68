#ifndef VS_INDEX_WRITER_H
#define VS_INDEX_WRITER_H

#include "index_directory.h"
#include "reader.h"
#include "replay.h"
#include "snapshot.h"

/*
 * Makes the index of a trace while an analysis reads it from the first record to the last: it notes
 * where definitions are and what is adopted when, and takes snapshots. Both in one pass, if it is
 * known by then what will be adopted; otherwise in two. It is told of every record, before and
 * after it is replayed.
 *
 * An index is a convenience: what goes wrong ends it, and nothing else.
 */
struct vs_index_writer {
	struct vs_reader *reader; /* its pass is over when the writer asks it anything */
	const char *path;         /* of the index; the caller's */
	bool is_over;             /* there will be none */
	struct vs_index_directory directory;
	const struct vs_adoption *adoption;       /* what is in it grows while things are noted */
	size_t nr_adopted;                        /* of those, that are in the directory */
	struct vs_replay *replay;                 /* of the pass */
	const struct vs_definitions *definitions; /* of the pass that takes notes */
	bool takes_notes;
	bool takes_snapshots;
	uint64_t nr_records; /* of the pass, so far */
	uint64_t nr_events;
	uint64_t nr_definitions;
	bool has_stack;                    /* the last record is a STACK, */
	uint32_t stack;                    /* of this number */
	uint64_t block;                    /* where the last record came from */
	struct vs_snapshot_memory *memory; /* of the last snapshot */
	uint64_t nr_items;                 /* that were alive in it */
	uint64_t nr_told;                  /* items in all snapshots since the last whole one */
	uint64_t trace_size;               /* bytes */
	uint64_t most_bytes;               /* of the index */
	uint64_t next_offset; /* in the trace: no snapshot before it, they take too many bytes */
	int spool_fd;         /* -1: there is none yet */
	uint64_t spool_size;  /* bytes of all snapshots */
};

/* How close snapshots are, and how large an index may be. Tests make it finer. */
struct vs_index_plan {
	uint64_t least;    /* events; a trace that has no more gets no index */
	uint64_t interval; /* events from one snapshot to the next, at least */
	uint64_t spread;   /* so many for each item that is alive, */
	uint64_t reach;    /* as long as these and `weight` for each item are no more than this */
	uint64_t weight;   /* events that take as long to replay as an item takes to restore */
	uint64_t share;    /* of the trace's size, at most 1 part in so many; 0: any size */
	uint64_t chain;    /* a whole one after so many times as many items as are alive */
};
extern struct vs_index_plan vs_index_writer_plan;

void vs_index_writer_init(struct vs_index_writer *writer, struct vs_reader *reader,
			  const char *path);
void vs_index_writer_fini(struct vs_index_writer *writer);

/* A pass is about to begin, of a replay that fills in the adoption. */
void vs_index_writer_take_notes(struct vs_index_writer *writer, const struct vs_adoption *adoption,
				const struct vs_replay *replay);

/* The same or another one, with a replay that knows what is adopted. Earlier snapshots go. */
void vs_index_writer_take_snapshots(struct vs_index_writer *writer, struct vs_replay *replay);

/* Records of a block come next; those before them have been replayed. */
void vs_index_writer_enter_block(struct vs_index_writer *writer,
				 const struct vs_reader_block *block);

/* So many of them were plain (replay_plain.h): events, nothing was adopted with them. */
static inline void vs_index_writer_pass(struct vs_index_writer *writer, uint32_t nr)
{
	writer->nr_records += nr;
	writer->nr_events += nr;
}

/* Any other one is about to be replayed; it has been. */
void vs_index_writer_enter(struct vs_index_writer *writer, const struct vs_record *record,
			   const struct vs_reader_block *block);
void vs_index_writer_leave(struct vs_index_writer *writer);

/* The pass has read all there is. */
void vs_index_writer_end_pass(struct vs_index_writer *writer);

/*
 * After the last pass: writes the file, with these totals of it (totals.h).
 * False: there is none, because the trace is too small, is no whole trace, or because of an error.
 */
bool vs_index_writer_finish(struct vs_index_writer *writer, const struct vs_pack *totals);

#endif
