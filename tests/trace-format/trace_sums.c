/*
 * trace_sums make FOLDER     leaves traces of all kinds of records there
 * trace_sums sum TRACE       one line for each type of record: type, count, sum of all its fields
 *
 * read_trace.py prints the same lines.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pair_maker.h"
#include "reader.h"

static uint64_t sum;

static void sum_u64(const uint64_t *value)
{
	sum += *value;
}

static void sum_u32(const uint32_t *value)
{
	sum += *value;
}

static void sum_device(const uint32_t *value)
{
	sum += *value;
}

static void sum_flag(const bool *value)
{
	sum += *value;
}

static void sum_kind(const enum vs_memory_kind *value)
{
	sum += *value;
}

static void sum_owner(const enum vs_pool_owner *value)
{
	sum += *value;
}

static void sum_change(const enum vs_context_change *value)
{
	sum += *value;
}

static void sum_bytes(const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		sum += byte[i] * (i + 1);
}

static void sum_text(const struct vs_text *text)
{
	sum_bytes(text->bytes, text->size);
}

static void sum_uuid(const uint8_t (*uuid)[16])
{
	sum_bytes(*uuid, sizeof(*uuid));
}

static void sum_build_id(const struct vs_module *module)
{
	sum_bytes(module->build_id, module->build_id_size);
}

static void sum_frames(const struct vs_stack *stack)
{
	sum += stack->is_cut;
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		sum += stack->frames[i] * (i + 1);
}

static void sum_record(const struct vs_record *record)
{
	sum += record->time_ns + record->thread;
	switch (record->type) {
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) sum_##how(&record->member);
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
}

static int print_sums(const char *path)
{
	uint64_t counts[256] = {0}, sums[256] = {0};
	struct vs_reader *reader;
	struct vs_record record;
	int ret;

	ret = vs_reader_open(&reader, path);
	if (ret) {
		fprintf(stderr, "%s %s\n", path, vs_error_text(ret));
		return 1;
	}
	while ((ret = vs_reader_next(reader, &record)) == 1) {
		sum = 0;
		sum_record(&record);
		counts[(uint8_t)record.type]++;
		sums[(uint8_t)record.type] += sum;
	}
	vs_reader_close(reader);
	for (uint32_t type = 0; type < 256; type++)
		if (counts[type])
			printf("%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", type, counts[type],
			       sums[type]);
	return ret < 0;
}

/* `drained` of the records reach the trace, the others stay in the log; all of them: it ends. */
static void make(const char *folder, const char *name, bool with_zlib, uint32_t drained)
{
	enum {
		NR_RECORDS = 2000
	};
	struct vs_pair_maker maker;
	char path[512], live_path[520];

	vs_pair_maker_init(&maker, 256 << 10, with_zlib);
	maker.random.state = drained;
	/* Begins and ends anywhere in the ring, so that it wraps around. */
	while (vs_pair_maker_push_random(&maker))
		;
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_move_tail(&maker);
	for (uint32_t i = 0; i < NR_RECORDS; i++)
		(void)vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, drained);
	vs_pair_maker_flush(&maker);
	snprintf(path, sizeof(path), "%s/%s.vscope", folder, name);
	snprintf(live_path, sizeof(live_path), "%s%s", path, VS_LIVE_SUFFIX);
	if (drained < NR_RECORDS && rename(maker.live_path, live_path))
		perror(live_path);
	if (drained >= NR_RECORDS)
		vs_pair_maker_close(&maker, 0);
	if (rename(maker.path, path))
		perror(path);
	vs_pair_maker_fini(&maker);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sum"))
		return print_sums(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "make")) {
		make(argv[2], "whole", true, UINT32_MAX);
		make(argv[2], "plain", false, UINT32_MAX);
		make(argv[2], "killed", true, 300);
		return 0;
	}
	fprintf(stderr, "usage: trace_sums make FOLDER | sum TRACE\n");
	return 2;
}
