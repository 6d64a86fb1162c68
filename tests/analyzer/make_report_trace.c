/*
 * Writes a trace whose report is known by construction: test_report.py. Usage: FOLDER.
 *
 * Device 0 (1000 MiB): a pool "te\"ns\xff" with 400 MiB in one segment and 100 blocks of 1 MiB, one
 * a step, each followed by a hole of 3 MiB; 200 MiB of weights; 64 MiB pinned; a free that fails; a
 * request that is served when asked again; and in step 100 a pool request for 150 MiB that fails.
 * Device 1: 8 MiB, freed. many.vscope: 100,000 allocations and frees.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec.h"
#include "info.h"
#include "live_format.h"
#include "script.h"
#include "writer.h"

#define SEGMENT ((uint64_t)0x7f0000000000)

static void write_trace(const struct script *script, const char *folder, const char *name)
{
	static const struct vs_writer_zlib zlib = {compressBound, compress2};
	struct vs_writer *writer;
	uint8_t bytes[VS_CODEC_MAX];
	char path[4096];
	uint64_t position = 0;
	size_t i, size;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || vs_writer_create(&writer, fd, &zlib) ||
	    vs_writer_add_info(writer, VS_INFO_COMMAND, "train\n--title\na b\n"))
		exit(1);
	for (i = 0; i < script->nr_records; i++) {
		size = vs_codec_put_record(bytes, &script->records[i]);
		if (vs_writer_add_records(writer, position, bytes, size, 1))
			exit(1);
		position += vs_live_stride(size);
	}
	if (vs_writer_close(writer, 0))
		exit(1);
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
	return 0;
}
