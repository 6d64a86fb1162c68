#ifndef VS_PAIR_MAKER_H
#define VS_PAIR_MAKER_H

/*
 * Makes records, traces and logs for the tests: the part of the recorder, in one thread and with
 * every step in the test's hand. All of it fails the running test when something goes wrong.
 */
#include <stdbool.h>
#include <stdint.h>

#include "codec.h"
#include "live_format.h"
#include "reader.h"
#include "writer.h"

/* Numbers that are the same in every run. */
struct vs_pair_maker_random {
	uint64_t state;
};
uint64_t vs_pair_maker_draw(struct vs_pair_maker_random *random);

/* All types of record.def. */
extern const enum vs_record_type vs_pair_maker_types[];
extern const size_t vs_pair_maker_nr_types;

/* Storage for what a record points to. */
struct vs_pair_maker_storage {
	char text[VS_CODEC_TEXT_MAX];
	uint64_t frames[VS_STACK_MAX];
};

/* A record of a type with random fields, among them the smallest and largest possible. */
void vs_pair_maker_fill(struct vs_record *record, enum vs_record_type type,
			struct vs_pair_maker_random *random, struct vs_pair_maker_storage *storage);

/* Records, encoded, one after the other: each from `ends` of the one before to its own. */
struct vs_pair_maker_list {
	uint8_t *bytes;
	size_t size;
	struct vs_pair_maker_expected {
		size_t end;
		uint32_t nr_definitions; /* that came before it */
	} * records;
	uint32_t nr;
};

/* A thread's ring. */
struct vs_pair_maker_ring {
	bool is_open;
	uint32_t chunk;    /* index of the newest */
	uint32_t oldest;   /* index of the first that was not given back */
	uint64_t sequence; /* of the next record */
	uint32_t drain_chunk;
	uint32_t drain_offset;
	uint64_t drain_sequence;
	uint32_t flushed_chunk; /* where the drain stood at the last flush */
};

#define VS_PAIR_MAKER_NR_RINGS   5 /* numbered from 1 on */
#define VS_PAIR_MAKER_CHUNK_SIZE (16u << 10)
#define VS_PAIR_MAKER_IDENTITY   "00112233445566778899aabbccddeeff"

/*
 * A trace in the making and what was recorded so far. The pair of files is complete at any moment,
 * as after a kill: vs_pair_maker_drop() forgets the recorder's side of it.
 */
struct vs_pair_maker {
	char folder[64];
	char path[96];
	char live_path[96];
	struct vs_writer *writer;
	struct vs_live_header *live; /* mapped; NULL: no log */
	size_t live_size;
	uint64_t time_ns; /* of the last record: a multiple of what traces keep */
	struct vs_pair_maker_ring rings[VS_PAIR_MAKER_NR_RINGS + 1];
	uint8_t *order; /* the ring of each record in the log */
	uint32_t nr_pushed;
	uint32_t nr_drained;
	struct vs_pair_maker_list events; /* expected */
	struct vs_pair_maker_list definitions;
	struct vs_pair_maker_random random;
};

/* In a new folder. nr_chunks 0: no log. with_zlib: blocks are compressed. */
void vs_pair_maker_init(struct vs_pair_maker *maker, uint32_t nr_chunks, bool with_zlib);

/* The same with chunks of another size: a multiple of 64. */
void vs_pair_maker_init_sized(struct vs_pair_maker *maker, uint32_t nr_chunks, uint32_t chunk_size,
			      bool with_zlib);
void vs_pair_maker_fini(struct vs_pair_maker *maker);

/* Definitions and events recorded so far. */
uint32_t vs_pair_maker_get_nr(const struct vs_pair_maker *maker);

/*
 * Into a ring of the log; false if there is no chunk left. Gets the time of the next tick. The
 * record is expected from now on.
 */
bool vs_pair_maker_push(struct vs_pair_maker *maker, uint32_t ring, const struct vs_record *record);

/* A random one of any type into any ring; a random event. */
bool vs_pair_maker_push_random(struct vs_pair_maker *maker);
bool vs_pair_maker_push_event(struct vs_pair_maker *maker);

/* Straight to the writer, for traces without a log. */
void vs_pair_maker_add(struct vs_pair_maker *maker, const struct vs_record *record);
void vs_pair_maker_add_random(struct vs_pair_maker *maker);

/* A thread begins a record and never comes to publish it. */
void vs_pair_maker_begin(struct vs_pair_maker *maker, uint32_t ring);

/* Hands at most nr_records from the log to the writer. */
void vs_pair_maker_drain(struct vs_pair_maker *maker, uint32_t nr_records);

/* Writes the blocks; and gives back the chunks that are wholly in the trace. */
void vs_pair_maker_flush(struct vs_pair_maker *maker);
void vs_pair_maker_release(struct vs_pair_maker *maker);

/* In order: END, no log left. */
void vs_pair_maker_close(struct vs_pair_maker *maker, uint64_t nr_lost);

/* As a kill does it. */
void vs_pair_maker_drop(struct vs_pair_maker *maker);

/* The chunk of an index, or the slot of a ring, in the mapped log. */
struct vs_live_chunk *vs_pair_maker_get_chunk(const struct vs_pair_maker *maker, uint32_t index);
struct vs_live_slot *vs_pair_maker_get_slot(const struct vs_pair_maker *maker, uint32_t ring);

/* How many of the expected records a reader has given. {0}: none. */
struct vs_pair_maker_place {
	uint32_t nr_events;
	uint32_t nr_definitions;
};

/*
 * Expects the record to be the next one at *place, and moves on. Definitions come in their order
 * and before the events that were recorded after them; one that came before may come again.
 */
void vs_pair_maker_expect(const struct vs_pair_maker *maker, struct vs_pair_maker_place *place,
			  const struct vs_record *record);

/*
 * Reads what is left of a reader, or up to an error, and expects it. Returns how many records there
 * were from the start of *place on; *err is the error or 0.
 */
uint32_t vs_pair_maker_compare(const struct vs_pair_maker *maker, struct vs_reader *reader,
			       struct vs_pair_maker_place *place, int *err);

/* Opens maker->path, reads everything, expects all records and no error. */
void vs_pair_maker_expect_all(const struct vs_pair_maker *maker, struct vs_reader_state *state);

/* Whole files. The bytes are to be freed. */
uint8_t *vs_pair_maker_load(const char *path, size_t *size);
void vs_pair_maker_save(const char *path, const uint8_t *bytes, size_t size);

/* A memfd with these bytes. */
int vs_pair_maker_make_fd(const uint8_t *bytes, size_t size);

#endif
