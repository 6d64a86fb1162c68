#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"

/* A trace with which nothing is the matter. */
static struct vs_check_facts make_facts(void)
{
	return (struct vs_check_facts){
		.state = {.is_complete = true,
			  .has_end = true,
			  .nr_events_in_blocks = 10,
			  .nr_events_end = 10},
		.counters = {.nr_events = 10},
	};
}

static struct vs_check_finding judge(const struct vs_check_facts *facts, const char *name)
{
	for (const struct vs_check *check = vs_check_list; check->name; check++)
		if (!strcmp(check->name, name))
			return check->judge(facts);
	fail_msg("there is no check %s", name);
	return (struct vs_check_finding){0};
}

static void expect(const struct vs_check_facts *facts, const char *name,
		   enum vs_check_verdict verdict, uint64_t count)
{
	struct vs_check_finding finding = judge(facts, name);

	if (finding.verdict != verdict || finding.count != count)
		fail_msg("%s: %s, %llu", name, vs_check_get_word(finding.verdict),
			 (unsigned long long)finding.count);
}

/* Everything else is ok. */
static void expect_only(const struct vs_check_facts *facts, const char *name,
			enum vs_check_verdict verdict, uint64_t count)
{
	for (const struct vs_check *check = vs_check_list; check->name; check++)
		if (strcmp(check->name, name) != 0)
			expect(facts, check->name, VS_CHECK_OK, 0);
	expect(facts, name, verdict, count);
}

static void test_good_trace_is_ok_in_every_respect(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	for (const struct vs_check *check = vs_check_list; check->name; check++) {
		struct vs_check_finding finding = check->judge(&facts);

		assert_int_equal(finding.verdict, VS_CHECK_OK);
		assert_int_equal(finding.count, 0);
		assert_null(finding.reason);
	}
}

static void test_each_check_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (const struct vs_check *a = vs_check_list; a->name; a++) {
		assert_non_null(a->what);
		assert_int_equal(strspn(a->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(a->name));
		for (const struct vs_check *b = a + 1; b->name; b++)
			assert_string_not_equal(a->name, b->name);
	}
}

static void test_damage_is_wrong(void **state)
{
	struct vs_check_facts facts;

	(void)state;
	facts = make_facts();
	facts.state.nr_bad_blocks = 3;
	expect_only(&facts, "blocks", VS_CHECK_WRONG, 3);
	facts = make_facts();
	facts.state.nr_gaps = 2;
	expect_only(&facts, "gaps", VS_CHECK_WRONG, 2);
	facts = make_facts();
	facts.state.nr_bad_in_log = 4;
	expect_only(&facts, "log", VS_CHECK_WRONG, 4);
}

static void test_totals_are_compared_where_there_is_an_end(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	facts.state.nr_events_end = 13;
	expect_only(&facts, "totals", VS_CHECK_WRONG, 3);
	facts.state.nr_events_end = 6;
	expect_only(&facts, "totals", VS_CHECK_WRONG, 4);
	facts.state.has_end = false;
	expect(&facts, "totals", VS_CHECK_OK, 0);
}

static void test_end_out_of_order_is_a_note_unless_something_is_missing(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	facts.state.is_complete = false; /* folded */
	expect_only(&facts, "end", VS_CHECK_NOTE, 1);
	facts.state.has_end = false; /* the log is there */
	expect_only(&facts, "end", VS_CHECK_NOTE, 1);
	facts.state.is_running = true;
	expect_only(&facts, "end", VS_CHECK_NOTE, 1);
	facts.state.is_running = false;
	facts.state.is_cut = true;
	expect_only(&facts, "end", VS_CHECK_WRONG, 1);
}

static void test_losses_are_notes_as_long_as_the_totals_agree(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	facts.state.nr_lost = 7;
	facts.state.nr_lost_end = 7;
	facts.counters.nr_lost = 5; /* the last ones found no record to stand in */
	expect_only(&facts, "lost", VS_CHECK_NOTE, 7);
	facts.counters.nr_lost = 8;
	expect_only(&facts, "lost", VS_CHECK_WRONG, 7);
	facts.state.has_end = false;
	expect(&facts, "lost", VS_CHECK_NOTE, 7);
}

static void test_calls_under_way_are_a_note(void **state)
{
	struct vs_check_facts facts = make_facts();
	const char *reason;

	(void)state;
	facts.state.nr_unfinished = 2;
	expect_only(&facts, "unfinished", VS_CHECK_NOTE, 2);
	reason = judge(&facts, "unfinished").reason;
	facts.state.is_running = true;
	expect(&facts, "unfinished", VS_CHECK_NOTE, 2);
	assert_string_not_equal(judge(&facts, "unfinished").reason, reason);
}

static void test_wrong_order_is_wrong(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	facts.nr_earlier = 3;
	expect_only(&facts, "order", VS_CHECK_WRONG, 3);
	assert_string_equal(judge(&facts, "order").reason, "of different threads");
	facts.nr_earlier_in_thread = 1;
	expect_only(&facts, "order", VS_CHECK_WRONG, 3);
	assert_string_equal(judge(&facts, "order").reason, "even of the same thread");
}

static void test_each_missing_definition_is_wrong(void **state)
{
	static const char *const names[VS_NR_CHECK_REFERENCES] = {
		[VS_CHECK_THREAD] = "threads", [VS_CHECK_STACK] = "stacks",
		[VS_CHECK_NAME] = "names",     [VS_CHECK_POOL] = "pools",
		[VS_CHECK_MODULE] = "modules",
	};

	(void)state;
	for (int i = 0; i < VS_NR_CHECK_REFERENCES; i++) {
		struct vs_check_facts facts = make_facts();

		facts.nr_undefined[i] = 5;
		expect_only(&facts, names[i], VS_CHECK_WRONG, 5);
	}
}

static void test_what_is_nobodys_fault_is_a_note(void **state)
{
	struct vs_check_facts facts;

	(void)state;
	facts = make_facts();
	facts.state.nr_dropped = 6;
	expect_only(&facts, "dropped", VS_CHECK_NOTE, 6);
	facts = make_facts();
	facts.nr_undescribed_devices = 1;
	expect_only(&facts, "devices", VS_CHECK_NOTE, 1);
	facts = make_facts();
	facts.nr_short_stacks = 2;
	expect_only(&facts, "short_stacks", VS_CHECK_NOTE, 2);
	facts = make_facts();
	facts.nr_foreign_stacks = 3;
	expect_only(&facts, "foreign_stacks", VS_CHECK_NOTE, 3);
	facts = make_facts();
	facts.counters.nr_orphan_blocks = 4;
	expect_only(&facts, "orphans", VS_CHECK_NOTE, 4);
}

static void test_repairs_are_wrong_unless_events_are_known_to_be_missing(void **state)
{
	struct vs_check_facts facts = make_facts();

	(void)state;
	facts.counters.nr_overlaps = 2;
	expect_only(&facts, "overlaps", VS_CHECK_WRONG, 2);
	facts.nr_unknown_frees = 3;
	expect(&facts, "frees", VS_CHECK_WRONG, 3);
	facts.state.nr_lost = 1;
	facts.state.nr_lost_end = 1;
	expect(&facts, "overlaps", VS_CHECK_NOTE, 2);
	expect(&facts, "frees", VS_CHECK_NOTE, 3);
	facts.state.nr_lost = 0;
	facts.state.is_damaged = true;
	expect(&facts, "overlaps", VS_CHECK_NOTE, 2);
	expect(&facts, "frees", VS_CHECK_NOTE, 3);
}

static void test_verdicts_have_words(void **state)
{
	(void)state;
	assert_string_equal(vs_check_get_word(VS_CHECK_OK), "ok");
	assert_string_equal(vs_check_get_word(VS_CHECK_NOTE), "note");
	assert_string_equal(vs_check_get_word(VS_CHECK_WRONG), "wrong");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_trace_is_ok_in_every_respect),
		cmocka_unit_test(test_each_check_has_a_name_of_its_own),
		cmocka_unit_test(test_damage_is_wrong),
		cmocka_unit_test(test_totals_are_compared_where_there_is_an_end),
		cmocka_unit_test(test_end_out_of_order_is_a_note_unless_something_is_missing),
		cmocka_unit_test(test_losses_are_notes_as_long_as_the_totals_agree),
		cmocka_unit_test(test_calls_under_way_are_a_note),
		cmocka_unit_test(test_wrong_order_is_wrong),
		cmocka_unit_test(test_each_missing_definition_is_wrong),
		cmocka_unit_test(test_what_is_nobodys_fault_is_a_note),
		cmocka_unit_test(test_repairs_are_wrong_unless_events_are_known_to_be_missing),
		cmocka_unit_test(test_verdicts_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
