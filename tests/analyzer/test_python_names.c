#include "python_names.h"

#include <string.h>

#include "script.h"

static const uint8_t table[] = {0x80 | 11 << 3 | 7, 1, 2};

static void add_code(struct vs_definitions *definitions, uint32_t id, const char *file,
		     const char *name)
{
	struct vs_record code = {.type = VS_RECORD_CODE,
				 .code = {.id = id,
					  .version = 0x030b,
					  .first_line = 40,
					  .lines_size = sizeof(table),
					  .file = {file, (uint32_t)strlen(file)},
					  .name = {name, (uint32_t)strlen(name)}}};
	struct vs_record lines = {
		.type = VS_RECORD_CODE_LINES,
		.code_lines = {.id = id, .bytes = {(const char *)table, sizeof(table)}}};

	assert_int_equal(vs_definitions_add(definitions, &code), 0);
	assert_int_equal(vs_definitions_add(definitions, &lines), 0);
}

static void test_a_frame_of_python_has_file_line_and_name(void **state)
{
	struct vs_definitions definitions;
	struct vs_symbol symbol;

	(void)state;
	assert_int_equal(vs_definitions_init(&definitions), 0);
	add_code(&definitions, 3, "/home/train.py", "Model.step");
	vs_python_names_resolve(&definitions, vs_frame_make_python(3, 2), &symbol);
	assert_int_equal(symbol.kind, VS_SYMBOL_PYTHON);
	assert_string_equal(symbol.file, "/home/train.py");
	assert_string_equal(symbol.function, "Model.step");
	assert_int_equal(symbol.line, 41);
	vs_python_names_resolve(&definitions, vs_frame_make_python(3, UINT32_MAX), &symbol);
	assert_int_equal(symbol.line, 40);
	vs_definitions_fini(&definitions);
}

static void test_code_that_is_not_known_says_so(void **state)
{
	struct vs_definitions definitions;
	struct vs_symbol symbol;

	(void)state;
	assert_int_equal(vs_definitions_init(&definitions), 0);
	vs_python_names_resolve(&definitions, vs_frame_make_python(0, 2), &symbol);
	assert_string_equal(symbol.function, "(Python code that was not recorded)");
	assert_null(symbol.file);
	vs_python_names_resolve(&definitions, vs_frame_make_python(77, 2), &symbol);
	assert_int_equal(symbol.kind, VS_SYMBOL_PYTHON);
	assert_null(symbol.file);
	vs_definitions_fini(&definitions);
}

static void test_links_say_whose_work_it_was(void **state)
{
	struct vs_definitions definitions;
	struct vs_symbol symbol;

	(void)state;
	assert_int_equal(vs_definitions_init(&definitions), 0);
	vs_python_names_resolve(&definitions, vs_frame_make_link(VS_LINK_BACKWARD), &symbol);
	assert_int_equal(symbol.kind, VS_SYMBOL_LINK);
	assert_string_equal(symbol.function, "backward() of another thread");
	vs_python_names_resolve(&definitions, vs_frame_make_link(VS_LINK_SEVERAL), &symbol);
	assert_string_equal(symbol.function, "backward() of one out of several threads");
	vs_python_names_resolve(&definitions, UINT64_C(0xf) << 60 | 5, &symbol);
	assert_string_equal(symbol.function, "(a frame of a later version)");
	vs_definitions_fini(&definitions);
}

static void test_an_operation_has_name_region_and_type(void **state)
{
	struct vs_record name = {.type = VS_RECORD_NAME, .name = {.id = 5, .text = {"MatMul", 6}}};
	struct vs_definitions definitions;
	struct vs_symbol symbol;

	(void)state;
	assert_int_equal(vs_definitions_init(&definitions), 0);
	assert_int_equal(vs_definitions_add(&definitions, &name), 0);
	name.name = (struct vs_name){.id = 6, .text = {"output", 6}};
	assert_int_equal(vs_definitions_add(&definitions, &name), 0);
	vs_python_names_resolve(&definitions, vs_frame_make_op(5, 6, 19), &symbol);
	assert_int_equal(symbol.kind, VS_SYMBOL_OP);
	assert_string_equal(symbol.function, "MatMul");
	assert_string_equal(symbol.file, "output");
	assert_string_equal(symbol.type, "float16");
	vs_python_names_resolve(&definitions, vs_frame_make_op(5, VS_NO_ID, 0), &symbol);
	assert_null(symbol.file);
	assert_null(symbol.type);
	vs_definitions_fini(&definitions);
}

static bool is_library(const char *file)
{
	struct vs_symbol symbol = {.kind = VS_SYMBOL_PYTHON, .function = "f", .file = file};

	return vs_python_names_is_library(&symbol);
}

static void test_installed_python_is_not_the_users_own(void **state)
{
	(void)state;
	assert_true(is_library("/data/me/venv/lib/python3.11/site-packages/torch/nn/linear.py"));
	assert_true(is_library("/usr/lib/python3/dist-packages/numpy/core.py"));
	assert_true(is_library("/usr/lib/python3.11/threading.py"));
	assert_true(is_library("<frozen importlib._bootstrap>"));
	assert_false(is_library("/data/me/train.py"));
	assert_false(is_library("train.py"));
	assert_false(is_library("<string>"));
	assert_false(is_library(NULL));
}

static void test_our_own_callbacks_are_known(void **state)
{
	struct vs_symbol symbol = {.file = "/opt/lib/vramscope/python/vramscope_imports.py"};

	(void)state;
	assert_true(vs_python_names_is_hook(&symbol));
	symbol.file = "/data/me/not_vramscope_imports.py";
	assert_false(vs_python_names_is_hook(&symbol));
	symbol.file = "x.py";
	assert_false(vs_python_names_is_hook(&symbol));
	symbol.file = NULL;
	assert_false(vs_python_names_is_hook(&symbol));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_of_python_has_file_line_and_name),
		cmocka_unit_test(test_code_that_is_not_known_says_so),
		cmocka_unit_test(test_links_say_whose_work_it_was),
		cmocka_unit_test(test_an_operation_has_name_region_and_type),
		cmocka_unit_test(test_installed_python_is_not_the_users_own),
		cmocka_unit_test(test_our_own_callbacks_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
