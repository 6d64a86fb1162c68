#include "tool_fixture.h"

static void test_functions_have_the_names_of_the_headers(void **state)
{
	const char *name;

	(void)state;
	assert_done(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API,
					 CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &name));
	assert_string_equal(name, "cuMemAlloc_v2");
	assert_done(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
					 CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &name));
	assert_string_equal(name, "cudaMalloc_v3020");
	assert_done(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
					 CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020,
					 &name));
	assert_string_equal(name, "cudaMallocAsync_ptsz_v11020");
}

static void test_every_number_below_the_size_has_a_name(void **state)
{
	const char *name;

	(void)state;
	for (uint32_t cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
		assert_done(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name));
	for (uint32_t cbid = 0; cbid < CUPTI_RUNTIME_TRACE_CBID_SIZE; cbid++)
		assert_done(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, &name));
}

static void test_other_numbers_and_domains_have_none(void **state)
{
	const char *name = "untouched";

	(void)state;
	assert_cupti(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
					  &name),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 1, &name),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 1, NULL),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_string_equal(name, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_have_the_names_of_the_headers),
		cmocka_unit_test(test_every_number_below_the_size_has_a_name),
		cmocka_unit_test(test_other_numbers_and_domains_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
