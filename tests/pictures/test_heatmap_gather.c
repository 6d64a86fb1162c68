/* From a trace to a heatmap: the right device, the right marks. */
#include "heatmap_gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "picture_records.h"
#include "picture_story.h"

static void choose_cells(const struct vs_heatmap_request *request, bool has_phases, size_t *columns,
			 size_t *rows)
{
	assert_true(has_phases);
	*columns = (size_t)request->width;
	*rows = (size_t)request->height;
}

/* The heatmap is the caller's to end in any case. */
static int gather_part(struct vs_heatmap *heatmap, uint32_t device, uint64_t from_ns,
		       uint64_t to_ns, struct vs_heatmap_part part)
{
	struct vs_heatmap_request request = {
		.device = device,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.part = part,
		.choose_cells = choose_cells,
		.width = 100,
		.height = 100,
	};
	struct vs_heatmap_survey survey;
	int err = vs_heatmap_survey_run(&survey, &picture_story, &request);

	*heatmap = (struct vs_heatmap){0};
	if (!err)
		err = vs_heatmap_gather_cells(heatmap, &picture_story, &request, &survey);
	vs_heatmap_survey_fini(&survey);
	return err;
}

static int gather(struct vs_heatmap *heatmap, uint32_t device, uint64_t from_ns, uint64_t to_ns)
{
	return gather_part(heatmap, device, from_ns, to_ns, (struct vs_heatmap_part){0});
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

/* Holes of 10 and 10 MiB, from 500 on of 50 and 10. */
static void test_fragmentation_is_that_of_the_pool_with_most_holes(void **state)
{
	struct vs_heatmap map;
	double then, later;

	(void)state;
	assert_int_equal(gather(&map, 0, 0, UINT64_MAX), 0);
	then = map.levels[(400 - map.from_ns) / map.column_ticks].fragmentation;
	later = map.levels[(700 - map.from_ns) / map.column_ticks].fragmentation;
	assert_in_range((uint64_t)(then * 1000), 499, 501);
	assert_in_range((uint64_t)(later * 1000), 166, 167);
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

/* All of device 0 is the arena: the same cells, but curves of its own. */
static void test_a_pool_is_its_segments_and_blocks(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_POOL, .pool = "arena"};
	struct vs_heatmap map, whole;
	size_t nr;

	(void)state;
	assert_int_equal(gather_part(&map, VS_NO_DEVICE, 0, UINT64_MAX, part), 0);
	assert_int_equal(gather(&whole, 0, 0, UINT64_MAX), 0);
	assert_int_equal(map.device, 0);
	assert_string_equal(map.part, "pool arena");
	assert_null(whole.part);
	nr = whole.nr_columns * whole.nr_rows;
	assert_int_equal(map.nr_columns * map.nr_rows, nr);
	assert_memory_equal(map.held, whole.held, nr * sizeof(*map.held));
	assert_memory_equal(map.live, whole.live, nr * sizeof(*map.live));
	assert_int_equal(map.peak_live, 80 * MIB);
	assert_int_equal(map.nr_failures, 1);
	vs_heatmap_fini(&whole);
	vs_heatmap_fini(&map);
}

static void test_a_segment_is_found_on_its_device(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_SEGMENT,
				       .address = PICTURE_STORY_BASE + 4100 * MIB};
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(gather_part(&map, VS_NO_DEVICE, 0, UINT64_MAX, part), 0);
	assert_int_equal(map.device, 1);
	assert_int_equal(map.nr_ranges, 1);
	assert_int_equal(map.ranges[0].address, PICTURE_STORY_BASE + 4096 * MIB);
	assert_int_equal(map.total_bytes, 10 * MIB); /* not the 64 MiB of the other */
	assert_int_equal(map.peak_live, 10 * MIB);
	assert_int_equal(map.peak_reserved, 10 * MIB);
	vs_heatmap_fini(&map);

	/* With holes of 10 and 10, then of 50 and 10 MiB, in one of a pool. */
	part.address = PICTURE_STORY_BASE;
	assert_int_equal(gather_part(&map, VS_NO_DEVICE, 0, UINT64_MAX, part), 0);
	assert_int_equal(map.device, 0);
	assert_int_equal(map.peak_live, 80 * MIB);
	assert_in_range(
		(uint64_t)(map.levels[(400 - map.from_ns) / map.column_ticks].fragmentation * 1000),
		499, 501);
	vs_heatmap_fini(&map);
}

/* ---- A pool that takes its time ------------------------------------------------------------- */

static uint64_t late_position;

/* A segment, far more records than anybody looks ahead, then a block in it. */
static int next_late(void *context, struct vs_record *record)
{
	uint64_t number = late_position++;

	(void)context;
	if (number == 0)
		*record = picture_device(0, 1024 * MIB);
	else if (number == 1)
		*record = picture_pool(1, 0, "late");
	else if (number == 2)
		*record = picture_alloc(0, VS_MEMORY_DEVICE, 0, PICTURE_STORY_BASE, 100 * MIB);
	else if (number < 900)
		*record = picture_step(10 * number, number);
	else if (number == 900)
		*record = picture_block(10 * number, 1, PICTURE_STORY_BASE, 100 * MIB);
	else if (number == 901)
		*record = picture_step(10000, 0);
	else
		return 0;
	return 1;
}

static int rewind_late(void *context)
{
	(void)context;
	late_position = 0;
	return 0;
}

static void test_a_segment_is_its_pools_from_birth_on(void **state)
{
	static const struct vs_source late = {.next = next_late, .rewind = rewind_late};
	struct vs_heatmap_request request = {.device = 0,
					     .to_ns = UINT64_MAX,
					     .choose_cells = choose_cells,
					     .width = 100,
					     .height = 100};
	struct vs_heatmap_survey survey;
	struct vs_heatmap map;

	(void)state;
	assert_int_equal(vs_heatmap_survey_run(&survey, &late, &request), 0);
	assert_int_equal(vs_heatmap_gather_cells(&map, &late, &request, &survey), 0);
	vs_heatmap_survey_fini(&survey);
	assert_int_equal(get_share(&map, map.held, 5000, 50), 100);
	assert_int_equal(get_share(&map, map.live, 5000, 50), 0);
	assert_int_equal(get_share(&map, map.live, 9500, 50), 100);
	assert_int_equal(map.nr_steps, 898); /* once, although it took two passes */
	vs_heatmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_segment_is_its_pools_from_birth_on),
		cmocka_unit_test(test_a_pool_is_its_segments_and_blocks),
		cmocka_unit_test(test_a_segment_is_found_on_its_device),
		cmocka_unit_test(test_heatmap_takes_the_device_that_ran_out_of_memory),
		cmocka_unit_test(test_failures_carry_what_was_asked_and_the_largest_hole),
		cmocka_unit_test(test_fragmentation_is_that_of_the_pool_with_most_holes),
		cmocka_unit_test(test_steps_and_outermost_phases_are_kept),
		cmocka_unit_test(test_window_leaves_out_what_is_not_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
