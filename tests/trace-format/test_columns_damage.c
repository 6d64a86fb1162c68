#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "columns_tester.h"
#include "wire.h"

/* ---- Bytes by hand: docs/trace-format.md, section 3.5 ------------------------------------- */

enum {
	SITE,
	SIZE,
	ADDRESS,
	FREE,
	TIME,
	SITE_LOW = 20,
	SIZE_LOW,
	ADDRESS_LOW,
	FREE_LOW,
	TIME_REST,
	THREAD,
	NEW_SITES,
	ROWS,
	NEW_SIZES,
	NEW_ADDRESSES,
	NR_COLUMNS
};

struct column {
	const char *bytes;
	size_t size;
};
#define COLUMN(text)                   \
	{                              \
		text, sizeof(text) - 1 \
	}

static size_t put_columns(uint8_t *out, const struct column *columns, uint32_t nr)
{
	uint8_t *p = vs_wire_put_varint(out, VS_COLUMNS_TESTER_UNIT);

	p = vs_wire_put_varint(p, 5);
	p = vs_wire_put_varint(p, nr);
	for (uint32_t i = 0; i < nr; i++) {
		p = vs_wire_put_varint(p, columns[i].size);
		p = vs_wire_put_varint(p, columns[i].size);
	}
	for (uint32_t i = 0; i < nr; i++)
		p = vs_wire_put_bytes(p, columns[i].bytes, columns[i].size);
	return (size_t)(p - out);
}

/* An ALLOC and its FREE. */
static const struct column two_events[NR_COLUMNS + 1] = {
	[SITE] = COLUMN("\375\1\1"),
	[SIZE] = COLUMN("\2"),
	[ADDRESS] = COLUMN("\3"),
	[FREE] = COLUMN("\2"),
	[TIME] = COLUMN("\0\3"),
	[FREE_LOW] = COLUMN("\0"),
	[THREAD] = COLUMN("\0\7"),
	[NEW_SITES] = COLUMN("\20\6\0\2\1\4\6\10\12"
			     "\21\3\0\0\14\16"),
	[NEW_SIZES] = COLUMN("\144\0\0"),
	[NEW_ADDRESSES] = COLUMN("\200\1\0\0"),
};

static const struct vs_record two_records[] = {
	{.type = VS_RECORD_ALLOC,
	 .time_ns = 5000,
	 .thread = 7,
	 .alloc = {.kind = VS_MEMORY_MANAGED,
		   .device = VS_NO_DEVICE,
		   .address = 128,
		   .size = 100,
		   .pool = 2,
		   .context = 3,
		   .stack = 4,
		   .api = 5}},
	{.type = VS_RECORD_FREE,
	 .time_ns = 8999,
	 .thread = 7,
	 .free = {.kind = VS_MEMORY_DEVICE, .address = 128, .stack = 6, .api = 7}},
};

static void test_two_events_are_these_bytes(void **state)
{
	uint8_t expected[300];
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	vs_columns_tester_expect_back(&tester, two_records, 2);
	assert_int_equal(put_columns(expected, two_events, NR_COLUMNS), tester.size);
	assert_memory_equal(tester.bytes, expected, tester.size);
	vs_columns_tester_fini(&tester);
}

static void expect_events(struct vs_columns_tester *tester, const struct column *columns,
			  uint32_t nr_columns, const struct vs_record *events, uint32_t nr)
{
	tester->size = put_columns(tester->bytes, columns, nr_columns);
	vs_columns_tester_decode(tester, events, nr, VS_COLUMNS_TESTER_UNIT);
}

static void test_columns_of_a_later_version_are_skipped(void **state)
{
	struct column columns[NR_COLUMNS + 1];
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	memcpy(columns, two_events, sizeof(columns));
	columns[NR_COLUMNS] = (struct column){"later", 5};
	expect_events(&tester, columns, NR_COLUMNS + 1, two_records, 2);
	vs_columns_tester_fini(&tester);
}

static void test_columns_at_the_end_may_be_missing(void **state)
{
	static const struct column pop[NR_COLUMNS] = {
		[SITE] = COLUMN("\375\1"),
		[TIME] = COLUMN("\1"),
		[THREAD] = COLUMN("\0\1"),
		[NEW_SITES] = COLUMN("\37\0\0"),
	};
	const struct vs_record event = {.type = VS_RECORD_PHASE_POP, .thread = 1, .time_ns = 6000};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	expect_events(&tester, pop, NEW_SITES + 1, &event, 1);
	vs_columns_tester_fini(&tester);
}

/* Two fields and three rows more than there are in a STEP, and an ALLOC that has a row. */
static void test_fields_of_a_later_version_are_skipped(void **state)
{
	static const struct column columns[NR_COLUMNS] = {
		[SITE] = COLUMN("\375\1\1\1"),
		[SIZE] = COLUMN("\2"),
		[ADDRESS] = COLUMN("\3"),
		[TIME] = COLUMN("\0\0\0"),
		[THREAD] = COLUMN("\0\1"),
		[NEW_SITES] = COLUMN("\40\2\4\6\10"
				     "\20\11\1\0\2\0\0\0\0\0\0\0"
				     "\40\1\1\0"),
		[ROWS] = COLUMN("\12\14\16\20\22\24"),
		[NEW_SIZES] = COLUMN("\1\0\0"),
		[NEW_ADDRESSES] = COLUMN("\2\0\0"),
	};
	static const struct vs_record events[] = {
		{.type = VS_RECORD_STEP, .thread = 1, .time_ns = 5000, .step = {5}},
		{.type = VS_RECORD_ALLOC,
		 .thread = 1,
		 .time_ns = 5000,
		 .alloc = {.device = 1, .address = 2, .size = 1}},
		{.type = VS_RECORD_STEP, .thread = 1, .time_ns = 5000, .step = {10}},
	};
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	expect_events(&tester, columns, NR_COLUMNS, events, 3);
	vs_columns_tester_fini(&tester);
}

static void test_event_of_a_later_version_has_a_type_and_a_time(void **state)
{
	static const struct column columns[NR_COLUMNS] = {
		[SITE] = COLUMN("\375\1\1"),
		[TIME] = COLUMN("\0\1"),
		[THREAD] = COLUMN("\0\1"),
		[NEW_SITES] = COLUMN("\310\7\6\1\2\3\4\5\6\7"
				     "\40\0\1"),
		[ROWS] = COLUMN("\1\2\3\4\5\6\22"),
	};
	static const struct vs_record nothing;
	struct vs_record found;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	memset(&found, 0x5a, sizeof(found));
	tester.size = put_columns(tester.bytes, columns, NR_COLUMNS);
	assert_int_equal(vs_columns_reader_begin(tester.reader, tester.bytes, tester.size, 2), 0);
	assert_int_equal(vs_columns_reader_next(tester.reader, &found), 1);
	assert_int_equal(found.type, 200);
	assert_int_equal(found.time_ns, 5000);
	assert_int_equal(found.thread, 1);
	assert_memory_equal(&found.alloc, &nothing.alloc, sizeof(found.alloc));
	assert_int_equal(vs_columns_reader_next(tester.reader, &found), 1);
	assert_int_equal(found.step.number, 9);
	assert_int_equal(vs_columns_reader_next(tester.reader, &found), 0);
	vs_columns_tester_fini(&tester);
}

/* ---- Damage ------------------------------------------------------------------------------- */

/* Reads until an error or the end. Returns it; *nr is how many events came before. */
static int read_all(struct vs_columns_tester *tester, const uint8_t *bytes, size_t size,
		    uint32_t nr_events, uint32_t *nr)
{
	struct vs_record found;
	int ret = vs_columns_reader_begin(tester->reader, bytes, size, nr_events);

	*nr = 0;
	if (ret) {
		assert_int_equal(vs_columns_reader_next(tester->reader, &found), -VS_ERR_CORRUPT);
		return ret;
	}
	while ((ret = vs_columns_reader_next(tester->reader, &found)) == 1)
		assert_true(++*nr <= nr_events);
	assert_int_equal(vs_columns_reader_next(tester->reader, &found), ret);
	return ret;
}

static void test_one_wrong_byte_is_corrupt(void **state)
{
	static const struct {
		uint32_t column;
		struct column with;
	} changes[] = {
		{SITE, COLUMN("\1\1\1")},     /* no thread at the first event */
		{SITE, COLUMN("\375\375\1")}, /* two threads */
		{SITE, COLUMN("\375\0\1")},   /* nothing came after nothing before */
		{SITE, COLUMN("\375\1\2")},   /* low part missing */
		{SITE, COLUMN("\375\1\374")}, /* low parts missing */
		{SITE, COLUMN("\375\1\376")}, /* not used */
		{SITE, COLUMN("\375\1")},     /* too short */
		{SITE, COLUMN("\375\1\1\1")}, /* too long */
		{SIZE, COLUMN("\0")},         /* empty place */
		{SIZE, COLUMN("\1")},         /* nothing allocated here */
		{SIZE, COLUMN("\3")},         /* low part missing */
		{ADDRESS, COLUMN("\0")},      /* empty place */
		{ADDRESS, COLUMN("\1")},      /* nothing freed */
		{ADDRESS, COLUMN("\4")},      /* low part missing */
		{FREE, COLUMN("\0")},         /* no rank yet */
		{FREE, COLUMN("\1")},         /* no address; and a low part too many */
		{FREE, COLUMN("\3")},         /* 256 allocations ago */
		{FREE, COLUMN("\377")},       /* second low part missing */
		{FREE_LOW, COLUMN("\1")},     /* the allocation before the first */
		{TIME, COLUMN("\0")},         /* too short */
		{TIME, COLUMN("\0\200")},     /* no rest */
		{TIME, COLUMN("\0\374")},     /* not used */
		{TIME, COLUMN("\0\377")},     /* no rest */
		{THREAD, COLUMN("\1\7")},     /* the second thread before the first */
		{THREAD, COLUMN("\0\377\377\377\377\177")},               /* more than 32 bits */
		{NEW_SITES, COLUMN("\20\5\0\2\1\4\6\10\21\3\0\0\14\16")}, /* a field too few */
		{NEW_SITES, COLUMN("\20\6\0\22\1\4\6\10\12\21\3\0\0\14\16")}, /* no such kind */
		{NEW_SITES, COLUMN("\17\6\0\2\1\4\6\10\12\21\3\0\0\14\16")},  /* a definition */
		{NEW_SITES, COLUMN("\20\6\1\2\1\4\6\10\12\21\3\0\0\14\16")},  /* no row there */
		{NEW_SITES, COLUMN("\20\6\0\2\1\4\6\10\12\21\3\0\0\14")},     /* too short */
		{NEW_SIZES, COLUMN("")},
		{NEW_SIZES, COLUMN("\144\0")},
		{NEW_SIZES, COLUMN("\144\100\0")},         /* shift of 64 */
		{NEW_SIZES, COLUMN("\144\0\11xxxxxxxxx")}, /* nine bytes */
		{NEW_SIZES, COLUMN("\144\0\2xxx")},        /* one and a half */
		{NEW_SIZES, COLUMN("\144\0\1xx")},         /* two */
		{NEW_SIZES, COLUMN("\144\0\0x")},          /* bytes of no number */
		{NEW_ADDRESSES, COLUMN("")},
	};
	struct column columns[NR_COLUMNS + 1];
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		memcpy(columns, two_events, sizeof(columns));
		columns[changes[i].column] = changes[i].with;
		tester.size = put_columns(tester.bytes, columns, NR_COLUMNS);
		assert_int_equal(read_all(&tester, tester.bytes, tester.size, 2, &nr),
				 -VS_ERR_CORRUPT);
	}
	vs_columns_tester_fini(&tester);
}

static void test_freeing_twice_is_corrupt(void **state)
{
	struct column columns[NR_COLUMNS + 1];
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	memcpy(columns, two_events, sizeof(columns));
	columns[SITE] = (struct column)COLUMN("\375\1\1\3");
	columns[SITE_LOW] = (struct column)COLUMN("\0");
	columns[FREE] = (struct column)COLUMN("\2\2");
	columns[FREE_LOW] = (struct column)COLUMN("\0\0");
	columns[TIME] = (struct column)COLUMN("\0\3");
	columns[TIME + 13] = (struct column)COLUMN("\0");
	tester.size = put_columns(tester.bytes, columns, NR_COLUMNS);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, 3, &nr), -VS_ERR_CORRUPT);
	assert_int_equal(nr, 2);
	vs_columns_tester_fini(&tester);
}

static void test_wrong_number_of_events_is_corrupt(void **state)
{
	struct vs_columns_tester_program program = {.random = 10};
	struct vs_record events[100];
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < 100; i++)
		vs_columns_tester_run(&program, &events[i]);
	vs_columns_tester_encode(&tester, events, 100);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, 99, &nr), -VS_ERR_CORRUPT);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, 101, &nr), -VS_ERR_CORRUPT);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, 0, &nr), -VS_ERR_CORRUPT);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, VS_COLUMNS_MAX + 1, &nr),
			 -VS_ERR_CORRUPT);
	assert_int_equal(read_all(&tester, tester.bytes, 0, 1, &nr), -VS_ERR_CORRUPT);
	assert_int_equal(read_all(&tester, tester.bytes, tester.size, 100, &nr), 0);
	vs_columns_tester_fini(&tester);
}

static void test_wrong_head_is_corrupt(void **state)
{
	static const struct column heads[] = {
		COLUMN("\0\0\0"),                /* a unit of nothing */
		COLUMN("\1\0"),                  /* no number of columns */
		COLUMN("\1\0\200"),              /* nor a whole one */
		COLUMN("\1\0\377\377\3"),        /* far too many columns */
		COLUMN("\1\0\1\0\1x"),           /* more stored than there is */
		COLUMN("\1\0\1\5\5abcd"),        /* less than that */
		COLUMN("\1\0\1\1"),              /* sizes end */
		COLUMN("\1\0\0x"),               /* bytes behind */
		COLUMN("\1\0\1\200\200\4\2a\0"), /* room for far more than one event needs */
	};
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_int_equal(
			read_all(&tester, (const uint8_t *)heads[i].bytes, heads[i].size, 1, &nr),
			-VS_ERR_CORRUPT);
	vs_columns_tester_fini(&tester);
}

static void test_block_cut_at_any_byte_is_corrupt(void **state)
{
	struct vs_columns_tester_program program = {.random = 11};
	struct vs_record events[200];
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < 200; i++)
		vs_columns_tester_run(&program, &events[i]);
	vs_columns_tester_encode(&tester, events, 200);
	for (size_t cut = 0; cut < tester.size; cut++) {
		uint8_t *bytes = malloc(cut ? cut : 1);

		assert_non_null(bytes);
		memcpy(bytes, tester.bytes, cut);
		assert_int_equal(read_all(&tester, bytes, cut, 200, &nr), -VS_ERR_CORRUPT);
		free(bytes);
	}
	vs_columns_tester_fini(&tester);
}

/* Whatever comes out, it comes to an end. */
static void test_changed_bytes_do_no_harm(void **state)
{
	struct vs_columns_tester_program program = {.random = 12};
	struct vs_record events[300];
	struct vs_columns_tester tester;
	uint32_t nr;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	for (uint32_t i = 0; i < 300; i++)
		vs_columns_tester_run(&program, &events[i]);
	vs_columns_tester_encode(&tester, events, 300);
	for (uint32_t round = 0; round < 20000; round++) {
		uint8_t *bytes = malloc(tester.size);
		int ret;

		assert_non_null(bytes);
		memcpy(bytes, tester.bytes, tester.size);
		for (uint64_t i = 0; i <= round % 3; i++)
			bytes[vs_columns_tester_draw(&program.random) % tester.size] ^=
				(uint8_t)(1 << vs_columns_tester_draw(&program.random) % 8);
		ret = read_all(&tester, bytes, tester.size, 300, &nr);
		assert_true(ret == 0 || ret == -VS_ERR_CORRUPT);
		free(bytes);
	}
	vs_columns_tester_decode(&tester, events, 300, VS_COLUMNS_TESTER_UNIT);
	vs_columns_tester_fini(&tester);
}

static void test_failure_leaves_the_event_alone(void **state)
{
	struct column columns[NR_COLUMNS + 1];
	struct vs_record found, before;
	struct vs_columns_tester tester;

	(void)state;
	vs_columns_tester_init(&tester, VS_COLUMNS_TESTER_UNIT);
	memset(&found, 0x5a, sizeof(found));
	before = found;
	assert_int_equal(vs_columns_reader_next(tester.reader, &found), -VS_ERR_CORRUPT);
	memcpy(columns, two_events, sizeof(columns));
	columns[ADDRESS] = (struct column)COLUMN("\1");
	tester.size = put_columns(tester.bytes, columns, NR_COLUMNS);
	assert_int_equal(vs_columns_reader_begin(tester.reader, tester.bytes, tester.size, 2), 0);
	assert_int_equal(vs_columns_reader_next(tester.reader, &found), -VS_ERR_CORRUPT);
	assert_memory_equal(&found, &before, sizeof(found));
	vs_columns_tester_fini(&tester);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_events_are_these_bytes),
		cmocka_unit_test(test_columns_of_a_later_version_are_skipped),
		cmocka_unit_test(test_columns_at_the_end_may_be_missing),
		cmocka_unit_test(test_fields_of_a_later_version_are_skipped),
		cmocka_unit_test(test_event_of_a_later_version_has_a_type_and_a_time),
		cmocka_unit_test(test_one_wrong_byte_is_corrupt),
		cmocka_unit_test(test_freeing_twice_is_corrupt),
		cmocka_unit_test(test_wrong_number_of_events_is_corrupt),
		cmocka_unit_test(test_wrong_head_is_corrupt),
		cmocka_unit_test(test_block_cut_at_any_byte_is_corrupt),
		cmocka_unit_test(test_changed_bytes_do_no_harm),
		cmocka_unit_test(test_failure_leaves_the_event_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
