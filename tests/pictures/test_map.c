/* Maps made by hand against texts that were read by eye: golden/. VS_UPDATE=1 writes them anew. */
#include "map.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1ull << 20)

/* An arena with holes, a cached segment that is wholly free, memory without a pool. */
static void make_few(struct vs_map_state *map)
{
	vs_map_init(map);
	map->not_taken_bytes = (8192 - 708) * MIB;
	map->live_bytes = 432 * MIB;
	map->reserved_bytes = 708 * MIB;
	assert_int_equal(vs_map_add_segment(map, 0x7f0000000000, 256 * MIB, "arena", true), 0);
	assert_int_equal(vs_map_add_block(map, 0x7f0000000000, 100 * MIB), 0);
	/* 28 MiB free; then small ones with as much between them; then 72 MiB free at the end. */
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(
			vs_map_add_block(map, 0x7f0000000000 + (128 + i * 16) * MIB, 8 * MIB), 0);
	assert_int_equal(vs_map_add_segment(map, 0x7f0010000000, 128 * MIB, "arena", true), 0);
	assert_int_equal(vs_map_add_segment(map, 0x7f0020000000, 300 * MIB, "cudaMalloc", false),
			 0);
	assert_int_equal(vs_map_add_segment(map, 0x7f0040000000, 512, "cudaMallocPitch", false), 0);
}

/* More than can be shown one by one. */
static void make_many(struct vs_map_state *map)
{
	static const char *const labels[] = {"cudaMalloc", "caching pool", "cudaMallocManaged"};
	uint64_t at = 0x7f0000000000;

	vs_map_init(map);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t size = (i % 25 == 0 ? 256 : 2) * MIB;
		bool is_owned = i % 3 == 1;

		assert_int_equal(vs_map_add_segment(map, at, size, labels[i % 3], is_owned), 0);
		if (is_owned)
			assert_int_equal(vs_map_add_block(map, at + size / 4, size / 2), 0);
		map->reserved_bytes += size;
		map->live_bytes += is_owned ? size / 2 : size;
		at += size;
	}
}

static void make_nothing(struct vs_map_state *map)
{
	vs_map_init(map);
	map->not_seen_bytes = 1024 * MIB;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	return text;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static char *put_map(const struct vs_map_state *map, struct vs_text_style *style)
{
	char *text = NULL;
	size_t size;

	style->file = open_memstream(&text, &size);
	assert_int_equal(vs_map_put(map, style), 0);
	fclose(style->file);
	return text;
}

static void check_width(const char *text, const struct vs_text_style *style)
{
	size_t columns = 0;

	for (; *text; text++) {
		if (*text == '\n')
			columns = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			columns++;
		assert_in_range(columns, 0, style->width);
		if (style->is_ascii)
			assert_in_range(*text, '\n', '~');
	}
}

static void expect_golden(void (*make)(struct vs_map_state *), const char *name)
{
	static const unsigned int widths[] = {40, 60, 80, 120, 300};
	struct vs_map_state map;
	char path[PATH_MAX];

	make(&map);
	for (int i = 0; i < 10; i++) {
		struct vs_text_style style = {.width = widths[i / 2], .is_ascii = i % 2};
		char *text = put_map(&map, &style);
		char *expected;

		check_width(text, &style);
		snprintf(path, sizeof(path), "%s/map_%s_%zu%s.txt", getenv("VS_GOLDEN"), name,
			 style.width, style.is_ascii ? "_ascii" : "");
		if (getenv("VS_UPDATE"))
			write_file(path, text);
		expected = read_file(path);
		assert_string_equal(text, expected);
		free(expected);
		free(text);
	}
	vs_map_fini(&map);
}

static void test_few_segments_are_shown_one_by_one(void **state)
{
	(void)state;
	expect_golden(make_few, "few");
}

static void test_many_small_segments_are_put_together(void **state)
{
	(void)state;
	expect_golden(make_many, "many");
}

static void test_nothing_held_is_said(void **state)
{
	(void)state;
	expect_golden(make_nothing, "nothing");
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

/* Two lines of headings stand above it, and the prompt below. */
static void test_nothing_scrolls_away(void **state)
{
	static void (*const make[])(struct vs_map_state *) = {make_few, make_many, make_nothing};

	(void)state;
	for (size_t height = 24; height < 60; height++) {
		for (size_t i = 0; i < 3; i++) {
			struct vs_text_style style = {.width = 40 + 10 * (height % 10)};
			struct vs_map_state map;
			char *text;

			make[i](&map);
			map.height = height;
			text = put_map(&map, &style);
			check_width(text, &style);
			assert_in_range(count_lines(text), 1, height - 3);
			/* However small, every row is there, if only in a sum. */
			if (i == 0)
				assert_non_null(strstr(text, "cudaMalloc"));
			free(text);
			vs_map_fini(&map);
		}
	}
}

static void test_a_tall_terminal_changes_nothing(void **state)
{
	struct vs_text_style style = {.width = 80};
	struct vs_map_state map;
	char *text, *tall;

	(void)state;
	make_many(&map);
	text = put_map(&map, &style);
	map.height = 200;
	tall = put_map(&map, &style);
	assert_string_equal(text, tall);
	free(tall);
	free(text);
	vs_map_fini(&map);
}

static void test_colours_change_nothing_but_colour(void **state)
{
	struct vs_text_style colored = {.width = 80, .has_color = true};
	struct vs_text_style plain = {.width = 80};
	struct vs_map_state map;
	char *text;
	char *expected;
	char *to;

	(void)state;
	make_few(&map);
	text = put_map(&map, &colored);
	expected = put_map(&map, &plain);
	assert_non_null(strchr(text, '\033'));
	to = text;
	for (const char *from = text; *from; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = 0;
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	vs_map_fini(&map);
}

static void test_escapes_in_names_do_not_reach_the_terminal(void **state)
{
	struct vs_text_style style = {.width = 80};
	struct vs_map_state map;
	char *text;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 4096, "bad\033[31mname\n", false), 0);
	text = put_map(&map, &style);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "bad?[31mname?\n"));
	free(text);
	vs_map_fini(&map);
}

static void test_full_disk_is_an_error(void **state)
{
	struct vs_text_style style = {.file = fopen("/dev/full", "w"), .width = 80};
	struct vs_map_state map;

	(void)state;
	make_few(&map);
	assert_non_null(style.file);
	setvbuf(style.file, NULL, _IONBF, 0);
	assert_int_equal(vs_map_put(&map, &style), -VS_ERR_IO);
	fclose(style.file);
	vs_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_segments_are_shown_one_by_one),
		cmocka_unit_test(test_many_small_segments_are_put_together),
		cmocka_unit_test(test_nothing_held_is_said),
		cmocka_unit_test(test_nothing_scrolls_away),
		cmocka_unit_test(test_a_tall_terminal_changes_nothing),
		cmocka_unit_test(test_colours_change_nothing_but_colour),
		cmocka_unit_test(test_escapes_in_names_do_not_reach_the_terminal),
		cmocka_unit_test(test_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
