#include "map_gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "picture_records.h"
#include "picture_story.h"

static int gather_map(struct vs_map_state *map, uint32_t ordinal, enum vs_at at, uint64_t at_ns)
{
	struct vs_window window = {0, UINT64_MAX};
	struct vs_analysis analysis;
	struct vs_device_state state;
	int err;

	vs_map_init(map);
	assert_int_equal(vs_analysis_init(&analysis, &picture_story, &window), 0);
	err = vs_device_state_init(&state, &analysis,
				   vs_replay_get_device(analysis.replay, ordinal), at, at_ns);
	if (!err) {
		err = vs_map_gather_state(map, &state);
		vs_device_state_fini(&state);
	}
	vs_analysis_fini(&analysis);
	return err;
}

static void test_map_is_that_of_the_last_out_of_memory(void **state)
{
	struct vs_map_state map;

	(void)state;
	assert_int_equal(gather_map(&map, 0, VS_AT_DEFAULT, 0), 0);
	assert_int_equal(map.nr_segments, 1);
	assert_string_equal(map.segments[0].label, "arena");
	assert_true(map.segments[0].is_owned);
	assert_int_equal(map.segments[0].nr_blocks, 1);
	assert_int_equal(map.blocks[0].address, PICTURE_STORY_BASE + 50 * MIB);
	assert_int_equal(map.live_bytes, 40 * MIB);
	assert_int_equal(map.reserved_bytes, 100 * MIB);
	assert_int_equal(map.outside_bytes + map.not_taken_bytes + map.not_seen_bytes, 924 * MIB);
	vs_map_fini(&map);
}

static void test_map_names_what_has_no_pool_by_its_kind(void **state)
{
	struct vs_map_state map;

	(void)state;
	assert_int_equal(gather_map(&map, 1, VS_AT_DEFAULT, 0), 0);
	assert_int_equal(map.nr_segments, 2);
	assert_string_equal(map.segments[0].label, "device");
	assert_false(map.segments[0].is_owned);
	vs_map_fini(&map);
}

static void test_map_goes_to_the_instant_asked_for(void **state)
{
	static const struct {
		enum vs_at at;
		uint64_t at_ns;
		size_t nr_segments;
		size_t nr_blocks;
	} cases[] = {
		{VS_AT_TIME, 99, 0, 0},  {VS_AT_TIME, 299, 1, 1},
		{VS_AT_TIME, 300, 1, 2}, /* all that happened in that nanosecond has happened */
		{VS_AT_PEAK, 0, 1, 2},   {VS_AT_END, 0, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vs_map_state map;

		assert_int_equal(gather_map(&map, 0, cases[i].at, cases[i].at_ns), 0);
		assert_int_equal(map.nr_segments, cases[i].nr_segments);
		assert_int_equal(map.nr_blocks, cases[i].nr_blocks);
		vs_map_fini(&map);
	}
}

/* ---- Other traces --------------------------------------------------------------------------- */

static const struct vs_record *given;
static size_t nr_given, next_given;

static int next_given_record(void *context, struct vs_record *record)
{
	(void)context;
	if (next_given == nr_given)
		return 0;
	*record = given[next_given++];
	return 1;
}

static int rewind_given(void *context)
{
	(void)context;
	next_given = 0;
	return 0;
}

/* The map of device 0 after the last record. */
static void gather_end(struct vs_map_state *map, const struct vs_record *records, size_t nr_records)
{
	static const struct vs_source source = {.next = next_given_record, .rewind = rewind_given};
	struct vs_window window = {0, UINT64_MAX};
	struct vs_analysis analysis;
	struct vs_device_state state;

	given = records;
	nr_given = nr_records;
	vs_map_init(map);
	assert_int_equal(vs_analysis_init(&analysis, &source, &window), 0);
	assert_int_equal(vs_device_state_init(&state, &analysis,
					      vs_replay_get_device(analysis.replay, 0), VS_AT_END,
					      0),
			 0);
	assert_int_equal(vs_map_gather_state(map, &state), 0);
	vs_device_state_fini(&state);
	vs_analysis_fini(&analysis);
}

#define GATHER(map, records) gather_end(map, records, sizeof(records) / sizeof(*(records)))

static void test_function_of_cuda_names_a_segment_better_than_its_kind(void **state)
{
	struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_name(5, "cudaMallocPitch"),
		picture_alloc(100, VS_MEMORY_DEVICE, 0, 0x1000, 10),
		picture_alloc(200, VS_MEMORY_MANAGED, 0, 0x9000, 10),
	};
	struct vs_map_state map;

	(void)state;
	records[2].alloc.api = 5; /* neither has a stack */
	GATHER(&map, records);
	assert_int_equal(map.nr_segments, 2);
	assert_string_equal(map.segments[0].label, "cudaMallocPitch");
	assert_string_equal(map.segments[1].label, "managed");
	vs_map_fini(&map);
}

static void test_block_that_another_pool_divides_is_shown_by_what_is_in_it(void **state)
{
	const struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_pool(1, 0, "outer"),
		picture_pool(2, 0, "inner"),
		picture_alloc(100, VS_MEMORY_DEVICE, 0, 0x10000, 0x1000),
		picture_block(200, 1, 0x10000, 0x800),
		picture_block(300, 1, 0x10900, 0x100),
		picture_block(400, 2, 0x10100, 0x200),
		picture_block(500, 2, 0x10400, 0x100),
	};
	struct vs_map_state map;

	(void)state;
	GATHER(&map, records);
	assert_int_equal(map.nr_segments, 1);
	assert_string_equal(map.segments[0].label, "outer");
	assert_int_equal(map.segments[0].nr_blocks, 3);
	assert_int_equal(map.blocks[0].address, 0x10100);
	assert_int_equal(map.blocks[1].address, 0x10400);
	assert_int_equal(map.blocks[2].address, 0x10900);
	assert_int_equal(map.live_bytes, 0x400);
	vs_map_fini(&map);
}

static void test_pool_without_a_name_is_called_by_the_kind(void **state)
{
	const struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_pool(1, 0, ""),
		picture_alloc(100, VS_MEMORY_MANAGED, 0, 0x10000, 0x1000),
		picture_block(200, 1, 0x10000, 0x800),
	};
	struct vs_map_state map;

	(void)state;
	GATHER(&map, records);
	assert_string_equal(map.segments[0].label, "managed");
	assert_true(map.segments[0].is_owned);
	vs_map_fini(&map);
}

static void test_memory_of_the_host_and_other_devices_is_not_on_the_map(void **state)
{
	const struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_device(1, 1024 * MIB),
		picture_alloc(100, VS_MEMORY_PINNED, 0, 0x1000, 10),
		picture_alloc(200, VS_MEMORY_DEVICE, 1, 0x9000, 10),
		picture_alloc(300, VS_MEMORY_ARRAY, 0, 0x5, 10), /* has no address */
		picture_alloc(400, VS_MEMORY_DEVICE, 0, 0xa000, 7),
	};
	struct vs_map_state map;

	(void)state;
	GATHER(&map, records);
	assert_int_equal(map.nr_segments, 1);
	assert_int_equal(map.segments[0].address, 0xa000);
	assert_int_equal(map.reserved_bytes, 17);
	vs_map_fini(&map);
}

static void test_pages_that_touch_are_one_segment(void **state)
{
	const struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_pool(1, 0, "expandable"),
		picture_alloc(100, VS_MEMORY_VMM, 0, 0x7, 2 * MIB),
		picture_alloc(110, VS_MEMORY_VMM, 0, 0x8, 2 * MIB),
		picture_reserve(120, 0x40000000, 64 * MIB),
		picture_map(130, 0x40000000, 2 * MIB, 0x7),
		picture_map(140, 0x40000000 + 2 * MIB, 2 * MIB, 0x8),
		picture_block(150, 1, 0x40000000 + MIB, 2 * MIB),
	};
	struct vs_map_state map;

	(void)state;
	GATHER(&map, records);
	assert_int_equal(map.nr_segments, 1);
	assert_int_equal(map.segments[0].size, 4 * MIB);
	assert_int_equal(map.segments[0].nr_blocks, 1);
	assert_string_equal(map.segments[0].label, "expandable");
	vs_map_fini(&map);
}

static void test_block_whose_segment_was_not_seen_stands_for_itself(void **state)
{
	const struct vs_record records[] = {
		picture_device(0, 1024 * MIB),
		picture_pool(1, 0, "arena"),
		picture_block(100, 1, 0x1000, 0x800),
		picture_alloc(200, VS_MEMORY_DEVICE, 0, 0x10000, 0x1000),
		picture_block(300, 1, 0x20000, 0x400),
	};
	struct vs_map_state map;

	(void)state;
	GATHER(&map, records);
	assert_int_equal(map.nr_segments, 3);
	assert_int_equal(map.nr_blocks, 0);
	assert_int_equal(map.segments[0].address, 0x1000);
	assert_string_equal(map.segments[0].label, "arena");
	assert_false(map.segments[0].is_owned);
	assert_int_equal(map.segments[2].address, 0x20000);
	vs_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_is_that_of_the_last_out_of_memory),
		cmocka_unit_test(test_map_names_what_has_no_pool_by_its_kind),
		cmocka_unit_test(test_map_goes_to_the_instant_asked_for),
		cmocka_unit_test(test_function_of_cuda_names_a_segment_better_than_its_kind),
		cmocka_unit_test(test_block_that_another_pool_divides_is_shown_by_what_is_in_it),
		cmocka_unit_test(test_pool_without_a_name_is_called_by_the_kind),
		cmocka_unit_test(test_memory_of_the_host_and_other_devices_is_not_on_the_map),
		cmocka_unit_test(test_pages_that_touch_are_one_segment),
		cmocka_unit_test(test_block_whose_segment_was_not_seen_stands_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
