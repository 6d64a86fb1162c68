/*
 * trace_sums make FOLDER     leaves traces of all kinds of records there
 * trace_sums sum TRACE       one line for each type of record: type, count, sum of all its fields
 * trace_sums say TRACE       the same, and all that is wrong with the trace
 *
 * read_trace.py prints the same lines as sum does.
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

static void sum_short_text(const struct vs_text *text)
{
	sum_text(text);
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
	sum += stack->is_cut + 2u * stack->is_deep;
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

static uint64_t counts[256], sums[256];

static void take_record(const struct vs_record *record)
{
	sum = 0;
	sum_record(record);
	counts[(uint8_t)record->type]++;
	sums[(uint8_t)record->type] += sum;
}

static void put_sums(void)
{
	for (uint32_t type = 0; type < 256; type++)
		if (counts[type])
			printf("%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", type, counts[type],
			       sums[type]);
}

static int print_sums(const char *path)
{
	struct vs_reader *reader;
	struct vs_record record;
	int ret;

	ret = vs_reader_open(&reader, path);
	if (ret) {
		fprintf(stderr, "%s %s\n", path, vs_error_text(ret));
		return 1;
	}
	while ((ret = vs_reader_next(reader, &record)) == 1)
		take_record(&record);
	vs_reader_close(reader);
	put_sums();
	return ret < 0;
}

static void put_state(const struct vs_reader_state *state)
{
	printf("%s, %s, %s", state->is_complete ? "complete" : "not complete",
	       state->is_damaged ? "damaged" : "not damaged",
	       state->used_log ? "with its log" : "alone");
	printf(", %" PRIu64 " lost, %" PRIu64 " unfinished\n", state->nr_lost,
	       state->nr_unfinished);
}

/* What people are told of a trace, good or not. */
static int say(const char *path)
{
	struct vs_reader_state state;
	struct vs_reader *reader;
	struct vs_record record;
	int ret;

	ret = vs_reader_open(&reader, path);
	if (ret) {
		printf("%s\n", vs_error_text(ret));
		return 0;
	}
	while ((ret = vs_reader_next(reader, &record)) != 0) {
		vs_reader_get_state(reader, &state);
		if (ret == 1)
			take_record(&record);
		else
			printf("behind %" PRIu64 " records: %s\n", state.nr_records,
			       vs_error_text(ret));
	}
	vs_reader_get_state(reader, &state);
	vs_reader_close(reader);
	put_sums();
	put_state(&state);
	return 0;
}

enum {
	NR_RECORDS = 6000,
	NR_CHUNKS = 400,
};

/* `drained` of the records reach the trace, the others stay in the log; all of them: it ends. */
static void make(const char *folder, const char *name, bool with_zlib, uint32_t drained)
{
	struct vs_pair_maker maker;
	char path[512], live_path[520];

	vs_pair_maker_init(&maker, NR_CHUNKS, with_zlib);
	maker.random.state = drained;
	for (uint32_t i = 0; i < NR_RECORDS; i++) {
		/* Several flushes; chunks come back, and are used again. */
		if (i % 1000 == 999) {
			vs_pair_maker_drain(&maker, i < drained ? i : drained - maker.nr_drained);
			vs_pair_maker_flush(&maker);
			vs_pair_maker_release(&maker);
		}
		(void)vs_pair_maker_push_random(&maker);
	}
	vs_pair_maker_drain(&maker, drained - maker.nr_drained);
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
	if (argc == 3 && !strcmp(argv[1], "say"))
		return say(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "make")) {
		make(argv[2], "whole", true, UINT32_MAX);
		make(argv[2], "plain", false, UINT32_MAX);
		make(argv[2], "killed", true, NR_RECORDS / 3);
		make(argv[2], "early", true, 0); /* killed before the first flush */
		return 0;
	}
	fprintf(stderr, "usage: trace_sums make FOLDER | sum TRACE | say TRACE\n");
	return 2;
}
