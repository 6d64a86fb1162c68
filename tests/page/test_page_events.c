#include "page_events.h"

#include <stdlib.h>

#include "script.h"

/* How many changes a script becomes, and how many items. */
struct sums {
	uint64_t nr_changes;
	uint64_t nr_items;
	uint64_t mark; /* the change that the mark comes after */
};

static struct sums gather(struct script *script, uint64_t record)
{
	struct vs_site_names *names;
	struct vs_analysis analysis;
	struct vs_page_events events;
	struct vs_replay *replay;
	FILE *file = tmpfile();
	struct sums sums;

	assert_non_null(file);
	script_analyse(script, &analysis);
	assert_int_equal(vs_site_names_create(&names, &analysis.replay->definitions), 0);
	assert_int_equal(vs_page_events_init(&events, &analysis, file, 0), 0);
	assert_int_equal(
		vs_page_events_add_mark(
			&events, &(struct vs_page_mark){.name = "here", .at.record = record}),
		0);
	assert_int_equal(vs_page_events_gather(&events, &analysis, names, &replay), 0);
	sums = (struct sums){events.columns.nr_changes, events.columns.nr_items,
			     events.marks[0].change};
	/* What items and changes say is what the replay has. */
	for (size_t i = 0; i < replay->nr_devices; i++)
		assert_int_equal(events.reserved[replay->devices[i]->index],
				 vs_replay_get_reserved(replay->devices[i]));
	assert_int_equal(events.numbers.nr_used > 0, replay->regions.root != NULL);
	vs_replay_destroy(replay);
	vs_page_events_fini(&events);
	vs_site_names_destroy(names);
	vs_analysis_fini(&analysis);
	fclose(file);
	return sums;
}

static void test_block_is_one_change_when_it_comes_and_one_when_it_goes(void **state)
{
	struct script script;
	struct sums sums;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, MIB);
	script_block(&script, 1, MIB, 4096);
	script_block_free(&script, 1, MIB);
	sums = gather(&script, script.nr_records - 1);
	assert_int_equal(sums.nr_changes, 3);
	assert_int_equal(sums.nr_items, 2);
	assert_int_equal(sums.mark, 2);
	script_fini(&script);
}

static void test_segment_that_goes_takes_its_blocks(void **state)
{
	struct script script;
	struct sums sums;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, MIB);
	script_block(&script, 1, MIB, 4096);
	script_block(&script, 1, MIB + 8192, 4096);
	script_free(&script, VS_MEMORY_DEVICE, MIB);
	sums = gather(&script, script.nr_records);
	assert_int_equal(sums.nr_changes, 6);
	assert_int_equal(sums.mark, 6);
	script_fini(&script);
}

static void test_sample_of_a_driver_pool_is_a_change_of_its_own(void **state)
{
	struct script script;
	struct sums sums;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 9, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&script, 9, MIB, 4096);
	script_pool_state(&script, 9, 32 * MIB);
	script_free(&script, VS_MEMORY_ASYNC, MIB);
	sums = gather(&script, 1);
	/* Born and its 4096 bytes of the pool, the sample, died. */
	assert_int_equal(sums.nr_changes, 4);
	assert_int_equal(sums.nr_items, 1);
	assert_int_equal(sums.mark, 0);
	script_fini(&script);
}

static void test_vmm_segment_that_grows_is_a_new_item(void **state)
{
	struct script script;
	struct sums sums;

	(void)state;
	script_init_usual(&script);
	script_reserve(&script, GIB, 64 * MIB);
	script_alloc(&script, VS_MEMORY_VMM, 5, 2 * MIB);
	script_alloc(&script, VS_MEMORY_VMM, 6, 2 * MIB);
	script_map(&script, GIB, 2 * MIB, 5);
	sums = gather(&script, 1);
	assert_int_equal(sums.nr_items, 3);
	script_map(&script, GIB + 2 * MIB, 2 * MIB, 6);
	sums = gather(&script, 1);
	assert_int_equal(sums.nr_items, 4);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_is_one_change_when_it_comes_and_one_when_it_goes),
		cmocka_unit_test(test_segment_that_goes_takes_its_blocks),
		cmocka_unit_test(test_sample_of_a_driver_pool_is_a_change_of_its_own),
		cmocka_unit_test(test_vmm_segment_that_grows_is_a_new_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
