/*
 * Writes a trace for each verdict of `why`, known by construction: tests/cli/golden_cases.sh shows
 * what is said of them. Usage: FOLDER.
 *
 * Device 0 has 8 GiB; functions are train+0x100 and so on. Times are in seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_trace.h"

#define BASE   ((uint64_t)0x7f0000000000)
#define SECOND UINT64_C(1000000000)
#define NR     6

static const uint64_t frames[NR][2] = {{0x1100, 0x1900}, {0x1200, 0x1900}, {0x1300, 0x1a00},
				       {0x1400, 0x1a00}, {0x1500, 0x1b00}, {0x1600, 0x1b00}};

static const char *folder;

static void begin(struct script *script)
{
	script_init(script);
	script_device(script, 0, 8 * GIB);
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	script_name(script, 1, "forward");
	script_name(script, 2, "backward");
	for (uint32_t i = 0; i < NR; i++)
		script_stack(script, i + 1, frames[i], 2);
	script_set_stack(script, 1);
	script_set_time(script, SECOND);
}

static void end(struct script *script, const char *name, bool is_cut)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.vscope", folder, name);
	script_trace_write(script, path,
			   &(struct script_trace){.command = "train\n", .is_cut = is_cut});
	script_fini(script);
}

static void take(struct script *script, uint32_t stack, uint64_t place, uint64_t size)
{
	script_set_stack(script, stack);
	script_alloc(script, VS_MEMORY_DEVICE, BASE + place * 16 * GIB, size);
}

/* A step: activations that come and go, in phases. */
static void step(struct script *script, uint64_t number, uint64_t activation)
{
	script_set_time(script, (number + 2) * SECOND);
	script_step(script, number);
	script_push(script, 1);
	take(script, 2, 900, activation);
	script_pop(script);
	script_push(script, 2);
	take(script, 3, 901, activation / 2);
	script_free(script, VS_MEMORY_DEVICE, BASE + 900 * 16 * GIB);
	script_free(script, VS_MEMORY_DEVICE, BASE + 901 * 16 * GIB);
	script_pop(script);
}

/* Blocks of 16 MiB, one a step, 128 MiB apart, in a pool of 6 GiB. */
static void make_fragmentation(void)
{
	struct script script;

	begin(&script);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "tensors");
	for (uint64_t i = 0; i < 6; i++)
		take(&script, 1, i, GIB);
	for (uint64_t i = 0; i < 48; i++) {
		script_set_time(&script, (i + 2) * SECOND);
		script_step(&script, i);
		script_set_stack(&script, i % 8 ? 4 : 5);
		script_block(&script, 1, BASE + i / 8 * 16 * GIB + i % 8 * 128 * MIB, 16 * MIB);
	}
	script_push(&script, 2);
	script_set_stack(&script, 6);
	script_fail(&script, GIB, 512 * MIB, 8 * GIB);
	script_block_fail(&script, 1, 512 * MIB);
	end(&script, "fragmentation", false);
}

static void make_capacity(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, 5 * GIB);
	for (uint64_t i = 0; i < 5; i++)
		step(&script, i, GIB);
	script_push(&script, 1);
	script_set_stack(&script, 2);
	script_fail(&script, 3 * GIB, 2 * GIB + 700 * MIB, 8 * GIB);
	end(&script, "capacity", false);
}

static void make_retention(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, 2 * GIB);
	for (uint64_t i = 0; i < 40; i++) {
		step(&script, i, 256 * MIB);
		take(&script, 5, 100 + 2 * i, 96 * MIB);
		take(&script, 6, 101 + 2 * i, 32 * MIB);
	}
	script_set_stack(&script, 2);
	script_fail(&script, 900 * MIB, 700 * MIB, 8 * GIB);
	end(&script, "retention", false);
}

static void make_pool(void)
{
	struct script script;

	begin(&script);
	script_pool(&script, 1, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&script, 1, BASE, 6 * GIB);
	script_pool_state(&script, 1, 6 * GIB);
	script_free(&script, VS_MEMORY_ASYNC, BASE);
	take(&script, 2, 1, 128 * MIB);
	script_fail(&script, 2 * GIB, GIB, 8 * GIB);
	end(&script, "pool", false);
}

static void make_limit(void)
{
	struct script script;

	begin(&script);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 2 * GIB, "tensors");
	take(&script, 1, 1, 2 * GIB);
	script_block(&script, 1, BASE + 16 * GIB, 2 * GIB - MIB);
	script_set_stack(&script, 2);
	script_block_fail(&script, 1, 256 * MIB);
	end(&script, "limit", false);
}

static void make_preallocation(void)
{
	struct script script;

	begin(&script);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "arena");
	take(&script, 1, 1, 7 * GIB);
	script_set_stack(&script, 2);
	script_block(&script, 1, BASE + 16 * GIB, GIB);
	script_set_stack(&script, 3);
	script_fail(&script, GIB, 600 * MIB, 8 * GIB);
	end(&script, "preallocation", false);
}

/* 5 GiB of the card are not ours, and nobody says whose. */
static void make_unknown(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, GIB);
	script_set_stack(&script, 2);
	script_fail(&script, 3 * GIB, 2 * GIB, 8 * GIB);
	end(&script, "unknown", false);
}

/* The same, but NVML says who has it. */
static void make_other_process(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, GIB);
	script_name(&script, 5, "python serve.py");
	script_add(&script, (struct vs_record){.type = VS_RECORD_MEMORY_INFO,
					       .memory_info = {.total_size = 8 * GIB,
							       .free_size = 2 * GIB,
							       .used_size = 6 * GIB}});
	script_add(&script, (struct vs_record){.type = VS_RECORD_MEMORY_OWN,
					       .memory_own = {.flags = VS_MEMORY_OWN_LISTED,
							      .nr_others = 1,
							      .own_size = GIB + 300 * MIB,
							      .others_size = 4 * GIB}});
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_MEMORY_HOLDER,
				      .memory_holder = {.pid = 4712, .name = 5, .size = 4 * GIB}});
	script_set_stack(&script, 2);
	script_fail(&script, 3 * GIB, 2 * GIB, 8 * GIB);
	end(&script, "other-process", false);
}

/* Nothing fails: it was killed, or will fail some day, or a cache has filled up. */
static void make_runs(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, GIB);
	end(&script, "killed", true);
	begin(&script);
	take(&script, 1, 1, GIB);
	for (uint64_t i = 0; i < 20; i++) {
		step(&script, i, GIB + i % 3);
		if (i < 8)
			take(&script, 4, 100 + i, 64 * MIB);
		take(&script, 5, 200 + i, 16 * MIB);
	}
	end(&script, "growing", false);
	begin(&script);
	take(&script, 1, 1, GIB);
	for (uint64_t i = 0; i < 5; i++)
		step(&script, i, GIB);
	end(&script, "fine", false);
}

/* The same as above, but nobody marks a step. */
static void make_unmarked(void)
{
	struct script script;

	begin(&script);
	take(&script, 1, 1, GIB);
	for (uint64_t i = 0; i < 40; i++) {
		script_set_time(&script, (i + 2) * SECOND);
		take(&script, 2, 900, GIB);
		take(&script, 3, 901, GIB / 2);
		script_free(&script, VS_MEMORY_DEVICE, BASE + 900 * 16 * GIB);
		script_free(&script, VS_MEMORY_DEVICE, BASE + 901 * 16 * GIB);
		take(&script, 5, 200 + i, 16 * MIB);
	}
	end(&script, "unmarked", false);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	folder = argv[1];
	make_fragmentation();
	make_capacity();
	make_retention();
	make_pool();
	make_limit();
	make_preallocation();
	make_unknown();
	make_other_process();
	make_runs();
	make_unmarked();
	return 0;
}
