/* From a trace to a heatmap and a map: the right device, the right instant, the right marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "heatmap_gather.h"
#include "map_gather.h"
#include "picture_records.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))
#define MIB       (1ull << 20)
#define BASE      0x7f0000000000

/*
 * Device 0: an arena of 100 MiB from 100 ns on, blocks of 40 and 40 MiB with 10 MiB between them,
 * the first freed at 500; the arena fails to give 45 MiB at 600. Device 1: 10 MiB, a failure at 550
 * that is recovered at 560.
 */
static struct vs_record records[32];
static size_t nr_records;

static void make_records(void)
{
	const struct vs_record made[] = {
		picture_device(0, 1024 * MIB),
		picture_device(1, 512 * MIB),
		picture_pool(1, 0, "arena"),
		picture_name(1, "warm up"),
		picture_name(2, "train"),
		picture_name(3, "inner"),
		picture_push(50, 1),
		picture_alloc(100, VS_MEMORY_DEVICE, 0, BASE, 100 * MIB),
		picture_block(200, 1, BASE, 40 * MIB),
		picture_pop(250),
		picture_push(260, 2),
		picture_step(300, 7),
		picture_block(300, 1, BASE + 50 * MIB, 40 * MIB),
		picture_push(310, 3),
		picture_pop(320),
		picture_alloc(400, VS_MEMORY_DEVICE, 1, BASE + 4096 * MIB, 10 * MIB),
		picture_block_free(500, 1, BASE),
		picture_alloc_failed(550, 1, 64 * MIB),
		picture_alloc(560, VS_MEMORY_DEVICE, 1, BASE + 8192 * MIB, 64 * MIB),
		picture_block_failed(600, 1, 45 * MIB),
		picture_step(999, 8),
	};

	assert_in_range(NR(made), 1, NR(records));
	memcpy(records, made, sizeof(made));
	nr_records = NR(made);
}

static size_t position;

static int next_record(void *context, struct vs_record *record)
{
	(void)context;
	if (position == nr_records)
		return 0;
	*record = records[position++];
	return 1;
}

static int rewind_records(void *context)
{
	(void)context;
	position = 0;
	return 0;
}

static const struct vs_source source = {next_record, rewind_records, NULL};

static void choose_cells(const struct vs_heatmap_request *request, bool has_phases, size_t *columns,
			 size_t *rows)
{
	assert_true(has_phases);
	*columns = (size_t)request->width;
	*rows = (size_t)request->height;
}

static int gather(struct vs_heatmap *heatmap, uint32_t device, uint64_t from_ns, uint64_t to_ns)
{
	struct vs_heatmap_request request = {
		.device = device,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.choose_cells = choose_cells,
		.width = 100,
		.height = 100,
	};

	make_records();
	return vs_heatmap_gather_cells(heatmap, &source, &request);
}

/* Percent of the cell at an instant. */
static uint64_t get_share(const struct vs_heatmap *heatmap, const uint64_t *layer, uint64_t time_ns,
			  size_t row)
{
	size_t column = (time_ns - heatmap->from_ns) / heatmap->column_ticks;

	return layer[row * heatmap->nr_columns + column] * 100 /
	       vs_heatmap_get_area(heatmap, column, row);
}

static void test_heatmap_takes_the_device_that_ran_out_of_memory(void **state)
{
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(gather(&map, VS_NO_DEVICE, 0, UINT64_MAX), 0);
	assert_int_equal(map.device, 0);
	assert_int_equal(map.capacity, 1024 * MIB);
	assert_true(map.is_simulated);
	assert_string_equal(map.device_name, "softgpu");
	assert_int_equal(map.to_ns, 1000);
	assert_int_equal(map.peak_live, 80 * MIB);
	assert_int_equal(map.peak_ns, 300);
	assert_int_equal(map.peak_reserved, 100 * MIB);
	/* It begins a little before there is something to see. */
	assert_int_equal(map.from_ns, 82);
	/* 1 MiB a row. */
	assert_int_equal(map.nr_rows, 100);
	assert_int_equal(get_share(&map, map.held, 90, 0), 0);
	assert_int_equal(get_share(&map, map.held, 150, 0), 100);
	assert_int_equal(get_share(&map, map.live, 150, 0), 0);
	assert_int_equal(get_share(&map, map.live, 250, 0), 100);
	assert_int_equal(get_share(&map, map.live, 450, 39), 100);
	assert_int_equal(get_share(&map, map.live, 450, 45), 0);
	assert_int_equal(get_share(&map, map.live, 550, 39), 0);
	assert_int_equal(get_share(&map, map.live, 950, 89), 100);
	assert_int_equal(get_share(&map, map.live, 950, 90), 0);
	vs_heatmap_fini(&map);
}

static void test_failures_carry_what_was_asked_and_the_largest_hole(void **state)
{
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(gather(&map, 0, 0, UINT64_MAX), 0);
	assert_int_equal(map.nr_failures, 1);
	assert_int_equal(map.failures[0].time_ns, 600);
	assert_int_equal(map.failures[0].size, 45 * MIB);
	assert_int_equal(map.failures[0].largest_hole, 50 * MIB);
	assert_true(map.failures[0].is_final);
	vs_heatmap_fini(&map);

	assert_int_equal(gather(&map, 1, 0, UINT64_MAX), 0);
	assert_int_equal(map.device, 1);
	assert_int_equal(map.total_bytes, 74 * MIB);
	assert_int_equal(map.nr_failures, 1);
	assert_int_equal(map.failures[0].time_ns, 550);
	assert_false(map.failures[0].is_final);
	vs_heatmap_fini(&map);
}

static void test_steps_and_outermost_phases_are_kept(void **state)
{
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(gather(&map, 0, 0, UINT64_MAX), 0);
	assert_int_equal(map.nr_steps, 2);
	assert_int_equal(map.steps[0].number, 7);
	assert_int_equal(map.nr_phases, 2);
	assert_string_equal(map.phases[0].name, "warm up");
	assert_int_equal(map.phases[0].start_ns, 50);
	assert_int_equal(map.phases[0].end_ns, 250);
	assert_string_equal(map.phases[1].name, "train");
	assert_int_equal(map.phases[1].end_ns, 999); /* never ended */
	vs_heatmap_fini(&map);
}

static void test_window_leaves_out_what_is_not_in_it(void **state)
{
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(gather(&map, 1, 410, 510), 0);
	assert_int_equal(map.from_ns, 410);
	assert_int_equal(map.to_ns, 510);
	assert_int_equal(map.total_bytes, 10 * MIB);
	assert_int_equal(map.nr_failures, 0);
	vs_heatmap_fini(&map);
	assert_int_equal(gather(&map, 0, 5000, UINT64_MAX), -VS_ERR_EMPTY);
	vs_heatmap_fini(&map);
	assert_int_equal(gather(&map, 5, 0, UINT64_MAX), -VS_ERR_INVALID);
	vs_heatmap_fini(&map);
}

/* ---- Map ------------------------------------------------------------------------------------ */

static int gather_map(struct vs_map_state *map, uint32_t ordinal, enum vs_at at, uint64_t at_ns)
{
	struct vs_window window = {0, UINT64_MAX};
	struct vs_analysis analysis;
	struct vs_device_state state;
	int err;

	make_records();
	vs_map_init(map);
	assert_int_equal(vs_analysis_init(&analysis, &source, &window), 0);
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
	assert_int_equal(map.blocks[0].address, BASE + 50 * MIB);
	assert_int_equal(map.live_bytes, 40 * MIB);
	assert_int_equal(map.reserved_bytes, 100 * MIB);
	assert_int_equal(map.capacity, 1024 * MIB);
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
	for (size_t i = 0; i < NR(cases); i++) {
		struct vs_map_state map;

		assert_int_equal(gather_map(&map, 0, cases[i].at, cases[i].at_ns), 0);
		assert_int_equal(map.nr_segments, cases[i].nr_segments);
		assert_int_equal(map.nr_blocks, cases[i].nr_blocks);
		vs_map_fini(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heatmap_takes_the_device_that_ran_out_of_memory),
		cmocka_unit_test(test_failures_carry_what_was_asked_and_the_largest_hole),
		cmocka_unit_test(test_steps_and_outermost_phases_are_kept),
		cmocka_unit_test(test_window_leaves_out_what_is_not_in_it),
		cmocka_unit_test(test_map_is_that_of_the_last_out_of_memory),
		cmocka_unit_test(test_map_goes_to_the_instant_asked_for),
		cmocka_unit_test(test_map_names_what_has_no_pool_by_its_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
