/* Programs that say themselves what their addresses mean: shapes.h, built by build_shapes.sh. */
#include "symbols.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "module_file.h"
#include "shape_run.h"

/* A program that has run: its modules are in symbols. */
struct shape {
	struct vs_symbols *symbols;
	struct shape_run run;
};

static void run_shape(struct shape *shape, const char *name)
{
	shape_run_read(&shape->run, name);
	shape->symbols = vs_symbols_create();
	assert_non_null(shape->symbols);
	for (uint32_t i = 0; i < shape->run.nr_modules; i++)
		assert_int_equal(
			vs_symbols_add_module(shape->symbols, &shape->run.modules[i].record), 0);
}

static void end_shape(struct shape *shape)
{
	vs_symbols_destroy(shape->symbols);
	vs_module_file_set_debug_folder(NULL);
}

/* "inner at a.h:1 < outer at b.c:2", files without their folders. */
static void describe(struct vs_symbols *symbols, uint64_t pc, char *text, size_t size)
{
	struct vs_symbol frames[VS_SYMBOLS_FRAMES_MAX];
	int nr = vs_symbols_resolve(symbols, pc, frames, VS_SYMBOLS_FRAMES_MAX);
	size_t used = 0;

	assert_in_range(nr, 1, VS_SYMBOLS_FRAMES_MAX);
	for (int i = 0; i < nr; i++) {
		const char *file = frames[i].file ? strrchr(frames[i].file, '/') : NULL;

		assert_int_equal(frames[i].is_inlined, i < nr - 1);
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " < " : "",
					 frames[i].function);
		if (frames[i].file)
			used += (size_t)snprintf(text + used, size - used, " at %s:%u",
						 file ? file + 1 : frames[i].file, frames[i].line);
		assert_true(used < size);
	}
}

static void expect_all(const char *name)
{
	struct shape shape;
	char text[1024];

	run_shape(&shape, name);
	for (int i = 0; i < shape.run.nr_probes; i++) {
		describe(shape.symbols, shape.run.probes[i].pc, text, sizeof(text));
		assert_string_equal(text, shape.run.probes[i].expected);
	}
	assert_null(vs_symbols_get_notice(shape.symbols, 0));
	end_shape(&shape);
}

/* What is left without DWARF of "f at a.c:1 < g at b.c:2": "g", the function that was compiled. */
static void expect_functions_only(const char *name)
{
	struct shape shape;
	char text[1024];

	run_shape(&shape, name);
	for (int i = 0; i < shape.run.nr_probes; i++) {
		char *function = shape.run.probes[i].expected;

		while (strstr(function, " < "))
			function = strstr(function, " < ") + 3;
		*strstr(function, " at ") = 0;
		describe(shape.symbols, shape.run.probes[i].pc, text, sizeof(text));
		assert_string_equal(text, function);
	}
	end_shape(&shape);
}

static void test_position_independent_program_has_lines_and_inlined_frames(void **state)
{
	(void)state;
	expect_all("pie");
}

static void test_program_at_fixed_address_has_lines_and_inlined_frames(void **state)
{
	(void)state;
	expect_all("fixed");
}

static void test_older_split_and_compressed_dwarf_are_read(void **state)
{
	(void)state;
	expect_all("dwarf4");
	expect_all("split");
	expect_all("compressed");
}

static void test_dwarf_of_clang_without_address_ranges_is_read(void **state)
{
	(void)state;
	if (!shape_run_has("clang")) {
		print_message("there is no clang\n");
		skip();
	}
	expect_all("clang");
}

static void test_shared_library_has_lines(void **state)
{
	(void)state;
	expect_all("library");
}

static void test_cpp_names_are_demangled(void **state)
{
	(void)state;
	if (!shape_run_has("classes")) {
		print_message("there is no compiler for C++\n");
		skip();
	}
	expect_all("classes");
	expect_functions_only("classes_table");
}

static void test_without_dwarf_the_symbol_table_names_functions(void **state)
{
	(void)state;
	expect_functions_only("table");
}

static void test_debug_file_is_found_by_build_id(void **state)
{
	char path[PATH_MAX];

	(void)state;
	vs_module_file_set_debug_folder(shape_run_get_path(path, "debug"));
	expect_all("separate");
}

static void test_stripped_program_gives_module_and_offset(void **state)
{
	struct shape shape;
	char text[1024];

	(void)state;
	run_shape(&shape, "nothing");
	for (int i = 0; i < shape.run.nr_probes; i++) {
		unsigned long offset;
		char end;

		describe(shape.symbols, shape.run.probes[i].pc, text, sizeof(text));
		assert_int_equal(sscanf(text, "nothing+0x%lx%c", &offset, &end), 1);
		assert_int_equal(offset & 0xfff, shape.run.probes[i].pc & 0xfff);
	}
	end_shape(&shape);
}

static void test_stripped_library_names_what_it_exports(void **state)
{
	struct shape shape;
	char text[1024];
	int nr_exported = 0;

	(void)state;
	run_shape(&shape, "bare");
	for (int i = 0; i < shape.run.nr_probes; i++) {
		describe(shape.symbols, shape.run.probes[i].pc, text, sizeof(text));
		if (strncmp(shape.run.probes[i].expected, "library_entry", 13) == 0) {
			assert_string_equal(text, "library_entry");
			nr_exported++;
		}
		if (strncmp(shape.run.probes[i].expected, "hidden", 6) == 0)
			assert_memory_equal(text, "libbare.so+0x", 13);
	}
	assert_int_equal(nr_exported, 1);
	end_shape(&shape);
}

static void copy_file(const char *from, const char *to)
{
	char command[2 * PATH_MAX + 40];

	/* A new file: the old one may still be mapped. */
	snprintf(command, sizeof(command), "cp --remove-destination '%s' '%s'", from, to);
	assert_int_equal(system(command), 0);
}

static void test_changed_file_is_not_used_and_said_once(void **state)
{
	char changed[PATH_MAX];
	char other[PATH_MAX];
	char expected[PATH_MAX + 32];
	struct shape shape;
	char text[1024];

	(void)state;
	copy_file(shape_run_get_path(other, "fixed"), shape_run_get_path(changed, "changed"));
	run_shape(&shape, "changed");
	copy_file(shape_run_get_path(other, "dwarf4"), changed);
	for (int i = 0; i < shape.run.nr_probes; i++) {
		describe(shape.symbols, shape.run.probes[i].pc, text, sizeof(text));
		assert_memory_equal(text, "changed+0x", 10);
	}
	snprintf(expected, sizeof(expected), "%s changed since the run", changed);
	assert_string_equal(vs_symbols_get_notice(shape.symbols, 0), expected);
	assert_null(vs_symbols_get_notice(shape.symbols, 1));
	end_shape(&shape);
}

static void test_program_without_build_id_is_used(void **state)
{
	(void)state;
	expect_all("noid");
}

static void test_file_that_is_gone_leaves_module_and_offset(void **state)
{
	static const struct vs_module module = {
		.id = 1,
		.start = 0x10000,
		.end = 0x20000,
		.bias = 0x10000,
		.path = {.bytes = "/nonexistent/libgone.so", .size = 23},
	};
	struct vs_symbols *symbols = vs_symbols_create();
	struct vs_symbol frame;

	(void)state;
	assert_int_equal(vs_symbols_add_module(symbols, &module), 0);
	assert_int_equal(vs_symbols_resolve(symbols, 0x11234, &frame, 1), 1);
	assert_string_equal(frame.function, "libgone.so+0x1234");
	assert_null(frame.file);
	assert_string_equal(frame.module, "/nonexistent/libgone.so");
	assert_string_equal(vs_symbols_get_notice(symbols, 0),
			    "/nonexistent/libgone.so cannot be read: its functions have no names");
	vs_symbols_destroy(symbols);
}

static void test_address_outside_every_module_is_a_number(void **state)
{
	struct vs_symbols *symbols = vs_symbols_create();
	struct vs_symbol frame;

	(void)state;
	assert_int_equal(vs_symbols_resolve(symbols, 0xabc, &frame, 1), 1);
	assert_string_equal(frame.function, "0xabc");
	assert_null(frame.module);
	assert_int_equal(vs_symbols_resolve(symbols, 0, &frame, 1), 1);
	assert_string_equal(frame.function, "0x0");
	vs_symbols_destroy(symbols);
}

static void add_named(struct vs_symbols *symbols, uint32_t id, const char *path)
{
	struct vs_module module = {
		.id = id,
		.start = 0x10000,
		.end = 0x20000,
		.path = {.bytes = path, .size = (uint32_t)strlen(path)},
	};

	assert_int_equal(vs_symbols_add_module(symbols, &module), 0);
}

static void test_answer_follows_the_modules_that_come_and_go(void **state)
{
	struct vs_symbols *symbols = vs_symbols_create();
	struct vs_symbol frame;

	(void)state;
	add_named(symbols, 1, "first");
	assert_int_equal(vs_symbols_resolve(symbols, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "first+0x10001");
	/* Behind its end by one: a return address may be that of the last instruction. */
	assert_int_equal(vs_symbols_resolve(symbols, 0x20000, &frame, 1), 1);
	assert_string_equal(frame.function, "first+0x20000");

	vs_symbols_end_module(symbols, 1);
	assert_int_equal(vs_symbols_resolve(symbols, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "first+0x10001");

	add_named(symbols, 2, "second");
	assert_int_equal(vs_symbols_resolve(symbols, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "second+0x10001");

	vs_symbols_end_module(symbols, 2);
	add_named(symbols, 3, "third");
	vs_symbols_end_module(symbols, 7); /* never heard of */
	assert_int_equal(vs_symbols_resolve(symbols, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "third+0x10001");

	/* Whoever knows the module is not misled by its successors. */
	assert_int_equal(vs_symbols_resolve_in(symbols, 1, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "first+0x10001");
	assert_int_equal(vs_symbols_resolve_in(symbols, 3, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "third+0x10001");
	assert_int_equal(vs_symbols_resolve_in(symbols, VS_NO_ID, 0x10001, &frame, 1), 1);
	assert_string_equal(frame.function, "0x10001");
	vs_symbols_destroy(symbols);
}

static void test_fewer_frames_than_asked_are_cut_from_outside(void **state)
{
	struct vs_symbol frame = {0};
	struct shape shape;

	(void)state;
	run_shape(&shape, "pie");
	for (int i = 0; i < shape.run.nr_probes; i++) {
		assert_int_equal(
			vs_symbols_resolve(shape.symbols, shape.run.probes[i].pc, &frame, 1), 1);
		assert_memory_equal(frame.function, shape.run.probes[i].expected,
				    strlen(frame.function));
	}
	end_shape(&shape);
}

static void test_many_addresses_keep_their_answers(void **state)
{
	struct vs_symbols *symbols = vs_symbols_create();
	struct vs_symbol frame;
	char expected[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint64_t pc = 1; pc <= 5000; pc++) {
			assert_int_equal(vs_symbols_resolve(symbols, pc * 16, &frame, 1), 1);
			snprintf(expected, sizeof(expected), "0x%lx", pc * 16);
			assert_string_equal(frame.function, expected);
		}
	}
	vs_symbols_destroy(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_position_independent_program_has_lines_and_inlined_frames),
		cmocka_unit_test(test_program_at_fixed_address_has_lines_and_inlined_frames),
		cmocka_unit_test(test_older_split_and_compressed_dwarf_are_read),
		cmocka_unit_test(test_dwarf_of_clang_without_address_ranges_is_read),
		cmocka_unit_test(test_shared_library_has_lines),
		cmocka_unit_test(test_cpp_names_are_demangled),
		cmocka_unit_test(test_without_dwarf_the_symbol_table_names_functions),
		cmocka_unit_test(test_debug_file_is_found_by_build_id),
		cmocka_unit_test(test_stripped_program_gives_module_and_offset),
		cmocka_unit_test(test_stripped_library_names_what_it_exports),
		cmocka_unit_test(test_changed_file_is_not_used_and_said_once),
		cmocka_unit_test(test_program_without_build_id_is_used),
		cmocka_unit_test(test_file_that_is_gone_leaves_module_and_offset),
		cmocka_unit_test(test_address_outside_every_module_is_a_number),
		cmocka_unit_test(test_answer_follows_the_modules_that_come_and_go),
		cmocka_unit_test(test_fewer_frames_than_asked_are_cut_from_outside),
		cmocka_unit_test(test_many_addresses_keep_their_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
