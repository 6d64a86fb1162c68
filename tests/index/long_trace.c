#include "long_trace.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "info.h"
#include "writer.h"

#define NR_LAYERS     120
#define NR_WEIGHTS    1000
#define NR_STACKS     (3 * NR_LAYERS)
#define DEPTH         24
#define NR_CLASSES    64
#define MAX_FREE      4096
#define SEGMENT_SIZE  ((uint64_t)32 << 20)
#define POOL          1
#define MAIN_THREAD   1
#define LOADER_THREAD 2

enum name {
	NAME_ALLOC = 1,
	NAME_HOST_ALLOC,
	NAME_FORWARD,
	NAME_BACKWARD,
	NAME_OPTIMIZER,
};

static struct {
	struct vs_writer *writer;
	uint64_t flush; /* events in a block, at most; 0: as many as the writer likes */
	uint64_t sequence[LOADER_THREAD + 1];
	uint64_t nr_events;
	uint64_t now_ns;
	uint64_t chance;
	bool has_failed;
} out;

/* Free addresses of each size: the one freed last is taken first, as caches do. */
static struct {
	uint64_t next, end; /* what is left of the newest segment */
	uint64_t last_segment;
	uint64_t freed[NR_CLASSES][MAX_FREE];
	uint32_t nr_freed[NR_CLASSES];
} heap;

/* ---- Records -------------------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t draw_below(uint64_t limit)
{
	uint64_t z = out.chance += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % limit;
}

static void add(struct vs_record record, uint32_t thread)
{
	if (vs_record_is_event(record.type)) {
		out.now_ns += 1000 * (1 + draw_below(20));
		record.time_ns = out.now_ns;
		record.thread = thread;
		out.nr_events++;
	}
	if ((vs_writer_is_full(out.writer) ||
	     (out.flush && out.nr_events && out.nr_events % out.flush == 0)) &&
	    vs_writer_flush(out.writer))
		out.has_failed = true;
	if (!out.has_failed)
		vs_writer_add(out.writer, &record, thread, out.sequence[thread]++);
}

static struct vs_text text_of(const char *text)
{
	return (struct vs_text){text, (uint32_t)strlen(text)};
}

static void define_names(void)
{
	static const char *const names[] = {"cudaMalloc", "cudaHostAlloc", "forward", "backward",
					    "optimizer"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add((struct vs_record){.type = VS_RECORD_NAME, .name = {i + 1, text_of(names[i])}},
		    MAIN_THREAD);
	add((struct vs_record){.type = VS_RECORD_DEVICE,
			       .device = {.total_size = (uint64_t)24 << 30,
					  .is_simulated = true,
					  .name = text_of("paper")}},
	    MAIN_THREAD);
	add(
		(struct vs_record){
			.type = VS_RECORD_POOL,
			.pool = {.id = POOL, .owner = VS_POOL_FRAMEWORK, .name = text_of("torch")}},
		MAIN_THREAD);
}

/* Stacks share their outer frames. */
static void define_stacks(void)
{
	uint64_t frames[DEPTH];

	for (uint32_t stack = 1; stack <= NR_STACKS; stack++) {
		for (uint32_t i = 0; i < DEPTH; i++)
			frames[i] = 0x7f0000000000u + 0x1000 * i + (i < 4 ? 16 * stack : 0);
		add((struct vs_record){.type = VS_RECORD_STACK,
				       .stack = {stack, frames, DEPTH, 0, 0}},
		    MAIN_THREAD);
	}
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* 512 bytes and multiples, then wider apart. */
static uint64_t get_size(uint32_t class)
{
	return 512 * (1 + (uint64_t) class * class * class / 16);
}

static uint64_t take_block(uint32_t class, uint32_t stack)
{
	uint64_t size = get_size(class), address;

	if (heap.nr_freed[class]) {
		address = heap.freed[class][--heap.nr_freed[class]];
	} else {
		if (heap.end - heap.next < size) {
			heap.last_segment += 2 * SEGMENT_SIZE;
			heap.next = heap.last_segment;
			heap.end = heap.next + SEGMENT_SIZE;
			add((struct vs_record){.type = VS_RECORD_ALLOC,
					       .alloc = {.kind = VS_MEMORY_DEVICE,
							 .address = heap.next,
							 .size = SEGMENT_SIZE,
							 .context = 1,
							 .stack = stack,
							 .api = NAME_ALLOC}},
			    MAIN_THREAD);
		}
		address = heap.next;
		heap.next += size;
	}
	add((struct vs_record){.type = VS_RECORD_BLOCK_ALLOC,
			       .block_alloc = {POOL, address, size, stack}},
	    MAIN_THREAD);
	return address;
}

static void give_back(uint32_t class, uint64_t address)
{
	if (heap.nr_freed[class] < MAX_FREE)
		heap.freed[class][heap.nr_freed[class]++] = address;
	add((struct vs_record){.type = VS_RECORD_BLOCK_FREE, .block_free = {POOL, address, 0}},
	    MAIN_THREAD);
}

/* ---- The training --------------------------------------------------------------------------- */

static void push(enum name name)
{
	add((struct vs_record){.type = VS_RECORD_PHASE_PUSH, .phase_push = {name}}, MAIN_THREAD);
}

static void pop(void)
{
	add((struct vs_record){.type = VS_RECORD_PHASE_POP}, MAIN_THREAD);
}

/* Alive for a moment. */
static void use_temporaries(uint32_t nr, uint32_t stack)
{
	uint64_t blocks[4];
	uint32_t classes[4];

	for (uint32_t i = 0; i < nr; i++) {
		classes[i] = (uint32_t)(8 + (stack + i) % 40 + (draw_below(50) == 0));
		blocks[i] = take_block(classes[i], stack);
	}
	while (nr--)
		give_back(classes[nr], blocks[nr]);
}

static void load_batch(uint64_t step)
{
	uint64_t address = 0x500000000000 + step % 4 * 0x100000;
	struct vs_record record = {.type = VS_RECORD_ALLOC,
				   .alloc = {.kind = VS_MEMORY_PINNED,
					     .address = address,
					     .size = 1 << 20,
					     .context = 1,
					     .api = NAME_HOST_ALLOC}};

	if (step >= 4)
		add((struct vs_record){.type = VS_RECORD_FREE,
				       .free = {.kind = VS_MEMORY_PINNED, .address = address}},
		    LOADER_THREAD);
	add(record, LOADER_THREAD);
}

static void run_step(uint64_t step)
{
	uint64_t activations[2 * NR_LAYERS];

	add((struct vs_record){.type = VS_RECORD_STEP, .step = {step}}, MAIN_THREAD);
	load_batch(step);
	push(NAME_FORWARD);
	for (uint32_t i = 0; i < 2 * NR_LAYERS; i++) {
		activations[i] = take_block(20 + i % 30, 1 + i / 2);
		if (i % 2)
			use_temporaries(1 + i / 2 % 2, 1 + NR_LAYERS + i / 2);
	}
	pop();
	push(NAME_BACKWARD);
	for (uint32_t i = 2 * NR_LAYERS; i-- > 0;) {
		if (i % 2)
			use_temporaries(1, 1 + 2 * NR_LAYERS + i / 2);
		give_back(20 + i % 30, activations[i]);
	}
	pop();
	push(NAME_OPTIMIZER);
	use_temporaries(4, NR_STACKS);
	pop();
	/* Somebody keeps a tensor. */
	if (step % 8 == 7)
		take_block(3, NR_STACKS / 2);
}

static void train(uint64_t nr_events)
{
	uint64_t step = 0;

	define_names();
	define_stacks();
	add((struct vs_record){.type = VS_RECORD_CONTEXT, .context = {VS_CONTEXT_CREATED, 1, 0}},
	    MAIN_THREAD);
	/* Weights, their gradients and the optimizer's state. */
	for (uint32_t i = 0; i < 2 * NR_WEIGHTS; i++)
		take_block(10 + i % 40, 1 + i % NR_LAYERS);
	while (out.nr_events < nr_events && !out.has_failed)
		run_step(step++);
}

int long_trace_write(const char *path, uint64_t nr_events)
{
	return long_trace_write_finely(path, nr_events, 0);
}

int long_trace_write_finely(const char *path, uint64_t nr_events, uint64_t flush)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	memset(&out, 0, sizeof(out));
	memset(&heap, 0, sizeof(heap));
	out.flush = flush;
	heap.last_segment = 0x7e0000000000;
	if (fd < 0 || vs_writer_create(&out.writer, fd, &zlib))
		return -1;
	if (vs_writer_add_info(out.writer, VS_INFO_COMMAND, "train\n--epochs\n90\n") ||
	    vs_writer_add_info(out.writer, VS_INFO_IDENTITY, "0f0e0d0c0b0a09080706050403020100"))
		out.has_failed = true;
	train(nr_events);
	return vs_writer_close(out.writer, 0) || out.has_failed ? -1 : 0;
}
