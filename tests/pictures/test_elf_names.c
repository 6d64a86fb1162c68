/* Made by hand, and of the programs of build_shapes.sh. */
#include "elf_names.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shape_run.h"

/* ---- By hand -------------------------------------------------------------------------------- */

static void make_names(struct vs_elf_names *names, const struct vs_elf_name *list, size_t nr)
{
	names->names = calloc(nr ? nr : 1, sizeof(*list));
	assert_non_null(names->names);
	memcpy(names->names, list, nr * sizeof(*list));
	names->nr_names = names->nr_room = nr;
	vs_elf_names_sort(names);
}

#define MAKE(names, list) make_names(names, list, sizeof(list) / sizeof((list)[0]))

static void assert_found(const struct vs_elf_names *names, uint64_t address, const char *expected)
{
	const char *found = vs_elf_names_find(names, address);

	if (!expected) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, expected);
}

static void test_function_answers_from_its_first_byte_to_its_last(void **state)
{
	static const struct vs_elf_name list[] = {
		{0x300, 0x380, "c"}, {0x100, 0x180, "a"}, {0x180, 0x200, "b"}};
	struct vs_elf_names names = {0};

	(void)state;
	MAKE(&names, list);
	assert_found(&names, 0, NULL);
	assert_found(&names, 0xff, NULL);
	assert_found(&names, 0x100, "a");
	assert_found(&names, 0x17f, "a");
	assert_found(&names, 0x180, "b");
	assert_found(&names, 0x1ff, "b");
	assert_found(&names, 0x200, NULL); /* nobody's */
	assert_found(&names, 0x300, "c");
	assert_found(&names, 0x380, NULL);
	assert_found(&names, UINT64_MAX, NULL);
	vs_elf_names_fini(&names);
}

static void test_function_without_a_size_ends_where_the_next_begins(void **state)
{
	static const struct vs_elf_name list[] = {
		{0x100, 0x100, "start"}, {0x200, 0x240, "main"}, {0x300, 0x300, "last"}};
	struct vs_elf_names names = {0};

	(void)state;
	MAKE(&names, list);
	assert_found(&names, 0x100, "start");
	assert_found(&names, 0x1ff, "start");
	assert_found(&names, 0x200, "main");
	assert_found(&names, 0x240, NULL);
	assert_found(&names, 0x300, NULL); /* it may be of any length */
	vs_elf_names_fini(&names);
}

static void test_of_several_names_the_one_that_covers_most_is_taken(void **state)
{
	static const struct vs_elf_name list[] = {{0x100, 0x200, "whole"},
						  {0x100, 0x100, "label"},
						  {0x100, 0x120, "part"},
						  {0x200, 0x220, "next"}};
	struct vs_elf_names names = {0};

	(void)state;
	MAKE(&names, list);
	assert_found(&names, 0x100, "whole");
	assert_found(&names, 0x1ff, "whole");
	assert_found(&names, 0x200, "next");
	vs_elf_names_fini(&names);
}

static void test_no_names_find_nothing(void **state)
{
	struct vs_elf_names names = {0};

	(void)state;
	vs_elf_names_sort(&names);
	assert_found(&names, 0, NULL);
	assert_found(&names, 0x1000, NULL);
	vs_elf_names_fini(&names);
}

/* ---- Of files ------------------------------------------------------------------------------- */

struct opened {
	struct vs_elf_names names;
	Elf *elf;
	int fd;
};

static void open_path(struct opened *opened, const char *path)
{
	*opened = (struct opened){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	assert_true(opened->fd >= 0);
	elf_version(EV_CURRENT);
	opened->elf = elf_begin(opened->fd, ELF_C_READ, NULL);
	assert_non_null(opened->elf);
	assert_int_equal(vs_elf_names_add(&opened->names, opened->elf), 0);
	vs_elf_names_sort(&opened->names);
}

static void open_shape(struct opened *opened, const char *name)
{
	char path[PATH_MAX];

	open_path(opened, shape_run_get_path(path, name));
}

static void close_opened(struct opened *opened)
{
	vs_elf_names_fini(&opened->names);
	elf_end(opened->elf);
	close(opened->fd);
}

static bool has_name(const struct vs_elf_names *names, const char *name)
{
	for (size_t i = 0; i < names->nr_names; i++)
		if (strcmp(names->names[i].name, name) == 0)
			return true;
	return false;
}

static void test_symbol_table_has_functions_that_are_here_and_nothing_else(void **state)
{
	struct opened opened;

	(void)state;
	open_shape(&opened, "table");
	assert_true(has_name(&opened.names, "main"));
	assert_true(has_name(&opened.names, "plain")); /* static */
	assert_false(has_name(&opened.names, "printf"));
	assert_false(has_name(&opened.names, "shapes_program.c"));
	assert_false(has_name(&opened.names, "_IO_stdin_used"));
	for (size_t i = 0; i < opened.names.nr_names; i++) {
		assert_true(opened.names.names[i].start > 0);
		assert_true(*opened.names.names[i].name);
	}
	close_opened(&opened);
}

static void test_addresses_of_the_program_have_the_names_it_says(void **state)
{
	static struct shape_run run;
	struct opened opened;

	(void)state;
	shape_run_read(&run, "table");
	open_shape(&opened, "table");
	for (int i = 0; i < run.nr_probes; i++) {
		/* "inner at a.h:1 < outer at b.c:2": without DWARF the outermost is known. */
		char *function = run.probes[i].expected;

		while (strstr(function, " < "))
			function = strstr(function, " < ") + 3;
		*strstr(function, " at ") = 0;
		assert_found(&opened.names, run.probes[i].pc - 1 - run.modules[0].record.bias,
			     function);
	}
	close_opened(&opened);
}

static void test_stripped_library_has_what_it_exports(void **state)
{
	struct opened opened;

	(void)state;
	open_shape(&opened, "libbare.so");
	assert_true(has_name(&opened.names, "library_entry"));
	assert_false(has_name(&opened.names, "hidden"));
	close_opened(&opened);
}

static void test_file_without_symbols_has_no_names(void **state)
{
	char path[] = P_tmpdir "/test_elf_names-XXXXXX";
	int fd = mkstemp(path);
	struct opened opened;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no ELF at all", 13), 13);
	close(fd);
	open_path(&opened, path);
	assert_int_equal(opened.names.nr_names, 0);
	close_opened(&opened);
	unlink(path);
}

static void test_names_of_several_files_are_put_together(void **state)
{
	struct opened opened, more;

	(void)state;
	open_shape(&opened, "libbare.so");
	open_shape(&more, "table");
	assert_int_equal(vs_elf_names_add(&opened.names, more.elf), 0);
	vs_elf_names_sort(&opened.names);
	assert_true(has_name(&opened.names, "library_entry"));
	assert_true(has_name(&opened.names, "main"));
	close_opened(&opened);
	close_opened(&more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function_answers_from_its_first_byte_to_its_last),
		cmocka_unit_test(test_function_without_a_size_ends_where_the_next_begins),
		cmocka_unit_test(test_of_several_names_the_one_that_covers_most_is_taken),
		cmocka_unit_test(test_no_names_find_nothing),
		cmocka_unit_test(test_symbol_table_has_functions_that_are_here_and_nothing_else),
		cmocka_unit_test(test_addresses_of_the_program_have_the_names_it_says),
		cmocka_unit_test(test_stripped_library_has_what_it_exports),
		cmocka_unit_test(test_file_without_symbols_has_no_names),
		cmocka_unit_test(test_names_of_several_files_are_put_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
