/*
 * columns_lines FILE: writes a block's columns there, and prints its events, one on a line: type,
 * time, thread, sum of all other fields. test_columns_document.py reads the one and expects the
 * other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "columns_tester.h"

#define NR_EVENTS 12000

/* By the list of the rows' encoding, which the columns do not use. */
static uint64_t sum_fields(const struct vs_record *event)
{
	uint64_t sum = 0;

	switch (event->type) {
#define ADD_u32(member)    sum += event->member;
#define ADD_u64(member)    sum += event->member;
#define ADD_device(member) sum += event->member;
#define ADD_kind(member)   sum += event->member;
#define ADD_change(member) sum += event->member;
#define ADD_owner(member)  /* from here on of definitions alone */
#define ADD_flag(member)
#define ADD_text(member)
#define ADD_short_text(member)
#define ADD_uuid(member)
#define ADD_build_id(member)
#define ADD_frames(member)
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) ADD_##how(member)
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct vs_columns_tester_program program = {.random = 1, .time_ns = 1000000};
	struct vs_columns *columns;
	struct vs_record event;
	uint8_t *bytes = malloc(vs_columns_bound());
	FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
	size_t size;

	if (!file || !bytes || vs_columns_create(&columns, VS_COLUMNS_TESTER_UNIT))
		return 1;
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		vs_columns_tester_run(&program, &event);
		vs_columns_add(columns, &event);
		printf("%d %" PRIu64 " %" PRIu32 " %" PRIu64 "\n", (int)event.type,
		       event.time_ns / VS_COLUMNS_TESTER_UNIT * VS_COLUMNS_TESTER_UNIT,
		       event.thread, sum_fields(&event));
	}
	size = vs_columns_finish(columns, bytes);
	vs_columns_destroy(columns);
	size -= fwrite(bytes, 1, size, file);
	free(bytes);
	return fclose(file) || size;
}
