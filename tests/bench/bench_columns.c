/*
 * What the columns of a block take, in bytes an event, and what encoding and decoding cost: full
 * blocks of 65,536 events, through zlib as the recorder does it. Prints tables; decides nothing.
 *
 * usage: bench_columns [blocks]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zlib.h>

#include "columns.h"
#include "columns_layout.h"
#include "event_loops.h"
#include "wire.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NR_ROUNDS     7 /* the fastest counts: others use the machine as well */

static struct {
	struct vs_columns *columns;
	struct vs_columns_reader *reader;
	uint32_t nr_blocks;
	struct vs_record *events;
	uint8_t *raw, *packed, *unpacked;
	uLong packed_size;
} bench;

/* Of this thread alone. */
static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void check(int is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "bench_columns: %s\n", what);
	exit(1);
}

static void *get_memory(size_t size)
{
	void *memory = malloc(size);

	check(memory != NULL, "out of memory");
	memset(memory, 0, size); /* not while time is taken */
	return memory;
}

/* ---- Steps: each returns what it took ----------------------------------------------------- */

static double add_events(const struct vs_record *events)
{
	double start = now_ns();

	for (uint32_t i = 0; i < VS_COLUMNS_MAX; i++)
		vs_columns_add(bench.columns, &events[i]);
	return now_ns() - start;
}

static double finish_block(size_t *size)
{
	double start = now_ns();

	*size = vs_columns_finish(bench.columns, bench.raw);
	return now_ns() - start;
}

static double compress_block(size_t size, int level, uLongf *packed_size)
{
	double start = now_ns();

	*packed_size = bench.packed_size;
	check(compress2(bench.packed, packed_size, bench.raw, size, level) == Z_OK, "compress2");
	return now_ns() - start;
}

static double uncompress_block(size_t size, uLongf packed_size)
{
	double start = now_ns();
	uLongf unpacked_size = size;

	check(uncompress(bench.unpacked, &unpacked_size, bench.packed, packed_size) == Z_OK,
	      "uncompress");
	return now_ns() - start;
}

static double read_events(size_t size)
{
	double start = now_ns();
	struct vs_record event;
	uint32_t nr = 0;

	check(!vs_columns_reader_begin(bench.reader, bench.unpacked, size, VS_COLUMNS_MAX),
	      "vs_columns_reader_begin");
	while (vs_columns_reader_next(bench.reader, &event) == 1)
		nr++;
	check(nr == VS_COLUMNS_MAX, "vs_columns_reader_next");
	return now_ns() - start;
}

/* ---- A table for each loop ---------------------------------------------------------------- */

enum {
	ADD,
	FINISH,
	DEFLATE_1,
	DEFLATE_6,
	INFLATE,
	READ,
	NR_TIMES
};

struct result {
	double raw, level_1, level_6; /* bytes in all blocks */
	double times[NR_TIMES];       /* the fastest block */
};

static void keep_fastest(struct result *result, uint32_t which, double ns)
{
	if (result->times[which] == 0 || ns < result->times[which])
		result->times[which] = ns;
}

static void measure_block(const struct vs_record *events, struct result *result)
{
	uLongf level_1 = 0, level_6 = 0;
	size_t size = 0;

	for (uint32_t i = 0; i < NR_ROUNDS; i++) {
		keep_fastest(result, ADD, add_events(events));
		keep_fastest(result, FINISH, finish_block(&size));
		keep_fastest(result, DEFLATE_6, compress_block(size, 6, &level_6));
		keep_fastest(result, DEFLATE_1, compress_block(size, 1, &level_1));
		keep_fastest(result, INFLATE, uncompress_block(size, level_1));
		keep_fastest(result, READ, read_events(size));
	}
	result->raw += (double)size;
	result->level_1 += (double)level_1;
	result->level_6 += (double)level_6;
}

static void print_loop(enum vs_event_loop loop)
{
	const double nr = (double)bench.nr_blocks * VS_COLUMNS_MAX;
	struct result result = {0};

	vs_event_loops_fill(loop, bench.events, bench.nr_blocks * VS_COLUMNS_MAX);
	for (uint32_t i = 0; i < bench.nr_blocks; i++)
		measure_block(&bench.events[(size_t)i * VS_COLUMNS_MAX], &result);
	printf("%-20s %6.2f %6.2f %6.2f  ", vs_event_loops_names[loop], result.raw / nr,
	       result.level_1 / nr, result.level_6 / nr);
	for (uint32_t i = 0; i < NR_TIMES; i++)
		printf(" %7.1f", result.times[i] / VS_COLUMNS_MAX);
	printf("\n");
}

static void print_all(void)
{
	printf("                       bytes an event         ns an event\n"
	       "                        raw zlib 1 zlib 6       add  finish  zlib 1  zlib 6 inflate"
	       "    read\n");
	for (uint32_t loop = 0; loop < VS_NR_EVENT_LOOPS; loop++)
		print_loop((enum vs_event_loop)loop);
}

/* ---- Where the bytes are ------------------------------------------------------------------ */

/* Columns of a block that belong together, in their order. */
static const struct {
	const char *name;
	uint32_t first, last;
} groups[] = {
	{"site", VS_COLUMN_SITE, VS_COLUMN_SITE},
	{"site low", VS_COLUMN_SITE_LOW, VS_COLUMN_SITE_LOW},
	{"new sites", VS_COLUMN_NEW_SITE, VS_COLUMN_NEW_SITE},
	{"thread", VS_COLUMN_THREAD, VS_COLUMN_THREAD},
	{"time", VS_COLUMN_TIME, VS_COLUMN_TIME_END - 1},
	{"time rest", VS_COLUMN_TIME_REST, VS_COLUMN_TIME_REST},
	{"size", VS_COLUMN_SIZE, VS_COLUMN_SIZE},
	{"size low", VS_COLUMN_SIZE_LOW, VS_COLUMN_SIZE_LOW},
	{"new sizes", VS_COLUMN_NEW_SIZE, VS_COLUMN_NEW_SIZE},
	{"address", VS_COLUMN_ADDRESS, VS_COLUMN_ADDRESS},
	{"address low", VS_COLUMN_ADDRESS_LOW, VS_COLUMN_ADDRESS_LOW},
	{"new addresses", VS_COLUMN_NEW_ADDRESS, VS_COLUMN_NEW_ADDRESS},
	{"free", VS_COLUMN_FREE, VS_COLUMN_FREE},
	{"free low", VS_COLUMN_FREE_LOW, VS_COLUMN_FREE_LOW},
	{"rows", VS_COLUMN_ROW, VS_COLUMN_ROW},
};

/* Bytes that the columns of a block take, each group for itself through zlib. */
static void weigh_groups(size_t size, double weights[LENGTH(groups)])
{
	const uint8_t *starts[VS_NR_COLUMNS + 1];
	struct vs_wire in, sizes;

	vs_wire_init(&in, bench.raw, size);
	for (uint32_t i = 0; i < 3; i++)
		vs_wire_get_varint(&in);
	sizes = in;
	for (uint32_t i = 0; i < 2 * VS_NR_COLUMNS; i++)
		vs_wire_get_varint(&in);
	starts[0] = in.next;
	for (uint32_t i = 0; i < VS_NR_COLUMNS; i++) {
		vs_wire_get_varint(&sizes);
		starts[i + 1] = starts[i] + vs_wire_get_varint(&sizes);
	}
	for (uint32_t i = 0; i < LENGTH(groups); i++) {
		const uint8_t *start = starts[groups[i].first];
		uLongf packed_size = bench.packed_size;

		size = (size_t)(starts[groups[i].last + 1] - start);
		check(compress2(bench.packed, &packed_size, start, size, 1) == Z_OK, "compress2");
		weights[i] += size ? (double)packed_size : 0;
	}
}

static void print_groups(void)
{
	static double weights[VS_NR_EVENT_LOOPS][LENGTH(groups)];
	size_t size;

	for (uint32_t loop = 0; loop < VS_NR_EVENT_LOOPS; loop++) {
		vs_event_loops_fill((enum vs_event_loop)loop, bench.events,
				    bench.nr_blocks * VS_COLUMNS_MAX);
		for (uint32_t i = 0; i < bench.nr_blocks; i++) {
			add_events(&bench.events[(size_t)i * VS_COLUMNS_MAX]);
			finish_block(&size);
			weigh_groups(size, weights[loop]);
		}
	}
	printf("\nbytes an event       ");
	for (uint32_t loop = 0; loop < VS_NR_EVENT_LOOPS; loop++)
		printf("%20s", vs_event_loops_names[loop]);
	printf("\n");
	for (uint32_t i = 0; i < LENGTH(groups); i++) {
		printf("%-20s ", groups[i].name);
		for (uint32_t loop = 0; loop < VS_NR_EVENT_LOOPS; loop++)
			printf("%20.3f", weights[loop][i] / bench.nr_blocks / VS_COLUMNS_MAX);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	bench.nr_blocks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4;
	check(bench.nr_blocks > 0, "usage: bench_columns [blocks]");
	bench.packed_size = compressBound(vs_columns_bound());
	bench.raw = get_memory(vs_columns_bound());
	bench.unpacked = get_memory(vs_columns_bound());
	bench.packed = get_memory(bench.packed_size);
	bench.events = get_memory((size_t)bench.nr_blocks * VS_COLUMNS_MAX * sizeof(*bench.events));
	check(!vs_columns_create(&bench.columns, 1000), "vs_columns_create");
	check(!vs_columns_reader_create(&bench.reader), "vs_columns_reader_create");
	print_all();
	print_groups();
	vs_columns_destroy(bench.columns);
	vs_columns_reader_destroy(bench.reader);
	free(bench.raw);
	free(bench.unpacked);
	free(bench.packed);
	free(bench.events);
	return 0;
}
