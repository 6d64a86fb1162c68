#include "category.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- Frames --------------------------------------------------------------------------------- */

#define ALLOCATOR "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(int)"
#define STORAGE   "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)"
#define ENGINE    "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>)"
#define SITE      "/lib/python3/site-packages"

static void read_native(struct vs_category_traits *traits, const char *function)
{
	vs_category_read_frame(traits, &(struct vs_symbol){.function = function}, false);
}

static void read_python(struct vs_category_traits *traits, const char *file, const char *function)
{
	vs_category_read_frame(traits, &(struct vs_symbol){.function = function, .file = file},
			       true);
}

/* A tensor that the line of Python asked for through a function of torch. */
static struct vs_category_traits make_traits(const char *binding, const char *file,
					     const char *function)
{
	struct vs_category_traits traits = {0};

	read_native(&traits, ALLOCATOR);
	read_native(&traits, STORAGE);
	read_native(&traits, "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)");
	if (binding)
		read_native(&traits, binding);
	if (file)
		read_python(&traits, file, function);
	read_python(&traits, "/me/train.py", "main");
	return traits;
}

static struct vs_category_traits make_module(const char *function)
{
	return make_traits("torch::autograd::THPVariable_linear(_object*, _object*)",
			   SITE "/torch/nn/modules/module.py", function);
}

static struct vs_category_traits make_input(const char *binding)
{
	return make_traits(binding, NULL, NULL);
}

static struct vs_category_traits make_backward(void)
{
	struct vs_category_traits traits = {0};

	read_native(&traits, ALLOCATOR);
	read_native(&traits, STORAGE);
	read_native(&traits, "torch::autograd::generated::MmBackward0::apply(int)");
	read_native(&traits, ENGINE);
	return traits;
}

static void test_place_is_that_of_the_innermost_python_frame_that_has_one(void **state)
{
	struct vs_category_traits traits;

	(void)state;
	assert_int_equal(make_module("Module._call_impl").place, VS_PLACE_FORWARD);
	assert_int_equal(make_module("_call_impl").place, VS_PLACE_FORWARD); /* before 3.11 */
	assert_int_equal(make_module("Module._apply").place, VS_PLACE_INIT);
	assert_int_equal(make_module("Module.register_hook").place, VS_PLACE_UNKNOWN);
	assert_int_equal(make_module("Module.my_forward_impl").place, VS_PLACE_UNKNOWN);
	traits = make_traits(NULL, SITE "/torch/optim/adamw.py", "AdamW._init_group");
	assert_int_equal(traits.place, VS_PLACE_OPTIMIZER);
	/* A closure: what the optimizer calls is a forward pass all the same. */
	traits = make_module("Module._wrapped_call_impl");
	read_python(&traits, SITE "/torch/optim/lbfgs.py", "LBFGS.step");
	assert_int_equal(traits.place, VS_PLACE_FORWARD);
	traits = make_traits(NULL, SITE "/torch/nn/functional.py", "gelu");
	assert_int_equal(traits.place, VS_PLACE_FORWARD);
	traits = make_traits(NULL, SITE "/torch/nn/init.py", "kaiming_uniform_");
	assert_int_equal(traits.place, VS_PLACE_INIT);
	traits = make_traits(NULL, "/me/optim/adam.py", "forward");
	assert_int_equal(traits.place, VS_PLACE_UNKNOWN);
}

static void test_who_called_backward_does_not_matter(void **state)
{
	struct vs_category_traits traits = make_backward();

	(void)state;
	read_python(&traits, SITE "/torch/optim/lbfgs.py", "LBFGS.step");
	assert_int_equal(traits.place, VS_PLACE_BACKWARD);
	assert_false(traits.is_recomputed);
}

static void test_module_called_in_backward_is_recomputed(void **state)
{
	struct vs_category_traits traits = {0};

	(void)state;
	read_native(&traits, ALLOCATOR);
	read_native(&traits, STORAGE);
	read_python(&traits, SITE "/torch/nn/modules/linear.py", "Linear.forward");
	read_native(&traits, ENGINE);
	assert_int_equal(traits.place, VS_PLACE_BACKWARD);
	assert_true(traits.is_recomputed);
}

static void test_factories_are_what_python_called(void **state)
{
	static const struct {
		const char *binding;
		bool is_factory;
	} cases[] = {
		{"torch::autograd::THPVariable_randn(_object*, _object*, _object*)", true},
		{"torch::autograd::THPVariable_randint(_object*)", true},
		{"torch::autograd::THPVariable_to(_object*, _object*, _object*)", true},
		{"torch::autograd::THPVariable_cuda(_object*)", true},
		{"torch::autograd::THPVariable_zeros(_object*)", true},
		{"torch::autograd::THPVariable_zeros_like(_object*)", false},
		{"torch::autograd::THPVariable_topk(_object*)", false},
		{"torch::autograd::THPVariable_linear(_object*)", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(make_input(cases[i].binding).is_factory, cases[i].is_factory);
}

/* ---- Lives ---------------------------------------------------------------------------------- */

#define NO_HISTORY (&(struct vs_category_history){0})

/* Uses go on all the time: one for each half. */
static struct vs_category_life make_life(uint32_t birth, uint32_t death)
{
	return (struct vs_category_life){
		.birth = {birth, birth},
		.death = {death, death},
		.end = {100, 100},
		.is_freed = true,
	};
}

static void assert_category(const struct vs_category_traits *traits, uint32_t birth, uint32_t death,
			    enum vs_category category)
{
	struct vs_category_life life = make_life(birth, death);

	assert_string_equal(vs_category_get_name(vs_category_decide(traits, &life, NO_HISTORY)),
			    vs_category_get_name(category));
}

static void test_what_survives_its_backward_pass_is_a_gradient(void **state)
{
	struct vs_category_traits traits = make_backward();

	(void)state;
	assert_category(&traits, 3, 4, VS_CATEGORY_GRADIENT);
	assert_category(&traits, 3, 9, VS_CATEGORY_GRADIENT);
	assert_category(&traits, 3, 3, VS_CATEGORY_TEMPORARY);
	traits.is_recomputed = true;
	assert_category(&traits, 3, 3, VS_CATEGORY_ACTIVATION);
}

static void test_what_a_module_makes_and_backward_needs_is_an_activation(void **state)
{
	struct vs_category_traits traits = make_module("Module._call_impl");

	(void)state;
	assert_category(&traits, 2, 3, VS_CATEGORY_ACTIVATION);
	assert_category(&traits, 2, 8, VS_CATEGORY_ACTIVATION); /* kept, by a list of losses */
	assert_category(&traits, 2, 2, VS_CATEGORY_TEMPORARY);
	/* Another thread's, made while a pass was under way, and gone with it. */
	assert_category(&traits, 3, 4, VS_CATEGORY_TEMPORARY);
}

static void test_what_an_optimizer_keeps_is_its_state(void **state)
{
	struct vs_category_traits traits =
		make_traits(NULL, SITE "/torch/optim/adamw.py", "AdamW._init_group");

	(void)state;
	assert_category(&traits, 2, 50, VS_CATEGORY_OPTIMIZER);
	assert_category(&traits, 2, 2, VS_CATEGORY_TEMPORARY);
}

static void test_parameters_are_there_when_a_module_is_called(void **state)
{
	struct vs_category_traits traits = make_module("Module._apply");
	struct vs_category_life life = make_life(0, 0);

	(void)state;
	assert_category(&traits, 0, 50, VS_CATEGORY_PARAMETER);
	assert_category(&traits, 0, 0, VS_CATEGORY_TEMPORARY); /* .cuda().half() */
	life.death.uses = 1;                                   /* nothing is trained */
	assert_int_equal(vs_category_decide(&traits, &life, NO_HISTORY), VS_CATEGORY_PARAMETER);
	life = make_life(0, 0);
	life.end.uses = 0; /* it does not even fit */
	assert_int_equal(vs_category_decide(&traits, &life, NO_HISTORY), VS_CATEGORY_PARAMETER);
}

static void test_inputs_are_made_for_one_pass(void **state)
{
	struct vs_category_traits traits =
		make_input("torch::autograd::THPVariable_to(_object*, _object*)");

	(void)state;
	assert_category(&traits, 2, 4, VS_CATEGORY_INPUT);
	assert_category(&traits, 2, 2, VS_CATEGORY_TEMPORARY);
	assert_category(&traits, 2, 5, VS_CATEGORY_UNCLEAR); /* kept for another one */
	traits = make_input("torch::autograd::THPVariable_add(_object*, _object*)");
	assert_category(&traits, 2, 4, VS_CATEGORY_UNCLEAR);
}

static void test_memory_of_no_tensor_is_a_workspace(void **state)
{
	struct vs_category_traits traits = {0};

	(void)state;
	read_native(&traits, ALLOCATOR);
	read_native(&traits, "at::cuda::getCurrentCUDABlasHandle(bool)");
	assert_category(&traits, 2, 50, VS_CATEGORY_WORKSPACE);
	read_native(&traits, "THCPModule_cudaCachingAllocator_raw_alloc(_object*, _object*)");
	assert_category(&traits, 2, 50, VS_CATEGORY_UNCLEAR);
}

static void test_without_names_or_stacks_all_is_unclear(void **state)
{
	struct vs_category_traits traits = {0};

	(void)state;
	assert_category(&traits, 2, 3, VS_CATEGORY_UNCLEAR);
	read_native(&traits, "libc10_cuda.so+0x1234");
	assert_category(&traits, 2, 2, VS_CATEGORY_UNCLEAR);
}

static void test_buckets_of_a_reducer_hold_gradients(void **state)
{
	struct vs_category_traits traits = {0};

	(void)state;
	read_native(&traits, ALLOCATOR);
	read_native(&traits, STORAGE);
	read_native(&traits, "c10d::Reducer::initialize_buckets(std::vector<int>&&)");
	assert_category(&traits, 2, 50, VS_CATEGORY_GRADIENT);
}

/* ---- History -------------------------------------------------------------------------------- */

static void assert_category_by_history(const struct vs_category_traits *traits,
				       struct vs_category_history history, uint32_t half,
				       enum vs_category category)
{
	struct vs_category_life life = make_life(half, half);

	life.is_freed = false;
	assert_int_equal(vs_category_decide(traits, &life, &history), category);
}

static void test_open_end_is_judged_by_those_that_went_before(void **state)
{
	struct vs_category_traits backward = make_backward();
	struct vs_category_traits forward = make_module("Module._call_impl");
	struct vs_category_traits input =
		make_input("torch::autograd::THPVariable_to(_object*, _object*)");
	struct vs_category_history all_long = {.nr_long = 5}, all_short = {.nr_short = 5},
				   both = {.nr_short = 5, .nr_long = 5},
				   kept = {.nr_long = 5, .nr_kept = 5};

	(void)state;
	assert_category_by_history(&backward, all_long, 3, VS_CATEGORY_GRADIENT);
	assert_category_by_history(&backward, all_short, 3, VS_CATEGORY_TEMPORARY);
	assert_category_by_history(&backward, both, 3, VS_CATEGORY_UNCLEAR);
	assert_category_by_history(&backward, *NO_HISTORY, 3, VS_CATEGORY_UNCLEAR);
	assert_category_by_history(&forward, all_long, 2, VS_CATEGORY_ACTIVATION);
	assert_category_by_history(&input, all_long, 2, VS_CATEGORY_INPUT);
	assert_category_by_history(&input, kept, 2, VS_CATEGORY_UNCLEAR);
}

static void test_history_counts_lives(void **state)
{
	struct vs_category_traits traits =
		make_input("torch::autograd::THPVariable_to(_object*, _object*)");
	struct vs_category_history history = {0};
	struct vs_category_life life = make_life(2, 2);

	(void)state;
	vs_category_note_life(&history, &traits, &life);
	life.is_freed = false; /* an exception took it */
	vs_category_note_life(&history, &traits, &life);
	assert_int_equal(history.nr_short, 0); /* nobody knows whether a pass will come */
	assert_int_equal(history.nr_waiting, 1);
	life = make_life(2, 4);
	vs_category_note_life(&history, &traits, &life);
	life = make_life(2, 6);
	vs_category_note_life(&history, &traits, &life);
	life = make_life(4, 4); /* one came */
	vs_category_note_life(&history, &traits, &life);
	assert_int_equal(history.nr_short, 1);
	assert_int_equal(history.nr_waiting, 1);
	assert_int_equal(history.nr_long, 2);
	assert_int_equal(history.nr_kept, 1);
}

static void test_behind_the_last_pass_only_history_tells(void **state)
{
	struct vs_category_traits input =
		make_input("torch::autograd::THPVariable_to(_object*, _object*)");
	struct vs_category_traits forward = make_module("Module._call_impl");
	struct vs_category_history history = {0}, before = {.nr_short = 3};
	struct vs_category_life life = make_life(8, 8);

	(void)state;
	life.end = (struct vs_category_clock){8, 100};
	vs_category_note_life(&history, &input, &life);
	assert_int_equal(vs_category_decide(&input, &life, &history), VS_CATEGORY_UNCLEAR);
	assert_int_equal(vs_category_decide(&forward, &life, &history), VS_CATEGORY_UNCLEAR);
	assert_int_equal(vs_category_decide(&input, &life, &before), VS_CATEGORY_TEMPORARY);
	life.end.half = 9;
	assert_int_equal(vs_category_decide(&input, &life, &history), VS_CATEGORY_TEMPORARY);
}

static void test_without_any_pass_modules_make_activations(void **state)
{
	struct vs_category_traits input =
		make_input("torch::autograd::THPVariable_to(_object*, _object*)");
	struct vs_category_traits forward = make_module("Module._call_impl");
	struct vs_category_life life = {.end = {0, 7}, .is_freed = true};

	(void)state;
	assert_int_equal(vs_category_decide(&forward, &life, NO_HISTORY), VS_CATEGORY_ACTIVATION);
	assert_int_equal(vs_category_decide(&input, &life, NO_HISTORY), VS_CATEGORY_UNCLEAR);
}

static void test_each_category_has_its_names(void **state)
{
	int i, k;

	(void)state;
	for (i = 0; i < VS_NR_CATEGORIES; i++) {
		assert_non_null(vs_category_get_plural((enum vs_category)i));
		for (k = 0; k < i; k++)
			assert_string_not_equal(vs_category_get_name((enum vs_category)i),
						vs_category_get_name((enum vs_category)k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place_is_that_of_the_innermost_python_frame_that_has_one),
		cmocka_unit_test(test_who_called_backward_does_not_matter),
		cmocka_unit_test(test_module_called_in_backward_is_recomputed),
		cmocka_unit_test(test_factories_are_what_python_called),
		cmocka_unit_test(test_what_survives_its_backward_pass_is_a_gradient),
		cmocka_unit_test(test_what_a_module_makes_and_backward_needs_is_an_activation),
		cmocka_unit_test(test_what_an_optimizer_keeps_is_its_state),
		cmocka_unit_test(test_parameters_are_there_when_a_module_is_called),
		cmocka_unit_test(test_inputs_are_made_for_one_pass),
		cmocka_unit_test(test_memory_of_no_tensor_is_a_workspace),
		cmocka_unit_test(test_without_names_or_stacks_all_is_unclear),
		cmocka_unit_test(test_buckets_of_a_reducer_hold_gradients),
		cmocka_unit_test(test_open_end_is_judged_by_those_that_went_before),
		cmocka_unit_test(test_history_counts_lives),
		cmocka_unit_test(test_behind_the_last_pass_only_history_tells),
		cmocka_unit_test(test_without_any_pass_modules_make_activations),
		cmocka_unit_test(test_each_category_has_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
