/*
 * make_data FOLDER     writes the traces of v1/ and v2/ there: README.md says what they are
 *
 * They were made once and stay: what a reader says of them must not change. This is for new ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "cmocka_all.h"
#include "columns.h"
#include "crc32.h"
#include "fold.h"
#include "pair_maker.h"

#define MAX_BLOCKS 16
#define NR_CHUNKS  8
#define CHUNK_SIZE 1024u

static const char *folder;

/* A trace in memory, with the places where its blocks begin. */
struct trace {
	uint8_t *bytes;
	size_t size;
	size_t blocks[MAX_BLOCKS + 1];
	uint32_t nr_blocks;
};

/* ---- Files ------------------------------------------------------------------------------------
 */

static void put_path(char out[512], const char *name, const char *suffix)
{
	snprintf(out, 512, "%s/%s.vscope%s", folder, name, suffix);
}

static void save(const char *name, const uint8_t *bytes, size_t size)
{
	char path[512];

	put_path(path, name, "");
	vs_pair_maker_save(path, bytes, size);
}

static struct trace load(const struct vs_pair_maker *maker)
{
	struct trace trace = {0};
	struct vs_block_header header;
	size_t at = VS_FORMAT_HEADER_SIZE;

	trace.bytes = vs_pair_maker_load(maker->path, &trace.size);
	for (; at < trace.size; trace.nr_blocks++) {
		assert_true(trace.nr_blocks < MAX_BLOCKS);
		trace.blocks[trace.nr_blocks] = at;
		assert_int_equal(vs_block_get_header(trace.bytes + at, &header), 0);
		at += VS_FORMAT_BLOCK_HEADER_SIZE + header.stored_size;
	}
	trace.blocks[trace.nr_blocks] = at;
	return trace;
}

/* The trace and its log, as a killed program leaves them. */
static void save_pair(struct vs_pair_maker *maker, const char *name)
{
	char path[512];
	uint8_t *bytes;
	size_t size;

	memset(maker->live->trace_path, 0, VS_LIVE_PATH_MAX);
	vs_pair_maker_drop(maker);
	bytes = vs_pair_maker_load(maker->path, &size);
	save(name, bytes, size);
	free(bytes);
	bytes = vs_pair_maker_load(maker->live_path, &size);
	put_path(path, name, VS_LIVE_SUFFIX);
	vs_pair_maker_save(path, bytes, size);
	free(bytes);
	vs_pair_maker_fini(maker);
}

/* ---- Records ----------------------------------------------------------------------------------
 */

/* One record of each type: any numbers, but short texts and stacks. */
static void push_all(struct vs_pair_maker *maker)
{
	for (size_t i = 0; i < vs_pair_maker_nr_types; i++) {
		struct vs_pair_maker_storage storage;
		struct vs_record record;
		uint8_t row[VS_CODEC_MAX];

		do {
			vs_pair_maker_fill(&record, vs_pair_maker_types[i], &maker->random,
					   &storage);
		} while (vs_codec_put_record(row, &record) > 150);
		if (record.type == VS_RECORD_LOST)
			record.lost.nr_events = 1;
		assert_true(vs_pair_maker_push(maker, 1 + (uint32_t)i % 3, &record));
	}
}

static void flush_all(struct vs_pair_maker *maker)
{
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_flush(maker);
	vs_pair_maker_release(maker);
}

static void begin(struct vs_pair_maker *maker, uint64_t seed, bool with_zlib)
{
	vs_pair_maker_init_sized(maker, NR_CHUNKS, CHUNK_SIZE, with_zlib);
	maker->random.state = seed;
}

/* INFO, three flushes of DEFINITIONS and EVENTS, END: 8 blocks. */
static struct trace make_good(bool with_zlib)
{
	struct vs_pair_maker maker;
	struct trace trace;

	begin(&maker, with_zlib, with_zlib);
	for (uint32_t i = 0; i < 3; i++) {
		push_all(&maker);
		flush_all(&maker);
	}
	vs_pair_maker_close(&maker, 4);
	trace = load(&maker);
	vs_pair_maker_fini(&maker);
	return trace;
}

enum {
	SECOND_DEFINITIONS = 3,
	SECOND_EVENTS = 4,
	LAST_EVENTS = 6,
	LAST_BLOCK = 7
};

/* ---- Traces alone -----------------------------------------------------------------------------
 */

static void save_without(const char *name, const struct trace *trace, uint32_t block)
{
	size_t from = trace->blocks[block], to = trace->blocks[block + 1];
	uint8_t *bytes = malloc(trace->size);

	assert_non_null(bytes);
	memcpy(bytes, trace->bytes, from);
	memcpy(bytes + from, trace->bytes + to, trace->size - to);
	save(name, bytes, trace->size - (to - from));
	free(bytes);
}

static void save_flipped(const char *name, const struct trace *trace, size_t byte)
{
	trace->bytes[byte] ^= 0x10;
	save(name, trace->bytes, trace->size);
	trace->bytes[byte] ^= 0x10;
}

static void make_damaged(void)
{
	struct trace trace = make_good(false);
	const size_t *blocks = trace.blocks;

	save("v1/plain", trace.bytes, trace.size);
	save("v1/cut-in-block", trace.bytes, blocks[LAST_EVENTS] + 100);
	save("v1/cut-in-header", trace.bytes, blocks[LAST_EVENTS] + 20);
	save("v1/cut-between-blocks", trace.bytes, blocks[LAST_EVENTS]);
	save("v1/cut-in-first-bytes", trace.bytes, 11);
	save("v1/empty", trace.bytes, 0);
	save_flipped("v1/bad-events", &trace, blocks[SECOND_EVENTS] + 60);
	save_flipped("v1/bad-definitions", &trace, blocks[SECOND_DEFINITIONS] + 60);
	save_flipped("v1/bad-block-header", &trace, blocks[SECOND_EVENTS] + 9);
	save_flipped("v1/bad-magic", &trace, 3);
	save_flipped("v1/bad-version", &trace, 8);
	save_without("v1/missing-events", &trace, SECOND_EVENTS);
	save_without("v1/missing-definitions", &trace, SECOND_DEFINITIONS);
	save_without("v1/missing-end", &trace, LAST_BLOCK);
	free(trace.bytes);
}

/* As "good", since there are MEMORY_INFO, MEMORY_OWN and MEMORY_HOLDER. */
static void make_memory(void)
{
	struct trace trace = make_good(true);

	save("v1/memory", trace.bytes, trace.size);
	free(trace.bytes);
}

static void make_newer(void)
{
	uint8_t bytes[VS_FORMAT_HEADER_SIZE + 100] = {0};

	vs_block_put_file_header(bytes);
	bytes[8] = 2;
	vs_wire_put_le32(bytes + 12, vs_crc32_add(0, bytes, 12));
	save("v2/newer", bytes, sizeof(bytes)); /* whatever version 2 will be */
}

/* ---- Blocks made by hand ----------------------------------------------------------------------
 */

struct output {
	uint8_t bytes[64 << 10];
	size_t size;
};

static void add(struct output *out, const void *bytes, size_t size)
{
	assert_true(out->size + size <= sizeof(out->bytes));
	memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
}

static void add_block(struct output *out, uint16_t kind, uint32_t nr_records,
		      const uint8_t *payload, size_t size)
{
	struct vs_block_header header = {
		.kind = kind,
		.stored_size = (uint32_t)size,
		.raw_size = (uint32_t)size,
		.nr_records = nr_records,
		.payload_crc = vs_crc32_add(0, payload, size),
	};
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];

	vs_block_put_header(bytes, &header);
	add(out, bytes, sizeof(bytes));
	add(out, payload, size);
}

/*
 * Columns (docs/trace-format.md, section 3.5) of two events of thread 7: one of type 99 with a
 * field and a row at 5 us, and at 8 us a STEP 33 with one more field and row than it has.
 */
static size_t put_unknown_event(uint8_t *out)
{
	static const struct {
		uint32_t number;
		uint8_t size;
		uint8_t bytes[10];
	} columns[] = {
		{0, 3, {253, 1, 1}}, /* site: another thread, new; new */
		{4, 2, {0, 3}},      /* time of class 0 */
		{25, 2, {0, 7}},     /* thread: number 0 is 7 */
		{26, 8, {99, 1, 1, 8, VS_RECORD_STEP, 1, 2, 6}}, /* new sites */
		{27, 3, {20, 66, 4}},                            /* rows */
		{30, 2, {9, 9}},                                 /* of a later version */
	};
	uint8_t *p = vs_wire_put_varint(out, 1000);
	size_t next = 0;

	p = vs_wire_put_varint(p, 5);
	p = vs_wire_put_varint(p, 31);
	for (uint32_t i = 0; i < 31; i++) {
		uint8_t size = columns[next].number == i ? columns[next++].size : 0;

		*p++ = size;
		*p++ = size;
	}
	for (size_t i = 0; i < next; i++)
		p = vs_wire_put_bytes(p, columns[i].bytes, columns[i].size);
	return (size_t)(p - out);
}

/* What a later vramscope might write, and this one has to pass over. */
static void make_unknown(void)
{
	/* A row of another type; a NAME with one more field; NODES and a STACK with more, too. */
	static const uint8_t rows[] = {
		200,
		3,
		1,
		2,
		3,
		VS_RECORD_NAME,
		7,
		1,
		3,
		'a',
		'b',
		'c',
		'x',
		'y',
		VS_FORMAT_NODES,
		8,
		0x88,
		0x27,
		1,
		0x88,
		0x27,
		0x20,
		9,
		9,
		VS_RECORD_STACK,
		6,
		9,
		0xfc,
		1,
		0x88,
		0x27,
		9,
	};
	struct trace trace = make_good(false);
	uint8_t end[VS_FORMAT_END_SIZE + 12], events[256] = {0};
	struct vs_block_end totals;
	struct output out = {0};

	add(&out, trace.bytes, trace.blocks[SECOND_EVENTS]);
	add_block(&out, 2, 0, rows, sizeof(rows));
	add_block(&out, 99, 12345, (const uint8_t *)"whatever", 8);
	add(&out, trace.bytes + trace.blocks[SECOND_EVENTS],
	    trace.blocks[LAST_BLOCK] - trace.blocks[SECOND_EVENTS]);
	add_block(&out, VS_BLOCK_DEFINITIONS, 4, rows, sizeof(rows));
	add_block(&out, VS_BLOCK_EVENTS, 2, events, 1 + put_unknown_event(events + 1));
	assert_int_equal(vs_block_get_end(trace.bytes + trace.blocks[LAST_BLOCK] +
						  VS_FORMAT_BLOCK_HEADER_SIZE,
					  VS_FORMAT_END_SIZE, &totals),
			 0);
	totals.nr_events += 2;
	memset(end, 0x77, sizeof(end));
	vs_block_put_end(end, &totals);
	add_block(&out, VS_BLOCK_END, 0, end, sizeof(end));
	save("v1/unknown", out.bytes, out.size);
	free(trace.bytes);
}

/* Ranges of ring 1, and steps as columns. */
static void add_steps(struct output *out, uint16_t kind, uint64_t first, uint32_t nr)
{
	uint8_t *payload = malloc(vs_columns_bound() + 64), *p = payload;
	bool is_snapshot = kind == VS_BLOCK_SNAPSHOT;
	struct vs_columns *columns;

	assert_non_null(payload);
	assert_int_equal(vs_columns_create(&columns, 1000), 0);
	for (uint32_t i = 0; i < nr; i++) {
		const struct vs_record step = {
			.type = VS_RECORD_STEP,
			.time_ns = 1000 * (first + i),
			.thread = 1,
			.step = {.number = first + i},
		};

		vs_columns_add(columns, &step);
	}
	if (is_snapshot) {
		p = vs_wire_put_varint(p, 1000); /* events */
		p = vs_wire_put_varint(p, 7);    /* lost */
	}
	p = vs_wire_put_varint(p, 1);
	p = vs_wire_put_varint(p, 1);
	p = vs_wire_put_varint(p, is_snapshot ? 0 : first);
	p = vs_wire_put_varint(p, is_snapshot ? 1000 : nr);
	p += vs_columns_finish(columns, p);
	vs_columns_destroy(columns);
	add_block(out, kind, nr, payload, (size_t)(p - payload));
	free(payload);
}

/* A trace that lost its first 1000 records, and one further snapshot. */
static void make_snapshot(void)
{
	uint8_t header[VS_FORMAT_HEADER_SIZE], end[VS_FORMAT_END_SIZE];
	struct output out = {0};

	vs_block_put_file_header(header);
	add(&out, header, sizeof(header));
	add_steps(&out, VS_BLOCK_SNAPSHOT, 10, 3);
	add_steps(&out, VS_BLOCK_EVENTS, 1000, 20);
	add_steps(&out, VS_BLOCK_SNAPSHOT, 10, 3);
	add_steps(&out, VS_BLOCK_EVENTS, 1020, 20);
	vs_block_put_end(end, &(struct vs_block_end){.nr_events = 40, .nr_lost = 9});
	add_block(&out, VS_BLOCK_END, 0, end, sizeof(end));
	save("v1/snapshot", out.bytes, out.size);
}

/* ---- Pairs ------------------------------------------------------------------------------------
 */

/* A flush in the trace; more in the log, in several chunks of each ring. */
static void begin_pair(struct vs_pair_maker *maker)
{
	begin(maker, 5, true);
	push_all(maker);
	flush_all(maker);
	push_all(maker);
	push_all(maker);
	maker->live->nr_lost = 3;
}

static void make_pairs(void)
{
	struct vs_pair_maker maker;
	char path[512];

	begin_pair(&maker);
	vs_pair_maker_begin(&maker, 2);
	save_pair(&maker, "v1/pair");

	begin_pair(&maker);
	save_pair(&maker, "v1/folded");
	put_path(path, "v1/folded", "");
	assert_int_equal(vs_fold_trace(path), 0);

	begin_pair(&maker);
	maker.live->identity[3] ^= 1;
	save_pair(&maker, "v1/pair-of-another-run");

	begin_pair(&maker);
	maker.live->version = 2;
	save_pair(&maker, "v1/pair-newer-log");

	begin_pair(&maker);
	((uint8_t *)vs_pair_maker_get_chunk(&maker, maker.rings[2].chunk))[VS_LIVE_CHUNK_HEAD] = 99;
	save_pair(&maker, "v1/pair-unknown-record");
}

/* Events that CUPTI saw, between others: some in the trace, some in the log. */
static void push_seen_by(struct vs_pair_maker *maker)
{
	static const enum vs_record_type types[] = {VS_RECORD_ALLOC,   VS_RECORD_SEEN_BY,
						    VS_RECORD_FREE,    VS_RECORD_FREE_FAILED,
						    VS_RECORD_SEEN_BY, VS_RECORD_ALLOC};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct vs_pair_maker_storage storage;
		struct vs_record record;

		vs_pair_maker_fill(&record, types[i], &maker->random, &storage);
		if (types[i] == VS_RECORD_SEEN_BY)
			record.seen_by = (struct vs_seen_by){VS_SEEN_BY_CUPTI, 1 + (i > 1)};
		assert_true(vs_pair_maker_push(maker, 1, &record));
	}
}

static void make_seen_by(void)
{
	struct vs_pair_maker maker;

	begin(&maker, 6, true);
	push_seen_by(&maker);
	flush_all(&maker);
	push_seen_by(&maker);
	save_pair(&maker, "v1/seen-by");
}

/* The kill was inside of the last write. */
static void make_cut_pair(void)
{
	struct vs_pair_maker maker;
	struct trace trace;

	begin_pair(&maker);
	vs_pair_maker_drain(&maker, 30);
	vs_pair_maker_flush(&maker); /* nothing is given back yet */
	trace = load(&maker);
	save_pair(&maker, "v1/pair-cut");
	save("v1/pair-cut", trace.bytes, trace.blocks[trace.nr_blocks - 1] + 70);
	free(trace.bytes);
}

/* A chunk is gone whose records no block has. */
static void make_missing_pair(void)
{
	struct vs_pair_maker maker;

	begin_pair(&maker);
	for (uint32_t i = 0; i < NR_CHUNKS; i++) {
		struct vs_live_chunk *chunk = vs_pair_maker_get_chunk(&maker, i);

		if (chunk->ring == 2 && maker.rings[2].chunk != i)
			chunk->ring = 0;
	}
	save_pair(&maker, "v1/pair-missing");
}

static void make_all(void **state)
{
	struct trace trace = make_good(true);

	(void)state;
	save("v1/good", trace.bytes, trace.size);
	free(trace.bytes);
	make_damaged();
	make_memory();
	make_newer();
	make_unknown();
	make_snapshot();
	make_pairs();
	make_seen_by();
	make_cut_pair();
	make_missing_pair();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(make_all)};
	char path[512];

	if (argc != 2) {
		fprintf(stderr, "usage: make_data FOLDER\n");
		return 2;
	}
	folder = argv[1];
	snprintf(path, sizeof(path), "%s/v1", folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/v2", folder);
	mkdir(path, 0777);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
