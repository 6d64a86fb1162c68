/* Commands say the same with an index as without, whatever the trace and the instant. */
#include <stdio.h>
#include <unistd.h>

#include "index_compare.h"
#include "index_trace.h"
#include "random_script.h"
#include "scratch.h"

static void test_commands_say_the_same_of_random_traces(void **state)
{
	static const struct {
		size_t nr_records, nr_in_flush;
		uint64_t interval;
	} shapes[] = {{3000, 40, 100}, {3000, 7, 30}, {5000, 300, 400}, {2500, 100, 1400}};
	struct script script;

	(void)state;
	for (unsigned int seed = 0; seed < 16; seed++) {
		size_t shape = seed % 4;

		random_script_make(&script, 1000 + seed, shapes[shape].nr_records);
		index_trace_write(&script, "random.vscope", shapes[shape].nr_in_flush);
		script_fini(&script);
		index_trace_plan(shapes[shape].interval, 0);
		assert_index_changes_nothing("random.vscope", seed, 12);
	}
}

/* What failures are about is told by frames, which an index leaves out until they are needed. */
static void test_requests_of_jax_are_known_by_their_frames(void **state)
{
	static const uint64_t frames[] = {0x9100};
	uint64_t size = 1 << 20, sum = 0, large = 512ull << 20;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 8ull << 30);
	script_module(&script, 1, 0x9000, 0xa000, "/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
	script_stack(&script, 9, frames, 1);
	script_set_stack(&script, 9);
	for (uint64_t i = 0; i < 400; i++, sum += size) {
		script_alloc(&script, VS_MEMORY_DEVICE, (1ull << 40) + sum, size);
		if (i % 50 != 49)
			continue;
		/* Refused, and asked for again in nine tenths, which are given. */
		script_fail(&script, large, 1 << 20, 8ull << 30);
		script_alloc(&script, VS_MEMORY_DEVICE, (1ull << 41) + i * (1ull << 30),
			     (large - large / 10 + 255) / 256 * 256);
	}
	index_trace_write(&script, "jax.vscope", 20);
	script_fini(&script);
	index_trace_plan(30, 0);
	assert_index_changes_nothing("jax.vscope", 7, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands_say_the_same_of_random_traces,
						vs_scratch_enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_requests_of_jax_are_known_by_their_frames,
						vs_scratch_enter, vs_scratch_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
