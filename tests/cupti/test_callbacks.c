#include "callbacks.h"

#include "cmocka_all.h"
#include "paper_cupti.h"

static void begin(void)
{
	CUpti_SubscriberHandle subscriber;

	paper_begin(130000);
	assert_int_equal(vs_callbacks_learn(&paper.library), 3);
	assert_int_equal(paper.library.subscribe(&subscriber, vs_callbacks_call, &paper.library),
			 CUPTI_SUCCESS);
	assert_int_equal(vs_callbacks_enable(&paper.library, subscriber), CUPTI_SUCCESS);
}

static void test_functions_are_asked_for_by_name(void **state)
{
	(void)state;
	begin();
	assert_int_equal(paper.nr_enabled, 3);
	assert_int_equal(paper.enabled[0], 2);
	assert_int_equal(paper.enabled[1], 4);
	assert_int_equal(paper.enabled[2], 6);
	assert_int_equal(paper.nr_resources, 3);
}

static void test_headers_tell_where_the_library_does_not(void **state)
{
	(void)state;
	paper_begin(130000);
	paper.is_silent = true;
	assert_int_equal(vs_callbacks_learn(&paper.library), 3);
	assert_int_equal(vs_callbacks_get_function(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2), 70);
	assert_int_equal(vs_callbacks_get_function(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2), 5);
	assert_int_equal(vs_callbacks_get_function(2), UINT32_MAX);
}

/* That of a release which has the function, and which does not: what else it has tells. */
static void test_headers_newer_than_the_library_are_not_believed(void **state)
{
	(void)state;
	paper_begin(0);
	paper.is_silent = true;
	assert_int_equal(vs_callbacks_learn(&paper.library), 3);
	assert_int_equal(vs_callbacks_get_function(863), UINT32_MAX);
	paper.is_new = true;
	assert_int_equal(vs_callbacks_learn(&paper.library), 4);
	assert_int_equal(vs_callbacks_get_function(863), 9);
}

static void test_call_is_told_when_it_begins_and_ends(void **state)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t data = 0;

	(void)state;
	begin();
	paper_tell(2, "args", NULL, &data);
	paper_tell(2, "args", &result, &data);
	paper_tell(4, "args", NULL, &data);
	assert_string_equal(paper_get_lines(), "enter 70\nleave 70 result 2 state 77\nenter 0\n");
}

static void test_other_callbacks_are_ignored(void **state)
{
	CUpti_CallbackData call = {.callbackSite = CUPTI_API_ENTER};
	uint64_t data = 0;

	(void)state;
	begin();
	paper_tell(3, NULL, NULL, &data);
	paper_tell(VS_CALLBACKS_MAX + 7, NULL, NULL, &data);
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RUNTIME_API, 2, &call);
	assert_string_equal(paper_get_lines(), "");
}

static void test_contexts_are_told_with_their_device(void **state)
{
	CUpti_ResourceData resource = {.context = (CUcontext)9};

	(void)state;
	begin();
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RESOURCE,
		       CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &resource);
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RESOURCE,
		       CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &resource);
	resource.context = NULL;
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RESOURCE,
		       CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &resource);
	assert_string_equal(paper_get_lines(), "context 9 on 3\nend of context 9\n");
}

static void test_modules_are_counted(void **state)
{
	CUpti_ModuleResourceData module = {.cubinSize = 1000};
	CUpti_ResourceData resource = {.resourceDescriptor = &module};
	uint64_t nr_before, size_before, nr, size;

	(void)state;
	begin();
	vs_callbacks_get_modules(&nr_before, &size_before);
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED,
		       &resource);
	resource.resourceDescriptor = NULL;
	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED,
		       &resource);
	vs_callbacks_get_modules(&nr, &size);
	assert_int_equal(nr - nr_before, 2);
	assert_int_equal(size - size_before, 1000);
}

static void test_first_refusal_is_the_result(void **state)
{
	(void)state;
	paper_begin(130000);
	assert_int_equal(vs_callbacks_learn(&paper.library), 3);
	paper.enable_result = CUPTI_ERROR_NOT_INITIALIZED;
	assert_int_equal(vs_callbacks_enable(&paper.library, NULL), CUPTI_ERROR_NOT_INITIALIZED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_asked_for_by_name),
		cmocka_unit_test(test_headers_tell_where_the_library_does_not),
		cmocka_unit_test(test_headers_newer_than_the_library_are_not_believed),
		cmocka_unit_test(test_call_is_told_when_it_begins_and_ends),
		cmocka_unit_test(test_other_callbacks_are_ignored),
		cmocka_unit_test(test_contexts_are_told_with_their_device),
		cmocka_unit_test(test_modules_are_counted),
		cmocka_unit_test(test_first_refusal_is_the_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
