#include "one_pass.h"

#include <string.h>

#include "device_state.h"
#include "script.h"
#include "steps.h"

#define BASE    ((uint64_t)0x10000000)
#define MODULES "/lib/python3/site-packages/torch/nn/modules/"

/* Stacks of the program, by their innermost line. */
enum {
	LINEAR = 1, /* two lines of a layer that is called */
	NORM,
	MOVED, /* parameters */
	OWN,   /* the program itself */
	BACKWARD,
};

static void add_code(struct script *script, uint32_t id, const char *file, const char *name)
{
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_CODE,
				   .code = {.id = id,
					    .version = 0x030b,
					    .file = {file, (uint32_t)strlen(file)},
					    .name = {name, (uint32_t)strlen(name)}},
			   });
}

/* The script keeps no copy. */
static uint64_t called[3], normed[3], moved[2], alone[1], backward[3];

static void add_stacks(struct script *script, bool has_backward)
{
	uint64_t own = vs_frame_make_python(4, 7);

	called[0] = vs_frame_make_python(1, 10);
	normed[0] = vs_frame_make_python(1, 20);
	called[1] = normed[1] = vs_frame_make_python(2, 5);
	moved[0] = vs_frame_make_python(3, 5);
	backward[0] = 0x1234;
	backward[1] = vs_frame_make_link(VS_LINK_BACKWARD);
	called[2] = normed[2] = moved[1] = alone[0] = backward[2] = own;
	add_code(script, 1, MODULES "linear.py", "Linear.forward");
	add_code(script, 2, MODULES "module.py", "Module._call_impl");
	add_code(script, 3, MODULES "module.py", "Module._apply");
	add_code(script, 4, "/me/train.py", "<module>");
	script_stack(script, LINEAR, called, 3);
	script_stack(script, NORM, normed, 3);
	script_stack(script, MOVED, moved, 2);
	script_stack(script, OWN, alone, 1);
	if (has_backward)
		script_stack(script, BACKWARD, backward, 3);
}

/* What becomes of layers that are called one behind the other. */
struct pass {
	uint32_t nr_layers;
	uint32_t own_of;   /* one layer of so many comes with a request of the program's; 0: none */
	bool gives_back;   /* most of what a layer asks for */
	bool has_backward; /* at the end, for the first time */
	bool is_marked;
};

static uint64_t take(struct script *script, uint32_t stack, uint64_t size)
{
	static uint64_t address;

	address += BASE;
	script_set_stack(script, stack);
	script_alloc(script, VS_MEMORY_DEVICE, address, size);
	return address;
}

static bool may_be_pass(const struct pass *pass)
{
	const struct vs_replay_device *device;
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;
	bool is_pass;

	script_init(&script);
	script_device(&script, 0, 1000 * GIB);
	add_stacks(&script, pass->has_backward);
	for (uint32_t i = 0; i < pass->nr_layers; i++)
		take(&script, MOVED, 500);
	take(&script, OWN, 900);
	for (uint32_t i = 0; i < pass->nr_layers; i++) {
		uint64_t large = take(&script, LINEAR, 40000);

		if (pass->is_marked)
			script_step(&script, i);
		if (pass->own_of && i % pass->own_of == 0)
			script_free(&script, VS_MEMORY_DEVICE, take(&script, OWN, 100));
		take(&script, NORM, 3000);
		script_free(&script, VS_MEMORY_DEVICE, take(&script, NORM, 700));
		if (pass->gives_back)
			script_free(&script, VS_MEMORY_DEVICE, large);
	}
	if (pass->has_backward)
		script_free(&script, VS_MEMORY_DEVICE, take(&script, BACKWARD, 100));
	script_analyse(&script, &analysis);
	assert_int_equal(vs_steps_derive(&analysis, false), 0);
	device = script_get_device(analysis.replay);
	assert_int_equal(vs_device_state_sum_retained(&retained, &analysis, device), 0);
	assert_true(retained.growth.is_growing); /* whatever it is, it looks like that */
	is_pass = retained.may_be_pass;
	assert_false(retained.may_load); /* nobody loads by calling modules */
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	return is_pass;
}

static void test_layers_that_are_alike_may_be_one_pass(void **state)
{
	(void)state;
	assert_true(may_be_pass(&(struct pass){.nr_layers = 40}));
	/* Now and then something else is asked for. */
	assert_true(may_be_pass(&(struct pass){.nr_layers = 40, .own_of = 8}));
}

static void test_a_loop_of_the_program_is_none(void **state)
{
	(void)state;
	assert_false(may_be_pass(&(struct pass){.nr_layers = 40, .own_of = 1}));
}

static void test_what_is_mostly_given_back_is_none(void **state)
{
	(void)state;
	assert_false(may_be_pass(&(struct pass){.nr_layers = 40, .gives_back = true}));
}

static void test_behind_a_backward_pass_there_is_none(void **state)
{
	(void)state;
	assert_false(may_be_pass(&(struct pass){.nr_layers = 40, .has_backward = true}));
}

static void test_steps_that_are_marked_are_none(void **state)
{
	(void)state;
	assert_false(may_be_pass(&(struct pass){.nr_layers = 40, .is_marked = true}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers_that_are_alike_may_be_one_pass),
		cmocka_unit_test(test_a_loop_of_the_program_is_none),
		cmocka_unit_test(test_what_is_mostly_given_back_is_none),
		cmocka_unit_test(test_behind_a_backward_pass_there_is_none),
		cmocka_unit_test(test_steps_that_are_marked_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
