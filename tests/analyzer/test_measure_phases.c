#include "measure_phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

enum {
	FORWARD = 1,
	BACKWARD,
	STEP_1,
	STEP_2,
	EPOCH_0,
	EPOCH_1,
	LOAD
};

static struct script script;
static struct vs_analysis analysis;
static struct vs_measure_phases measure;
static struct vs_replay *replay;

static void begin(void)
{
	script_init_usual(&script);
	script_name(&script, STEP_1, "step 1");
	script_name(&script, STEP_2, "step 2");
	script_name(&script, EPOCH_0, "epoch 0");
	script_name(&script, EPOCH_1, "epoch 1");
	script_name(&script, LOAD, "load");
}

static void take(uint64_t address, uint64_t size)
{
	script_alloc(&script, VS_MEMORY_DEVICE, address * BASE, size);
}

static void give(uint64_t address)
{
	script_free(&script, VS_MEMORY_DEVICE, address * BASE);
}

static void mark(uint32_t name)
{
	script_add(&script, (struct vs_record){.type = VS_RECORD_MARK, .mark = {.name = name}});
}

static void start_range(uint32_t name, uint64_t id)
{
	script_add(&script, (struct vs_record){.type = VS_RECORD_RANGE_START,
					       .range_start = {.name = name, .id = id}});
}

static void end_range(uint64_t id)
{
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_RANGE_END, .range_end = {.id = id}});
}

static void look_window(uint64_t from_ns, uint64_t to_ns)
{
	script_analyse_window(&script, &analysis, from_ns, to_ns);
	assert_int_equal(vs_measure_phases_init(&measure), 0);
	assert_int_equal(vs_analysis_observe(&analysis, &measure.observer, &replay), 0);
}

static void look(void)
{
	look_window(0, UINT64_MAX);
}

static void end(void)
{
	vs_measure_phases_fini(&measure);
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static const struct vs_phase_node *find(const char *wanted)
{
	char path[256];
	size_t i;

	for (i = 0; i < measure.nr_nodes; i++) {
		vs_measure_phases_put_path(measure.nodes[i], path, sizeof(path));
		if (!strcmp(path, wanted))
			return measure.nodes[i];
	}
	return NULL;
}

static const struct vs_phase_sum *get_sum(const char *path)
{
	const struct vs_phase_node *node = find(path);

	assert_non_null(node);
	return vs_measure_phases_get(node, script_get_device(replay));
}

static const struct vs_phase_numbers *get(const char *path)
{
	return &get_sum(path)->numbers;
}

static const struct vs_phase_numbers *get_row(const char *path, size_t i)
{
	const struct vs_phase_node *node = find(path);

	assert_non_null(node);
	assert_true(i < node->nr_rows);
	return vs_measure_phases_get_row(&node->rows[i], script_get_device(replay));
}

static void test_a_phase_has_what_was_allocated_freed_and_kept_in_it(void **state)
{
	const struct vs_phase_sum *sum;

	(void)state;
	begin();
	take(1, 10 * MIB);
	script_push(&script, FORWARD);
	take(2, 4 * MIB);
	take(3, 2 * MIB);
	give(2);
	give(1);
	script_pop(&script);
	give(3);
	look();
	sum = get_sum("forward");
	assert_int_equal(find("forward")->nr_visits, 1);
	assert_int_equal(find("forward")->nr_open, 0);
	assert_int_equal(find("forward")->time_ns, 5000);
	assert_int_equal(sum->numbers.allocated, 6 * MIB);
	assert_int_equal(sum->numbers.freed, 14 * MIB);
	assert_int_equal(sum->numbers.kept, 2 * MIB);
	assert_int_equal(sum->numbers.alive, 0);
	assert_int_equal(sum->numbers.peak_live, 16 * MIB);
	assert_int_equal(sum->numbers.peak_reserved, 16 * MIB);
	assert_int_equal(sum->numbers.derived, 0);
	assert_int_equal(sum->highest.numbers.begin_live, 10 * MIB);
	assert_int_equal(sum->highest.numbers.end_live, 2 * MIB);
	end();
}

static void test_what_is_in_an_inner_phase_is_in_the_outer_one(void **state)
{
	(void)state;
	begin();
	script_push(&script, FORWARD);
	take(1, MIB);
	script_push(&script, BACKWARD);
	take(2, 8 * MIB);
	give(2);
	take(3, 2 * MIB);
	script_pop(&script);
	give(1);
	script_pop(&script);
	look();
	assert_int_equal(get("forward")->allocated, 11 * MIB);
	assert_int_equal(get("forward")->kept, 2 * MIB);
	assert_int_equal(get("forward")->alive, 2 * MIB);
	assert_int_equal(get("forward")->peak_live, 9 * MIB);
	assert_int_equal(get("forward > backward")->allocated, 10 * MIB);
	assert_int_equal(get("forward > backward")->freed, 8 * MIB);
	assert_int_equal(get("forward > backward")->kept, 2 * MIB);
	assert_null(find("backward"));
	end();
}

/* Without this, the first would be taken for kept by what came later. */
static void test_what_an_earlier_visit_left_is_not_kept_by_a_later_one(void **state)
{
	const struct vs_phase_sum *sum;

	(void)state;
	begin();
	script_push(&script, FORWARD);
	take(1, 3 * MIB);
	script_pop(&script);
	script_push(&script, FORWARD);
	give(1);
	take(2, MIB);
	script_pop(&script);
	look();
	sum = get_sum("forward");
	assert_int_equal(find("forward")->nr_visits, 2);
	assert_int_equal(sum->numbers.kept, 4 * MIB);
	assert_int_equal(sum->numbers.alive, MIB);
	assert_int_equal(sum->first.numbers.kept, 3 * MIB);
	assert_int_equal(sum->last.numbers.kept, MIB);
	assert_int_equal(sum->highest.numbers.begin_live, 0);
	assert_int_equal(sum->last.numbers.begin_live, 3 * MIB);
	end();
}

static void test_peaks_are_those_of_the_time_a_phase_was_open(void **state)
{
	(void)state;
	begin();
	take(1, 100 * MIB);
	give(1);
	script_push(&script, FORWARD);
	take(1, MIB);
	script_push(&script, BACKWARD);
	take(2, 50 * MIB);
	give(2);
	script_pop(&script);
	script_push(&script, LOAD);
	take(2, 2 * MIB);
	script_pop(&script);
	script_pop(&script);
	take(3, 200 * MIB);
	look();
	assert_int_equal(get("forward")->peak_live, 51 * MIB);
	assert_int_equal(get("forward > backward")->peak_live, 51 * MIB);
	assert_int_equal(get("forward > load")->peak_live, 3 * MIB);
	end();
}

static void test_peaks_survive_ranges_that_end_in_any_order(void **state)
{
	(void)state;
	begin();
	start_range(FORWARD, 1);
	take(1, 10 * MIB);
	give(1);
	start_range(BACKWARD, 2);
	take(1, 5 * MIB);
	give(1);
	start_range(LOAD, 3);
	take(1, 7 * MIB);
	give(1);
	end_range(2); /* the one in the middle */
	take(1, 6 * MIB);
	give(1);
	end_range(1);
	end_range(3);
	look();
	assert_int_equal(get("forward")->peak_live, 10 * MIB);
	assert_int_equal(get("backward")->peak_live, 7 * MIB);
	assert_int_equal(get("load")->peak_live, 7 * MIB);
	assert_int_equal(find("backward")->kind, VS_PHASE_RANGE);
	end();
}

static void test_a_range_keeps_what_was_allocated_by_anybody_while_it_was_open(void **state)
{
	(void)state;
	begin();
	take(1, MIB);
	start_range(LOAD, 1);
	script_set_thread(&script, 2);
	take(2, 2 * MIB);
	give(1);
	script_set_thread(&script, 3);
	take(3, 4 * MIB);
	give(2);
	end_range(1);
	end_range(1); /* once too often */
	look();
	assert_int_equal(find("load")->nr_visits, 1);
	assert_int_equal(get("load")->allocated, 6 * MIB);
	assert_int_equal(get("load")->freed, 3 * MIB);
	assert_int_equal(get("load")->kept, 4 * MIB);
	end();
}

static void test_a_thread_without_phases_counts_to_the_one_that_opened_last(void **state)
{
	(void)state;
	begin();
	script_push(&script, FORWARD);
	script_set_thread(&script, 2);
	script_push(&script, LOAD);
	script_set_thread(&script, 3);
	take(1, MIB); /* load */
	script_set_thread(&script, 1);
	take(2, 2 * MIB); /* its own */
	script_set_thread(&script, 2);
	script_pop(&script);
	script_set_thread(&script, 3);
	take(3, 4 * MIB); /* forward: the only one that is left */
	script_push(&script, BACKWARD);
	take(4, 8 * MIB); /* its own from here on */
	look();
	assert_int_equal(get("load")->allocated, MIB);
	assert_int_equal(get("load")->derived, MIB);
	assert_int_equal(get("forward")->allocated, 6 * MIB);
	assert_int_equal(get("forward")->derived, 4 * MIB);
	assert_int_equal(get("backward")->allocated, 8 * MIB);
	assert_int_equal(get("backward")->derived, 0);
	assert_int_equal(find("backward")->nr_open, 1);
	end();
}

static void test_phases_that_count_are_one(void **state)
{
	(void)state;
	begin();
	script_push(&script, STEP_1);
	script_push(&script, FORWARD);
	take(1, MIB);
	script_pop(&script);
	script_pop(&script);
	script_push(&script, STEP_2);
	script_push(&script, FORWARD);
	take(2, MIB);
	script_pop(&script);
	script_pop(&script);
	look();
	assert_int_equal(measure.nr_nodes, 2);
	assert_int_equal(find("step #")->nr_visits, 2);
	assert_int_equal(get("step # > forward")->allocated, 2 * MIB);
	end();
}

static void test_steps_and_epochs_reach_to_the_next_one(void **state)
{
	(void)state;
	begin();
	take(1, MIB);
	mark(EPOCH_0);
	script_step(&script, 10);
	take(2, 2 * MIB);
	script_step(&script, 11);
	give(2);
	take(3, 4 * MIB);
	mark(FORWARD); /* no epoch */
	mark(EPOCH_1);
	take(4, 8 * MIB);
	look();
	assert_int_equal(find("step")->nr_rows, 2);
	assert_int_equal(find("step")->nr_open, 1);
	assert_int_equal(find("step")->rows[1].first, 11);
	assert_int_equal(get_row("step", 0)->allocated, 2 * MIB);
	assert_int_equal(get_row("step", 0)->kept, 2 * MIB);
	assert_int_equal(get_row("step", 0)->alive, 0);
	assert_int_equal(get_row("step", 0)->begin_live, MIB);
	assert_int_equal(get_row("step", 1)->freed, 2 * MIB);
	assert_int_equal(get_row("step", 1)->kept, 12 * MIB);
	assert_int_equal(get_row("step", 1)->alive, 12 * MIB);
	assert_int_equal(find("epoch")->nr_rows, 2);
	assert_int_equal(get_row("epoch", 0)->kept, 4 * MIB);
	assert_int_equal(get_row("epoch", 1)->kept, 8 * MIB);
	assert_int_equal(get_row("epoch", 1)->begin_live, 5 * MIB);
	end();
}

/* As many as a long run has, in rows that do not grow with it. */
static void test_many_steps_are_taken_together(void **state)
{
	enum {
		NR = 3 * VS_PHASES_ROWS + 5
	};
	const struct vs_phase_node *node;
	uint64_t nr = 0, kept = 0, alive = 0, last = 0;

	(void)state;
	begin();
	for (uint64_t i = 0; i < NR; i++) {
		script_step(&script, i);
		take(1 + i, (i == 500 ? 9 : 1) * MIB);
		if (i % 2)
			give(1 + i);
	}
	look();
	node = find("step");
	assert_int_equal(node->rows_stride, 4);
	assert_int_equal(node->nr_rows, (NR + 3) / 4);
	for (size_t i = 0; i < node->nr_rows; i++) {
		assert_int_equal(node->rows[i].first, i * 4);
		nr += node->rows[i].nr;
		kept += get_row("step", i)->kept;
		alive += get_row("step", i)->alive;
		assert_int_equal(get_row("step", i)->begin_live, last);
		last = get_row("step", i)->end_live;
	}
	assert_int_equal(nr, NR);
	assert_int_equal(kept, ((NR + 1) / 2 + 8) * MIB);
	assert_int_equal(alive, kept);
	assert_int_equal(get("step")->alive, kept);
	assert_int_equal(get_row("step", 125)->allocated, 12 * MIB);
	end();
}

static void test_failures_are_counted_where_they_happen(void **state)
{
	(void)state;
	begin();
	script_step(&script, 1);
	script_push(&script, FORWARD);
	script_push(&script, BACKWARD);
	script_fail(&script, GIB, 0, 0);
	script_fail_error(&script, VS_MEMORY_DEVICE, 1, 1); /* another error */
	script_pop(&script);
	script_block_fail(&script, 1, MIB);
	look();
	assert_int_equal(find("forward")->nr_failed, 2);
	assert_int_equal(find("forward > backward")->nr_failed, 1);
	assert_int_equal(find("step")->nr_failed, 2);
	end();
}

static void test_a_free_that_failed_is_none(void **state)
{
	(void)state;
	begin();
	script_push(&script, FORWARD);
	take(1, MIB);
	give(1);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_pop(&script);
	look();
	assert_int_equal(get("forward")->allocated, MIB);
	assert_int_equal(get("forward")->freed, 0);
	end();
}

static void test_a_window_begins_with_what_is_open(void **state)
{
	uint64_t from_ns;

	(void)state;
	begin();
	mark(EPOCH_0);
	script_step(&script, 5);
	start_range(LOAD, 1);
	script_push(&script, FORWARD);
	take(1, MIB);
	from_ns = script.time_ns + 1;
	take(2, 2 * MIB);
	give(1);
	script_pop(&script);
	end_range(1);
	look_window(from_ns, UINT64_MAX);
	assert_int_equal(get_sum("forward")->first.begin_ns, from_ns);
	assert_int_equal(get_sum("forward")->first.numbers.begin_live, MIB);
	assert_int_equal(get("forward")->allocated, 2 * MIB);
	assert_int_equal(get("forward")->freed, MIB);
	assert_int_equal(get("forward")->kept, 2 * MIB);
	assert_int_equal(get("load")->kept, 2 * MIB);
	assert_int_equal(find("step")->rows[0].first, 5);
	assert_int_equal(get_row("epoch", 0)->allocated, 2 * MIB);
	end();
}

static void test_a_pop_without_a_push_is_nothing(void **state)
{
	(void)state;
	begin();
	script_pop(&script);
	script_push(&script, FORWARD);
	script_pop(&script);
	script_pop(&script);
	take(1, MIB);
	look();
	assert_int_equal(measure.nr_nodes, 1);
	assert_int_equal(get("forward")->allocated, 0);
	end();
}

static void test_deep_nesting_is_followed_so_far_and_no_further(void **state)
{
	char path[4096];

	(void)state;
	begin();
	for (uint32_t i = 0; i < 2 * VS_PHASES_DEPTH; i++)
		script_push(&script, FORWARD);
	take(1, MIB);
	for (uint32_t i = 0; i < 2 * VS_PHASES_DEPTH; i++)
		script_pop(&script);
	script_push(&script, BACKWARD);
	take(2, 2 * MIB);
	script_pop(&script);
	look();
	assert_int_equal(measure.nr_nodes, VS_PHASES_DEPTH + 1);
	assert_int_equal(get("backward")->allocated, 2 * MIB);
	for (size_t i = 0; i < VS_PHASES_DEPTH; i++)
		assert_int_equal(vs_measure_phases_get(measure.nodes[i], script_get_device(replay))
					 ->numbers.allocated,
				 MIB);
	vs_measure_phases_put_path(measure.nodes[VS_PHASES_DEPTH - 1], path, 20);
	assert_string_equal(path, "forward > forward >");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_phase_has_what_was_allocated_freed_and_kept_in_it),
		cmocka_unit_test(test_what_is_in_an_inner_phase_is_in_the_outer_one),
		cmocka_unit_test(test_what_an_earlier_visit_left_is_not_kept_by_a_later_one),
		cmocka_unit_test(test_peaks_are_those_of_the_time_a_phase_was_open),
		cmocka_unit_test(test_peaks_survive_ranges_that_end_in_any_order),
		cmocka_unit_test(
			test_a_range_keeps_what_was_allocated_by_anybody_while_it_was_open),
		cmocka_unit_test(test_a_thread_without_phases_counts_to_the_one_that_opened_last),
		cmocka_unit_test(test_phases_that_count_are_one),
		cmocka_unit_test(test_steps_and_epochs_reach_to_the_next_one),
		cmocka_unit_test(test_many_steps_are_taken_together),
		cmocka_unit_test(test_failures_are_counted_where_they_happen),
		cmocka_unit_test(test_a_free_that_failed_is_none),
		cmocka_unit_test(test_a_window_begins_with_what_is_open),
		cmocka_unit_test(test_a_pop_without_a_push_is_nothing),
		cmocka_unit_test(test_deep_nesting_is_followed_so_far_and_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
