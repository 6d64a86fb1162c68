/*
 * Writes a trace whose report is known by construction: test_report.py. Usage: FOLDER.
 *
 * Device 0 (1000 MiB): a pool "te\"ns\xff" with 400 MiB in one segment and 100 blocks of 1 MiB, one
 * a step, each followed by a hole of 3 MiB; 200 MiB of weights; 64 MiB pinned; a free that fails; a
 * request that is served when asked again; and in step 100 a pool request for 150 MiB that fails.
 * Device 1: 8 MiB, freed. many.vscope: 100,000 allocations and frees. names.vscope: the same story,
 * told with names of 2000 bytes, of wide characters, and of bytes that are no text.
 */
#include <stdio.h>
#include <string.h>

#include "script_trace.h"

#define SEGMENT ((uint64_t)0x7f0000000000)

static void write_trace(const struct script *script, const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	script_trace_write(script, path,
			   &(struct script_trace){.command = "train\n--title\na b\n"});
}

static void make_story(const char *folder)
{
	static const uint64_t frames[][1] = {{0x100}, {0x200}, {0x300}};
	struct script script;

	script_init(&script);
	script_device(&script, 0, 1000 * MIB);
	script_device(&script, 1, 1000 * MIB);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 500 * MIB, "te\"ns\xff");
	script_name(&script, 1, "back\033ward");
	for (uint32_t i = 0; i < 3; i++)
		script_stack(&script, i + 1, frames[i], 1);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, 200 * MIB);
	script_alloc(&script, VS_MEMORY_PINNED, 1000 * MIB, 64 * MIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 2000 * MIB, 8 * MIB);
	script_free(&script, VS_MEMORY_DEVICE, 2000 * MIB);
	script_free(&script, VS_MEMORY_DEVICE, 2000 * MIB);
	script_free_failed(&script, VS_MEMORY_DEVICE, 2000 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT, 400 * MIB);
	script_set_stack(&script, 2);
	script_fail(&script, 16 * MIB, 5 * MIB, 1000 * MIB);
	script_alloc(&script, VS_MEMORY_MANAGED, 3000 * MIB, 16 * MIB);
	script_free(&script, VS_MEMORY_DEVICE, 3000 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 3000 * MIB, 16 * MIB);
	script_free(&script, VS_MEMORY_DEVICE, 3000 * MIB);
	script_set_stack(&script, 3);
	for (uint64_t step = 0; step <= 100; step++) {
		script_step(&script, step);
		script_push(&script, 1);
		if (step < 100)
			script_block(&script, 1, SEGMENT + 4 * step * MIB, MIB);
		else
			script_block_fail(&script, 1, 150 * MIB);
		script_pop(&script);
	}
	write_trace(&script, folder, "story.vscope");
	script_fini(&script);
}

/* "piece" again and again, 2000 bytes. */
static const char *repeat(char out[2001], const char *piece)
{
	size_t size = strlen(piece), used = 0;

	for (; used + size <= 2000; used += size)
		memcpy(out + used, piece, size);
	out[used] = '\0';
	return out;
}

static void make_names(const char *folder)
{
	static const uint64_t frames[][2] = {{0x1100, 0x1200}, {0x4100, 0x4200}};
	char template[2001], wide[2001], path[2100];
	struct script script;

	repeat(template, "std::map<int, std::vector<float, std::allocator<float> > >::");
	repeat(wide, "\u8a13\u7df4 ");
	script_init(&script);
	script_device(&script, 0, 1000 * MIB);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, wide);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0,
		    "\"\\\b\x01\x7f\xc2\x9b\xff\xed\xa0\x80\xe2\x82");
	script_name(&script, 1, template);
	snprintf(path, sizeof(path), "/nowhere/%s", template);
	script_module(&script, 1, 0x1000, 0x2000, path);
	script_module(&script, 2, 0x4000, 0x5000, "/nowhere/\033]0;gone\a\xf0\x9f\x9a");
	for (uint32_t i = 0; i < 2; i++)
		script_stack(&script, i + 1, frames[i], 2);
	script_push(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT, 400 * MIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * SEGMENT, 100 * MIB);
	for (uint64_t step = 0; step < 40; step++) {
		script_step(&script, step);
		script_set_stack(&script, 1);
		script_block(&script, 1, SEGMENT + 10 * step * MIB, MIB);
		script_set_stack(&script, 2);
		script_block(&script, 2, 2 * SEGMENT + 2 * step * MIB, MIB);
	}
	script_block_fail(&script, 2, 50 * MIB);
	script_block_fail(&script, 1, 150 * MIB);
	write_trace(&script, folder, "names.vscope");
	script_fini(&script);
}

static void make_many(const char *folder)
{
	struct script script;

	script_init(&script);
	script_device(&script, 0, 1000 * MIB);
	for (uint64_t i = 0; i < 100000; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, SEGMENT + (i % 512) * MIB, 1024 + i);
		script_free(&script, VS_MEMORY_DEVICE, SEGMENT + (i % 512) * MIB);
	}
	write_trace(&script, folder, "many.vscope");
	script_fini(&script);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	make_story(argv[1]);
	make_many(argv[1]);
	make_names(argv[1]);
	return 0;
}
