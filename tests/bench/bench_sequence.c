/*
 * usage: bench_sequence train|random EVENTS [--fast] [--rss] [--drain]
 *
 * The events of a program, always the same ones. train: steps of a training loop with 500 layers,
 * of which two in a hundred events are not as in the step before. random: any block of up to 40,000
 * may be freed next, 1,024 stacks, some used much more often than others. Between two events lies
 * the time that such programs take, --fast: none.
 *
 * Prints "events N", and
 *   --rss    after each million: "rss EVENTS OWN MAPPED", once the recorder has caught up;
 *   --drain  "drain CPU_NS WALL_NS": what its thread used for all events, and when it was through.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_heap.h"
#include "call_tree.h"
#include "process_watch.h"

#define DEPTH       20
#define NR_BLOCKS   40000
#define MIN_BLOCKS  100
#define NR_LAYERS   500
#define NR_SIZES    60
#define NR_RANDOM   1024 /* stacks of allocations */
#define UNIT        512
#define MILLION     1000000
#define SETTLE_MS   300
#define MAX_SAMPLES 64

/* A block of a training step, or of the random sequence. */
struct block {
	uint64_t address;
	unsigned site;
};

struct op {
	bool is_alloc;
	unsigned block;
	size_t size;
	unsigned site;
	unsigned gap_ns;
};

static uint64_t random_state = 88172645463325252u;
static struct block blocks[NR_BLOCKS];
static struct op step[8 * NR_LAYERS];
static size_t nr_ops;

static uint64_t nr_events, nr_wanted;
static bool is_fast, has_rss, has_drain;
static struct vs_process_watch_memory rss[MAX_SAMPLES];
static size_t nr_rss;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 16) % below;
}

/* ---- One event ---- */

static __attribute__((noinline)) void do_op(void *data)
{
	const struct op *op = data;

	if (op->is_alloc)
		blocks[op->block].address = bench_heap_take(op->size);
	else
		bench_heap_give_back(blocks[op->block].address);
}

/* Busy: a thread that sleeps wakes up whenever the kernel likes. */
static void pass_time(uint64_t ns)
{
	uint64_t start = is_fast ? 0 : vs_process_watch_now_ns();

	while (!is_fast && vs_process_watch_now_ns() - start < ns)
		;
}

static void sample_rss(void)
{
	if (!has_rss || nr_events % MILLION || nr_rss == MAX_SAMPLES)
		return;
	vs_process_watch_sleep_ms(SETTLE_MS);
	/* Once more than needed: asking loads pages of libc, the first time. */
	(void)vs_process_watch_get_memory();
	rss[nr_rss++] = vs_process_watch_get_memory();
}

static void make_event(const struct op *op, uint64_t gap_ns)
{
	pass_time(gap_ns);
	vs_call_tree_call(op->site * 7, do_op, (void *)op);
	nr_events++;
	sample_rss();
}

/* ---- train ---- */

static unsigned add_op(bool is_alloc, unsigned block, size_t size, unsigned site)
{
	/* Most follow each other closely, some come after much work. */
	unsigned gap_ns = (unsigned)(300u + draw(300)) << draw(4);

	step[nr_ops++] = (struct op){is_alloc, block, size, site, gap_ns};
	return block;
}

/* Activations stay until the way back; everything else is gone soon. */
static void plan_step(void)
{
	size_t sizes[NR_SIZES];
	unsigned block, gradient;

	for (size_t i = 0; i < NR_SIZES; i++)
		sizes[i] = UNIT * (1 + draw(2000));
	for (unsigned l = 0; l < NR_LAYERS; l++) {
		add_op(true, l, sizes[l % NR_SIZES], l % 400);
		block = add_op(true, NR_LAYERS, sizes[l * 7 % NR_SIZES], 400 + l % 100);
		add_op(false, block, 0, 500 + l % 100);
	}
	for (unsigned l = NR_LAYERS; l-- > 0;) {
		gradient = add_op(true, NR_LAYERS + 1, sizes[l % NR_SIZES], 600 + l % 100);
		block = add_op(true, NR_LAYERS, sizes[l * 3 % NR_SIZES], 700 + l % 50);
		add_op(false, block, 0, 750 + l % 25);
		add_op(false, l, 0, 775);
		add_op(false, gradient, 0, 776);
	}
}

/* A temporary block of a size that nobody foresaw; one of a hundred, so that memory is bounded. */
static void make_detour(void)
{
	size_t size = UNIT * (1 + 20 * draw(100));
	struct op op = {true, NR_LAYERS + 2, size, 800 + (unsigned)draw(20), 0};

	make_event(&op, 300);
	op.is_alloc = false;
	op.site = 830;
	make_event(&op, 400 + draw(100));
}

static void train(void)
{
	plan_step();
	/* Whole steps only: what was allocated is freed. */
	while (nr_events < nr_wanted)
		for (size_t i = 0; i < nr_ops; i++) {
			uint64_t gap_ns = step[i].gap_ns + step[i].gap_ns * draw(150) / 1000;

			if (draw(1000) == 0)
				gap_ns += 50000;
			if (draw(100) == 0)
				make_detour();
			make_event(&step[i], gap_ns);
		}
}

/* ---- random ---- */

static unsigned draw_site(void)
{
	uint64_t x = draw(NR_RANDOM);

	return (unsigned)(x * x * x / (NR_RANDOM * NR_RANDOM));
}

/* As events that know nothing of each other come: 3 us between them on the average. */
static uint64_t draw_gap_ns(void)
{
	return 200 + (uint64_t)(-log((double)(draw(1 << 30) + 1) / (1 << 30)) * 3000);
}

static void add_block(unsigned *nr_live)
{
	unsigned site = draw_site();
	size_t size = UNIT * (1 + site * 7919u % 61 * (1 + draw(4)));
	struct op op = {true, (*nr_live)++, size, site, 0};

	make_event(&op, draw_gap_ns());
	blocks[op.block].site = site;
}

/* Mostly one of the youngest. */
static void remove_block(unsigned *nr_live)
{
	unsigned block = draw(4) ? *nr_live - 1 - (unsigned)draw(8) : (unsigned)draw(*nr_live);
	struct op op = {false, block, 0, NR_RANDOM + blocks[block].site % 64, 0};

	make_event(&op, draw_gap_ns());
	blocks[block] = blocks[--*nr_live];
}

static void roam(void)
{
	unsigned nr_live = 0;

	while (nr_events < nr_wanted) {
		unsigned nr_allocs_of_1000 = nr_live < NR_BLOCKS / 2 ? 540 : 470;

		if (nr_live < MIN_BLOCKS || (nr_live < NR_BLOCKS && draw(1000) < nr_allocs_of_1000))
			add_block(&nr_live);
		else
			remove_block(&nr_live);
	}
}

/* ---- The whole ---- */

/* Waits until the recorder's thread has nothing left to do. */
static void print_drain(uint64_t start_ns)
{
	int thread = vs_process_watch_find_drain();
	uint64_t cpu_ns = vs_process_watch_get_cpu_ns(thread), before_ns = 0;
	uint64_t end_ns = vs_process_watch_now_ns();

	/* It looks around now and then, which takes little. */
	while (thread && cpu_ns - before_ns > 1000000) {
		before_ns = cpu_ns;
		end_ns = vs_process_watch_now_ns();
		vs_process_watch_sleep_ms(SETTLE_MS);
		cpu_ns = vs_process_watch_get_cpu_ns(thread);
	}
	printf("drain %llu %llu\n", (unsigned long long)cpu_ns,
	       (unsigned long long)(end_ns - start_ns));
}

static bool read_options(int argc, char **argv)
{
	for (int i = 3; i < argc; i++) {
		is_fast |= strcmp(argv[i], "--fast") == 0;
		has_rss |= strcmp(argv[i], "--rss") == 0;
		has_drain |= strcmp(argv[i], "--drain") == 0;
	}
	return argc >= 3 && (strcmp(argv[1], "train") == 0 || strcmp(argv[1], "random") == 0);
}

int main(int argc, char **argv)
{
	uint64_t start_ns = vs_process_watch_now_ns();

	if (!read_options(argc, argv)) {
		fprintf(stderr,
			"usage: bench_sequence train|random EVENTS [--fast] [--rss] [--drain]\n");
		return 2;
	}
	nr_wanted = strtoull(argv[2], NULL, 10);
	vs_call_tree_init(DEPTH);
	if (strcmp(argv[1], "train") == 0)
		train();
	else
		roam();
	printf("events %llu\n", (unsigned long long)nr_events);
	for (size_t i = 0; i < nr_rss; i++)
		printf("rss %zu %zu %zu\n", (i + 1) * MILLION, rss[i].own, rss[i].mapped);
	if (has_drain)
		print_drain(start_ns);
	return 0;
}
