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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands_say_the_same_of_random_traces,
						vs_scratch_enter, vs_scratch_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
