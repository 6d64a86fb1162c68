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
	unsigned char *ring;
	uint64_t ring_size;
	uint64_t drained;  /* position up to which the writer was given records */
	uint8_t *expected; /* all records, encoded, one after the other */
	size_t expected_size;
	uint32_t nr_records;
	struct vs_pair_maker_random random;
};

#define VS_PAIR_MAKER_IDENTITY "00112233445566778899aabbccddeeff"

/* In a new folder. ring_size 0: no log. with_zlib: blocks are compressed. */
void vs_pair_maker_init(struct vs_pair_maker *maker, uint64_t ring_size, bool with_zlib);
void vs_pair_maker_fini(struct vs_pair_maker *maker);

/* Into the log; false if it is full. The record is expected from now on. */
bool vs_pair_maker_push(struct vs_pair_maker *maker, const struct vs_record *record);

/* A random one of any type. */
bool vs_pair_maker_push_random(struct vs_pair_maker *maker);

/* Straight to the writer, for traces without a log. */
void vs_pair_maker_add_random(struct vs_pair_maker *maker);

/* Reserved, but its thread never came to publish it. */
void vs_pair_maker_reserve(struct vs_pair_maker *maker, uint32_t size);

/* Hands at most nr_records from the log to the writer. */
void vs_pair_maker_drain(struct vs_pair_maker *maker, uint32_t nr_records);

/* Writes the block; and moves tail over it. */
void vs_pair_maker_flush(struct vs_pair_maker *maker);
void vs_pair_maker_move_tail(struct vs_pair_maker *maker);

/* In order: END, no log left. */
void vs_pair_maker_close(struct vs_pair_maker *maker, uint64_t nr_lost);

/* As a kill does it. */
void vs_pair_maker_drop(struct vs_pair_maker *maker);

/*
 * Reads what is left of a reader and compares it with the expected records from number `first` on.
 * Returns the number after the last one it gave; *err is the first error or 0.
 */
uint32_t vs_pair_maker_compare(const struct vs_pair_maker *maker, struct vs_reader *reader,
			       uint32_t first, int *err);

/* Opens maker->path, reads everything, expects all records and no error. */
void vs_pair_maker_expect_all(const struct vs_pair_maker *maker, struct vs_reader_state *state);

/* Whole files. The bytes are to be freed. */
uint8_t *vs_pair_maker_load(const char *path, size_t *size);
void vs_pair_maker_save(const char *path, const uint8_t *bytes, size_t size);

/* A memfd with these bytes. */
int vs_pair_maker_make_fd(const uint8_t *bytes, size_t size);

#endif
