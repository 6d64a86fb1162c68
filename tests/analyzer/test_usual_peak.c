#include "usual_peak.h"

#include "script.h"

#define BASE     ((uint64_t)0x10000000)
#define NR_USUAL 40

static const uint64_t frames[1] = {0x101};

/* Batches of one size, and one that is larger. */
static void make_batches(struct script *script, uint64_t nr, uint64_t large)
{
	script_init(script);
	script_device(script, 0, 1000 * GIB);
	script_stack(script, 1, frames, 1);
	script_set_stack(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 100 * MIB);
	for (uint64_t i = 0; i < nr; i++) {
		script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE,
			     i == nr - 1 ? large : (300 + i % 3) * MIB);
		script_free(script, VS_MEMORY_DEVICE, 2 * BASE);
	}
}

static struct vs_usual_peak find(struct script *script)
{
	struct vs_usual_peak usual;
	struct vs_analysis analysis;

	script_analyse(script, &analysis);
	assert_int_equal(vs_usual_peak_find(&analysis, script_get_device(analysis.replay), &usual),
			 0);
	vs_analysis_fini(&analysis);
	script_fini(script);
	return usual;
}

static void test_one_large_batch_does_not_change_what_is_usual(void **state)
{
	struct script script;
	struct vs_usual_peak usual;

	(void)state;
	make_batches(&script, NR_USUAL + 1, 2 * GIB);
	usual = find(&script);
	assert_int_equal(usual.nr, NR_USUAL + 1);
	assert_int_equal(usual.bytes, 401 * MIB);
}

static void test_ups_and_downs_that_are_small_beside_the_highest_are_no_peaks(void **state)
{
	struct script script;
	struct vs_usual_peak usual;

	(void)state;
	make_batches(&script, NR_USUAL + 1, 100 * GIB);
	usual = find(&script);
	assert_int_equal(usual.nr, 1);
}

static void test_without_memory_there_is_none(void **state)
{
	struct script script;
	struct vs_usual_peak usual;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 1000 * GIB);
	usual = find(&script);
	assert_int_equal(usual.nr, 0);
	assert_int_equal(usual.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_large_batch_does_not_change_what_is_usual),
		cmocka_unit_test(test_ups_and_downs_that_are_small_beside_the_highest_are_no_peaks),
		cmocka_unit_test(test_without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
