#include "phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define OWN   0u
#define OTHER 1u

static struct vs_phases phases;

static struct vs_clock_instant at(uint64_t ns)
{
	return (struct vs_clock_instant){.ns = ns};
}

static int set_up(void **state)
{
	(void)state;
	memset(&phases, 0, sizeof(phases));
	vs_phases_enter(&phases, 1);
	return 0;
}

static void test_a_source_closes_what_it_opened_last(void **state)
{
	(void)state;
	vs_phases_push(&phases, OWN, 10, at(1));
	vs_phases_push(&phases, OWN, 11, at(2));
	assert_int_equal(vs_phases_pop(&phases, OWN), 1);
	assert_int_equal(phases.depth, 1);
	assert_int_equal(phases.open[0].name, 10);
	assert_int_equal(vs_phases_pop(&phases, OWN), 1);
	assert_int_equal(phases.depth, 0);
}

static void test_a_source_cannot_close_what_is_not_its_own(void **state)
{
	(void)state;
	assert_int_equal(vs_phases_pop(&phases, OWN), 0);
	vs_phases_push(&phases, OTHER, 10, at(1));
	assert_int_equal(vs_phases_pop(&phases, OWN), 0);
	assert_int_equal(phases.depth, 1);
}

static void test_closing_below_others_tells_how_many_are_in_the_way(void **state)
{
	(void)state;
	vs_phases_push(&phases, OTHER, 9, at(1));
	vs_phases_push(&phases, OWN, 10, at(2));
	vs_phases_push(&phases, OTHER, 11, at(3));
	vs_phases_push(&phases, OTHER, 12, at(4));
	assert_int_equal(vs_phases_pop(&phases, OWN), 3);
	assert_int_equal(phases.depth, 3);
	assert_int_equal(phases.open[0].name, 9);
	assert_int_equal(phases.open[1].name, 11); /* depth - 3 + 1 */
	assert_int_equal(phases.open[2].name, 12);
}

static void test_deeper_ones_than_are_kept_are_counted(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < VS_PHASES_MAX + 3; i++)
		vs_phases_push(&phases, OWN, i, at(i));
	assert_int_equal(phases.depth, VS_PHASES_MAX + 3);
	for (i = 0; i < VS_PHASES_MAX + 3; i++)
		assert_int_equal(vs_phases_pop(&phases, OWN), 1);
	assert_int_equal(vs_phases_pop(&phases, OWN), 0);
}

static void test_another_recording_begins_with_none(void **state)
{
	(void)state;
	vs_phases_push(&phases, OWN, 10, at(1));
	vs_phases_add_note(&phases, &(struct vs_phase_note){true, 3, at(2)});
	vs_phases_enter(&phases, 1);
	assert_int_equal(phases.depth, 1);
	vs_phases_enter(&phases, 2);
	assert_int_equal(phases.depth, 0);
	assert_int_equal(phases.nr_notes, 0);
}

static void test_notes_beyond_the_room_push_out_the_oldest(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < VS_PHASES_NOTES + 2; i++)
		vs_phases_add_note(&phases, &(struct vs_phase_note){true, i, at(i)});
	assert_int_equal(phases.nr_notes, VS_PHASES_NOTES);
	assert_int_equal(phases.notes[0].value, 2);
	assert_int_equal(phases.notes[VS_PHASES_NOTES - 1].value, VS_PHASES_NOTES + 1);
}

static void test_all_comes_in_the_order_it_happened(void **state)
{
	static const bool expected[] = {false, true, false, true};
	uint32_t phase = 0, note = 0, i;
	bool is_note;

	(void)state;
	vs_phases_push(&phases, OWN, 10, at(1));
	vs_phases_add_note(&phases, &(struct vs_phase_note){true, 0, at(2)});
	vs_phases_push(&phases, OWN, 11, at(3));
	vs_phases_add_note(&phases, &(struct vs_phase_note){false, 5, at(4)});
	for (i = 0; i < 4; i++) {
		assert_true(vs_phases_next(&phases, &phase, &note, &is_note));
		assert_int_equal(is_note, expected[i]);
	}
	assert_int_equal(phase, 2);
	assert_int_equal(note, 2);
	assert_false(vs_phases_next(&phases, &phase, &note, &is_note));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_a_source_closes_what_it_opened_last),
		TEST(test_a_source_cannot_close_what_is_not_its_own),
		TEST(test_closing_below_others_tells_how_many_are_in_the_way),
		TEST(test_deeper_ones_than_are_kept_are_counted),
		TEST(test_another_recording_begins_with_none),
		TEST(test_notes_beyond_the_room_push_out_the_oldest),
		TEST(test_all_comes_in_the_order_it_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
