/* A tool sees the driver's calls, and the things that come and go. */
#include "driver_fixture.h"

#include <stdio.h>

#include "calls.h"

#define MAX_TEXT 4096

static const struct sg_calls_api *api;
static char story[MAX_TEXT]; /* one word for each thing told */
static unsigned nr_domains;
static bool calls_back; /* the tool asks the driver something each time */
static uint64_t params_at_enter[8];

static void tell(const char *format, const char *text)
{
	size_t length = strlen(story);

	snprintf(story + length, sizeof(story) - length, format, text);
}

static void note_join(const struct sg_calls_domain *domain)
{
	assert_true(domain->nr_names > 400);
	nr_domains++;
}

static void note_enter(struct sg_call *call)
{
	CUcontext context;

	assert_null(call->result);
	call->data = 4711;
	if (!strncmp(call->domain->names[call->index], "cuMem", strlen("cuMem")))
		memcpy(params_at_enter, call->params, sizeof(void *));
	tell("+%s ", call->domain->names[call->index]);
	if (!calls_back)
		return;
	calls_back = false; /* its own calls are told to it as well */
	assert_ok(cuCtxGetCurrent(&context));
}

static void note_exit(struct sg_call *call)
{
	assert_int_equal(call->data, 4711);
	tell(*(CUresult *)call->result ? "!%s " : "-%s ", call->domain->names[call->index]);
}

static void note_resource(enum sg_calls_resource what, void *context, void *handle)
{
	static const char *const words[] = {"init",    "context+", "context-", "stream+",
					    "stream-", "module+",  "module-"};

	assert_int_equal(!context, what == SG_CALLS_INITIALISED);
	assert_int_equal(!handle, what <= SG_CALLS_CONTEXT_GOING);
	tell("%s ", words[what]);
}

static const struct sg_calls_tool tool = {note_join, note_enter, note_exit, note_resource};
static const struct sg_calls_tool other_tool = {note_join, note_enter, note_exit, note_resource};

static int setup(void **state)
{
	void *found;

	(void)state;
	if (cuGetProcAddress(SG_CALLS_NAME, &found, 0, 0))
		return -1;
	api = found;
	return 0;
}

/* Each test begins with the tool attached and an empty story. */
static int attach(void **state)
{
	CUcontext context;

	(void)state;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return -1;
	nr_domains = 0;
	calls_back = false;
	story[0] = '\0';
	return api->attach(&tool) ? 0 : -1;
}

static int detach(void **state)
{
	api->detach(&tool);
	return fixture_teardown(state);
}

#define assert_story(text)                        \
	do {                                      \
		assert_string_equal(story, text); \
		story[0] = '\0';                  \
	} while (0)

static void test_first_cuinit_is_reported_and_later_ones_are_not(void **state)
{
	(void)state;
	assert_true(api->attach(&tool));
	assert_ok(cuInit(0));
	assert_ok(cuInit(0));
	api->detach(&tool);
	assert_story("+cuInit init -cuInit +cuInit -cuInit ");
}

static void test_calls_are_told_with_their_arguments_and_results(void **state)
{
	CUdeviceptr address, *at = &address;

	(void)state;
	assert_ok(cuMemAlloc_v2(&address, 1 << 20));
	assert_memory_equal(params_at_enter, &at, sizeof(at));
	assert_ok(cuMemFree_v2(address));
	assert_memory_equal(params_at_enter, &address, sizeof(address));
	assert_cuda(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuCtxSynchronize());
	assert_story("+cuMemAlloc_v2 -cuMemAlloc_v2 +cuMemFree_v2 -cuMemFree_v2 +cuMemFree_v2 "
		     "!cuMemFree_v2 +cuCtxSynchronize -cuCtxSynchronize ");
}

static void test_one_call_of_the_program_is_one_call_told(void **state)
{
	CUstream stream;

	(void)state;
	/* This one is made of cuStreamCreateWithPriority. */
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuStreamDestroy_v2(stream));
	assert_story("+cuStreamCreate stream+ -cuStreamCreate "
		     "+cuStreamDestroy_v2 stream- -cuStreamDestroy_v2 ");
}

static void test_per_thread_twin_has_its_own_name(void **state)
{
	(void)state;
	assert_ok(cuStreamSynchronize_ptsz(NULL));
	assert_story("+cuStreamSynchronize_ptsz -cuStreamSynchronize_ptsz ");
}

static void test_what_cugetprocaddress_gives_is_watched(void **state)
{
	CUresult (*synchronize)(void);
	void *found;

	(void)state;
	assert_ok(cuGetProcAddress("cuCtxSynchronize", &found, 2000, 0));
	story[0] = '\0';
	synchronize = (CUresult(*)(void))found;
	assert_ok(synchronize());
	assert_story("+cuCtxSynchronize -cuCtxSynchronize ");
}

static void test_unwritten_function_is_told_too(void **state)
{
	(void)state;
	assert_cuda(cuCheckpointProcessLock(0, NULL), CUDA_ERROR_NOT_SUPPORTED);
	assert_story("+cuCheckpointProcessLock !cuCheckpointProcessLock ");
}

static void test_plain_function_tells_nobody(void **state)
{
	CUresult (*synchronize)(void) = (CUresult(*)(void))api->find_plain("cuCtxSynchronize");

	(void)state;
	assert_non_null(synchronize);
	assert_ok(synchronize());
	assert_story("");
	assert_null(api->find_plain("cuNoSuchFunction"));
}

static void test_tool_may_call_the_driver_when_told(void **state)
{
	(void)state;
	calls_back = true;
	assert_ok(cuCtxSynchronize());
	assert_story("+cuCtxSynchronize +cuCtxGetCurrent -cuCtxGetCurrent -cuCtxSynchronize ");
}

static void test_context_takes_its_streams_and_modules_with_it(void **state)
{
	CUcontext context, before;
	CUmodule module;
	CUstream stream;

	(void)state;
	assert_ok(cuCtxGetCurrent(&before));
	assert_ok(cuCtxCreate_v2(&context, 0, 0));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuModuleLoadData(&module, fixture_ptx));
	story[0] = '\0';
	assert_ok(cuCtxDestroy_v2(context));
	assert_story("+cuCtxDestroy_v2 module- stream- context- -cuCtxDestroy_v2 ");
	assert_ok(cuCtxSetCurrent(before));
}

static void test_primary_context_comes_with_first_retain_and_goes_with_last_release(void **state)
{
	CUcontext context;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 1));
	assert_ok(cuDevicePrimaryCtxRetain(&context, 1));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_story("+cuDevicePrimaryCtxRetain context+ -cuDevicePrimaryCtxRetain "
		     "+cuDevicePrimaryCtxRetain -cuDevicePrimaryCtxRetain "
		     "+cuDevicePrimaryCtxRelease_v2 -cuDevicePrimaryCtxRelease_v2 "
		     "+cuDevicePrimaryCtxRelease_v2 context- -cuDevicePrimaryCtxRelease_v2 ");
}

static void test_reset_takes_the_primary_context_however_often_it_is_retained(void **state)
{
	CUcontext context;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&context, 1));
	assert_ok(cuDevicePrimaryCtxRetain(&context, 1));
	story[0] = '\0';
	assert_ok(cuDevicePrimaryCtxReset_v2(1));
	assert_story("+cuDevicePrimaryCtxReset_v2 context- -cuDevicePrimaryCtxReset_v2 ");
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
}

static void test_library_gets_a_module_when_first_used_in_a_context(void **state)
{
	CUlibrary library;
	CUmodule module;

	(void)state;
	assert_ok(cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, NULL, NULL, 0));
	assert_ok(cuLibraryGetModule(&module, library));
	assert_ok(cuLibraryGetModule(&module, library));
	assert_ok(cuLibraryUnload(library));
	assert_story("+cuLibraryLoadData -cuLibraryLoadData "
		     "+cuLibraryGetModule module+ -cuLibraryGetModule "
		     "+cuLibraryGetModule -cuLibraryGetModule "
		     "+cuLibraryUnload module- -cuLibraryUnload ");
}

static void test_second_tool_has_to_wait(void **state)
{
	(void)state;
	assert_int_equal(nr_domains, 1);
	assert_true(api->attach(&tool));
	assert_false(api->attach(&other_tool));
	api->detach(&other_tool); /* not its turn: nothing happens */
	assert_ok(cuCtxSynchronize());
	assert_story("+cuCtxSynchronize -cuCtxSynchronize ");
	api->detach(&tool);
	assert_ok(cuCtxSynchronize());
	assert_story("");
	assert_true(api->attach(&other_tool));
	api->detach(&other_tool);
}

static const char *kernel_name;

static void note_kernel(struct sg_call *call)
{
	const char *name = call->domain->find_kernel_name(call);

	if (name)
		kernel_name = name;
}

static void test_launches_know_the_name_of_their_kernel(void **state)
{
	static const struct sg_calls_tool names = {note_join, note_kernel, note_kernel,
						   note_resource};
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 1,
				 .blockDimY = 1,
				 .blockDimZ = 1};
	CUfunction kernel, other;
	CUmodule module;

	(void)state;
	assert_ok(cuModuleLoadData(&module, fixture_ptx));
	assert_ok(cuModuleGetFunction(&kernel, module, "kernel"));
	assert_ok(cuModuleGetFunction(&other, module, "other"));
	api->detach(&tool);
	assert_true(api->attach(&names));
	assert_ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_string_equal(kernel_name, "kernel");
	assert_ok(cuLaunchKernelEx(&config, other, NULL, NULL));
	assert_string_equal(kernel_name, "other");
	kernel_name = NULL;
	assert_cuda(cuLaunchKernel(NOT_A_HANDLE, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_null(kernel_name);
	api->detach(&names);
	assert_ok(cuModuleUnload(module));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, attach, detach)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_cuinit_is_reported_and_later_ones_are_not),
		CASE(test_calls_are_told_with_their_arguments_and_results),
		CASE(test_one_call_of_the_program_is_one_call_told),
		CASE(test_per_thread_twin_has_its_own_name),
		CASE(test_what_cugetprocaddress_gives_is_watched),
		CASE(test_unwritten_function_is_told_too),
		CASE(test_plain_function_tells_nobody),
		CASE(test_tool_may_call_the_driver_when_told),
		CASE(test_context_takes_its_streams_and_modules_with_it),
		CASE(test_primary_context_comes_with_first_retain_and_goes_with_last_release),
		CASE(test_reset_takes_the_primary_context_however_often_it_is_retained),
		CASE(test_library_gets_a_module_when_first_used_in_a_context),
		CASE(test_second_tool_has_to_wait),
		CASE(test_launches_know_the_name_of_their_kernel),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
