#include "measure_peak.h"

#include <stdlib.h>

#include "script.h"
#include "site_order.h"

#define BASE ((uint64_t)0x10000000)

static const struct vs_peak_device *get_peaks(const struct vs_analysis *analysis)
{
	return vs_measure_peak_get(&analysis->peak, script_get_device(analysis->replay));
}

static struct vs_peak_account get_account(const struct vs_analysis *analysis, uint32_t stack)
{
	return vs_measure_peak_get_account(&analysis->peak,
					   script_get_account(analysis->replay, stack));
}

static void test_peak_knows_who_was_live_then_and_not_later(void **state)
{
	const struct vs_peak_device *peaks;
	struct vs_peak_account at_peak;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_step(&script, 7);
	script_push(&script, 2);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_set_stack(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 50);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 5); /* the peak: 155 */
	script_pop(&script);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_set_stack(&script, 3);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 99);
	script_analyse(&script, &analysis);
	peaks = vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay));
	assert_int_equal(peaks->live.bytes, 155);
	assert_int_equal(peaks->live.count, 3);
	assert_int_equal(peaks->live.at.step, 7);
	assert_string_equal(peaks->live.at.phase, "backward");
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 1));
	assert_int_equal(at_peak.bytes, 100);
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 2));
	assert_int_equal(at_peak.bytes, 55);
	assert_int_equal(at_peak.count, 2);
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 3));
	assert_int_equal(at_peak.bytes, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_sites_at_the_peak_add_up_to_it_whatever_happens(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	unsigned int seed = 11;
	bool is_live[64] = {false};
	uint64_t sum = 0;
	size_t nr, i;

	(void)state;
	script_init_usual(&script);
	for (i = 0; i < 5000; i++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % 64;

		script_set_stack(&script, 1 + slot % 4);
		if (is_live[slot])
			script_free(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE);
		else
			script_alloc(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE,
				     (uint64_t)rand_r(&seed) % 1000);
		is_live[slot] = !is_live[slot];
	}
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_peak(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	for (i = 0; i < nr; i++)
		sum += rows[i].bytes;
	assert_int_equal(nr, 4);
	assert_int_equal(sum,
			 vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))
				 ->live.bytes);
	assert_true(rows[0].bytes >= rows[3].bytes);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_peak_is_the_first_instant_with_the_most(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 3; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
		script_free(&script, VS_MEMORY_DEVICE, BASE);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(get_peaks(&analysis)->live.bytes, 100);
	assert_int_equal(get_peaks(&analysis)->live.at.time_ns, 1000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_reserved_peak_is_the_fullest_of_equal_ones(void **state)
{
	const struct vs_peak_device *peaks;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000); /* all the pool ever takes */
	script_block(&script, 1, BASE, 10);
	script_block(&script, 1, BASE + 500, 300);
	script_block_free(&script, 1, BASE);
	script_analyse(&script, &analysis);
	peaks = vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay));
	assert_int_equal(peaks->reserved.bytes, 1000);
	assert_int_equal(peaks->reserved.other, 310);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_each_peak_knows_the_other_number_at_its_time(void **state)
{
	const struct vs_peak_device *peaks;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE, 700); /* live peak: 700 in 1000 */
	script_block_free(&script, 1, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 30); /* reserved peak: 1030, 30 live */
	script_analyse(&script, &analysis);
	peaks = get_peaks(&analysis);
	assert_int_equal(peaks->live.bytes, 700);
	assert_int_equal(peaks->live.other, 1000);
	assert_int_equal(peaks->reserved.bytes, 1030);
	assert_int_equal(peaks->reserved.other, 30);
	assert_true(peaks->reserved.at.time_ns > peaks->live.at.time_ns);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_memory_of_the_host_is_in_no_peak(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_PINNED, BASE, 1000);
	script_set_stack(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 10);
	script_analyse(&script, &analysis);
	assert_int_equal(get_peaks(&analysis)->live.bytes, 10);
	assert_int_equal(get_peaks(&analysis)->reserved.bytes, 10);
	assert_int_equal(get_account(&analysis, 1).bytes, 0);
	assert_int_equal(get_account(&analysis, 2).bytes, 10);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_each_device_has_its_own_peak(void **state)
{
	const struct vs_peak_device *other;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_device(&script, 1, MIB);
	script_device(&script, 2, MIB);
	script_set_stack(&script, 1);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, BASE, 70);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 10);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 20);
	script_analyse(&script, &analysis);
	other = vs_measure_peak_get(&analysis.peak, vs_replay_get_device(analysis.replay, 1));
	assert_int_equal(other->live.bytes, 70);
	assert_int_equal(other->live.at.time_ns, 1000);
	assert_int_equal(get_peaks(&analysis)->live.bytes, 30);
	assert_int_equal(get_account(&analysis, 1).bytes, 30); /* the same site, on device 0 */
	other = vs_measure_peak_get(&analysis.peak, vs_replay_get_device(analysis.replay, 2));
	assert_int_equal(other->live.bytes, 0);
	assert_int_equal(other->reserved.bytes, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* 500 + 40 early, of which 40 are still there when the window opens. */
static void make_two_halves(struct script *script)
{
	script_init_usual(script);
	script_set_time(script, 1000000);
	script_set_stack(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 500);
	script_set_stack(script, 2);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 40);
	script_free(script, VS_MEMORY_DEVICE, BASE);
	script_set_time(script, 2000000);
	script_free(script, VS_MEMORY_DEVICE, 2 * BASE);
	script_alloc(script, VS_MEMORY_DEVICE, 3 * BASE, 7);
}

static void test_window_begins_with_what_is_there(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_two_halves(&script);
	script_analyse_window(&script, &analysis, 1500000, UINT64_MAX);
	assert_int_equal(get_peaks(&analysis)->live.bytes, 40);
	assert_int_equal(get_peaks(&analysis)->live.count, 1);
	assert_int_equal(get_account(&analysis, 1).bytes, 0);
	assert_int_equal(get_account(&analysis, 2).bytes, 40); /* freed later, live then */
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_without_events_has_what_was_there(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_two_halves(&script);
	script_analyse_window(&script, &analysis, 9000000, UINT64_MAX);
	assert_int_equal(get_peaks(&analysis)->live.bytes, 7);
	assert_int_equal(get_account(&analysis, 1).bytes, 0);
	assert_int_equal(get_account(&analysis, 2).bytes, 7);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peak_knows_who_was_live_then_and_not_later),
		cmocka_unit_test(test_sites_at_the_peak_add_up_to_it_whatever_happens),
		cmocka_unit_test(test_peak_is_the_first_instant_with_the_most),
		cmocka_unit_test(test_reserved_peak_is_the_fullest_of_equal_ones),
		cmocka_unit_test(test_each_peak_knows_the_other_number_at_its_time),
		cmocka_unit_test(test_memory_of_the_host_is_in_no_peak),
		cmocka_unit_test(test_each_device_has_its_own_peak),
		cmocka_unit_test(test_window_begins_with_what_is_there),
		cmocka_unit_test(test_window_without_events_has_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
