#include "definitions.h"

#include <string.h>

#include "script.h"

static const uint64_t frames_a[] = {0x1010, 0x2020};
static const uint64_t frames_b[] = {0x1010, 0x2021};

static void define(struct vs_definitions *definitions, const struct script *script)
{
	size_t i;

	assert_int_equal(vs_definitions_init(definitions), 0);
	for (i = 0; i < script->nr_records; i++)
		assert_int_equal(vs_definitions_add(definitions, &script->records[i]), 0);
}

static void test_equal_stacks_under_two_numbers_are_one_site(void **state)
{
	struct vs_definitions definitions;
	struct script script;

	(void)state;
	script_init(&script);
	script_stack(&script, 1, frames_a, 2);
	script_stack(&script, 2, frames_b, 2);
	script_stack(&script, 3, frames_a, 2);
	script_stack(&script, 4, frames_a, 1);
	define(&definitions, &script);
	assert_ptr_equal(vs_definitions_get_site(&definitions, 1),
			 vs_definitions_get_site(&definitions, 3));
	assert_ptr_not_equal(vs_definitions_get_site(&definitions, 1),
			     vs_definitions_get_site(&definitions, 2));
	assert_int_equal(definitions.nr_sites, 4);
	assert_int_equal(vs_definitions_get_site(&definitions, 4)->nr_frames, 1);
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static void test_same_addresses_in_another_module_are_another_site(void **state)
{
	struct vs_definitions definitions;
	struct script script;
	const struct vs_site *before, *after;

	(void)state;
	script_init(&script);
	script_module(&script, 1, 0x1000, 0x3000, "/lib/old.so");
	script_stack(&script, 1, frames_a, 2);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {1}});
	script_module(&script, 2, 0x1000, 0x3000, "/lib/new.so");
	script_stack(&script, 2, frames_a, 2);
	define(&definitions, &script);
	before = vs_definitions_get_site(&definitions, 1);
	after = vs_definitions_get_site(&definitions, 2);
	assert_ptr_not_equal(before, after);
	assert_string_equal(before->frames[0].module->path, "/lib/old.so");
	assert_string_equal(after->frames[0].module->path, "/lib/new.so");
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static void add_module(struct script *script, uint32_t id, uint64_t start, uint8_t build_id)
{
	static const char path[] = "/lib/plugin.so";
	struct vs_module module = {.id = id,
				   .start = start,
				   .end = start + 0x2000,
				   .bias = start,
				   .path = {path, sizeof(path) - 1},
				   .build_id = {build_id},
				   .build_id_size = build_id ? 20 : 0};

	script_add(script, (struct vs_record){.type = VS_RECORD_MODULE, .module = module});
}

/* A plugin that is loaded again and again: its line is one, wherever it lies. */
static void test_a_library_that_is_loaded_again_has_the_same_sites(void **state)
{
	static const uint64_t first[] = {0x1100}, second[] = {0x7100};
	struct vs_definitions definitions;
	struct script script;

	(void)state;
	script_init(&script);
	add_module(&script, 1, 0x1000, 9);
	script_stack(&script, 1, first, 1);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {1}});
	add_module(&script, 2, 0x7000, 9);
	script_stack(&script, 2, second, 1);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {2}});
	add_module(&script, 3, 0x1000, 8); /* it was built anew */
	script_stack(&script, 3, first, 1);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {3}});
	add_module(&script, 4, 0x1000, 0); /* nobody knows what it is */
	script_stack(&script, 4, first, 1);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {4}});
	add_module(&script, 5, 0x1000, 0);
	script_stack(&script, 5, first, 1);
	define(&definitions, &script);
	assert_ptr_equal(vs_definitions_get_site(&definitions, 1),
			 vs_definitions_get_site(&definitions, 2));
	for (uint32_t i = 3; i <= 5; i++)
		assert_ptr_not_equal(vs_definitions_get_site(&definitions, i - 1),
				     vs_definitions_get_site(&definitions, i));
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static void test_stack_that_was_not_defined_is_the_site_without_frames(void **state)
{
	struct vs_definitions definitions;
	struct script script;

	(void)state;
	script_init(&script);
	script_stack(&script, 1, NULL, 0);
	define(&definitions, &script);
	assert_int_equal(vs_definitions_get_site(&definitions, 77)->index, 0);
	assert_int_equal(vs_definitions_get_site(&definitions, 1)->index, 0);
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static void test_names_are_copied_and_the_first_one_stays(void **state)
{
	struct vs_definitions definitions;
	struct script script;
	char text[] = "forward";

	(void)state;
	script_init(&script);
	script_name(&script, 3, text);
	define(&definitions, &script);
	text[0] = 'x';
	assert_string_equal(vs_definitions_get_name(&definitions, 3), "forward");
	assert_int_equal(vs_definitions_add(&definitions, &script.records[0]), 0);
	assert_string_equal(vs_definitions_get_name(&definitions, 3), "forward");
	assert_null(vs_definitions_get_name(&definitions, 4));
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static struct vs_record make_code(uint32_t id, const char *name, uint32_t lines_size)
{
	return (struct vs_record){.type = VS_RECORD_CODE,
				  .code = {.id = id,
					   .version = 0x030b,
					   .first_line = 5,
					   .lines_size = lines_size,
					   .file = {"train.py", 8},
					   .name = {name, (uint32_t)strlen(name)}}};
}

static struct vs_record make_lines(uint32_t id, uint32_t offset, const char *bytes, uint32_t size)
{
	return (struct vs_record){
		.type = VS_RECORD_CODE_LINES,
		.code_lines = {.id = id, .offset = offset, .bytes = {bytes, size}}};
}

static void test_code_is_copied_and_its_table_put_together(void **state)
{
	const struct vs_definition_code *code;
	struct vs_definitions definitions;
	struct script script;

	(void)state;
	script_init(&script);
	script_add(&script, make_code(4, "step", 5));
	script_add(&script, make_lines(4, 0, "abc", 3));
	script_add(&script, make_lines(4, 3, "de", 2));
	script_add(&script, make_code(4, "other", 1)); /* the first one stays */
	define(&definitions, &script);
	code = vs_definitions_get_code(&definitions, 4);
	assert_string_equal(code->name, "step");
	assert_string_equal(code->file, "train.py");
	assert_int_equal(code->first_line, 5);
	assert_int_equal(code->version, 0x030b);
	assert_int_equal(code->lines_size, 5);
	assert_memory_equal(code->lines, "abcde", 5);
	assert_null(vs_definitions_get_code(&definitions, 5));
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

static void test_damaged_tables_are_left_out(void **state)
{
	const struct vs_definition_code *code;
	struct vs_definitions definitions;
	struct script script;

	(void)state;
	script_init(&script);
	script_add(&script, make_code(4, "step", 4));
	script_add(&script, make_lines(9, 0, "abc", 3));          /* of no code */
	script_add(&script, make_lines(4, 2, "abc", 3));          /* one byte too many */
	script_add(&script, make_lines(4, 5, "a", 1));            /* behind the end */
	script_add(&script, make_lines(4, UINT32_MAX, "abc", 3)); /* far behind it */
	script_add(&script, make_lines(4, 4, "", 0));
	script_add(&script, make_lines(4, 1, "xy", 2));
	script_add(&script, make_code(5, "huge", UINT32_MAX));
	script_add(&script, make_lines(5, 0, "abc", 3));
	define(&definitions, &script);
	code = vs_definitions_get_code(&definitions, 4);
	assert_memory_equal(code->lines, "\0xy\0", 4);
	assert_int_equal(vs_definitions_get_code(&definitions, 5)->lines_size, 0);
	vs_definitions_fini(&definitions);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_under_two_numbers_are_one_site),
		cmocka_unit_test(test_same_addresses_in_another_module_are_another_site),
		cmocka_unit_test(test_a_library_that_is_loaded_again_has_the_same_sites),
		cmocka_unit_test(test_stack_that_was_not_defined_is_the_site_without_frames),
		cmocka_unit_test(test_names_are_copied_and_the_first_one_stays),
		cmocka_unit_test(test_code_is_copied_and_its_table_put_together),
		cmocka_unit_test(test_damaged_tables_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
