#include "site_names.h"

#include <string.h>

#include "script.h"

static bool is_wrapper(const char *function, const char *module, const char *file)
{
	struct vs_symbol symbol = {.function = function, .module = module, .file = file};

	return vs_site_names_is_wrapper(&symbol);
}

static void test_cuda_and_allocating_functions_are_wrappers(void **state)
{
	(void)state;
	assert_true(is_wrapper("anything", "/usr/lib/libcudart.so.13", NULL));
	assert_true(is_wrapper("pool_alloc", "/bin/train", "pool.c"));
	assert_true(is_wrapper("my::Pool::Allocate(unsigned long)", "/bin/train", NULL));
	assert_true(is_wrapper("xmalloc", "/bin/train", NULL));
	assert_true(is_wrapper("c10::CUDACachingAllocator::get(int)", "/bin/train", NULL));
	assert_true(is_wrapper("cudaMalloc<float>(float**, unsigned long)", "/bin/train",
			       "/opt/cuda/include/cuda_runtime.h"));
	assert_false(is_wrapper("forward", "/bin/train", "train.c"));
	assert_false(is_wrapper("allocate_weights", "/bin/train", "train.c"));
	assert_false(is_wrapper("load(Allocator const&)", "/bin/train", "train.c"));
	assert_false(is_wrapper("main", "/opt/libcudas/train", "train.c"));
}

static void test_site_without_symbols_shows_module_and_offset(void **state)
{
	static const uint64_t frames[] = {0x5000, 0x1234};
	struct vs_site_names *names;
	struct vs_replay *replay;
	struct script script;
	char text[256];

	(void)state;
	script_init(&script);
	script_name(&script, 9, "cudaMalloc");
	script_module(&script, 1, 0x1000, 0x2000, "/nowhere/program");
	script_module(&script, 2, 0x4000, 0x6000, "/nowhere/libcudart.so.13");
	script_stack(&script, 1, frames, 2);
	replay = script_replay(&script);
	assert_int_equal(vs_site_names_create(&names, &replay->definitions), 0);
	assert_int_equal(
		vs_site_names_put(names, replay->definitions.sites[1], 9, text, sizeof(text)), 0);
	assert_ptr_equal(strstr(text, "program+0x"), text); /* the runtime's frame is left out */
	assert_null(strstr(text, "cudart"));
	assert_int_equal(
		vs_site_names_put(names, replay->definitions.sites[0], 9, text, sizeof(text)), 0);
	assert_string_equal(text, "cudaMalloc (no stack recorded)");
	vs_site_names_destroy(names);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_long_line_is_cut_to_its_room(void **state)
{
	static const uint64_t frames[] = {0x1111, 0x1222, 0x1333};
	struct vs_site_names *names;
	struct vs_replay *replay;
	struct script script;
	char text[16];

	(void)state;
	script_init(&script);
	script_module(&script, 1, 0x1000, 0x2000, "/nowhere/program");
	script_stack(&script, 1, frames, 3);
	replay = script_replay(&script);
	assert_int_equal(vs_site_names_create(&names, &replay->definitions), 0);
	assert_int_equal(vs_site_names_put(names, replay->definitions.sites[1], VS_NO_ID, text,
					   sizeof(text)),
			 0);
	assert_int_equal(strlen(text), 15);
	vs_site_names_destroy(names);
	vs_replay_destroy(replay);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuda_and_allocating_functions_are_wrappers),
		cmocka_unit_test(test_site_without_symbols_shows_module_and_offset),
		cmocka_unit_test(test_long_line_is_cut_to_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
