#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_maker.h"
#include "unwind_arch.h"

#define START 0x10000u
#define SIZE  0x1000u

#define SP 7
#define BP 6

static struct cfi_maker maker;

static int begin(void **state)
{
	(void)state;
	cfi_maker_init(&maker);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cfi_maker_fini(&maker);
	return 0;
}

/* The usual CIE, and an entry with these instructions. */
#define MAKE(...)                                                 \
	do {                                                      \
		maker.size = 0;                                   \
		cfi_maker_put_usual_common(&maker);               \
		cfi_maker_begin_usual_entry(&maker, START, SIZE); \
		CFI_PUT(&maker, __VA_ARGS__);                     \
		cfi_maker_end(&maker);                            \
	} while (0)

static struct vs_unwind_cfi_row read_at(uint64_t offset)
{
	struct vs_unwind_cfi_row row;

	memset(&row, 0xaa, sizeof(row));
	assert_int_equal(cfi_maker_read(&maker, START + offset, &row), VS_UNWIND_CFI_FOUND);
	return row;
}

static enum vs_unwind_cfi_result try_at(uint64_t offset)
{
	struct vs_unwind_cfi_row row;

	return cfi_maker_read(&maker, START + offset, &row);
}

static void assert_cfa(const struct vs_unwind_cfi_row *row, uint64_t number, int64_t offset)
{
	assert_null(row->cfa_expression.start);
	assert_int_equal(row->cfa_register, number);
	assert_int_equal(row->cfa_offset, offset);
}

static void assert_place(const struct vs_unwind_cfi_row *row, enum vs_unwind_cfi_register which,
			 enum vs_unwind_cfi_place place, int64_t offset)
{
	assert_int_equal(row->registers[which].place, place);
	assert_int_equal(row->registers[which].offset, offset);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void test_each_instruction_has_its_row(void **state)
{
	struct vs_unwind_cfi_row row;

	(void)state;
	/* push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret */
	MAKE(0x41, 0x0e, 16, 0x86, 2, /* behind 1: offset 16, rbp at -16 */
	     0x43, 0x0d, 6,           /* behind 4: by rbp */
	     0x02, 100, 0x0c, 7, 8);  /* behind 104: by rsp again */
	row = read_at(0);
	assert_cfa(&row, SP, 8);
	assert_place(&row, VS_UNWIND_CFI_RETURN, VS_UNWIND_CFI_AT_CFA, -8);
	assert_place(&row, VS_UNWIND_CFI_BP, VS_UNWIND_CFI_UNSAID, 0);
	assert_false(row.is_signal);
	row = read_at(1);
	assert_cfa(&row, SP, 16);
	assert_place(&row, VS_UNWIND_CFI_BP, VS_UNWIND_CFI_AT_CFA, -16);
	row = read_at(3);
	assert_cfa(&row, SP, 16);
	row = read_at(4);
	assert_cfa(&row, BP, 16);
	row = read_at(103);
	assert_cfa(&row, BP, 16);
	row = read_at(104);
	assert_cfa(&row, SP, 8);
	row = read_at(SIZE - 1);
	assert_cfa(&row, SP, 8);
}

static void test_code_outside_of_the_entry_is_none_of_it(void **state)
{
	struct vs_unwind_cfi_row row, before;

	(void)state;
	MAKE(0);
	memset(&row, 0x55, sizeof(row));
	before = row;
	assert_int_equal(cfi_maker_read(&maker, START - 1, &row), VS_UNWIND_CFI_NONE);
	assert_int_equal(cfi_maker_read(&maker, START + SIZE, &row), VS_UNWIND_CFI_NONE);
	assert_memory_equal(&row, &before, sizeof(row));
}

static void test_all_ways_to_advance(void **state)
{
	struct vs_unwind_cfi_row row;

	(void)state;
	MAKE(0x41, 0x0e, 16,                   /* 1 */
	     0x02, 0x10, 0x0e, 24,             /* 0x11 */
	     0x03, 0x00, 0x01, 0x0e, 32,       /* 0x111 */
	     0x04, 0x00, 0x02, 0, 0, 0x0e, 40, /* 0x311 */
	     0x01, 0x00, 0x08, 0x01, 0, 0, 0, 0, 0, 0x0e, 48 /* set to START + 0x800 */);
	row = read_at(0x10);
	assert_cfa(&row, SP, 16);
	row = read_at(0x11);
	assert_cfa(&row, SP, 24);
	row = read_at(0x110);
	assert_cfa(&row, SP, 24);
	row = read_at(0x111);
	assert_cfa(&row, SP, 32);
	row = read_at(0x311);
	assert_cfa(&row, SP, 40);
	row = read_at(0x7ff);
	assert_cfa(&row, SP, 40);
	row = read_at(0x800);
	assert_cfa(&row, SP, 48);
}

static void test_all_ways_to_say_the_cfa(void **state)
{
	struct vs_unwind_cfi_row row;

	(void)state;
	MAKE(0x41, 0x0c, 3, 0x90, 0x01,       /* rbx + 144 */
	     0x41, 0x12, 12, 0x7e,            /* r12 + -2 * -8 */
	     0x41, 0x13, 0x03,                /* 3 * -8 */
	     0x41, 0x0d, 10,                  /* r10, same offset */
	     0x41, 0x0f, 3, 0x76, 0x78, 0x06, /* an expression */
	     0x41, 0x0c, 7, 8);
	row = read_at(1);
	assert_cfa(&row, 3, 144);
	row = read_at(2);
	assert_cfa(&row, 12, 16);
	row = read_at(3);
	assert_cfa(&row, 12, -24);
	row = read_at(4);
	assert_cfa(&row, 10, -24);
	row = read_at(5);
	assert_int_equal(row.cfa_expression.end - row.cfa_expression.start, 3);
	assert_memory_equal(row.cfa_expression.start, "\x76\x78\x06", 3);
	row = read_at(6);
	assert_cfa(&row, SP, 8);
}

static void test_all_ways_to_say_where_a_register_is(void **state)
{
	static const struct {
		uint64_t at;
		enum vs_unwind_cfi_place place;
		int64_t offset;
	} wanted[] = {
		{1, VS_UNWIND_CFI_AT_CFA, -40}, {2, VS_UNWIND_CFI_AT_CFA, 24},
		{3, VS_UNWIND_CFI_AT_CFA, 16},  {4, VS_UNWIND_CFI_UNDEFINED, 0},
		{5, VS_UNWIND_CFI_SAME, 0},     {6, VS_UNWIND_CFI_OTHER, 0},
		{7, VS_UNWIND_CFI_OTHER, 0},    {8, VS_UNWIND_CFI_OTHER, 0},
		{9, VS_UNWIND_CFI_OTHER, 0},    {10, VS_UNWIND_CFI_EXPRESSION, 0},
		{11, VS_UNWIND_CFI_UNSAID, 0},  {12, VS_UNWIND_CFI_AT_CFA, -8},
		{13, VS_UNWIND_CFI_UNSAID, 0},
	};

	(void)state;
	MAKE(0x41, 0x05, 6, 5,          /* offset_extended: 5 * -8 */
	     0x41, 0x11, 6, 0x7d,       /* offset_extended_sf: -3 * -8 */
	     0x41, 0x2f, 6, 2,          /* GNU: -2 * -8 */
	     0x41, 0x07, 6,             /* undefined */
	     0x41, 0x08, 6,             /* same */
	     0x41, 0x09, 6, 3,          /* in rbx */
	     0x41, 0x14, 6, 2,          /* val_offset */
	     0x41, 0x15, 6, 0x7e,       /* val_offset_sf */
	     0x41, 0x16, 6, 2, 0x76, 0, /* val_expression */
	     0x41, 0x10, 6, 2, 0x76, 0, /* expression */
	     0x41, 0xc6,                /* restore */
	     0x41, 0x86, 1,             /* offset */
	     0x41, 0x06, 6);            /* restore_extended */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct vs_unwind_cfi_row row = read_at(wanted[i].at);

		assert_place(&row, VS_UNWIND_CFI_BP, wanted[i].place, wanted[i].offset);
		/* All of that is about rbp alone. */
		assert_cfa(&row, SP, 8);
		assert_place(&row, VS_UNWIND_CFI_RETURN, VS_UNWIND_CFI_AT_CFA, -8);
	}
}

static void test_registers_of_no_interest_are_skipped(void **state)
{
	struct vs_unwind_cfi_row row;

	(void)state;
	MAKE(0x83, 2, 0x05, 0x80, 0x01, 5, 0x07, 12, 0x10, 13, 2, 0x76, 0, 0x2e, 16, 0xc3, 0x0e,
	     64);
	row = read_at(0);
	assert_cfa(&row, SP, 64);
	assert_place(&row, VS_UNWIND_CFI_BP, VS_UNWIND_CFI_UNSAID, 0);
	assert_place(&row, VS_UNWIND_CFI_SP, VS_UNWIND_CFI_UNSAID, 0);
}

static void test_remembered_rows_come_back_whole(void **state)
{
	struct vs_unwind_cfi_row row;

	(void)state;
	MAKE(0x41, 0x0e, 16, 0x86, 2, 0x0a, /* 1: remembered */
	     0x41, 0x0c, 6, 99, 0xc6, 0x0a, /* 2: another one on top */
	     0x41, 0x07, 16,                /* 3 */
	     0x41, 0x0b,                    /* 4: as at 2 */
	     0x41, 0x0b);                   /* 5: as at 1 */
	row = read_at(3);
	assert_place(&row, VS_UNWIND_CFI_RETURN, VS_UNWIND_CFI_UNDEFINED, 0);
	row = read_at(4);
	assert_cfa(&row, BP, 99);
	assert_place(&row, VS_UNWIND_CFI_BP, VS_UNWIND_CFI_UNSAID, 0);
	assert_place(&row, VS_UNWIND_CFI_RETURN, VS_UNWIND_CFI_AT_CFA, -8);
	row = read_at(5);
	assert_cfa(&row, SP, 16);
	assert_place(&row, VS_UNWIND_CFI_BP, VS_UNWIND_CFI_AT_CFA, -16);
}

/* ---- Headers --------------------------------------------------------------------------------- */

static void test_augmentations_of_all_compilers(void **state)
{
	/* A personality of 4 bytes with its encoding, that of language data, that of addresses. */
	static const uint8_t data[] = {0x9b, 1, 2, 3, 4, 0x1b, 0x00};
	static const uint8_t encoding[] = {0x00};
	struct vs_unwind_cfi_row row;

	(void)state;
	cfi_maker_begin_common(&maker, 1, "zPLR", data, sizeof(data));
	CFI_PUT(&maker, 0x0c, 7, 8, 0x90, 1);
	cfi_maker_end(&maker);
	cfi_maker_begin_entry(&maker);
	cfi_maker_put_word(&maker, START, 8);
	cfi_maker_put_word(&maker, SIZE, 8);
	CFI_PUT(&maker, 4, 1, 2, 3, 4, 0x0e, 80); /* data of the language's, then instructions */
	cfi_maker_end(&maker);
	row = read_at(0);
	assert_cfa(&row, SP, 80);
	assert_false(row.is_signal);
	maker.size = 0;
	cfi_maker_begin_common(&maker, 1, "zRS", encoding, sizeof(encoding));
	cfi_maker_end(&maker);
	cfi_maker_begin_usual_entry(&maker, START, SIZE);
	cfi_maker_end(&maker);
	row = read_at(0);
	assert_true(row.is_signal);
}

static void test_relative_addresses_are_relative_to_where_they_are(void **state)
{
	struct vs_unwind_cfi_bytes bytes;
	struct vs_unwind_cfi_row row;
	uint64_t place;

	(void)state;
	cfi_maker_begin_common(&maker, 1, "zR", (const uint8_t[]){0x1b}, 1);
	CFI_PUT(&maker, 0x0c, 7, 8, 0x90, 1);
	cfi_maker_end(&maker);
	cfi_maker_begin_entry(&maker);
	cfi_maker_put_word(&maker, (uint32_t)-1000, 4); /* begins 1000 bytes before these four */
	cfi_maker_put_word(&maker, 500, 4);
	CFI_PUT(&maker, 0);
	cfi_maker_end(&maker);
	bytes = cfi_maker_place(&maker);
	place = (uint64_t)(uintptr_t)bytes.start + maker.entry + 8;
	assert_int_equal(cfi_maker_read(&maker, place - 1000, &row), VS_UNWIND_CFI_FOUND);
	assert_int_equal(cfi_maker_read(&maker, place - 501, &row), VS_UNWIND_CFI_FOUND);
	assert_int_equal(cfi_maker_read(&maker, place - 500, &row), VS_UNWIND_CFI_NONE);
	assert_int_equal(cfi_maker_read(&maker, place - 1001, &row), VS_UNWIND_CFI_NONE);
}

/* A CIE without instructions and an entry of 8-byte addresses. */
static enum vs_unwind_cfi_result try_common(unsigned version, const char *letters)
{
	maker.size = 0;
	cfi_maker_begin_common(&maker, version, letters, (const uint8_t[]){0x00}, 1);
	cfi_maker_end(&maker);
	cfi_maker_begin_entry(&maker);
	cfi_maker_put_word(&maker, START, 8);
	cfi_maker_put_word(&maker, SIZE, 8);
	if (letters[0] == 'z')
		CFI_PUT(&maker, 0);
	cfi_maker_end(&maker);
	return try_at(0);
}

static void test_versions_and_letters_that_nobody_knows(void **state)
{
	(void)state;
	assert_int_equal(try_common(1, "zR"), VS_UNWIND_CFI_FOUND);
	assert_int_equal(try_common(3, "zR"), VS_UNWIND_CFI_FOUND);
	assert_int_equal(try_common(4, "zR"), VS_UNWIND_CFI_FOUND);
	assert_int_equal(try_common(1, ""), VS_UNWIND_CFI_FOUND);
	assert_int_equal(try_common(1, "z"), VS_UNWIND_CFI_FOUND);
	assert_int_equal(try_common(2, "zR"), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(try_common(5, "zR"), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(try_common(1, "eh"), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(try_common(1, "zRX"), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(try_common(1, "zRRR"), VS_UNWIND_CFI_UNKNOWN); /* not enough data */
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void test_instructions_that_nobody_knows(void **state)
{
	(void)state;
	MAKE(0x45, 0x3f);
	assert_int_equal(try_at(4), VS_UNWIND_CFI_FOUND); /* not needed for these */
	assert_int_equal(try_at(5), VS_UNWIND_CFI_UNKNOWN);
	MAKE(0x0b); /* nothing was remembered */
	assert_int_equal(try_at(0), VS_UNWIND_CFI_UNKNOWN);
	MAKE(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
	assert_int_equal(try_at(0), VS_UNWIND_CFI_UNKNOWN);
	MAKE(0x0e, 0x80); /* a number without an end */
	assert_int_equal(try_at(0), VS_UNWIND_CFI_UNKNOWN);
	MAKE(0x0f, 100); /* an expression that is longer than the entry */
	assert_int_equal(try_at(0), VS_UNWIND_CFI_UNKNOWN);
}

static void test_entries_that_are_none(void **state)
{
	struct vs_unwind_cfi_bytes bytes;
	struct vs_unwind_cfi_row row;
	uintptr_t start;

	(void)state;
	MAKE(0);
	bytes = cfi_maker_place(&maker);
	start = (uintptr_t)bytes.start;
	/* Outside of the bytes; the CIE; the middle of something. */
	assert_int_equal(vs_unwind_cfi_read(&bytes, start - 1, START, &row), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_read(&bytes, (uintptr_t)bytes.end, START, &row),
			 VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_read(&bytes, (uintptr_t)bytes.end + 1, START, &row),
			 VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_read(&bytes, 0, START, &row), VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_read(&bytes, UINTPTR_MAX, START, &row),
			 VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_read(&bytes, start, START, &row), VS_UNWIND_CFI_UNKNOWN);
}

/* A bit of everything. */
static void make_rich(void)
{
	MAKE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 9, 0x0c, 7, 8, 0xc6, 0x0b, 0x0f, 3,
	     0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x03, 1, 0, 0x05, 6, 0x83, 0x01, 0x2e, 0x10,
	     0x16, 6, 1, 0x30, 0x08, 6);
}

static void test_no_byte_outside_is_read_wherever_the_bytes_end(void **state)
{
	size_t size;

	(void)state;
	make_rich();
	size = maker.size;
	for (size_t cut = 0; cut <= size; cut++) {
		maker.size = cut;
		for (uint64_t offset = 0; offset < 300; offset += 20) {
			enum vs_unwind_cfi_result result = try_at(offset);

			/* Only the whole entry is one. */
			assert_true(cut == size ? result == VS_UNWIND_CFI_FOUND
						: result == VS_UNWIND_CFI_UNKNOWN);
		}
	}
}

static void test_no_byte_outside_is_read_whatever_the_bytes_are(void **state)
{
	(void)state;
	make_rich();
	for (size_t i = 0; i < maker.size; i++) {
		uint8_t before = maker.bytes[i];

		for (unsigned value = 0; value < 256; value++) {
			maker.bytes[i] = (uint8_t)value;
			try_at(0);
			try_at(299);
		}
		maker.bytes[i] = before;
	}
	assert_int_equal(try_at(0), VS_UNWIND_CFI_FOUND);
}

/* ---- .eh_frame_hdr --------------------------------------------------------------------------- */

#define NR_ROWS 5

/* Rows for code at 0x1000, 0x2000, ... behind the header, entries at 0x100000, ... */
static struct vs_unwind_cfi_bytes make_table(uint32_t nr_rows)
{
	maker.size = 0;
	CFI_PUT(&maker, 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0);
	cfi_maker_put_word(&maker, nr_rows, 4);
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		cfi_maker_put_word(&maker, 0x1000 * (i + 1), 4);
		cfi_maker_put_word(&maker, 0x100000 + i, 4);
	}
	return cfi_maker_place(&maker);
}

static void test_the_table_finds_the_last_code_that_begins_before(void **state)
{
	struct vs_unwind_cfi_bytes bytes = make_table(NR_ROWS);
	uintptr_t header = (uintptr_t)bytes.start, entry = 0;

	(void)state;
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header + 0xfff, &entry),
			 VS_UNWIND_CFI_NONE);
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header - 5, &entry),
			 VS_UNWIND_CFI_NONE);
	assert_int_equal(entry, 0);
	for (uint32_t i = 0; i < NR_ROWS; i++) {
		for (uint32_t offset = 0; offset <= 0xfff; offset += 0xfff) {
			uintptr_t pc = header + 0x1000 * (i + 1) + offset;

			assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, pc, &entry),
					 VS_UNWIND_CFI_FOUND);
			assert_int_equal(entry, header + 0x100000 + i);
		}
	}
}

static void test_tables_that_are_none(void **state)
{
	struct vs_unwind_cfi_bytes bytes = make_table(0);
	uintptr_t header = (uintptr_t)bytes.start, entry;

	(void)state;
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header + 0x1000, &entry),
			 VS_UNWIND_CFI_NONE);
	/* More rows than there are bytes; outside of them; no or another kind of table. */
	bytes = make_table(NR_ROWS + 1);
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header + 0x1000, &entry),
			 VS_UNWIND_CFI_UNKNOWN);
	bytes = make_table(UINT32_MAX);
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header + 0x1000, &entry),
			 VS_UNWIND_CFI_UNKNOWN);
	bytes = make_table(NR_ROWS);
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header - 1, header + 0x1000, &entry),
			 VS_UNWIND_CFI_UNKNOWN);
	assert_int_equal(vs_unwind_cfi_find_entry(&bytes, (uintptr_t)bytes.end, header, &entry),
			 VS_UNWIND_CFI_UNKNOWN);
	for (size_t i = 0; i < 4; i++) {
		if (i == 1)
			continue; /* where .eh_frame is does not matter */
		make_table(NR_ROWS);
		maker.bytes[i] = 0xff;
		bytes = cfi_maker_place(&maker);
		assert_int_equal(vs_unwind_cfi_find_entry(&bytes, header, header + 0x1000, &entry),
				 VS_UNWIND_CFI_UNKNOWN);
	}
}

static void test_a_number_ends_where_it_says(void **state)
{
	static const struct {
		uint8_t bytes[11];
		unsigned size;
		int64_t value;
	} cases[] = {
		{{0x00}, 1, 0},
		{{0x3f}, 1, 63},
		{{0x40}, 1, -64},
		{{0x7f}, 1, -1},
		{{0x80, 0x7f}, 2, -128},
		{{0xff, 0x00}, 2, 127},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, INT64_MIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *at = cases[i].bytes;
		int64_t value = 42;

		assert_true(vs_unwind_cfi_get_signed(&at, cases[i].bytes + 11, &value));
		assert_int_equal(value, cases[i].value);
		assert_int_equal(at - cases[i].bytes, cases[i].size);
		at = cases[i].bytes;
		value = 42;
		assert_false(vs_unwind_cfi_get_signed(&at, at + cases[i].size - 1, &value));
		assert_int_equal(value, 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_each_instruction_has_its_row),
		TEST(test_code_outside_of_the_entry_is_none_of_it),
		TEST(test_all_ways_to_advance),
		TEST(test_all_ways_to_say_the_cfa),
		TEST(test_all_ways_to_say_where_a_register_is),
		TEST(test_registers_of_no_interest_are_skipped),
		TEST(test_remembered_rows_come_back_whole),
		TEST(test_augmentations_of_all_compilers),
		TEST(test_relative_addresses_are_relative_to_where_they_are),
		TEST(test_versions_and_letters_that_nobody_knows),
		TEST(test_instructions_that_nobody_knows),
		TEST(test_entries_that_are_none),
		TEST(test_no_byte_outside_is_read_wherever_the_bytes_end),
		TEST(test_no_byte_outside_is_read_whatever_the_bytes_are),
		TEST(test_the_table_finds_the_last_code_that_begins_before),
		TEST(test_tables_that_are_none),
		TEST(test_a_number_ends_where_it_says),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
