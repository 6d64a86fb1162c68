/*
 * The matrix: scenarios whose cause is known by construction, near-misses between each two verdicts
 * that can be taken for each other, and those of which nobody could tell. Each says what has to be
 * advised, and what must not: it is done already, cannot help, or is for another framework.
 */
#include "verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story_rig.h"
#include "why_details.h"

#define BASE ((uint64_t)0x7f0000000000)
#define FAR  (16 * GIB) /* from a segment to the next */
#define CARD (8 * GIB)
#define CTX  (256 * MIB) /* of the process, where it is measured */

/* What cannot be right without PyTorch, or without TensorFlow; and what no other verdict has. */
#define TORCH_ONLY "expandable-segments split-limit empty-cache no-grad checkpoint"
#define BATCH      "smaller-batch accumulate mixed-precision"

static const uint64_t frames[][2] = {{0x1100, 0x1900}, {0x1200, 0x1900}, {0x1300, 0x1a00},
				     {0x1400, 0x1a00}, {0x1500, 0x1b00}, {0x1600, 0x1b00}};

struct scenario {
	const char *name;
	void (*make)(struct story_rig *rig, uint64_t number);
	uint64_t number;     /* what the near-miss hangs on */
	const char *verdict; /* "": there is nothing to explain */
	const char *runner_up;
	const char *advised; /* remedies */
	const char *forbidden;
};

/* ---- Words of the scenarios ----------------------------------------------------------------- */

static void begin(struct story_rig *rig, enum vs_pool_owner owner, uint64_t limit, const char *pool)
{
	struct script *script = &rig->script;

	script_device(script, 0, CARD);
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	for (uint32_t i = 0; i < 6; i++)
		script_stack(script, i + 1, frames[i], 2);
	if (pool)
		script_pool(script, 1, owner, 0, limit, pool);
	script_set_stack(script, 1);
}

static uint64_t at(uint64_t place)
{
	return BASE + place * FAR;
}

static void take(struct story_rig *rig, uint64_t place, uint64_t size)
{
	script_alloc(&rig->script, VS_MEMORY_DEVICE, at(place), size);
}

static void set(struct story_rig *rig, const char *name, const char *value)
{
	rig->trace.info[0] = name;
	rig->trace.info[1] = value;
}

static void add_fact(struct story_rig *rig, const char *key, const char *value)
{
	script_add(&rig->script,
		   (struct vs_record){.type = VS_RECORD_FACT,
				      .fact = {.key = {key, (uint32_t)strlen(key)},
					       .value = {value, (uint32_t)strlen(value)}}});
}

/* NVML: the process has what it booked and its context, others have so much. */
static void measure(struct story_rig *rig, uint64_t booked, uint64_t others, bool is_listed)
{
	uint64_t used = booked + CTX + others;

	script_add(&rig->script, (struct vs_record){.type = VS_RECORD_MEMORY_INFO,
						    .memory_info = {.total_size = CARD,
								    .free_size = CARD - used,
								    .used_size = used}});
	script_add(&rig->script,
		   (struct vs_record){.type = VS_RECORD_MEMORY_OWN,
				      .memory_own = {.flags = is_listed ? VS_MEMORY_OWN_LISTED
									: VS_MEMORY_OWN_CONTEXT,
						     .nr_others = others != 0,
						     .own_size = is_listed ? booked + CTX : 0,
						     .context_size = CTX,
						     .others_size = is_listed ? others : 0}});
}

/* Pool 1 has `nr` segments of 256 MiB, each with a block of `used` in its middle. */
static void make_holes(struct story_rig *rig, uint64_t nr, uint64_t used)
{
	for (uint64_t i = 0; i < nr; i++) {
		script_set_stack(&rig->script, 1);
		take(rig, 100 + i, 256 * MIB);
		script_set_stack(&rig->script, 4);
		script_block(&rig->script, 1, at(100 + i) + 128 * MIB, used);
	}
	script_set_stack(&rig->script, 2);
}

/* The driver has `left`, and refuses. */
static void refuse(struct story_rig *rig, uint64_t size, uint64_t left)
{
	script_fail(&rig->script, size, left, CARD);
}

/* 20 steps, each of which keeps `kept`, taken from the driver or from pool 1. */
static void keep(struct story_rig *rig, uint64_t kept, uint32_t pool)
{
	for (uint64_t i = 0; i < 20; i++) {
		script_step(&rig->script, i);
		script_set_stack(&rig->script, 5);
		take(rig, 300 + i, kept);
		if (pool)
			script_block(&rig->script, pool, at(300 + i), kept);
	}
	script_set_stack(&rig->script, 2);
}

/* ---- Fragmentation, and what is like it ----------------------------------------------------- */

/* 20 x 192 MiB in holes; 500 MiB are left; it takes 1 GiB for a request of `number`. */
static void make_torch_holes(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	make_holes(rig, 20, 64 * MIB);
	take(rig, 1, 2 * GIB);
	refuse(rig, number, 500 * MIB);
	script_block_fail(&rig->script, 1, number);
}

static void make_expandable_holes(struct story_rig *rig, uint64_t number)
{
	set(rig, "env.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
	make_torch_holes(rig, number);
}

static void make_async_holes(struct story_rig *rig, uint64_t number)
{
	set(rig, "env.TF_GPU_ALLOCATOR", "cuda_malloc_async");
	begin(rig, VS_POOL_FRAMEWORK, 0, "TensorFlow GPU_0_bfc");
	make_holes(rig, 20, 64 * MIB);
	take(rig, 1, 2 * GIB);
	refuse(rig, number, 500 * MIB);
	script_block_fail(&rig->script, 1, number);
}

/* Holes of `number` in 8 pieces, large blocks between; 75 MiB were lacking. */
static void make_few_holes(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	for (uint64_t i = 0; i < 4; i++) {
		script_set_stack(&rig->script, 1);
		take(rig, 100 + i, GIB);
		script_set_stack(&rig->script, 4);
		script_block(&rig->script, 1, at(100 + i) + number / 8, GIB - number / 4);
	}
	take(rig, 1, 3 * GIB);
	refuse(rig, 600 * MIB, 525 * MIB);
	script_block_fail(&rig->script, 1, 600 * MIB);
}

/* The segments are wholly free, but for `number`; somebody else asks the driver. */
static void make_cache_of(struct story_rig *rig, const char *name, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, name);
	make_holes(rig, 20, 64 * MIB);
	for (uint64_t i = number; i < 20; i++)
		script_block_free(&rig->script, 1, at(100 + i) + 128 * MIB);
	take(rig, 1, 2 * GIB);
	refuse(rig, 2 * GIB, 500 * MIB);
}

static void make_cache(struct story_rig *rig, uint64_t number)
{
	make_cache_of(rig, "PyTorch", number);
}

/* TensorFlow's allocator keeps such segments. */
static void make_tensorflow_cache(struct story_rig *rig, uint64_t number)
{
	make_cache_of(rig, "TensorFlow GPU_0_bfc", number);
}

/* Memory of captured graphs, in pieces, is none for PyTorch's other requests. */
static void make_graphs(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch graphs");
	script_pool(&rig->script, 2, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	make_holes(rig, number, 64 * MIB);
	take(rig, 1, 7 * GIB - number * 256 * MIB);
	script_block(&rig->script, 2, at(1), 7 * GIB - number * 256 * MIB);
	refuse(rig, 2 * GIB, 500 * MIB);
	script_block_fail(&rig->script, 2, 2 * GIB);
}

/* TensorFlow took what it may have; `number` of it are free between blocks, 48 MiB are asked. */
static void make_limited_holes(struct story_rig *rig, uint64_t number)
{
	uint64_t hole = number / 4, used = GIB / 4 - hole;

	begin(rig, VS_POOL_FRAMEWORK, GIB, "TensorFlow GPU_0_bfc");
	take(rig, 1, GIB);
	script_set_stack(&rig->script, 4);
	for (uint64_t i = 0; i < 4; i++)
		script_block(&rig->script, 1, at(1) + i * (GIB / 4), used);
	measure(rig, GIB, 0, true);
	script_block_fail(&rig->script, 1, 96 * MIB);
}

/* ---- Capacity, retention, limit ------------------------------------------------------------- */

static void make_full(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, number);
	refuse(rig, GIB, CARD - number - CTX);
}

/* 20 x `number` were kept; the card has 700 MiB left, 1 GiB is asked. */
static void make_leak(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 7 * GIB - 20 * number);
	keep(rig, number, 0);
	refuse(rig, GIB, 700 * MIB);
}

/* 50 x `kept` without steps and without a rhythm: with or without what is given back between. */
static void load(struct story_rig *rig, uint64_t kept, bool has_others)
{
	unsigned int seed = 4711;

	for (uint64_t i = 0; i < 50; i++) {
		script_set_stack(&rig->script, 5);
		take(rig, 300 + i, kept);
		for (uint64_t k = (uint64_t)rand_r(&seed) % 8; has_others && k; k--) {
			script_set_stack(&rig->script, 2 + (uint32_t)rand_r(&seed) % 3);
			take(rig, 2, MIB * (1 + (uint64_t)rand_r(&seed) % 64));
			script_free(&rig->script, VS_MEMORY_DEVICE, at(2));
		}
	}
	script_set_stack(&rig->script, 2);
}

/* A model is loaded, 50 times 128 MiB, and nobody marks a step; or there are requests, too, that
 * come and go without a rhythm. 7 GiB would have done, and 1 GiB more is asked for. */
static void make_loading(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	load(rig, 128 * MIB, number != 0);
	refuse(rig, 2 * GIB, 1500 * MIB);
}

/* The same beside 2 GiB that were there before: nothing is loaded any more. */
static void make_leak_beside_model(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 2 * GIB);
	load(rig, number, true);
	refuse(rig, 2 * GIB, 1500 * MIB);
}

/* PyTorch: a loop, which nobody marked, takes 50 times 128 MiB, and gives back all else; a backward
 * pass may have asked for that. */
static void make_loop(struct story_rig *rig, uint64_t has_backward)
{
	static uint64_t backward[2] = {0x1700};

	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	backward[1] = vs_frame_make_link(VS_LINK_BACKWARD);
	script_stack(&rig->script, 7, backward, has_backward ? 2 : 1);
	for (uint64_t i = 0; i < 50; i++) {
		script_set_stack(&rig->script, 5);
		take(rig, 300 + i, 128 * MIB);
		for (uint32_t k = 0; k < 3; k++) {
			script_set_stack(&rig->script, k < 2 ? 3 + k : 7);
			take(rig, 2, (k + 1) * 16 * MIB);
			script_free(&rig->script, VS_MEMORY_DEVICE, at(2));
		}
	}
	script_set_stack(&rig->script, 2);
	refuse(rig, 2 * GIB, 1500 * MIB);
}

/* A cache that fills up in 8 of 32 steps, and then stays: nothing is retained. */
static void make_level(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 3 * GIB);
	for (uint64_t i = 0; i < 32; i++) {
		script_step(&rig->script, i);
		script_set_stack(&rig->script, 5);
		if (i < number)
			take(rig, 300 + i, 4 * GIB / number);
	}
	script_set_stack(&rig->script, 2);
	refuse(rig, GIB, 700 * MIB);
}

/* The leak is in a pool that may hold 2 GiB, of which `number` was there before it began. */
static void make_leak_behind_limit(struct story_rig *rig, uint64_t number)
{
	uint64_t kept = (2 * GIB - number) / 20;

	begin(rig, VS_POOL_FRAMEWORK, 2 * GIB, "TensorFlow GPU_0_bfc");
	take(rig, 1, number);
	script_block(&rig->script, 1, at(1), number);
	keep(rig, kept, 1);
	measure(rig, number + 20 * kept, 0, true);
	script_block_fail(&rig->script, 1, kept);
}

/* The leak is elsewhere: the pool of 1 GiB is full of what it always had. */
static void make_leak_beside_limit(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, GIB, "TensorFlow GPU_0_bfc");
	take(rig, 1, GIB);
	script_block(&rig->script, 1, at(1), GIB);
	keep(rig, number, 0);
	measure(rig, GIB + 20 * number, 0, true);
	script_block_fail(&rig->script, 1, 64 * MIB);
}

/* Much leaks outside a pool of 1 GiB, and little in it: 20 x 6 MiB. */
static void make_two_leaks(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, GIB, "TensorFlow GPU_0_bfc");
	take(rig, 1, GIB);
	script_block(&rig->script, 1, at(1), GIB - 120 * MIB);
	for (uint64_t i = 0; i < 20; i++) {
		script_step(&rig->script, i);
		script_set_stack(&rig->script, 5);
		take(rig, 300 + i, number);
		script_set_stack(&rig->script, 6);
		script_block(&rig->script, 1, at(1) + GIB - (120 - 6 * i) * MIB, 6 * MIB);
	}
	measure(rig, GIB + 20 * number, 0, true);
	script_block_fail(&rig->script, 1, 6 * MIB);
}

/* A limit of `number`, and as much in blocks; 500 MiB are asked. The card has 7 GiB, less that. */
static void make_limit(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, number, "TensorFlow GPU_0_bfc");
	take(rig, 1, number);
	script_block(&rig->script, 1, at(1), number);
	measure(rig, number, 0, true);
	script_set_stack(&rig->script, 2);
	script_block_fail(&rig->script, 1, 500 * MIB);
}

/* PyTorch's own fraction: no limit is told, but it did not ask the driver either. */
static void make_fraction(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	take(rig, 1, number);
	script_block(&rig->script, 1, at(1), number);
	measure(rig, number, 0, true);
	script_set_stack(&rig->script, 2);
	script_block_fail(&rig->script, 1, 500 * MIB);
}

/* ---- Taken in advance, other processes ------------------------------------------------------ */

/* A pool took `number` at once and uses 512 MiB; somebody asks the driver for 2 GiB. */
static void make_arena(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, number, "TensorFlow GPU_0_bfc");
	take(rig, 1, number);
	script_block(&rig->script, 1, at(1), 512 * MIB);
	script_set_stack(&rig->script, 2);
	take(rig, 2, 6 * GIB + 512 * MIB - number);
	refuse(rig, 2 * GIB, GIB);
}

/* The same pool has nothing in use at all: then it could give it back. */
static void make_empty_arena(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, "arena");
	take(rig, 1, number);
	script_block(&rig->script, 1, at(1), 512 * MIB);
	script_block_free(&rig->script, 1, at(1));
	script_set_stack(&rig->script, 2);
	take(rig, 2, 6 * GIB + 512 * MIB - number);
	refuse(rig, 2 * GIB, GIB);
}

/* 3 GiB at once, 2.5 GiB of them unused, beside others that have `number`; 1 GiB was lacking. */
static void make_arena_and_others(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, "arena");
	take(rig, 1, 3 * GIB);
	script_block(&rig->script, 1, at(1), 512 * MIB);
	measure(rig, 3 * GIB, number, true);
	refuse(rig, CARD - 3 * GIB - CTX - number + GIB, CARD - 3 * GIB - CTX - number);
}

static void make_others(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 4 * GIB);
	measure(rig, 4 * GIB, number, true);
	refuse(rig, CARD - 4 * GIB - CTX - number + GIB, CARD - 4 * GIB - CTX - number);
}

/* The same, but NVML does not say whose it is; or nobody asked NVML. */
static void make_unlisted(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 4 * GIB);
	measure(rig, 4 * GIB, number, false);
	refuse(rig, CARD - 4 * GIB - CTX - number + GIB, CARD - 4 * GIB - CTX - number);
}

static void make_unmeasured(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 4 * GIB);
	refuse(rig, 4 * GIB - number + MIB, 4 * GIB - number);
}

/* ---- What nobody can tell ------------------------------------------------------------------- */

/* A hole of PyTorch's was large enough: another stream's, perhaps. */
static void make_large_hole(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	take(rig, 1, 4 * GIB);
	script_block(&rig->script, 1, at(1), GIB);
	script_block(&rig->script, 1, at(1) + GIB + number, GIB);
	refuse(rig, 2 * GIB, GIB);
	script_block_fail(&rig->script, 1, 2 * GIB);
}

static void make_refused(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, GIB);
	refuse(rig, number, 6 * GIB);
}

/* A driver pool was asked that holds enough, in pieces of which the driver says nothing. */
static void make_stream_ordered(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	script_pool(&rig->script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&rig->script, 2, at(5), 6 * GIB);
	script_pool_state(&rig->script, 2, 6 * GIB);
	script_free(&rig->script, VS_MEMORY_ASYNC, at(5));
	script_alloc_async(&rig->script, 2, at(5), GIB);
	if (number)
		script_fail_async(&rig->script, 2, 3 * GIB, GIB, CARD);
	else
		refuse(rig, 3 * GIB, GIB);
}

/*
 * A driver pool that was made with a limit of 512 MiB holds 448, a quarter of them unused, in a
 * program that has PyTorch as well.
 */
static void make_limited_stream_ordered(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_FRAMEWORK, 0, "PyTorch");
	script_pool(&rig->script, 2, VS_POOL_DRIVER, 0, 512 * MIB, "");
	script_alloc_async(&rig->script, 2, at(5), 336 * MIB);
	script_pool_state(&rig->script, 2, 448 * MIB);
	measure(rig, 448 * MIB, 0, true);
	script_set_stack(&rig->script, 2);
	script_fail_async(&rig->script, 2, number, CARD - 448 * MIB - CTX, CARD);
}

/* The same pool when the card has no more than 64 MiB left. */
static void make_limited_beside_full(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, CARD - CTX - 512 * MIB);
	script_pool(&rig->script, 2, VS_POOL_DRIVER, 0, 512 * MIB, "");
	script_alloc_async(&rig->script, 2, at(5), 448 * MIB);
	script_pool_state(&rig->script, 2, 448 * MIB);
	script_set_stack(&rig->script, 2);
	script_fail_async(&rig->script, 2, number, 64 * MIB, CARD);
}

/* It fills up by what is kept of each step. */
static void make_leak_behind_driver_limit(struct story_rig *rig, uint64_t number)
{
	uint64_t i;

	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	script_pool(&rig->script, 2, VS_POOL_DRIVER, 0, 512 * MIB, "");
	script_alloc_async(&rig->script, 2, at(5), 512 * MIB - 32 * number);
	script_set_stack(&rig->script, 3);
	for (i = 0; i < 32; i++) {
		script_step(&rig->script, i);
		script_alloc_async(&rig->script, 2, at(6 + i), number);
	}
	script_pool_state(&rig->script, 2, 512 * MIB);
	script_step(&rig->script, i);
	script_fail_async(&rig->script, 2, number, CARD - 512 * MIB - CTX, CARD);
}

/* ---- Runs in which nothing failed ----------------------------------------------------------- */

static void make_killed(struct story_rig *rig, uint64_t number)
{
	rig->trace.is_cut = true;
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, number);
}

static void make_killed_leak(struct story_rig *rig, uint64_t number)
{
	rig->trace.is_cut = true;
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 7 * GIB - 20 * number);
	keep(rig, number, 0);
}

static void make_ended(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, number);
}

/* Of 8 GiB: full in 786,432 steps, or in 1,572,864. */
static void make_ended_leak(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 2 * GIB);
	keep(rig, number, 0);
}

/* The same without steps: some three in each of the intervals. */
static void make_ended_without_steps(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, 2 * GIB);
	load(rig, number, true);
}

/* 2 GiB are ours, `number` are others'. */
static void make_ended_beside(struct story_rig *rig, uint64_t number)
{
	begin(rig, VS_POOL_PROGRAM, 0, NULL);
	take(rig, 1, GIB);
	measure(rig, GIB, number, true);
	take(rig, 2, GIB);
}

static void make_ended_arena(struct story_rig *rig, uint64_t number)
{
	add_fact(rig, "tensorflow.pool.GPU_0_bfc", "limit 7516192768 bytes, taken at once");
	begin(rig, VS_POOL_FRAMEWORK, 7 * GIB, "TensorFlow GPU_0_bfc");
	take(rig, 1, 7 * GIB);
	script_block(&rig->script, 1, at(1), number);
}

/* ---- The matrix ----------------------------------------------------------------------------- */

static const struct scenario scenarios[] = {
	/* Fragmentation or capacity: 3.75 GiB in holes and 500 MiB left. */
	{"holes that would do", make_torch_holes, GIB, "fragmentation", "capacity",
	 "move-pins expandable-segments split-limit", "empty-cache " BATCH " trim"},
	{"holes that would just not", make_torch_holes, 3840 * MIB + 500 * MIB + 1, "capacity",
	 "fragmentation", "", TORCH_ONLY " move-pins raise-limit"},
	{"expandable segments are on", make_expandable_holes, GIB, "fragmentation", "capacity",
	 "move-pins", "expandable-segments split-limit empty-cache " BATCH},
	{"the driver's pools are on", make_async_holes, GIB, "fragmentation", "capacity",
	 "move-pins", "async-allocator " TORCH_ONLY " " BATCH},
	{"few holes, enough", make_few_holes, 300 * MIB, "fragmentation", "capacity", "move-pins",
	 "empty-cache " BATCH},
	{"few holes, too few", make_few_holes, 72 * MIB, "capacity", "fragmentation", "",
	 "move-pins empty-cache expandable-segments"},
	/* Fragmentation or pool. */
	{"holes, for who asks the driver", make_cache, 20, "fragmentation", "capacity", "move-pins",
	 "empty-cache " BATCH},
	{"a cache that is free", make_cache, 0, "pool", NULL, "empty-cache",
	 "move-pins expandable-segments trim " BATCH},
	{"a cache of TensorFlow's", make_tensorflow_cache, 0, "pool", NULL,
	 "logical-limit smaller-peak", "trim empty-cache grow move-pins " BATCH},
	{"holes of graphs", make_graphs, 20, "pool", NULL, "share-graph-pool",
	 "empty-cache trim expandable-segments " BATCH},
	{"too few holes of graphs", make_graphs, 8, "capacity", "pool", "",
	 "empty-cache share-graph-pool trim expandable-segments"},
	/* Fragmentation or limit. */
	{"a limit with enough in holes", make_limited_holes, 96 * MIB, "fragmentation", NULL,
	 "move-pins async-allocator", "raise-limit grow " BATCH " " TORCH_ONLY},
	{"a limit with too little in holes", make_limited_holes, 95 * MIB, "limit", "fragmentation",
	 "raise-limit", "move-pins async-allocator grow " TORCH_ONLY},
	/* Capacity, retention. */
	{"all of it is needed", make_full, 7 * GIB, "capacity", NULL, "smaller-pieces",
	 TORCH_ONLY " free end-others trim grow"},
	{"kept enough", make_leak, 17 * MIB + 512 * KIB, "retention", "capacity", "free",
	 TORCH_ONLY " smaller-pieces end-others trim"},
	{"kept too little", make_leak, 16 * MIB, "capacity", "retention", "smaller-pieces",
	 "free end-others trim"},
	{"a model that is loaded", make_loading, 0, "capacity", NULL, "smaller-pieces", "free"},
	{"a leak without a rhythm, or a model", make_loading, 1, "retention", NULL,
	 "load-less free", "smaller-pieces"},
	{"a leak without a rhythm", make_leak_beside_model, 96 * MIB, "retention", NULL, "free",
	 "load-less smaller-pieces"},
	{"a leak in a loop, or a model", make_loop, false, "retention", NULL, "load-less keep-less",
	 "keep-numbers no-grad free smaller-pieces " BATCH},
	{"a leak in a loop that trains", make_loop, true, "retention", NULL, "keep-numbers",
	 "load-less keep-less free smaller-pieces " BATCH},
	{"a cache that is full since long", make_level, 8, "capacity", NULL, "smaller-pieces",
	 "free trim"},
	{"the same, but it goes on", make_level, 32, "retention", "capacity", "free",
	 "smaller-pieces"},
	/* Limit, retention, capacity. */
	{"a leak behind a limit", make_leak_behind_limit, 512 * MIB, "retention", "limit",
	 "keep-numbers", "raise-limit " BATCH " grow end-others"},
	{"a limit, and a small leak", make_leak_behind_limit, 1536 * MIB, "limit", "retention",
	 "raise-limit", "keep-numbers grow end-others"},
	{"a leak beside a limit", make_leak_beside_limit, 64 * MIB, "limit", NULL, "raise-limit",
	 "keep-numbers free grow"},
	{"a large leak beside a limit, a small one behind", make_two_leaks, 64 * MIB, "limit",
	 "retention", "raise-limit", "keep-numbers grow"},
	{"a limit, and room", make_limit, 2 * GIB, "limit", NULL, "raise-limit",
	 "smaller-batch grow end-others " TORCH_ONLY},
	{"a limit, and little room", make_limit, 7 * GIB, "limit", NULL,
	 "raise-limit smaller-batch", "grow end-others " TORCH_ONLY},
	{"a limit, and no room", make_limit, 7 * GIB + 512 * MIB, "capacity", NULL,
	 "smaller-batch mixed-precision", "raise-limit grow prefetch-less end-others " TORCH_ONLY},
	{"a fraction of PyTorch's", make_fraction, 2 * GIB, "limit", NULL, "raise-limit",
	 "empty-cache expandable-segments " BATCH},
	{"all of the card is PyTorch's", make_fraction, 7 * GIB + 512 * MIB, "capacity", NULL, "",
	 "raise-limit empty-cache expandable-segments"},
	/* Taken in advance, pool. */
	{"a large part at once", make_arena, 2 * GIB, "preallocation", "capacity",
	 "grow logical-limit", "raise-limit trim empty-cache " BATCH},
	{"a small part at once", make_arena, 2 * GIB - MIB, "pool", NULL, "logical-limit",
	 "grow raise-limit trim empty-cache " BATCH},
	{"too little of it unused", make_arena, 1536 * MIB - MIB, "capacity", "pool", "",
	 "grow logical-limit raise-limit trim"},
	{"at once, and given back", make_empty_arena, 4 * GIB, "pool", NULL, "trim",
	 "take-less grow " TORCH_ONLY " " BATCH},
	/* Taken in advance, other processes. */
	{"an arena beside a small process", make_arena_and_others, 2 * GIB, "preallocation",
	 "other-process", "take-less", "end-others grow " BATCH},
	{"an arena beside a large process", make_arena_and_others, 3 * GIB, "other-process",
	 "preallocation", "end-others", "take-less grow " BATCH},
	/* Other processes, capacity, unknown. */
	{"others have enough", make_others, GIB, "other-process", "capacity", "end-others",
	 "smaller-pieces record-others"},
	{"others have too little", make_others, GIB - MIB, "capacity", "other-process",
	 "smaller-pieces", "end-others"},
	{"somebody has enough", make_unlisted, 2 * GIB, "unknown", "other-process", "record-others",
	 "end-others smaller-pieces " BATCH},
	{"somebody has too little", make_unlisted, GIB - MIB, "capacity", NULL, "smaller-pieces",
	 "end-others record-others"},
	{"a context may be as large", make_unmeasured, 1536 * MIB, "capacity", NULL,
	 "smaller-pieces", "end-others record-others"},
	{"no context is as large", make_unmeasured, 1537 * MIB, "unknown", "other-process",
	 "record-others", "end-others smaller-pieces"},
	/* What nobody can tell. */
	{"a hole that was large enough", make_large_hole, 2 * GIB, "unknown", NULL, "one-stream",
	 "expandable-segments empty-cache move-pins " BATCH},
	{"a hole that was not", make_large_hole, GIB, "fragmentation", NULL, "move-pins",
	 "one-stream empty-cache " BATCH},
	{"there was room", make_refused, 5 * GIB, "unknown", NULL, "",
	 "smaller-pieces end-others free trim raise-limit"},
	{"there was not", make_refused, 6 * GIB + MIB, "capacity", NULL, "smaller-pieces",
	 "end-others free trim"},
	{"a pool of the driver's itself", make_stream_ordered, 1, "unknown", NULL, "",
	 "trim smaller-pieces end-others"},
	{"who asks beside it", make_stream_ordered, 0, "pool", NULL, "trim",
	 "smaller-pieces empty-cache end-others"},
	{"a pool of the driver's at its limit", make_limited_stream_ordered, 64 * MIB + 1, "limit",
	 NULL, "raise-limit", "trim smaller-pieces " TORCH_ONLY " " BATCH},
	{"the same, but it could have grown", make_limited_stream_ordered, 64 * MIB, "unknown",
	 NULL, "", "raise-limit trim smaller-pieces"},
	{"more than the driver's pool may ever hold", make_limited_stream_ordered, GIB, "limit",
	 NULL, "raise-limit", "trim smaller-pieces"},
	{"a pool of the driver's at its limit, and no room", make_limited_beside_full, 64 * MIB + 1,
	 "capacity", NULL, "smaller-pieces", "raise-limit trim"},
	{"a leak behind a limit of the driver's", make_leak_behind_driver_limit, 12 * MIB,
	 "retention", "limit", "free", "raise-limit trim"},
	{"a small leak behind a limit of the driver's", make_leak_behind_driver_limit, 4 * MIB,
	 "limit", "retention", "raise-limit", "free trim"},
	/* Nothing failed. */
	{"killed with an empty card", make_killed, 2 * GIB, "unknown", NULL, "host-memory",
	 "smaller-pieces free end-others"},
	{"killed with a full card", make_killed, 7 * GIB, "capacity", NULL,
	 "smaller-pieces host-memory", "free"},
	{"killed while it grew", make_killed_leak, 200 * MIB, "retention", "capacity",
	 "free host-memory", "smaller-pieces"},
	{"killed while it grew a little", make_killed_leak, 20 * MIB, "capacity", "retention",
	 "smaller-pieces host-memory", "free"},
	{"ended nearly full", make_ended, 6 * GIB, "capacity", NULL, "smaller-pieces",
	 "free end-others trim"},
	{"ended beside a large process", make_ended_beside, 5632 * MIB, "other-process", "capacity",
	 "end-others", "smaller-pieces free"},
	{"ended beside a small one", make_ended_beside, GIB, "", NULL, "", ""},
	{"ended while it grew", make_ended_leak, 8 * KIB, "retention", NULL, "free",
	 "smaller-pieces host-memory"},
	{"ended while it grew by nothing", make_ended_leak, 4 * KIB, "", NULL, "", ""},
	{"grew without steps, full in 16 runs", make_ended_without_steps, 10 * MIB, "retention",
	 NULL, "free", "smaller-pieces host-memory"},
	{"grew without steps, by little", make_ended_without_steps, 6 * MIB, "", NULL, "", ""},
	{"ended with room", make_ended, 5 * GIB, "", NULL, "", ""},
	{"taken at once, hardly used", make_ended_arena, GIB, "preallocation", NULL,
	 "grow logical-limit", "raise-limit " BATCH " " TORCH_ONLY},
	{"taken at once, and needed", make_ended_arena, 6 * GIB, "capacity", NULL, "smaller-batch",
	 "grow raise-limit logical-limit " TORCH_ONLY},
};

/* ---- Judging -------------------------------------------------------------------------------- */

static const struct scenario *current;
static bool is_wrong;

static void complain(const char *what, const char *found)
{
	print_message("%s (%s): %s %s\n", current->name, current->verdict, what, found);
	is_wrong = true;
}

static bool advises(const struct vs_why_details *details, const char *id)
{
	for (size_t i = 0; i < details->nr_remedies; i++)
		if (!strcmp(details->remedies[i].id, id))
			return true;
	return false;
}

/* Each of the names is advised, or none is. */
static void check_remedies(const struct vs_why_details *details, const char *names, bool is_advised)
{
	char copy[256], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, " ")))
		if (*name && advises(details, name) != is_advised)
			complain(is_advised ? "does not advise" : "advises", name);
}

static int judge(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	struct vs_why_details details;

	assert_int_equal(vs_why_details_init(&details, story, state), 0);
	if (strcmp(vs_why_get_name(why->kind), current->verdict))
		complain("is said to be", vs_why_get_name(why->kind));
	if (current->runner_up && strcmp(vs_why_get_name(why->runner_up), current->runner_up))
		complain("has the runner-up", vs_why_get_name(why->runner_up));
	check_remedies(&details, current->advised, true);
	check_remedies(&details, current->forbidden, false);
	/* Whoever can be told to have caused it is told. */
	if (why->kind == VS_WHY_RETENTION && !details.site[0])
		complain("names", "nobody");
	vs_why_details_fini(&details);
	return 0;
}

static void test_each_scenario_has_its_verdict_and_no_remedy_that_it_contradicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct story_rig rig;
		size_t nr_verdicts;

		current = &scenarios[i];
		story_rig_init(&rig);
		current->make(&rig, current->number);
		story_rig_open_text(&rig);
		assert_int_equal(vs_verdicts_tell(&rig.story,
						  script_get_device(rig.story.analysis.replay),
						  NULL, 1, judge, &nr_verdicts),
				 0);
		if (nr_verdicts != (current->verdict[0] != '\0'))
			complain("has", nr_verdicts ? "a verdict" : "no verdict");
		story_rig_close(&rig);
		story_rig_fini(&rig);
	}
	assert_false(is_wrong);
}

/* ---- The list ------------------------------------------------------------------------------- */

static uint64_t told[8];
static size_t nr_told;

static int note(struct vs_story *story, const struct vs_device_state *state)
{
	(void)story;
	told[nr_told++] = state->why.requested;
	return 0;
}

static void test_places_that_ran_out_are_told_once_each_the_latest_first(void **state)
{
	const struct vs_replay_device *device;
	struct vs_device_state known;
	struct story_rig rig;
	size_t nr_verdicts;

	(void)state;
	story_rig_init(&rig);
	begin(&rig, VS_POOL_PROGRAM, 0, NULL);
	take(&rig, 1, 7 * GIB);
	for (uint32_t i = 1; i <= 3; i++) {
		script_set_stack(&rig.script, i);
		refuse(&rig, GIB + i, 500 * MIB);
		refuse(&rig, GIB + 10 * i, 500 * MIB); /* the same place: its last counts */
	}
	story_rig_open_text(&rig);
	device = script_get_device(rig.story.analysis.replay);
	nr_told = 0;
	assert_int_equal(vs_verdicts_tell(&rig.story, device, NULL, 2, note, &nr_verdicts), 0);
	assert_int_equal(nr_verdicts, 3);
	assert_int_equal(nr_told, 2);
	assert_int_equal(told[0], GIB + 30);
	assert_int_equal(told[1], GIB + 20);
	/* A state that is there already is used, and is the same. */
	story_rig_look(&rig, &known);
	nr_told = 0;
	assert_int_equal(vs_verdicts_tell(&rig.story, device, &known, 8, note, &nr_verdicts), 0);
	assert_int_equal(nr_told, 3);
	assert_int_equal(told[0], GIB + 30);
	assert_int_equal(told[2], GIB + 10);
	vs_device_state_fini(&known);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_each_scenario_has_its_verdict_and_no_remedy_that_it_contradicts),
		cmocka_unit_test(test_places_that_ran_out_are_told_once_each_the_latest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
