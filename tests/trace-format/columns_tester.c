#include "columns_tester.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "event_fields.h"

static const enum vs_record_type types[] = {
#define VS_RECORD(number, NAME, name) VS_RECORD_##NAME,
#include "record.def"
#undef VS_RECORD
};

/* ---- Random events ------------------------------------------------------------------------ */

/* splitmix64 */
uint64_t vs_columns_tester_draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Small, large, any length between, and the two ends: VS_NO_DEVICE is one of them. */
uint64_t vs_columns_tester_draw_any(void *state)
{
	uint64_t value = vs_columns_tester_draw(state);

	switch (vs_columns_tester_draw(state) % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	default:
		return value >> vs_columns_tester_draw(state) % 64;
	}
}

/* So few that the same comes again. */
uint64_t vs_columns_tester_draw_few(void *state)
{
	uint64_t value = vs_columns_tester_draw(state) % 12;

	return value == 11 ? UINT64_MAX : value * 512;
}

/* One of the types of the first day: what a program does stays the same when others come. */
static enum vs_record_type draw_first_type(uint64_t *state)
{
	static const unsigned nr_definitions = 6;
	unsigned i;

	do
		i = (unsigned)(vs_columns_tester_draw(state) %
			       (nr_definitions + VS_RECORD_ADOPTED - VS_RECORD_ALLOC + 1));
	while (i < nr_definitions);
	return (enum vs_record_type)(VS_RECORD_ALLOC + i - nr_definitions);
}

enum vs_record_type vs_columns_tester_draw_type(uint64_t *state)
{
	enum vs_record_type type;

	do
		type = types[vs_columns_tester_draw(state) % (sizeof(types) / sizeof(types[0]))];
	while (type < VS_RECORD_ALLOC);
	return type;
}

/* At its own place, right behind the one before, or anywhere; sizes that need rounding, too. */
static void fill_alloc(struct vs_columns_tester_program *program, struct vs_record *event)
{
	uint64_t size = program->at % 5 ? 512 + 512 * (program->at % 9) : 300 * program->at + 1;
	uint64_t address = 0x10000 + size * 512;

	if (program->at % 3 == 0)
		address = 0x7f0000000000 + 4096 * (vs_columns_tester_draw(&program->random) % 256);
	else if (program->at % 7 == 0)
		address = program->behind;
	program->behind = address + (size + 511) / 512 * 512;
	event->type = VS_RECORD_BLOCK_ALLOC;
	event->block_alloc.pool = 1;
	event->block_alloc.stack = 10 + program->at % 7;
	event->block_alloc.size = size;
	event->block_alloc.address = address;
	program->live[program->nr_live++] = address;
}

/* One of the newest, which one depends on the place in the loop; now and then any. */
static void fill_free(struct vs_columns_tester_program *program, struct vs_record *event)
{
	uint32_t victim = program->nr_live - 1;

	if (vs_columns_tester_draw(&program->random) % 8 == 0)
		victim = (uint32_t)vs_columns_tester_draw(&program->random) % program->nr_live;
	else if (program->at % 10 <= victim)
		victim -= program->at % 10;
	event->type = VS_RECORD_BLOCK_FREE;
	event->block_free.pool = 1;
	event->block_free.stack = 100 + program->at % 5;
	event->block_free.address = program->live[victim];
	/* Now and then it is freed a second time. */
	if (vs_columns_tester_draw(&program->random) % 32 == 0)
		return;
	program->nr_live--;
	memmove(&program->live[victim], &program->live[victim + 1],
		(program->nr_live - victim) * sizeof(program->live[0]));
}

/* Mostly some microseconds, always long at some places, and sometimes longer than anything. */
static void pass(struct vs_columns_tester_program *program)
{
	uint64_t chance = vs_columns_tester_draw(&program->random);

	program->time_ns += chance % 50000;
	if (program->at % 11 == 0)
		program->time_ns += 1000000 + (chance >> 32) % 100000;
	if (chance >> 32 & 0xff)
		return;
	program->time_ns += 5000000000;
}

void vs_columns_tester_run(struct vs_columns_tester_program *program, struct vs_record *event)
{
	uint64_t chance = vs_columns_tester_draw(&program->random) % 64;

	program->at = (program->at + 1) % 97;
	pass(program);
	memset(event, 0, sizeof(*event));
	if (chance == 0)
		vs_event_fields_fill(event, draw_first_type(&program->random),
				     vs_columns_tester_draw_few, &program->random);
	else if (program->nr_live == 64 || (program->nr_live > program->at % 12 && program->at % 2))
		fill_free(program, event);
	else
		fill_alloc(program, event);
	event->thread = chance == 1 ? 9 : 1 + program->at / 50;
	event->time_ns = program->time_ns - (chance == 2 ? 70000 : 0);
}

/* ---- There and back ----------------------------------------------------------------------- */

void vs_columns_tester_init(struct vs_columns_tester *tester, uint32_t unit)
{
	assert_int_equal(vs_columns_create(&tester->columns, unit), 0);
	assert_int_equal(vs_columns_reader_create(&tester->reader), 0);
	tester->bytes = malloc(vs_columns_bound());
	assert_non_null(tester->bytes);
}

void vs_columns_tester_fini(struct vs_columns_tester *tester)
{
	vs_columns_destroy(tester->columns);
	vs_columns_reader_destroy(tester->reader);
	free(tester->bytes);
}

/* They are all of it. */
static void expect_parts(const struct vs_columns_tester *tester)
{
	uint32_t nr;
	const struct vs_byte_texture_part *parts = vs_columns_get_parts(tester->columns, &nr);
	size_t size = 0;

	assert_in_range(nr, 0, VS_COLUMNS_NR_PARTS);
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(parts[i].size > 0);
		size += parts[i].size;
	}
	assert_int_equal(size, tester->size);
}

void vs_columns_tester_encode(struct vs_columns_tester *tester, const struct vs_record *events,
			      uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		vs_columns_add(tester->columns, &events[i]);
	assert_int_equal(vs_columns_get_nr(tester->columns), nr);
	tester->size = vs_columns_finish(tester->columns, tester->bytes);
	assert_true(tester->size <= vs_columns_bound());
	assert_int_equal(vs_columns_get_nr(tester->columns), 0);
	expect_parts(tester);
}

static void expect_event(const struct vs_record *event, const struct vs_record *found,
			 uint32_t unit)
{
	assert_true(vs_event_fields_is_same(event, found));
	assert_true(found->time_ns == event->time_ns / unit * unit);
}

/* From a copy that is exactly as long, so that a sanitizer sees a step too far. */
void vs_columns_tester_decode(struct vs_columns_tester *tester, const struct vs_record *events,
			      uint32_t nr, uint32_t unit)
{
	uint8_t *bytes = malloc(tester->size ? tester->size : 1);
	struct vs_record found;

	assert_non_null(bytes);
	memcpy(bytes, tester->bytes, tester->size);
	assert_int_equal(vs_columns_reader_begin(tester->reader, bytes, tester->size, nr), 0);
	for (uint32_t i = 0; i < nr; i++) {
		memset(&found, 0x5a, sizeof(found));
		assert_int_equal(vs_columns_reader_next(tester->reader, &found), 1);
		expect_event(&events[i], &found, unit);
	}
	assert_int_equal(vs_columns_reader_next(tester->reader, &found), 0);
	assert_int_equal(vs_columns_reader_next(tester->reader, &found), 0);
	free(bytes);
}

size_t vs_columns_tester_expect_back(struct vs_columns_tester *tester,
				     const struct vs_record *events, uint32_t nr)
{
	vs_columns_tester_encode(tester, events, nr);
	vs_columns_tester_decode(tester, events, nr, VS_COLUMNS_TESTER_UNIT);
	return tester->size;
}

/* Room for a full block, zero. */
struct vs_record *vs_columns_tester_make_events(void)
{
	struct vs_record *events = calloc(VS_COLUMNS_MAX, sizeof(*events));

	assert_non_null(events);
	return events;
}
