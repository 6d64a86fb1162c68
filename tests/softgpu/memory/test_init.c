#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

/* Every function of the driver, without its arguments. Not through cuda.h: it renames them. */
#define SG_ENTRY(name, version, per_thread, symbol)                                \
	int symbol##_address(long, long, long, long, long, long, long, long, long, \
			     long) __asm__(#symbol);
#include "driver_table.inc"
#undef SG_ENTRY

static const struct {
	const char *symbol;
	int (*call)(long, long, long, long, long, long, long, long, long, long);
} functions[] = {
#define SG_ENTRY(name, version, per_thread, symbol) {#symbol, symbol##_address},
#include "driver_table.inc"
#undef SG_ENTRY
};
#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Enough zeros for any of them: NULL, no flags, no size. */
static CUresult call_with_zeros(size_t i)
{
	return (CUresult)functions[i].call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/* Those that need no cuInit; they check what they are given instead. */
static bool works_before_init(const char *symbol)
{
	static const char *const names[] = {
		"cuInit",           "cuDriverGetVersion",  "cuGetErrorName",  "cuGetErrorString",
		"cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], symbol))
			return true;
	return false;
}

static void play_without_init(void **state)
{
	CUcontext context;

	(void)state;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		CUresult result;

		if (works_before_init(functions[i].symbol))
			continue;
		result = call_with_zeros(i);
		if (result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_NOT_SUPPORTED)
			fail_msg("%s answers %d before cuInit", functions[i].symbol, (int)result);
	}
	/* with proper arguments, too */
	assert_result(cuCtxCreate(&context, NULL, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_result(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_result(cuMemAlloc(&(CUdeviceptr){0}, 100), CUDA_ERROR_NOT_INITIALIZED);
	assert_result(cuMemGetInfo(NULL, NULL), CUDA_ERROR_NOT_INITIALIZED);
	assert_result(cuDeviceGetCount(&(int){0}), CUDA_ERROR_NOT_INITIALIZED);
}

static void test_nothing_works_before_init(void **state)
{
	(void)state;
	SG_RIG_RUN("without_init", NULL);
}

static void play_zeros(void **state)
{
	CUcontext context = sg_rig_open();

	(void)state;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		call_with_zeros(i);
		/* Some take the context away: each finds one. */
		if (cuCtxSetCurrent(context) != CUDA_SUCCESS)
			assert_ok(cuCtxCreate(&context, NULL, 0, 0));
	}
}

static void test_no_function_crashes_on_zeros(void **state)
{
	(void)state;
	SG_RIG_RUN("zeros", NULL);
}

static void play_no_context(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_ok(cuInit(0));
	assert_result(cuMemAlloc(&address, 100), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemAllocManaged(&address, 100, CU_MEM_ATTACH_GLOBAL),
		      CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemFree(0), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemAllocAsync(&address, 100, NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemcpy(1, 1, 1), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemsetD8(1, 1, 1), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemGetInfo(NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_calls_without_context_are_invalid_context(void **state)
{
	(void)state;
	SG_RIG_RUN("no_context", NULL);
}

static void play_init(void **state)
{
	CUcontext context;
	int nr;

	(void)state;
	assert_invalid(cuInit(1));
	/* a refused one does not count */
	assert_result(cuDeviceGetCount(&nr), CUDA_ERROR_NOT_INITIALIZED);
	assert_ok(cuInit(0));
	assert_ok(cuInit(0));
	assert_invalid(cuInit(1));
	assert_ok(cuDeviceGetCount(&nr));
	assert_int_equal(nr, 3);
	for (CUdevice d = 0; d < 3; d++)
		assert_ok(cuDevicePrimaryCtxRetain(&context, d));
	assert_result(cuDevicePrimaryCtxRetain(&context, 3), CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuDevicePrimaryCtxRetain(&context, -1), CUDA_ERROR_INVALID_DEVICE);
}

static void test_init_takes_no_flags(void **state)
{
	(void)state;
	SG_RIG_RUN("init", "SOFTGPU_DEVICES=3", NULL);
}

static void play_no_device(void **state)
{
	(void)state;
	assert_result(cuInit(0), CUDA_ERROR_NO_DEVICE);
	assert_result(cuInit(0), CUDA_ERROR_NO_DEVICE);
	assert_result(cuDeviceGetCount(&(int){0}), CUDA_ERROR_NOT_INITIALIZED);
}

static void test_no_devices_is_an_error_of_init(void **state)
{
	(void)state;
	SG_RIG_RUN("no_device", "SOFTGPU_DEVICES=0", NULL);
}

static void *init_in_thread(void *argument)
{
	*(CUresult *)argument = cuInit(0);
	return NULL;
}

static void play_many_inits(void **state)
{
	pthread_t threads[16];
	CUresult results[16];

	(void)state;
	for (int i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, init_in_thread, &results[i]), 0);
	for (int i = 0; i < 16; i++) {
		pthread_join(threads[i], NULL);
		assert_ok(results[i]);
	}
}

static void test_threads_may_init_at_once(void **state)
{
	(void)state;
	SG_RIG_RUN("many_inits", NULL);
}

/* Compares the visible devices with TEST_EXPECT, numbers on the card such as "2,0"; "": none. */
static void play_visible(void **state)
{
	const char *expect = getenv("TEST_EXPECT");
	int nr = -1;

	(void)state;
	if (!*expect) {
		assert_result(cuInit(0), CUDA_ERROR_NO_DEVICE);
		return;
	}
	assert_ok(cuInit(0));
	assert_ok(cuDeviceGetCount(&nr));
	for (CUdevice d = 0; d < nr; d++) {
		CUuuid uuid;
		char *end;

		assert_ok(cuDeviceGetUuid(&uuid, d));
		/* the last byte of a UUID is the number of the device, from one */
		assert_int_equal(uuid.bytes[15] - 1, strtol(expect, &end, 10));
		expect = *end ? end + 1 : end;
	}
	assert_string_equal(expect, "");
}

static void check_visible(const char *list, const char *expect)
{
	char visible[200], expected[100];

	snprintf(visible, sizeof(visible), "CUDA_VISIBLE_DEVICES=%s", list);
	snprintf(expected, sizeof(expected), "TEST_EXPECT=%s", expect);
	SG_RIG_RUN("visible", "SOFTGPU_DEVICES=4", visible, expected, NULL);
}

static void test_visible_devices_choose_and_order(void **state)
{
	(void)state;
	SG_RIG_RUN("visible", "SOFTGPU_DEVICES=4", "TEST_EXPECT=0,1,2,3", NULL);
	check_visible("0", "0");
	check_visible("3", "3");
	check_visible("2,0", "2,0");
	check_visible("3,2,1,0", "3,2,1,0");
	check_visible("1, 3", "1,3");
	check_visible("1,", "1");
}

static void test_visible_devices_end_at_the_first_bad_one(void **state)
{
	(void)state;
	check_visible("1,7,2", "1");
	check_visible("1,-1,2", "1");
	check_visible("1,x,2", "1");
	check_visible("1,2x,0", "1");
	check_visible("0,,1", "0");
}

static void test_no_visible_device_is_no_device(void **state)
{
	(void)state;
	check_visible("", "");
	check_visible("-1", "");
	check_visible("4", "");
	check_visible("none", "");
	check_visible("99999999999999999999", "");
}

static void test_device_named_twice_leaves_none(void **state)
{
	(void)state;
	check_visible("0,0", "");
	check_visible("2,1,2", "");
	check_visible("1,GPU-736f6674-6770-7500-0000-000000000002", "");
}

static void test_visible_devices_by_uuid(void **state)
{
	(void)state;
	check_visible("GPU-736f6674-6770-7500-0000-000000000003", "2");
	check_visible("GPU-736F6674-6770-7500-0000-000000000001,3", "0,3");
	/* the start is enough where it names one; here it never does */
	check_visible("GPU-736f6674", "");
	check_visible("GPU-736f6674-6770-7500-0000-000000000009", "");
	check_visible("GPU-", "");
	check_visible("GPU-736f6674-6770-7500-0000-0000000000031", "");
}

static void test_start_of_a_uuid_is_enough_where_it_names_one(void **state)
{
	(void)state;
	SG_RIG_RUN("visible", "SOFTGPU_DEVICES=1", "CUDA_VISIBLE_DEVICES=GPU-736f", "TEST_EXPECT=0",
		   NULL);
}

/* Partitions: one of them is all that a process gets. */
static void test_visible_devices_by_uuid_of_a_partition(void **state)
{
	static const char *const cases[][2] = {
		{"MIG-736f6674-6770-7500-4d49-470000000003", "2"},
		{"MIG-736F6674-6770-7500-4D49-470000000001,2", "0"},
		{"2,0", "2"},
		{"GPU-736f6674-6770-7500-0000-000000000002", "1"},
		{"MIG-GPU-736f6674-6770-7500-0000-000000000002/0/0", "1"},
		{"MIG-GPU-736f6674-6770-7500-0000-000000000002/1/0", ""},
		{"MIG-GPU-736f6674-6770-7500-0000-00000000000/0/0", ""},
		{"MIG-736f6674-6770-7500-4d49-470000000009", ""},
		{"MIG-736f6674", ""},
		{"MIG-", ""},
		{"MIG-GPU-", ""},
	};

	(void)state;
	SG_RIG_RUN("visible", "SOFTGPU_NVML=mig", "SOFTGPU_DEVICES=4", "TEST_EXPECT=0", NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char visible[200], expected[100];

		snprintf(visible, sizeof(visible), "CUDA_VISIBLE_DEVICES=%s", cases[i][0]);
		snprintf(expected, sizeof(expected), "TEST_EXPECT=%s", cases[i][1]);
		SG_RIG_RUN("visible", "SOFTGPU_NVML=mig", "SOFTGPU_DEVICES=4", visible, expected,
			   NULL);
	}
	/* Without partitions these names name nothing. */
	check_visible(cases[0][0], "");
	check_visible(cases[4][0], "");
}

/* Exit code of what a child of fork() finds. */
static int look_around_in_child(void)
{
	CUdeviceptr address;
	int nr;

	if (cuDeviceGetCount(&nr) != CUDA_ERROR_NOT_INITIALIZED)
		return 1;
	if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED)
		return 2;
	if (cuMemAlloc(&address, 100) != CUDA_ERROR_NOT_INITIALIZED)
		return 3;
	if (cuMemGetInfo(NULL, NULL) != CUDA_ERROR_NOT_INITIALIZED)
		return 4;
	if (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
		return 5;
	if (cuDriverGetVersion(&nr) != CUDA_SUCCESS)
		return 6;
	return 0;
}

static void play_fork(void **state)
{
	CUdeviceptr address;
	size_t free_before;
	int status;
	pid_t pid;

	(void)state;
	sg_rig_open();
	assert_ok(cuMemAlloc(&address, 10 * MIB));
	free_before = sg_rig_get_free();
	pid = fork();
	if (pid == 0)
		_exit(look_around_in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* the parent goes on as if nothing had been */
	assert_int_equal(sg_rig_get_free(), free_before);
	assert_ok(cuMemFree(address));
}

static void test_child_of_fork_is_not_initialised(void **state)
{
	(void)state;
	SG_RIG_RUN("fork", NULL);
}

static void play_fork_first(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		CUdevice device;

		_exit(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sg_rig_open();
}

static void test_child_may_init_if_its_parent_had_not(void **state)
{
	(void)state;
	SG_RIG_RUN("fork_first", NULL);
}

static void play_injection(void **state)
{
	(void)state;
	assert_null(getenv("TEST_NR_INJECTIONS"));
	assert_ok(cuInit(0));
	assert_ok(cuInit(0));
	assert_string_equal(getenv("TEST_NR_INJECTIONS"), "1");
}

static void test_injection_library_is_started_once(void **state)
{
	(void)state;
	SG_RIG_RUN("injection", "CUDA_INJECTION64_PATH=" SG_INJECTED_LIBRARY, NULL);
}

static void test_missing_injection_library_does_not_stop_init(void **state)
{
	(void)state;
	SG_RIG_RUN("init", "SOFTGPU_DEVICES=3", "CUDA_INJECTION64_PATH=/no/such/library.so", NULL);
}

static void test_there_is_no_export_table(void **state)
{
	const CUuuid id = {{1, 2, 3}};
	const void *table = &table;

	(void)state;
	assert_result(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
	assert_null(table);
	assert_invalid(cuGetExportTable(NULL, &id));
	assert_invalid(cuGetExportTable(&table, NULL));
}

static void test_errors_have_names_and_texts(void **state)
{
	const char *text = NULL;

	(void)state;
	assert_ok(cuGetErrorName(CUDA_SUCCESS, &text));
	assert_string_equal(text, "CUDA_SUCCESS");
	assert_ok(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
	assert_ok(cuGetErrorName(CUDA_ERROR_CONTEXT_IS_DESTROYED, &text));
	assert_string_equal(text, "CUDA_ERROR_CONTEXT_IS_DESTROYED");
	assert_ok(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	assert_string_equal(text, "out of memory");
	assert_ok(cuGetErrorString(CUDA_ERROR_UNKNOWN, &text));
	assert_string_equal(text, "unknown error");
}

static void test_unknown_errors_have_none(void **state)
{
	const char *text = "";

	(void)state;
	assert_invalid(cuGetErrorName((CUresult)123456, &text));
	assert_null(text);
	text = "";
	assert_invalid(cuGetErrorString((CUresult)-1, &text));
	assert_null(text);
	assert_invalid(cuGetErrorName(CUDA_SUCCESS, NULL));
	assert_invalid(cuGetErrorString(CUDA_SUCCESS, NULL));
}

static void test_version_is_that_of_13_0(void **state)
{
	int version = 0;

	(void)state;
	assert_ok(cuDriverGetVersion(&version));
	assert_int_equal(version, 13000);
	assert_invalid(cuDriverGetVersion(NULL));
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"without_init", play_without_init}, {"zeros", play_zeros},
		{"no_context", play_no_context},     {"init", play_init},
		{"no_device", play_no_device},       {"many_inits", play_many_inits},
		{"visible", play_visible},           {"fork", play_fork},
		{"fork_first", play_fork_first},     {"injection", play_injection},
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_works_before_init),
		cmocka_unit_test(test_no_function_crashes_on_zeros),
		cmocka_unit_test(test_calls_without_context_are_invalid_context),
		cmocka_unit_test(test_init_takes_no_flags),
		cmocka_unit_test(test_no_devices_is_an_error_of_init),
		cmocka_unit_test(test_threads_may_init_at_once),
		cmocka_unit_test(test_visible_devices_choose_and_order),
		cmocka_unit_test(test_visible_devices_end_at_the_first_bad_one),
		cmocka_unit_test(test_no_visible_device_is_no_device),
		cmocka_unit_test(test_device_named_twice_leaves_none),
		cmocka_unit_test(test_visible_devices_by_uuid),
		cmocka_unit_test(test_start_of_a_uuid_is_enough_where_it_names_one),
		cmocka_unit_test(test_visible_devices_by_uuid_of_a_partition),
		cmocka_unit_test(test_child_of_fork_is_not_initialised),
		cmocka_unit_test(test_child_may_init_if_its_parent_had_not),
		cmocka_unit_test(test_injection_library_is_started_once),
		cmocka_unit_test(test_missing_injection_library_does_not_stop_init),
		cmocka_unit_test(test_there_is_no_export_table),
		cmocka_unit_test(test_errors_have_names_and_texts),
		cmocka_unit_test(test_unknown_errors_have_none),
		cmocka_unit_test(test_version_is_that_of_13_0),
	};
	int played = SG_RIG_PLAY(argc, argv, scenes);

	if (played >= 0)
		return played;
	SG_RIG_SET_ENVIRONMENT(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
