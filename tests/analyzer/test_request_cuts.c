#include "request_cuts.h"

#include "device_state.h"
#include "script.h"
#include "steps.h"

#define MS   UINT64_C(1000000)
#define BASE ((uint64_t)0x10000000)

#define NR_SITES 10

static const uint64_t frames[NR_SITES][1] = {{0x101}, {0x102}, {0x103}, {0x104}, {0x105},
					     {0x106}, {0x107}, {0x108}, {0x109}, {0x10a}};

/*
 * A program that keeps one block of about so many, from sites and of sizes in no order. All of it
 * happens between two times; before there is one block, and at the end all is given back.
 */
struct program {
	uint64_t from_ms, to_ms, end_ms;
	uint32_t one_kept_of;
	bool runs_out;
};

#define NR_REQUESTS 600u

static void run(struct script *script, const struct program *program)
{
	uint64_t state = 42, address = BASE, kept[NR_REQUESTS], nr_kept = 0;

	script_init(script);
	script_device(script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_set_time(script, 0);
	script_set_stack(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, address, 1000);
	for (uint32_t i = 0; i < NR_REQUESTS; i++) {
		bool is_kept;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		is_kept = program->one_kept_of && (state >> 33) % program->one_kept_of == 0;
		address += BASE;
		script_set_time(script,
				(program->from_ms * (NR_REQUESTS - i) + program->to_ms * i) * MS /
					NR_REQUESTS);
		script_set_stack(script, is_kept ? 2 : 3 + (state >> 50) % 8);
		script_alloc(script, VS_MEMORY_DEVICE, address, 1000 + (state >> 40) % 60000);
		if (is_kept)
			kept[nr_kept++] = address;
		else
			script_free(script, VS_MEMORY_DEVICE, address);
	}
	if (program->runs_out)
		script_fail(script, GIB, 1, 1000 * GIB);
	script_set_time(script, program->end_ms * MS);
	while (nr_kept)
		script_free(script, VS_MEMORY_DEVICE, kept[--nr_kept]);
}

/* How many sites grow, by intervals of which the last one ends at *last_ns. */
static size_t count_growing(const struct program *program, uint64_t *last_ns)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;
	size_t nr;

	run(&script, program);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_steps_derive(&analysis, false), 0);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_INTERVALS);
	*last_ns = analysis.retained.boundaries[analysis.retained.nr_boundaries - 1].time_ns;
	assert_int_equal(vs_measure_retained_sum(&retained, &analysis.retained, analysis.replay,
						 script_get_device(analysis.replay)),
			 0);
	nr = retained.nr_growing;
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	return nr;
}

static void test_what_grew_before_a_long_end_is_seen(void **state)
{
	struct program program = {0, 100, 1000, .one_kept_of = 5, .runs_out = true};
	uint64_t last_ns;

	(void)state;
	assert_int_equal(count_growing(&program, &last_ns), 1);
	assert_true(last_ns > 80 * MS && last_ns < 100 * MS);
}

static void test_what_grew_behind_a_long_beginning_is_seen(void **state)
{
	struct program program = {5000, 5100, 5110, .one_kept_of = 5, .runs_out = true};
	uint64_t last_ns;

	(void)state;
	assert_int_equal(count_growing(&program, &last_ns), 1);
	assert_true(last_ns > 5080 * MS && last_ns < 5100 * MS);
}

static void test_what_keeps_nothing_does_not_grow(void **state)
{
	struct program program = {0, 100, 1000, .runs_out = true};
	uint64_t last_ns;

	(void)state;
	assert_int_equal(count_growing(&program, &last_ns), 0);
	assert_true(last_ns < 100 * MS);
}

/* As long as time is as good as requests, or nobody asks why. */
static void test_intervals_are_of_equal_time_otherwise(void **state)
{
	struct program program = {0, 900, 1000, .one_kept_of = 5, .runs_out = true};
	uint64_t last_ns;

	(void)state;
	count_growing(&program, &last_ns);
	assert_int_equal(last_ns / MS, 941); /* 16 of 17 parts */
	program = (struct program){0, 100, 1000, .one_kept_of = 5};
	count_growing(&program, &last_ns);
	assert_int_equal(last_ns / MS, 941);
}

static bool is_start(const struct program *program)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;
	bool is;

	run(&script, program);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_steps_derive(&analysis, false), 0);
	assert_int_equal(vs_device_state_sum_retained(&retained, &analysis,
						      script_get_device(analysis.replay)),
			 0);
	is = retained.is_start;
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	return is;
}

/* It has run out while it loaded something, whatever it gives back at its end. */
static void test_what_is_given_back_at_the_end_proves_no_leak(void **state)
{
	(void)state;
	assert_true(is_start(&(struct program){0, 990, 1000, .one_kept_of = 1, .runs_out = true}));
	assert_true(is_start(&(struct program){0, 100, 1000, .one_kept_of = 1, .runs_out = true}));
	assert_false(is_start(&(struct program){0, 990, 1000, .one_kept_of = 1}));
	assert_false(is_start(&(struct program){0, 990, 1000, .one_kept_of = 5, .runs_out = true}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_grew_before_a_long_end_is_seen),
		cmocka_unit_test(test_what_grew_behind_a_long_beginning_is_seen),
		cmocka_unit_test(test_what_keeps_nothing_does_not_grow),
		cmocka_unit_test(test_intervals_are_of_equal_time_otherwise),
		cmocka_unit_test(test_what_is_given_back_at_the_end_proves_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
