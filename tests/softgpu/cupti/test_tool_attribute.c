#include "tool_fixture.h"

static void test_settings_are_kept(void **state)
{
	size_t value = 0, size = sizeof(value);

	(void)state;
	assert_done(
		cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
	assert_int_equal(size, sizeof(size_t));
	assert_true(value > 0);
	value = 12345678;
	assert_done(
		cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
	value = 0;
	assert_done(
		cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
	assert_int_equal(value, 12345678);
}

static void test_switch_takes_one_byte(void **state)
{
	unsigned char value[2] = {1, 0x55};
	size_t size = sizeof(value);

	(void)state;
	assert_done(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
					      value));
	assert_int_equal(size, 1);
	value[0] = 0;
	assert_done(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
					      value));
	assert_int_equal(value[0], 1);
	assert_int_equal(value[1], 0x55);
}

static void test_wrong_arguments_are_errors(void **state)
{
	size_t value = 1, size = sizeof(value);

	(void)state;
	assert_cupti(cuptiActivityGetAttribute((CUpti_ActivityAttribute)99, &size, &value),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivityGetAttribute((CUpti_ActivityAttribute)0, NULL, &value),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivitySetAttribute((CUpti_ActivityAttribute)0, &size, NULL),
		     CUPTI_ERROR_INVALID_PARAMETER);
	size = 4;
	assert_cupti(cuptiActivitySetAttribute((CUpti_ActivityAttribute)0, &size, &value),
		     CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
}

static void test_what_is_about_kernels_can_be_switched(void **state)
{
	CUpti_ActivityUnifiedMemoryCounterConfig counter = {0};

	(void)state;
	assert_done(cuptiActivityEnableLatencyTimestamps(1));
	assert_done(cuptiActivityEnableLaunchAttributes(1));
	assert_done(cuptiActivityFlushPeriod(100));
	assert_done(cuptiActivityConfigureUnifiedMemoryCounter(&counter, 1));
	assert_cupti(cuptiActivityConfigureUnifiedMemoryCounter(NULL, 1),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivityConfigurePCSampling(NULL, NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_are_kept),
		cmocka_unit_test(test_switch_takes_one_byte),
		cmocka_unit_test(test_wrong_arguments_are_errors),
		cmocka_unit_test(test_what_is_about_kernels_can_be_switched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
