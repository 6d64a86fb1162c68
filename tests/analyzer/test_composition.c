#include "composition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/* ---- Functions that bear the names of PyTorch's --------------------------------------------- */

/* Without DWARF, which would tell their names in C. */
#define NAMED(function, symbol)                                                                  \
	void function(void) __asm__(symbol);                                                     \
	__asm__(".section .text.named, \"ax\", @progbits\n"                                      \
		".globl " symbol "\n.type " symbol ", @function\n" symbol ": ret\n.size " symbol \
		", .-" symbol "\n.text\n")

NAMED(allocate_block, "_ZN3c104cuda20CUDACachingAllocator6mallocEi");
NAMED(make_storage, "_ZN2at6detail13empty_genericEi");
NAMED(run_engine, "_ZN5torch8autograd6Engine11thread_mainERi");
NAMED(make_workspace, "_ZN2at4cuda24getCurrentCUDABlasHandleEv");
NAMED(call_randn, "_ZN5torch8autograd17THPVariable_randnEPv");

enum code {
	CODE_TRAIN = 1,
	CODE_CALL,
	CODE_APPLY,
	CODE_OPTIMIZER,
};

enum stack {
	STACK_PARAMETER = 1,
	STACK_INPUT,
	STACK_ACTIVATION,
	STACK_BACKWARD,
	STACK_OPTIMIZER,
	STACK_WORKSPACE,
	NR_STACKS
};

#define CALLER   1
#define AUTOGRAD 2

static void add_code(struct script *script, uint32_t id, const char *file, const char *name)
{
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_CODE,
				   .code = {.id = id,
					    .version = 0x030b,
					    .first_line = 10,
					    .file = {file, (uint32_t)strlen(file)},
					    .name = {name, (uint32_t)strlen(name)}},
			   });
}

static uint64_t of_function(void (*function)(void))
{
	return (uint64_t)(uintptr_t)function + 1; /* behind the call */
}

static uint64_t of_code(enum code code)
{
	return vs_frame_make_python(code, 0);
}

static void add_stack(struct script *script, enum stack stack, void (*second)(void),
		      void (*third)(void), uint64_t python)
{
	static uint64_t frames[NR_STACKS][5];
	uint64_t *frame = frames[stack];

	*frame++ = of_function(allocate_block);
	*frame++ = of_function(second);
	if (third)
		*frame++ = of_function(third);
	if (python)
		*frame++ = python;
	if (python && python != of_code(CODE_TRAIN))
		*frame++ = of_code(CODE_TRAIN);
	script_stack(script, stack, frames[stack], (uint32_t)(frame - frames[stack]));
}

/* This program's own file stands for libtorch: names are looked up in it. */
static void add_program(struct script *script)
{
	static char path[4096];
	char line[sizeof(path) + 128];
	uint64_t first = UINT64_MAX, last = 0, start, end;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_true(size > 0);
	assert_non_null(maps);
	path[size] = '\0';
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, path) || sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	fclose(maps);
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_MODULE,
				   .module = {.id = 1,
					      .start = first,
					      .end = last,
					      .bias = first,
					      .path = {path, (uint32_t)strlen(path)}},
			   });
}

/* Two segments, the pool of PyTorch, and who asks. */
static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, GIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	add_program(script);
	add_code(script, CODE_TRAIN, "/me/train.py", "step");
	add_code(script, CODE_CALL, "/lib/torch/nn/modules/module.py", "Module._call_impl");
	add_code(script, CODE_APPLY, "/lib/torch/nn/modules/module.py", "Module._apply");
	add_code(script, CODE_OPTIMIZER, "/lib/torch/optim/adamw.py", "AdamW.step");
	add_stack(script, STACK_PARAMETER, make_storage, NULL, of_code(CODE_APPLY));
	add_stack(script, STACK_INPUT, make_storage, call_randn, of_code(CODE_TRAIN));
	add_stack(script, STACK_ACTIVATION, make_storage, NULL, of_code(CODE_CALL));
	add_stack(script, STACK_BACKWARD, make_storage, run_engine, 0);
	add_stack(script, STACK_OPTIMIZER, make_storage, NULL, of_code(CODE_OPTIMIZER));
	add_stack(script, STACK_WORKSPACE, make_workspace, NULL, of_code(CODE_CALL));
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 2 * MIB);
}

static void block(struct script *script, enum stack stack, unsigned slot, uint64_t size)
{
	script_set_thread(script, stack == STACK_BACKWARD ? AUTOGRAD : CALLER);
	script_set_stack(script, stack);
	script_block(script, 1, BASE + slot * 4096, size);
}

static void unblock(struct script *script, uint32_t thread, unsigned slot)
{
	script_set_thread(script, thread);
	script_block_free(script, 1, BASE + slot * 4096);
}

enum slot {
	SLOT_PARAMETER,
	SLOT_MOMENT,
	SLOT_INPUT,
	SLOT_ACTIVATION,
	SLOT_SCRATCH,
	SLOT_DELTA, /* gradient of an activation */
	SLOT_GRADIENT,
	SLOT_WORKSPACE,
};

/* What each is, is its size: 1 to 8. Returns the times of two instants. */
static void train_step(struct script *script, bool is_first, uint64_t *forward_ns,
		       uint64_t *backward_ns)
{
	block(script, STACK_INPUT, SLOT_INPUT, 1);
	block(script, STACK_ACTIVATION, SLOT_SCRATCH, 2);
	if (is_first)
		block(script, STACK_WORKSPACE, SLOT_WORKSPACE, 3);
	block(script, STACK_ACTIVATION, SLOT_ACTIVATION, 4);
	*forward_ns = script->time_ns;
	unblock(script, CALLER, SLOT_SCRATCH);
	block(script, STACK_BACKWARD, SLOT_DELTA, 5);
	unblock(script, AUTOGRAD, SLOT_ACTIVATION);
	block(script, STACK_BACKWARD, SLOT_GRADIENT, 6);
	*backward_ns = script->time_ns;
	unblock(script, AUTOGRAD, SLOT_DELTA);
	if (is_first)
		block(script, STACK_OPTIMIZER, SLOT_MOMENT, 7);
	unblock(script, CALLER, SLOT_GRADIENT);
	unblock(script, CALLER, SLOT_INPUT);
}

/* The pass over all blocks says the same of those that were there. */
struct told {
	const struct vs_composition *composition;
	size_t nr_told;
};

static int check_block(void *data, const struct vs_item *item, enum vs_category category)
{
	struct told *told = data;
	size_t i;

	for (i = 0; i < told->composition->nr_blocks; i++) {
		if (told->composition->blocks[i].id != item->id)
			continue;
		assert_int_equal(category, told->composition->blocks[i].category);
		told->nr_told++;
	}
	return 0;
}

static void check_all(const struct vs_analysis *analysis, struct vs_site_names *names,
		      const struct vs_composition *composition)
{
	struct told told = {composition, 0};
	struct vs_composition_pass *pass;
	struct vs_replay *replay;

	assert_int_equal(vs_composition_create_pass(&pass, analysis, names, check_block, &told), 0);
	assert_int_equal(pass != NULL, composition->is_known);
	if (!pass)
		return;
	assert_int_equal(vs_analysis_observe(analysis, vs_composition_get_observer(pass), &replay),
			 0);
	assert_int_equal(told.nr_told, composition->nr_blocks);
	vs_replay_destroy(replay);
	vs_composition_destroy_pass(pass);
}

static void compose(struct script *script, uint64_t time_ns, struct vs_composition *composition)
{
	struct vs_instant at = {.time_ns = time_ns};
	struct vs_site_names *names;
	struct vs_analysis analysis;

	script_analyse(script, &analysis);
	assert_int_equal(vs_site_names_create(&names, &analysis.replay->definitions), 0);
	assert_int_equal(vs_composition_init(composition, &analysis, names,
					     script_get_device(analysis.replay), &at),
			 0);
	check_all(&analysis, names, composition);
	vs_site_names_destroy(names);
	vs_analysis_fini(&analysis);
}

/* -1: there is none. */
static int get_category(const struct vs_composition *composition, enum slot slot)
{
	size_t i;

	for (i = 0; i < composition->nr_blocks; i++)
		if (composition->blocks[i].address == BASE + slot * 4096)
			return (int)composition->blocks[i].category;
	return -1;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void test_blocks_of_a_training_step_have_their_categories(void **state)
{
	struct vs_composition composition;
	uint64_t forward_ns, backward_ns, ignored;
	struct script script;

	(void)state;
	setup(&script);
	block(&script, STACK_PARAMETER, SLOT_PARAMETER, 8);
	train_step(&script, true, &ignored, &ignored);
	train_step(&script, false, &forward_ns, &backward_ns);
	train_step(&script, false, &ignored, &ignored);
	compose(&script, forward_ns, &composition);
	assert_true(composition.is_known);
	assert_int_equal(composition.nr_blocks, 6);
	assert_int_equal(get_category(&composition, SLOT_PARAMETER), VS_CATEGORY_PARAMETER);
	assert_int_equal(get_category(&composition, SLOT_MOMENT), VS_CATEGORY_OPTIMIZER);
	assert_int_equal(get_category(&composition, SLOT_INPUT), VS_CATEGORY_INPUT);
	assert_int_equal(get_category(&composition, SLOT_ACTIVATION), VS_CATEGORY_ACTIVATION);
	assert_int_equal(get_category(&composition, SLOT_SCRATCH), VS_CATEGORY_TEMPORARY);
	assert_int_equal(get_category(&composition, SLOT_WORKSPACE), VS_CATEGORY_WORKSPACE);
	assert_int_equal(composition.bytes[VS_CATEGORY_ACTIVATION], 4);
	assert_int_equal(composition.count[VS_CATEGORY_ACTIVATION], 1);
	vs_composition_fini(&composition);
	compose(&script, backward_ns, &composition);
	assert_int_equal(get_category(&composition, SLOT_DELTA), VS_CATEGORY_TEMPORARY);
	assert_int_equal(get_category(&composition, SLOT_GRADIENT), VS_CATEGORY_GRADIENT);
	assert_int_equal(get_category(&composition, SLOT_ACTIVATION), -1);
	vs_composition_fini(&composition);
	script_fini(&script);
}

static void test_what_an_exception_frees_is_judged_by_steps_before(void **state)
{
	struct vs_composition composition;
	uint64_t ignored, failed_ns;
	struct script script;

	(void)state;
	setup(&script);
	block(&script, STACK_PARAMETER, SLOT_PARAMETER, 8);
	train_step(&script, true, &ignored, &ignored);
	block(&script, STACK_INPUT, SLOT_INPUT, 1);
	script_block_fail(&script, 1, GIB);
	failed_ns = script.time_ns;
	unblock(&script, CALLER, SLOT_INPUT);
	compose(&script, failed_ns, &composition);
	assert_int_equal(get_category(&composition, SLOT_INPUT), VS_CATEGORY_INPUT);
	assert_int_equal(get_category(&composition, SLOT_PARAMETER), VS_CATEGORY_PARAMETER);
	vs_composition_fini(&composition);
	script_fini(&script);
}

static void test_work_of_another_thread_does_not_end_a_backward_pass(void **state)
{
	struct vs_composition composition;
	uint64_t then_ns;
	struct script script;

	(void)state;
	setup(&script);
	block(&script, STACK_ACTIVATION, SLOT_ACTIVATION, 4);
	block(&script, STACK_BACKWARD, SLOT_DELTA, 5);
	then_ns = script.time_ns;
	script_set_thread(&script, 7);
	script_set_stack(&script, STACK_INPUT);
	script_block(&script, 1, BASE + SLOT_INPUT * 4096, 1);
	unblock(&script, AUTOGRAD, SLOT_DELTA);
	unblock(&script, CALLER, SLOT_ACTIVATION);
	compose(&script, then_ns, &composition);
	assert_int_equal(get_category(&composition, SLOT_DELTA), VS_CATEGORY_TEMPORARY);
	vs_composition_fini(&composition);
	script_fini(&script);
}

static void test_other_pools_have_no_categories(void **state)
{
	struct vs_composition composition;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, MIB);
	script_block(&script, 1, BASE, 4096);
	compose(&script, UINT64_MAX, &composition);
	assert_false(composition.is_known);
	assert_int_equal(composition.nr_blocks, 0);
	vs_composition_fini(&composition);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_of_a_training_step_have_their_categories),
		cmocka_unit_test(test_what_an_exception_frees_is_judged_by_steps_before),
		cmocka_unit_test(test_work_of_another_thread_does_not_end_a_backward_pass),
		cmocka_unit_test(test_other_pools_have_no_categories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
