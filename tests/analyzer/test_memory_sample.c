#include "memory_sample.h"

#include "script.h"

static const struct vs_memory_rounding no_rounding;

/* NVML on a device of 1000: 100 are the driver's own, ours are 300, others' 200. */
static struct vs_memory_own make_own(void)
{
	return (struct vs_memory_own){
		.flags = VS_MEMORY_OWN_LISTED,
		.nr_others = 2,
		.own_size = 300,
		.others_size = 200,
	};
}

static struct vs_memory_sample make_sample(struct vs_memory_own own, uint64_t booked)
{
	struct vs_record record = {.type = VS_RECORD_MEMORY_INFO, .time_ns = 7};
	struct vs_memory_sample sample;

	record.memory_info = (struct vs_memory_info){
		.total_size = 1100,
		.free_size = 500,
		.used_size = 500,
		.reserved_size = 100,
	};
	vs_memory_sample_set(&sample, &record, booked);
	vs_memory_sample_set_own(&sample, &own);
	return sample;
}

static void test_a_new_sample_forgets_the_holders_of_the_old_one(void **state)
{
	struct vs_memory_sample sample = make_sample(make_own(), 250);
	struct vs_memory_holder holder = {.pid = 4, .size = 200};
	struct vs_record record = {.type = VS_RECORD_MEMORY_INFO, .time_ns = 9};

	(void)state;
	for (uint32_t i = 0; i < VS_MEMORY_HOLDERS_MAX + 3; i++)
		vs_memory_sample_add_holder(&sample, &holder);
	assert_int_equal(sample.nr_holders, VS_MEMORY_HOLDERS_MAX);
	vs_memory_sample_set(&sample, &record, 1);
	assert_int_equal(sample.nr_holders, 0);
	assert_int_equal(sample.time_ns, 9);
	assert_int_equal(sample.booked_bytes, 1);
}

static void test_a_holder_without_a_sample_is_nobody(void **state)
{
	struct vs_memory_sample sample = {0};

	(void)state;
	vs_memory_sample_add_holder(&sample, &(struct vs_memory_holder){.pid = 4});
	assert_int_equal(sample.nr_holders, 0);
}

static void test_outside_is_what_is_used_and_not_booked(void **state)
{
	struct vs_memory_sample sample = make_sample(make_own(), 250);

	(void)state;
	assert_int_equal(vs_memory_sample_get_outside(&sample, 1000), 250);
	assert_int_equal(vs_memory_sample_get_outside(&sample, 0), 250);
	/* The first version of NVML's answer: the driver's part is used. */
	sample.info.used_size = 600;
	sample.info.reserved_size = 0;
	assert_int_equal(vs_memory_sample_get_outside(&sample, 1000), 250);
	sample.booked_bytes = 900; /* managed */
	assert_int_equal(vs_memory_sample_get_outside(&sample, 1000), 0);
}

static void test_a_list_with_us_in_it_tells_context_and_others(void **state)
{
	struct vs_memory_sample sample = make_sample(make_own(), 250);
	struct vs_memory_split split;

	(void)state;
	vs_memory_sample_split(&sample, NULL, 270, &no_rounding, &split);
	assert_true(split.is_known && split.has_list);
	assert_int_equal(split.context_bytes, 50);
	assert_int_equal(split.others_bytes, 200);
	assert_int_equal(split.unexplained_bytes, 20);
	/* Less than both: never more than there is. */
	vs_memory_sample_split(&sample, NULL, 60, &no_rounding, &split);
	assert_int_equal(split.context_bytes, 50);
	assert_int_equal(split.others_bytes, 10);
	assert_int_equal(split.unexplained_bytes, 0);
	vs_memory_sample_split(&sample, NULL, 40, &no_rounding, &split);
	assert_int_equal(split.context_bytes, 40);
	assert_int_equal(split.others_bytes, 0);
}

static void test_without_us_in_the_list_the_holder_is_unknown(void **state)
{
	struct vs_memory_own own = make_own();
	struct vs_memory_sample sample;
	struct vs_memory_split split;

	(void)state;
	own.flags = VS_MEMORY_OWN_CONTEXT;
	own.context_size = 60;
	sample = make_sample(own, 250);
	vs_memory_sample_split(&sample, NULL, 250, &no_rounding, &split);
	assert_true(split.is_known);
	assert_false(split.has_list);
	assert_int_equal(split.context_bytes, 60);
	assert_int_equal(split.others_bytes, 190);
	assert_int_equal(split.unexplained_bytes, 0);
	sample.own.flags = 0;
	vs_memory_sample_split(&sample, NULL, 250, &no_rounding, &split);
	assert_false(split.is_known);
	assert_int_equal(split.context_bytes + split.others_bytes + split.unexplained_bytes, 0);
}

/* A process outside of the container that happens to have our number. */
static void test_one_that_holds_less_than_we_booked_is_not_us(void **state)
{
	struct vs_memory_sample sample = make_sample(make_own(), 301);
	struct vs_memory_split split;

	(void)state;
	assert_false(vs_memory_sample_has_own(&sample));
	vs_memory_sample_split(&sample, NULL, 250, &no_rounding, &split);
	assert_false(split.is_known);
	sample.booked_bytes = 300;
	assert_true(vs_memory_sample_has_own(&sample));
}

static void test_the_sample_of_the_failure_says_who_holds_what(void **state)
{
	struct vs_memory_sample sample = make_sample(make_own(), 250);
	struct vs_memory_own own = make_own();
	struct vs_memory_sample after;
	struct vs_memory_split split;

	(void)state;
	own.own_size = 100; /* it freed its cache after the failure */
	own.others_size = 400;
	after = make_sample(own, 250);
	vs_memory_sample_split(&sample, &after, 480, &no_rounding, &split);
	assert_true(split.has_list);
	assert_int_equal(split.context_bytes, 50);
	assert_int_equal(split.others_bytes, 400);
	assert_int_equal(split.unexplained_bytes, 30);
	/* Nothing was known before: the books are those of the failure. */
	after.own.own_size = 290;
	sample.is_known = false;
	vs_memory_sample_split(&sample, &after, 480, &no_rounding, &split);
	assert_int_equal(split.context_bytes, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_sample_forgets_the_holders_of_the_old_one),
		cmocka_unit_test(test_a_holder_without_a_sample_is_nobody),
		cmocka_unit_test(test_outside_is_what_is_used_and_not_booked),
		cmocka_unit_test(test_a_list_with_us_in_it_tells_context_and_others),
		cmocka_unit_test(test_without_us_in_the_list_the_holder_is_unknown),
		cmocka_unit_test(test_one_that_holds_less_than_we_booked_is_not_us),
		cmocka_unit_test(test_the_sample_of_the_failure_says_who_holds_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
