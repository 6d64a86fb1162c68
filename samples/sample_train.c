/*
 * A small training loop with everything that goes wrong in large ones: sentences get longer from
 * step to step, the pool keeps its segments, and one tensor a step is never freed. On a card of 2
 * GiB it ends out of memory although more than enough is free: the forgotten tensors stand in
 * between.
 */
#include "arena_pool.h"

#define LAYERS    12
#define STEPS     300
#define SEGMENT   (256 * MIB)
#define WEIGHTS   (16 * MIB)
#define PER_TOKEN (80 * KIB)
#define MOST      1024 /* tokens */

static struct book device = {.name = "device"};
static struct book pinned = {.name = "pinned"};
static struct pool pool;
static void *losses[STEPS];
static void *host_batch, *batch;

static void *build_layer(void)
{
	return pool_alloc(&pool, WEIGHTS);
}

static void build_model(void)
{
	vs_phase_push("init");
	for (int i = 0; i < LAYERS; i++)
		if (!build_layer())
			exit(1);
	CHECK(cudaMallocHost(&host_batch, MOST * 16 * KIB));
	book_alloc(&pinned, MOST * 16 * KIB);
	batch = pool_alloc(&pool, MOST * 16 * KIB);
	if (!batch)
		exit(1);
	vs_phase_pop();
}

/* Tokens of the longest sentence of a batch: more and more, but never the same twice. */
static size_t sentence_length(int step)
{
	int length = 256 + 5 * step;

	if (length > MOST)
		length = MOST;
	return (size_t)length - ((unsigned)step * 2654435761u >> 16) % 192;
}

static void load_batch(size_t tokens)
{
	vs_phase_push("data");
	CHECK(cudaMemcpy(batch, host_batch, tokens * 16 * KIB, cudaMemcpyHostToDevice));
	vs_phase_pop();
}

/* In place of kernels: the time they would take. */
static void compute_layer(size_t tokens)
{
	volatile unsigned number = 1;

	for (size_t i = 0; i < tokens * 512; i++)
		number = number * 1664525u + 1013904223u;
}

/* The mistake: the tensor is kept where its value was meant. */
static int log_loss(int step)
{
	losses[step] = pool_alloc(&pool, 512 * KIB);
	return losses[step] != NULL;
}

/* Activations of all layers; 0 when one does not fit. */
static int forward(void **activation, size_t tokens)
{
	vs_phase_push("forward");
	for (int i = 0; i < LAYERS; i++) {
		activation[i] = pool_alloc(&pool, tokens * PER_TOKEN);
		if (!activation[i])
			return 0;
		compute_layer(tokens);
	}
	vs_phase_pop();
	return 1;
}

static int backward(void **activation, size_t tokens)
{
	vs_phase_push("backward");
	for (int i = LAYERS - 1; i >= 0; i--) {
		void *gradient = pool_alloc(&pool, tokens * PER_TOKEN);

		if (!gradient)
			return 0;
		compute_layer(tokens);
		pool_free(&pool, gradient);
		pool_free(&pool, activation[i]);
	}
	vs_phase_pop();
	return 1;
}

static int train_step(int step)
{
	void *activation[LAYERS];
	size_t tokens = sentence_length(step);

	vs_step((uint64_t)step);
	load_batch(tokens);
	return forward(activation, tokens) && log_loss(step) && backward(activation, tokens);
}

int main(void)
{
	int step = 0;

	pool_init(&pool, "tensors", "pool.tensors", SEGMENT, 0, &device);
	build_model();
	while (step < STEPS && train_step(step))
		step++;
	if (step < STEPS) {
		fprintf(stderr, "out of memory in step %d\n", step);
		printf("failed_step=%d\nwanted=%zu\n", step, sentence_length(step) * PER_TOKEN);
		pool_print_holes(&pool);
	}
	book_print(&device);
	book_print(&pinned);
	book_print(&pool.blocks);
	printf("ooms=%d\n", step < STEPS);
	return step < STEPS;
}
