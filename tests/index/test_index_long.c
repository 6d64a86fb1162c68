/* Ten million events: any instant is near, and the same as by the long way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "index_compare.h"
#include "long_trace.h"
#include "reader.h"
#include "scratch.h"
#include "trace_index.h"

#define NR_EVENTS   10000000u
#define MOST_EVENTS 65536u /* from an instant to the snapshot before it; blocks are not cut */
#define NR_IN_BLOCK 65536u

static int make_trace(void **state)
{
	if (vs_scratch_enter(state))
		return -1;
	return long_trace_write("long.vscope", NR_EVENTS);
}

static void check_snapshots(const struct vs_index_directory *directory)
{
	uint64_t last = 0;

	assert_non_null(directory);
	assert_true(directory->nr_snapshots >= NR_EVENTS / (MOST_EVENTS + NR_IN_BLOCK));
	for (size_t i = 0; i < directory->nr_snapshots; i++) {
		const struct vs_index_snapshot *snapshot = &directory->snapshots[i];

		assert_in_range(snapshot->nr_events - last, 1, MOST_EVENTS + NR_IN_BLOCK);
		last = snapshot->nr_events;
	}
	assert_true(NR_EVENTS - last <= MOST_EVENTS + NR_IN_BLOCK);
}

static void test_every_instant_of_a_long_trace_is_near_a_snapshot(void **state)
{
	struct vs_trace_index *index;
	struct vs_reader *reader;
	struct stat file;

	(void)state;
	/* Whoever is first makes the index. */
	assert_same_output((const char *[]){"map", "--json", "--at", "end", "long.vscope", NULL});
	assert_int_equal(stat("long.vscope", &file), 0);
	assert_int_equal(vs_reader_open(&reader, "long.vscope"), 0);
	assert_int_equal(vs_trace_index_open(&index, "long.vscope", reader), 0);
	check_snapshots(vs_trace_index_get(index));
	assert_true(vs_trace_index_get_size(index) <= (uint64_t)file.st_size / 4);
	vs_trace_index_close(index);
	vs_reader_close(reader);
}

static void test_instants_and_windows_of_a_long_trace_are_as_by_the_long_way(void **state)
{
	(void)state;
	assert_same_output((const char *[]){"map", "--json", "--at", "17.25", "long.vscope", NULL});
	assert_same_output((const char *[]){"frag", "--json", "--at", "83.5", "long.vscope", NULL});
	assert_same_output((const char *[]){"peak", "--json", "--from", "52", "--to", "53.5",
					    "long.vscope", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instant_of_a_long_trace_is_near_a_snapshot),
		cmocka_unit_test(test_instants_and_windows_of_a_long_trace_are_as_by_the_long_way),
	};

	return cmocka_run_group_tests(tests, make_trace, vs_scratch_leave);
}
