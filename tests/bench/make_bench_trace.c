/*
 * usage: make_bench_trace FILE EVENTS LIVE SITES
 *
 * Writes a trace of about so many events through the writer of the trace format, always the same
 * one: a pool in which LIVE blocks are alive from early on, of which in each step of 2,000 events a
 * hundred are freed in no order and as many taken anew; the rest are temporaries, freed in the
 * reverse order. SITES stacks of 24 frames, all used again and again. For measuring the analyzer.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "info.h"
#include "writer.h"

#define DEPTH        24
#define NR_CLASSES   48
#define NR_STEP      2000
#define NR_CHANGED   100
#define NR_NESTED    6
#define SEGMENT_SIZE ((uint64_t)64 << 20)
#define POOL         1
#define THREAD       1

struct block {
	uint64_t address;
	uint32_t class;
};

/* Free addresses of a size, the one freed last first. */
struct spare {
	uint64_t *addresses;
	size_t nr, capacity;
};

static struct {
	struct vs_writer *writer;
	uint64_t sequence, nr_events, now_ns, chance;
	uint64_t next, end, last_segment; /* of the heap */
	struct spare spares[NR_CLASSES];
	struct block *blocks;
	size_t nr_blocks;
	uint32_t nr_sites, site;
	bool has_failed;
} out = {.last_segment = 0x7e0000000000};

static uint64_t draw(uint64_t below)
{
	uint64_t z = out.chance += 0x9e3779b97f4a7c15; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static void add(struct vs_record record)
{
	if (vs_record_is_event(record.type)) {
		out.now_ns += 1000 * (1 + draw(8));
		record.time_ns = out.now_ns;
		record.thread = THREAD;
		out.nr_events++;
	}
	if (vs_writer_is_full(out.writer) && vs_writer_flush(out.writer))
		out.has_failed = true;
	if (!out.has_failed)
		vs_writer_add(out.writer, &record, THREAD, out.sequence++);
}

static struct vs_text text_of(const char *text)
{
	return (struct vs_text){text, (uint32_t)strlen(text)};
}

static void define(void)
{
	uint64_t frames[DEPTH];

	add((struct vs_record){
		.type = VS_RECORD_DEVICE,
		.device = {.total_size = (uint64_t)96 << 30, .name = text_of("paper")}});
	add((struct vs_record){
		.type = VS_RECORD_POOL,
		.pool = {.id = POOL, .owner = VS_POOL_FRAMEWORK, .name = text_of("pool")}});
	for (uint32_t site = 1; site <= out.nr_sites; site++) {
		for (uint32_t i = 0; i < DEPTH; i++)
			frames[i] = 0x7f0000000000u + 0x100000 * i + (i < 6 ? 16 * (site >> i) : 0);
		add((struct vs_record){.type = VS_RECORD_STACK,
				       .stack = {site, frames, DEPTH, 0, 0}});
	}
}

static uint64_t get_size(uint32_t class)
{
	return 512 * (1 + (uint64_t) class * class / 4);
}

static uint64_t get_address(uint32_t class)
{
	struct spare *spare = &out.spares[class];
	uint64_t size = get_size(class);

	if (spare->nr)
		return spare->addresses[--spare->nr];
	if (out.end - out.next < size) {
		out.last_segment += 2 * SEGMENT_SIZE;
		out.next = out.last_segment;
		out.end = out.next + SEGMENT_SIZE;
		add((struct vs_record){.type = VS_RECORD_ALLOC,
				       .alloc = {.kind = VS_MEMORY_DEVICE,
						 .address = out.next,
						 .size = SEGMENT_SIZE,
						 .stack = 1 + out.site}});
	}
	out.next += size;
	return out.next - size;
}

static void take(struct block *block)
{
	block->class = (uint32_t)draw(NR_CLASSES);
	block->address = get_address(block->class);
	out.site = (out.site + 1) % out.nr_sites;
	add((struct vs_record){
		.type = VS_RECORD_BLOCK_ALLOC,
		.block_alloc = {POOL, block->address, get_size(block->class), 1 + out.site}});
}

static void give_back(const struct block *block)
{
	struct spare *spare = &out.spares[block->class];

	if (spare->nr == spare->capacity) {
		spare->capacity = spare->capacity * 2 + 1024;
		spare->addresses =
			realloc(spare->addresses, spare->capacity * sizeof(spare->addresses[0]));
		if (!spare->addresses)
			exit(1);
	}
	spare->addresses[spare->nr++] = block->address;
	add((struct vs_record){.type = VS_RECORD_BLOCK_FREE,
			       .block_free = {POOL, block->address, 0}});
}

static void run_step(uint64_t step)
{
	uint64_t end = out.nr_events + NR_STEP;
	struct block nested[NR_NESTED];

	add((struct vs_record){.type = VS_RECORD_STEP, .step = {step}});
	for (int i = 0; i < NR_CHANGED; i++) {
		struct block *block = &out.blocks[draw(out.nr_blocks)];

		give_back(block);
		take(block);
	}
	while (out.nr_events < end) {
		for (int i = 0; i < NR_NESTED; i++)
			take(&nested[i]);
		for (int i = NR_NESTED; i-- > 0;)
			give_back(&nested[i]);
	}
}

int main(int argc, char **argv)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	uint64_t nr_events, step = 0;
	int fd;

	if (argc != 5) {
		fprintf(stderr, "usage: make_bench_trace FILE EVENTS LIVE SITES\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	nr_events = strtoull(argv[2], NULL, 10);
	out.nr_blocks = strtoull(argv[3], NULL, 10);
	out.nr_sites = (uint32_t)strtoul(argv[4], NULL, 10);
	out.blocks = calloc(out.nr_blocks, sizeof(out.blocks[0]));
	if (fd < 0 || !out.nr_blocks || !out.nr_sites || !out.blocks ||
	    vs_writer_create(&out.writer, fd, &zlib))
		return 1;
	out.has_failed = vs_writer_add_info(out.writer, VS_INFO_COMMAND, "train\n") ||
			 vs_writer_add_info(out.writer, VS_INFO_IDENTITY,
					    "0f0e0d0c0b0a09080706050403020101");
	define();
	for (size_t i = 0; i < out.nr_blocks; i++)
		take(&out.blocks[i]);
	while (out.nr_events < nr_events && !out.has_failed)
		run_step(step++);
	printf("events %llu\n", (unsigned long long)out.nr_events);
	return vs_writer_close(out.writer, 0) || out.has_failed;
}
