/* Programs that say themselves what their addresses mean: shapes.h, built by build_shapes.sh. */
#include "dwarf_lines.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "demangle.h"
#include "elf_names.h"
#include "shape_run.h"

#define FRAMES_MAX 16

struct opened {
	struct vs_dwarf_lines *lines;
	Elf *elf;
	int fd;
};

static void open_lines(struct opened *opened, const char *name)
{
	char path[PATH_MAX];

	opened->fd = open(shape_run_get_path(path, name), O_RDONLY | O_CLOEXEC);
	assert_true(opened->fd >= 0);
	elf_version(EV_CURRENT);
	opened->elf = elf_begin(opened->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(opened->elf);
	opened->lines = vs_dwarf_lines_create(opened->elf);
}

static void close_lines(struct opened *opened)
{
	vs_dwarf_lines_destroy(opened->lines);
	elf_end(opened->elf);
	close(opened->fd);
}

/* "inner at a.h:1 < outer at b.c:2", files without their folders. */
static void describe(const struct vs_dwarf_frame *frames, int nr, char text[1024])
{
	size_t used = 0;

	for (int i = 0; i < nr; i++) {
		const char *file = frames[i].file ? strrchr(frames[i].file, '/') : NULL;
		char *name;

		assert_non_null(frames[i].name);
		assert_non_null(frames[i].file);
		name = vs_demangle_name(frames[i].name);
		used += (size_t)snprintf(text + used, 1024 - used, "%s%s at %s:%u", i ? " < " : "",
					 name ? name : frames[i].name,
					 file ? file + 1 : frames[i].file, frames[i].line);
		assert_true(used < 1024);
		free(name);
	}
	text[used] = '\0';
}

/* The first `max` of a list like that. */
static void cut_expected(char *text, int max)
{
	for (; text; max--) {
		text = strstr(text, max == 1 ? " < " : "< ");
		if (text && max == 1)
			*text = '\0';
		if (text)
			text += 2;
	}
}

static void expect_all(const char *name, int max)
{
	static struct shape_run run;
	struct vs_dwarf_frame frames[FRAMES_MAX];
	struct opened opened;
	char text[1024];

	shape_run_read(&run, name);
	open_lines(&opened, name);
	assert_non_null(opened.lines);
	for (int i = 0; i < run.nr_probes; i++) {
		/* The call, not what is behind it. */
		int nr = vs_dwarf_lines_find(opened.lines,
					     run.probes[i].pc - 1 - run.modules[0].record.bias,
					     frames, max);

		if (!nr && strstr(name, "library"))
			continue; /* of the library */
		assert_in_range(nr, 1, max);
		describe(frames, nr, text);
		cut_expected(run.probes[i].expected, max);
		assert_string_equal(text, run.probes[i].expected);
	}
	close_lines(&opened);
}

static void test_every_kind_of_dwarf_gives_functions_and_lines(void **state)
{
	static const char *const names[] = {"pie",        "fixed", "dwarf4", "split",
					    "compressed", "noid",  "library"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect_all(names[i], FRAMES_MAX);
}

static void test_dwarf_of_clang_without_address_ranges_is_read(void **state)
{
	(void)state;
	if (!shape_run_has("clang")) {
		print_message("there is no clang\n");
		skip();
	}
	expect_all("clang", FRAMES_MAX);
}

/* DWARF has names without their namespaces where the linker has none: only the places count. */
static void test_functions_in_namespaces_classes_and_functions_are_found(void **state)
{
	static struct shape_run run;
	struct vs_dwarf_frame frames[FRAMES_MAX];
	struct opened opened;

	(void)state;
	if (!shape_run_has("classes")) {
		print_message("there is no compiler for C++\n");
		skip();
	}
	shape_run_read(&run, "classes");
	open_lines(&opened, "classes");
	assert_non_null(opened.lines);
	for (int i = 0; i < run.nr_probes; i++) {
		uint64_t address = run.probes[i].pc - 1 - run.modules[0].record.bias;
		int nr = vs_dwarf_lines_find(opened.lines, address, frames, FRAMES_MAX);
		const char *expected = run.probes[i].expected;

		assert_in_range(nr, 1, FRAMES_MAX);
		for (int k = 0; k < nr; k++) {
			char place[64];

			snprintf(place, sizeof(place), " at classes.cc:%u", frames[k].line);
			expected = strstr(expected, place);
			assert_non_null(expected);
			expected += strlen(place);
		}
		assert_string_equal(expected, ""); /* all of them */
	}
	close_lines(&opened);
}

static void test_when_there_is_less_room_the_innermost_are_given(void **state)
{
	(void)state;
	for (int max = 1; max < 4; max++)
		expect_all("pie", max);
}

static void test_file_without_dwarf_has_no_lines(void **state)
{
	static const char *const names[] = {"table", "nothing", "libbare.so"};
	struct opened opened;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		open_lines(&opened, names[i]);
		assert_null(opened.lines);
		close_lines(&opened);
	}
}

static void test_addresses_of_nobody_have_no_function(void **state)
{
	static const uint64_t addresses[] = {0, 1, 0x10, 0xffffffff, UINT64_MAX};
	struct vs_dwarf_frame frames[FRAMES_MAX];
	struct opened opened;

	(void)state;
	open_lines(&opened, "pie");
	assert_non_null(opened.lines);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		assert_int_equal(
			vs_dwarf_lines_find(opened.lines, addresses[i], frames, FRAMES_MAX), 0);
	close_lines(&opened);
}

/* Functions start at round addresses; between them lies nothing. */
static void test_gap_behind_a_function_is_not_its(void **state)
{
	struct vs_dwarf_frame frames[FRAMES_MAX];
	struct vs_elf_names names = {0};
	struct opened opened;
	int nr_gaps = 0;

	(void)state;
	open_lines(&opened, "pie");
	assert_int_equal(vs_elf_names_add(&names, opened.elf), 0);
	vs_elf_names_sort(&names);
	for (size_t i = 0; i < names.nr_names; i++) {
		uint64_t start = names.names[i].start, end = names.names[i].end;

		if (end == start || vs_elf_names_find(&names, end))
			continue;
		if (!vs_dwarf_lines_find(opened.lines, start, frames, FRAMES_MAX))
			continue; /* of the C library's start files */
		assert_int_equal(vs_dwarf_lines_find(opened.lines, end, frames, FRAMES_MAX), 0);
		nr_gaps++;
	}
	assert_int_not_equal(nr_gaps, 0);
	vs_elf_names_fini(&names);
	close_lines(&opened);
}

/* ---- Damage --------------------------------------------------------------------------------- */

struct image {
	char *bytes;
	size_t size;
};

static void read_image(struct image *image, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	FILE *file = fopen(shape_run_get_path(path, name), "rb");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	image->size = (size_t)st.st_size;
	image->bytes = malloc(image->size);
	assert_non_null(image->bytes);
	assert_int_equal(fread(image->bytes, 1, image->size, file), image->size);
	fclose(file);
}

/* Where the DWARF lies in the file: sections whose names begin with .debug, from the first on. */
static void find_debug(const struct image *image, size_t *start, size_t *end)
{
	Elf *elf = elf_memory(image->bytes, image->size);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	*start = SIZE_MAX;
	*end = 0;
	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		assert_non_null(gelf_getshdr(section, &header));
		if (strncmp(elf_strptr(elf, names, header.sh_name), ".debug", 6) != 0)
			continue;
		*start = header.sh_offset < *start ? header.sh_offset : *start;
		*end = header.sh_offset + header.sh_size > *end ? header.sh_offset + header.sh_size
								: *end;
	}
	assert_true(*start < *end && *end <= image->size);
	elf_end(elf);
}

/* Asks for everything, and believes nothing but that it ends and that texts are texts. */
static void ask_damaged(struct image *image, uint64_t first, uint64_t last)
{
	struct vs_dwarf_frame frames[FRAMES_MAX];
	Elf *elf = elf_memory(image->bytes, image->size);
	struct vs_dwarf_lines *lines = elf ? vs_dwarf_lines_create(elf) : NULL;

	for (uint64_t address = first; lines && address < last; address += 7) {
		int nr = vs_dwarf_lines_find(lines, address, frames, FRAMES_MAX);

		assert_in_range(nr, 0, FRAMES_MAX);
		for (int i = 0; i < nr; i++) {
			assert_true(!frames[i].name || strlen(frames[i].name) < image->size);
			assert_true(!frames[i].file || strlen(frames[i].file) < 65536);
		}
	}
	vs_dwarf_lines_destroy(lines);
	elf_end(elf);
}

static void test_damaged_dwarf_does_no_harm(void **state)
{
	static struct shape_run run;
	struct image image, copy;
	size_t start, end;
	unsigned int seed = 1;
	uint64_t middle;

	(void)state;
	elf_version(EV_CURRENT);
	shape_run_read(&run, "dwarf4");
	middle = run.probes[0].pc - run.modules[0].record.bias;
	read_image(&image, "dwarf4");
	find_debug(&image, &start, &end);
	copy = (struct image){malloc(image.size), image.size};
	assert_non_null(copy.bytes);
	for (int round = 0; round < 300; round++) {
		int nr_hits = 1 + rand_r(&seed) % 20;

		memcpy(copy.bytes, image.bytes, image.size);
		for (int i = 0; i < nr_hits; i++)
			copy.bytes[start + (size_t)rand_r(&seed) % (end - start)] =
				(char)rand_r(&seed);
		ask_damaged(&copy, middle - 300, middle + 300);
	}
	/* And cut, anywhere. */
	for (size_t size = image.size; size > 64; size -= size / 20) {
		memcpy(copy.bytes, image.bytes, image.size);
		copy.size = size;
		ask_damaged(&copy, middle - 300, middle + 300);
	}
	free(copy.bytes);
	free(image.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_dwarf_gives_functions_and_lines),
		cmocka_unit_test(test_dwarf_of_clang_without_address_ranges_is_read),
		cmocka_unit_test(test_functions_in_namespaces_classes_and_functions_are_found),
		cmocka_unit_test(test_when_there_is_less_room_the_innermost_are_given),
		cmocka_unit_test(test_file_without_dwarf_has_no_lines),
		cmocka_unit_test(test_addresses_of_nobody_have_no_function),
		cmocka_unit_test(test_gap_behind_a_function_is_not_its),
		cmocka_unit_test(test_damaged_dwarf_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
