#include "site_names.h"

#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

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
	assert_true(is_wrapper("void std::vector<int>::_M_fill<int>(int)", "/bin/train", NULL));
	assert_true(is_wrapper("thrust::pair<int, int> thrust::sort<int>(int)", "/bin/x", NULL));
	assert_true(is_wrapper("grow", "/bin/x", "/usr/include/c++/12/bits/vector.tcc"));
	assert_true(is_wrapper("run", "/bin/x", "/usr/include/x86_64-linux-gnu/c++/12/bits/x.h"));
	assert_true(is_wrapper("invoke", "/usr/lib/libstdc++.so.6", NULL));
	assert_false(is_wrapper("std::pair<int, int> load<int>(int)", "/bin/train", NULL));
	assert_false(is_wrapper("Net::run(std::vector<int>)", "/bin/train", "/home/c++/net.cc"));
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

/* Functions of a C++ program, which have no lines. */
__asm__(".text\n"
#define FUNCTION(name) ".type " name ", @function\n" name ": .skip 16, 0xc3\n.size " name ", 16\n"
	"names_start:\n"                      /* in the order of the enum */
	FUNCTION("_ZN12DeviceVectorIcEC1Em")  /* DeviceVector<char>::DeviceVector(unsigned long) */
	FUNCTION("_ZN3net5LayerC2Ei")         /* net::Layer::Layer(int) */
	FUNCTION("_ZN3net5Layer7forwardEv")   /* net::Layer::forward() */
	FUNCTION("_ZNKSt8functionIFviEEclEi") /* std::function<void (int)>::operator()(int) const */
	FUNCTION("_Z3runIPFviEEvT_")          /* void run<void (*)(int)>(void (*)(int)) */
	FUNCTION("_ZlsR3netS0_"));            /* operator<<(net&, net&) */

extern const char names_start[];

enum name {
	VECTOR,
	LAYER,
	FORWARD,
	FUNCTION,
	RUN,
	SHIFT
};

/* Behind the call, where it returns to. */
static uint64_t in(enum name name)
{
	return (uint64_t)(uintptr_t)names_start + 16 * (uint64_t)name + 8;
}

static int find_program(struct dl_phdr_info *info, size_t size, void *record)
{
	struct vs_module *module = record;

	(void)size;
	module->bias = info->dlpi_addr;
	return 1; /* the program is the first */
}

static void expect_function_line(const uint64_t *frames, uint32_t nr_frames, const char *line,
				 const char *short_line)
{
	struct vs_record record = {.type = VS_RECORD_MODULE, .module = {.id = 1}};
	struct vs_site_names *names;
	struct vs_replay *replay;
	struct script script;
	char path[PATH_MAX], text[256];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

	assert_in_range(size, 1, sizeof(path) - 1);
	dl_iterate_phdr(find_program, &record.module);
	record.module.path = (struct vs_text){path, (uint32_t)size};
	record.module.start = record.module.bias;
	record.module.end = (uint64_t)(uintptr_t)names_start + (1 << 20);
	script_init(&script);
	script_add(&script, record);
	script_stack(&script, 1, frames, nr_frames);
	replay = script_replay(&script);
	assert_int_equal(vs_site_names_create(&names, &replay->definitions), 0);
	assert_int_equal(vs_site_names_put(names, replay->definitions.sites[1], VS_NO_ID, text,
					   sizeof(text)),
			 0);
	assert_string_equal(text, line);
	assert_int_equal(vs_site_names_put_short(names, replay->definitions.sites[1], VS_NO_ID,
						 text, sizeof(text)),
			 0);
	assert_string_equal(text, short_line);
	vs_site_names_destroy(names);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_types_in_brackets_are_no_parameters(void **state)
{
	const uint64_t frames[] = {in(FORWARD), in(RUN), in(SHIFT)};

	(void)state;
	expect_function_line(frames, 3, "net::Layer::forward < run<void (*)(int)> < operator<<",
			     "net::Layer::forward");
}

static void test_the_standard_library_is_left_out(void **state)
{
	const uint64_t frames[] = {in(FUNCTION), in(FORWARD), in(FUNCTION), in(RUN)};

	(void)state;
	expect_function_line(frames, 4, "net::Layer::forward < run<void (*)(int)>",
			     "net::Layer::forward");
	/* There is nothing else. */
	expect_function_line(frames, 1, "std::function<void (int)>::operator()",
			     "std::function<void (int)>::operator()");
}

/* All the memory of a program may come from one such line. */
static void test_a_constructor_is_named_with_its_caller(void **state)
{
	const uint64_t frames[] = {in(VECTOR), in(FORWARD), in(RUN)};
	const uint64_t others[] = {in(LAYER), in(RUN), in(SHIFT)};

	(void)state;
	expect_function_line(frames, 3,
			     "DeviceVector<char>::DeviceVector < net::Layer::forward < "
			     "run<void (*)(int)>",
			     "DeviceVector<char>::DeviceVector < net::Layer::forward");
	expect_function_line(others, 2, "net::Layer::Layer < run<void (*)(int)>",
			     "net::Layer::Layer < run<void (*)(int)>");
	expect_function_line(others + 1, 1, "run<void (*)(int)>", "run<void (*)(int)>");
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

/* ---- Python --------------------------------------------------------------------------------- */

static void add_code(struct script *script, uint32_t id, const char *file, const char *name)
{
	/* Without a table every instruction is on the first line: 10 times its number. */
	script_add(script, (struct vs_record){.type = VS_RECORD_CODE,
					      .code = {.id = id,
						       .version = 0x030b,
						       .first_line = 10 * id,
						       .file = {file, (uint32_t)strlen(file)},
						       .name = {name, (uint32_t)strlen(name)}}});
}

/* The line of a stack, of a program that has some code. */
static void expect_line(const uint64_t *stack, uint32_t nr_frames, const char *line,
			const char *short_line)
{
	struct vs_site_names *names;
	struct vs_replay *replay;
	struct script script;
	char text[256];

	script_init(&script);
	script_module(&script, 1, 0x1000, 0x2000, "/nowhere/program");
	add_code(&script, 1, "/data/me/train.py", "step");
	add_code(&script, 2, "/data/me/train.py", "<module>");
	add_code(&script, 3, "/venv/lib/python3.11/site-packages/torch/nn/linear.py",
		 "Linear.forward");
	add_code(&script, 4, "/venv/lib/python3.11/site-packages/torch/nn/module.py", "call");
	script_stack(&script, 1, stack, nr_frames);
	replay = script_replay(&script);
	assert_int_equal(vs_site_names_create(&names, &replay->definitions), 0);
	assert_int_equal(vs_site_names_put(names, replay->definitions.sites[1], VS_NO_ID, text,
					   sizeof(text)),
			 0);
	assert_string_equal(text, line);
	assert_int_equal(vs_site_names_put_short(names, replay->definitions.sites[1], VS_NO_ID,
						 text, sizeof(text)),
			 0);
	assert_string_equal(text, short_line);
	vs_site_names_destroy(names);
	vs_replay_destroy(replay);
	script_fini(&script);
}

#define PYTHON(code) vs_frame_make_python(code, 0)

static void test_of_a_stack_with_python_only_that_is_shown(void **state)
{
	const uint64_t stack[] = {0x1100, PYTHON(1), 0x1200, PYTHON(2), 0x1300};

	(void)state;
	expect_line(stack, 5, "train.py:10 step < train.py:20 <module>", "train.py:10 step");
}

static void test_libraries_alone_are_shown_as_they_are(void **state)
{
	const uint64_t stack[] = {0x1100, PYTHON(3), PYTHON(4), 0x1200};

	(void)state;
	expect_line(stack, 4, "linear.py:30 Linear.forward < module.py:40 call",
		    "linear.py:30 Linear.forward");
}

static void test_links_are_named(void **state)
{
	const uint64_t one[] = {0x1100, vs_frame_make_link(VS_LINK_BACKWARD), PYTHON(1), PYTHON(2)};
	const uint64_t several[] = {0x1100, vs_frame_make_link(VS_LINK_SEVERAL)};

	(void)state;
	expect_line(one, 4, "backward of train.py:10 step < train.py:20 <module>",
		    "backward of train.py:10 step");
	expect_line(several, 2, "backward() of one out of several threads",
		    "backward() of one out of several threads");
}

static void test_code_that_was_not_recorded_is_said(void **state)
{
	const uint64_t stack[] = {PYTHON(77), PYTHON(2)};

	(void)state;
	expect_line(stack, 2, "(Python code that was not recorded) < train.py:20 <module>",
		    "(Python code that was not recorded)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuda_and_allocating_functions_are_wrappers),
		cmocka_unit_test(test_site_without_symbols_shows_module_and_offset),
		cmocka_unit_test(test_types_in_brackets_are_no_parameters),
		cmocka_unit_test(test_the_standard_library_is_left_out),
		cmocka_unit_test(test_a_constructor_is_named_with_its_caller),
		cmocka_unit_test(test_long_line_is_cut_to_its_room),
		cmocka_unit_test(test_of_a_stack_with_python_only_that_is_shown),
		cmocka_unit_test(test_libraries_alone_are_shown_as_they_are),
		cmocka_unit_test(test_links_are_named),
		cmocka_unit_test(test_code_that_was_not_recorded_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
