#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "python_code.h"
#include "python_object.h"

/* Objects by hand, as CPython 3.11 (and 3.12, by its number for code) has them. */
static char code_type[512], text_type[512], bytes_type[512], derived_type[512];

struct text {
	uint64_t count;
	const void *type;
	uint64_t length;
	uint64_t hash;
	uint32_t state;
	uint32_t padding;
	uint64_t wstr;
	union {
		char ascii[8192];
		struct {
			uint64_t utf8_length, utf8, wstr_length;
			union {
				unsigned char bytes[8192];
				uint16_t twos[4096];
				uint32_t fours[2048];
				const void *elsewhere;
			};
		} compact;
	};
};

struct bytes {
	uint64_t count;
	const void *type;
	uint64_t size;
	uint64_t hash;
	uint8_t data[300];
};

struct code {
	uint64_t count;
	const void *type;
	uint64_t words[20];
};

static struct text file, name;
static struct bytes lines;
static struct code code;

#define COMPACT (1u << 5)
#define ASCII   (1u << 6)

static void set_ascii(struct text *text, const char *characters)
{
	memset(text, 0, sizeof(*text));
	text->type = text_type;
	text->length = strlen(characters);
	text->state = 1u << 2 | COMPACT | ASCII;
	memcpy(text->ascii, characters, text->length);
}

static void set_wide(struct text *text, const uint32_t *characters, size_t nr, uint32_t width)
{
	memset(text, 0, sizeof(*text));
	text->type = text_type;
	text->length = nr;
	text->state = width << 2 | COMPACT;
	for (size_t i = 0; i < nr; i++) {
		if (width == 1)
			text->compact.bytes[i] = (unsigned char)characters[i];
		else if (width == 2)
			text->compact.twos[i] = (uint16_t)characters[i];
		else
			text->compact.fours[i] = characters[i];
	}
}

static void put_word(size_t offset, uint64_t word)
{
	memcpy((char *)&code + offset, &word, sizeof(word));
}

static void put_version(uint32_t version)
{
	memcpy((char *)&code + vs_python.layout.code_version, &version, sizeof(version));
}

static int set_up(void **state)
{
	static bool is_ready;
	const uintptr_t base = (uintptr_t)text_type;
	uint32_t first_line = 7;

	(void)state;
	if (!is_ready && vs_python_code_init())
		return -1;
	is_ready = true;
	vs_python_code_clear();
	if (vs_python_layout_get(&vs_python.layout, 0x030b0000, NULL) != VS_PYTHON_KNOWN)
		return -1;
	vs_python.code_type = (uintptr_t)code_type;
	vs_python.text_type = (uintptr_t)text_type;
	vs_python.bytes_type = (uintptr_t)bytes_type;
	memcpy(derived_type + VS_PYTHON_TYPE_BASE, &base, sizeof(base));
	set_ascii(&file, "/home/train.py");
	set_ascii(&name, "step");
	lines = (struct bytes){.type = bytes_type, .size = 100};
	for (int i = 0; i < 300; i++)
		lines.data[i] = (uint8_t)i;
	code = (struct code){.type = code_type};
	put_word(vs_python.layout.code_file, (uintptr_t)&file);
	put_word(vs_python.layout.code_name, (uintptr_t)&name);
	put_word(vs_python.layout.code_lines, (uintptr_t)&lines);
	memcpy((char *)&code + vs_python.layout.code_first_line, &first_line, 4);
	return 0;
}

static struct vs_python_code got;

static bool read_code(void)
{
	return vs_python_code_read(&got, (uintptr_t)&code);
}

static void expect_file(const char *text)
{
	assert_true(read_code());
	assert_int_equal(got.record.file.size, strlen(text));
	assert_memory_equal(got.record.file.bytes, text, strlen(text));
}

static void test_a_code_object_is_read(void **state)
{
	(void)state;
	expect_file("/home/train.py");
	assert_int_equal(got.record.version, 0x030b);
	assert_int_equal(got.record.first_line, 7);
	assert_int_equal(got.record.name.size, 4);
	assert_memory_equal(got.record.name.bytes, "step", 4);
	assert_int_equal(got.record.lines_size, 100);
	assert_memory_equal(got.lines, lines.data, 100);
}

static void test_characters_of_all_widths_become_utf8(void **state)
{
	static const uint32_t latin[] = {'/', 0xfc, 0xff}, two[] = {0x43f, 0x30e1, 0xffff, 'x'},
			      four[] = {0x1f40d, 'y', 0x10ffff, 0x7ff, 0x800};

	(void)state;
	set_wide(&file, latin, 3, 1);
	expect_file("/\xc3\xbc\xc3\xbf");
	set_wide(&file, two, 4, 2);
	expect_file("\xd0\xbf\xe3\x83\xa1\xef\xbf\xbfx");
	set_wide(&file, four, 5, 4);
	expect_file("\xf0\x9f\x90\x8dy\xf4\x8f\xbf\xbf\xdf\xbf\xe0\xa0\x80");
}

static void test_what_is_no_character_is_a_question_mark(void **state)
{
	static const uint32_t lone[] = {0xdc80, 'a', 0xd800}, beyond[] = {0x110000, 'b'};

	(void)state;
	set_wide(&file, lone, 3, 2);
	expect_file("?a?");
	set_wide(&file, beyond, 2, 4);
	expect_file("?b");
}

static void test_long_names_are_cut_between_characters(void **state)
{
	static uint32_t wide[2000];

	(void)state;
	memset(file.ascii, 'x', 5000);
	file.length = 5000;
	assert_true(read_code());
	assert_in_range(got.record.file.size, 4090, 4096);
	for (int i = 0; i < 2000; i++)
		wide[i] = 0x1f40d;
	set_wide(&file, wide, 2000, 4);
	assert_true(read_code());
	assert_int_equal(got.record.file.size % 4, 0);
	assert_in_range(got.record.file.size, 4092, 4096);
}

static void test_a_text_of_a_derived_class_has_its_characters_elsewhere(void **state)
{
	static const char characters[] = "/made/text.py";

	(void)state;
	memset(&file, 0, sizeof(file));
	file.type = derived_type;
	file.length = strlen(characters);
	file.state = 1u << 2 | ASCII;
	file.compact.elsewhere = characters;
	expect_file("/made/text.py");
	file.compact.elsewhere = (const void *)8;
	assert_false(read_code());
}

static void test_what_is_no_code_is_told(void **state)
{
	(void)state;
	assert_false(vs_python_code_read(&got, 8));
	code.type = text_type;
	assert_false(read_code());
	set_up(NULL);
	file.type = bytes_type; /* its base is 0 */
	assert_false(read_code());
	set_up(NULL);
	lines.type = text_type;
	assert_false(read_code());
	set_up(NULL);
	name.state = 3u << 2 | COMPACT;
	assert_false(read_code());
	set_up(NULL);
	put_word(vs_python.layout.code_name, 16);
	assert_false(read_code());
	set_up(NULL);
	assert_true(read_code());
}

static void test_a_table_that_is_too_long_is_left_out(void **state)
{
	(void)state;
	lines.size = VS_PYTHON_LINES_MAX + 1;
	assert_true(read_code());
	assert_int_equal(got.record.lines_size, 0);
	lines.size = 0;
	assert_true(read_code());
	assert_int_equal(got.record.lines_size, 0);
}

static void test_equal_code_has_one_number_wherever_it_lies(void **state)
{
	uint32_t number;

	(void)state;
	assert_true(read_code());
	assert_int_equal(vs_python_code_find(&got), 0);
	number = vs_python_code_new_number();
	assert_int_equal(number, 1);
	vs_python_code_add(&got, number);
	assert_int_equal(vs_python_code_find(&got), number);
	lines.data[99] ^= 1; /* the last byte of its table */
	assert_true(read_code());
	assert_int_equal(vs_python_code_find(&got), 0);
	lines.data[99] ^= 1;
	set_ascii(&name, "stop");
	assert_true(read_code());
	assert_int_equal(vs_python_code_find(&got), 0);
	set_ascii(&name, "step");
	assert_true(read_code());
	assert_int_equal(vs_python_code_find(&got), number);
	vs_python_code_clear();
	assert_int_equal(vs_python_code_find(&got), 0);
}

static void test_numbers_end(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= VS_PYTHON_CODE_MAX; i++)
		assert_int_equal(vs_python_code_new_number(), i);
	assert_int_equal(vs_python_code_new_number(), 0);
	assert_int_equal(vs_python_code_new_number(), 0);
}

/* ---- What a thread remembers --------------------------------------------------------------- */

static struct vs_python_code_memo memo;

static uint32_t recall(uint32_t era)
{
	return vs_python_code_recall(&memo, (uintptr_t)&code, era);
}

static void remember(void)
{
	memset(&memo, 0, sizeof(memo));
	vs_python_code_remember(&memo, (uintptr_t)&code, 1, 5);
	assert_int_equal(recall(1), 5);
}

static void test_a_number_is_remembered_for_its_era(void **state)
{
	(void)state;
	memset(&memo, 0, sizeof(memo));
	assert_int_equal(recall(1), 0);
	remember();
	assert_int_equal(recall(2), 0);
	assert_int_equal(vs_python_code_recall(&memo, (uintptr_t)&code + 16, 1), 0);
}

static void test_other_code_at_the_same_address_is_not_recalled(void **state)
{
	(void)state;
	remember();
	put_word(vs_python.layout.code_name, (uintptr_t)&file);
	assert_int_equal(recall(1), 0);
	set_up(NULL);
	remember();
	lines.size++;
	assert_int_equal(recall(1), 0);
	set_up(NULL);
	remember();
	lines.data[0]++;
	assert_int_equal(recall(1), 0);
	set_up(NULL);
	remember();
	lines.data[99]++;
	assert_int_equal(recall(1), 0);
}

static void test_passing_code_is_compared_as_a_whole(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		set_up(NULL);
		set_ascii(&file, "<string>");
		remember();
		lines.data[i]++;
		assert_int_equal(recall(1), 0);
	}
	set_ascii(&file, "<a 1 aaaaaaaaaaaaaaaa>");
	remember();
	file.ascii[3] = '2';
	assert_int_equal(recall(1), 0);
	set_wide(&file, (const uint32_t[]){'a', 0x43f, 'b'}, 3, 2);
	remember();
	file.compact.twos[2] = 'c';
	assert_int_equal(recall(1), 0);
}

static void test_since_3_12_code_has_a_number_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(vs_python_layout_get(&vs_python.layout, 0x030c0000, NULL),
			 VS_PYTHON_KNOWN);
	put_version(41);
	remember();
	put_version(42);
	assert_int_equal(recall(1), 0);
	/* They may have run out: then it is looked at. */
	put_version(0);
	remember();
	lines.data[0]++;
	assert_int_equal(recall(1), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_code_object_is_read),
		TEST(test_characters_of_all_widths_become_utf8),
		TEST(test_what_is_no_character_is_a_question_mark),
		TEST(test_long_names_are_cut_between_characters),
		TEST(test_a_text_of_a_derived_class_has_its_characters_elsewhere),
		TEST(test_what_is_no_code_is_told),
		TEST(test_a_table_that_is_too_long_is_left_out),
		TEST(test_equal_code_has_one_number_wherever_it_lies),
		TEST(test_numbers_end),
		TEST(test_a_number_is_remembered_for_its_era),
		TEST(test_other_code_at_the_same_address_is_not_recalled),
		TEST(test_passing_code_is_compared_as_a_whole),
		TEST(test_since_3_12_code_has_a_number_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
