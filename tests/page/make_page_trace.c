/*
 * Writes traces for the tests of the page: make_page_trace FOLDER.
 *
 * all.vscope: everything that memory can be on two devices: segments, a pool with blocks in blocks,
 * VMM that grows, splits and shrinks, stream-ordered pools, managed, pinned and array memory, frees
 * that fail, phases of two threads, ranges, marks, steps, failures, lost events.
 * hostile.vscope: names that try to be part of the page: elements, a mebibyte, bytes that are no
 * text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_trace.h"

#define SEGMENT   ((uint64_t)0x7f0000000000)
#define VIRTUAL   ((uint64_t)0x7e0000000000)
#define LONG_TEXT ((size_t)1 << 20)

static void write_trace(const struct script *script, const char *folder, const char *name,
			const char *command)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	script_trace_write(script, path, &(struct script_trace){.command = command});
}

/* ---- Everything ----------------------------------------------------------------------------- */

static void define(struct script *script)
{
	static const uint64_t frames[8][3] = {{0x100, 0x1000, 0x2000}, {0x200, 0x1000, 0x2000},
					      {0x300, 0x1100, 0x2000}, {0x400, 0x1100, 0x2000},
					      {0x500, 0x1200, 0x2000}, {0x600, 0x1300, 0x2000},
					      {0x700, 0x1300, 0x2000}, {0x800, 0x1300, 0x2000}};

	script_device(script, 0, 1000 * MIB);
	script_device(script, 1, 2000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 500 * MIB, "tensors");
	script_pool(script, 2, VS_POOL_PROGRAM, 0, 0, "inner");
	script_pool(script, 3, VS_POOL_DRIVER, 0, 0, "");
	script_pool(script, 4, VS_POOL_PROGRAM, 0, 0, "expandable");
	script_name(script, 1, "forward");
	script_name(script, 2, "backward");
	script_name(script, 3, "a range");
	script_name(script, 4, "epoch 1");
	for (uint32_t i = 0; i < 8; i++)
		script_stack(script, i + 1, frames[i], 3);
}

static void use_vmm(struct script *script)
{
	script_set_stack(script, 5);
	script_reserve(script, VIRTUAL, 64 * MIB);
	for (uint64_t i = 0; i < 4; i++) {
		script_alloc(script, VS_MEMORY_VMM, 900 + i, 4 * MIB);
		script_map(script, VIRTUAL + 4 * i * MIB, 4 * MIB, 900 + i);
	}
	script_block(script, 4, VIRTUAL + MIB, 2 * MIB);
	script_block(script, 4, VIRTUAL + 13 * MIB, MIB);
	script_unmap(script, VIRTUAL + 8 * MIB, 4 * MIB);
	script_free(script, VS_MEMORY_VMM, 902);
	/* One that no pool uses: live while it is mapped. */
	script_reserve(script, 2 * VIRTUAL / 3, 8 * MIB);
	script_alloc(script, VS_MEMORY_VMM, 950, 2 * MIB);
	script_map(script, 2 * VIRTUAL / 3, 2 * MIB, 950);
	script_unmap(script, 2 * VIRTUAL / 3, 2 * MIB);
	script_map(script, 2 * VIRTUAL / 3 + 2 * MIB, 2 * MIB, 950);
}

static void use_driver_pool(struct script *script)
{
	script_set_stack(script, 6);
	for (uint64_t i = 0; i < 6; i++) {
		script_alloc_async(script, 3, 0x10000000 + i * MIB, MIB / 2);
		script_pool_state(script, 3, 32 * MIB + i * MIB);
	}
	for (uint64_t i = 0; i < 5; i++)
		script_free(script, VS_MEMORY_ASYNC, 0x10000000 + i * MIB);
	script_pool_state(script, 3, 8 * MIB);
}

static void train(struct script *script)
{
	for (uint64_t step = 0; step < 20; step++) {
		script_step(script, step);
		script_set_stack(script, 2);
		script_push(script, 1);
		for (uint64_t i = 0; i < 6; i++)
			script_block(script, 1, SEGMENT + (20 * i + step) * MIB, MIB);
		script_pop(script);
		script_push(script, 2);
		script_set_thread(script, 2);
		script_set_stack(script, 3);
		script_block(script, 2, SEGMENT + 301 * MIB + step * 65536, 65536);
		script_set_thread(script, 1);
		for (uint64_t i = 0; i < 5; i++)
			script_block_free(script, 1, SEGMENT + (20 * i + step) * MIB);
		script_pop(script);
	}
}

static void make_all(const char *folder)
{
	struct script script;

	script_init(&script);
	define(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, 100 * MIB);
	script_alloc(&script, VS_MEMORY_MANAGED, 500 * MIB, 10 * MIB);
	script_alloc(&script, VS_MEMORY_PINNED, 800 * MIB, 64 * MIB);
	script_alloc(&script, VS_MEMORY_ARRAY, 77, 3 * MIB + 12345);
	script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT, 400 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT + 600 * MIB, 20 * MIB);
	script_block(&script, 1, SEGMENT + 300 * MIB, 10 * MIB);
	script_block(&script, 1, SEGMENT + 600 * MIB, MIB);
	script_block_free(&script, 1, SEGMENT + 600 * MIB);
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_RANGE_START, .range_start = {3, 5}});
	script_add(&script, (struct vs_record){.type = VS_RECORD_MARK, .mark = {4}});
	train(&script);
	script_add(&script, (struct vs_record){.type = VS_RECORD_RANGE_END, .range_end = {5}});
	use_vmm(&script);
	use_driver_pool(&script);
	script_free(&script, VS_MEMORY_DEVICE, MIB);
	script_free_failed(&script, VS_MEMORY_DEVICE, MIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x20000000, 7 * MIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x30000000, 9 * MIB);
	script_free(&script, VS_MEMORY_DEVICE, 0x20000000);
	script_set_stack(&script, 7);
	script_block_fail(&script, 1, 90 * MIB);
	script_free(&script, VS_MEMORY_ARRAY, 77);
	write_trace(&script, folder, "all.vscope", "train\n--all\n");
	script_fini(&script);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void make_hostile(const char *folder)
{
	static const char element[] = "</script><script>window.caught = 1</script>";
	static const char image[] = "<img src=x onerror=\"window.caught = 2\"><!--";
	static const uint64_t frames[][2] = {{0x1100, 0x1200}, {0x4100, 0x4200}};
	char *lengthy = malloc(LONG_TEXT + 1);
	struct script script;

	if (!lengthy)
		abort();
	memset(lengthy, 'x', LONG_TEXT);
	memcpy(lengthy, "<b>", 3);
	lengthy[LONG_TEXT] = '\0';
	script_init(&script);
	script_device(&script, 0, 1000 * MIB);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, element);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "no \xff\xfe text \xed\xa0\x80 <i>");
	script_name(&script, 1, lengthy);
	script_name(&script, 2, image);
	script_module(&script, 1, 0x1000, 0x2000, "/nowhere/<script>window.caught = 3</script>");
	script_module(&script, 2, 0x4000, 0x5000, "/nowhere/\xf0\x9f\x9a &amp; ]]>");
	for (uint32_t i = 0; i < 2; i++)
		script_stack(&script, i + 1, frames[i], 2);
	script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT, 400 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * SEGMENT, 100 * MIB);
	script_push(&script, 1);
	for (uint64_t step = 0; step < 20; step++) {
		script_step(&script, step);
		script_set_stack(&script, 1);
		script_block(&script, 1, SEGMENT + 10 * step * MIB, MIB);
	}
	script_pop(&script);
	script_push(&script, 2);
	script_set_stack(&script, 2);
	for (uint64_t i = 0; i < 20; i++)
		script_block(&script, 2, 2 * SEGMENT + 2 * i * MIB, MIB);
	script_block_fail(&script, 2, 80 * MIB);
	script_pop(&script);
	write_trace(&script, folder, "hostile.vscope",
		    "train</title>\n<script>window.caught = 4</script>\n\xff\xfe\n");
	script_fini(&script);
	free(lengthy);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	make_all(argv[1]);
	make_hostile(argv[1]);
	return 0;
}
