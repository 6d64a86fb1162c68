/* A tool sees the runtime's calls, and the driver's inside them. */
#include "runtime_check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

/* Not from any header: the driver is only reached as a tool reaches it. */
typedef int (*get_proc_address)(const char *, void **, int, uint64_t, int *);

static const struct sg_calls_api *api;
static char story[65536];
static unsigned nr_domains;
static int runtime_version;

static void tell(const char *sign, const struct sg_call *call)
{
	size_t length = strlen(story);
	const char *name = call->domain->names[call->index];

	/* The runtime looks up hundreds of these. */
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return;
	snprintf(story + length, sizeof(story) - length, "%s%s ", sign, name);
}

static void note_join(const struct sg_calls_domain *domain)
{
	nr_domains++;
	if (domain->kind == SG_CALLS_RUNTIME)
		runtime_version = domain->version;
}

static void note_enter(struct sg_call *call)
{
	tell("+", call);
}

static void note_exit(struct sg_call *call)
{
	tell(*(int *)call->result ? "!" : "-", call);
}

static void note_resource(enum sg_calls_resource what, void *context, void *handle)
{
	(void)what;
	(void)context;
	(void)handle;
}

static const struct sg_calls_tool tool = {note_join, note_enter, note_exit, note_resource};

static int setup(void **state)
{
	void *driver, *found;
	get_proc_address look_up;
	int status;

	(void)state;
	/* Before anything loads the driver: there is nobody to tell, and nothing happens. */
	if (cudaGetLastError() != cudaSuccess)
		return -1;
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	look_up = driver ? (get_proc_address)dlsym(driver, "cuGetProcAddress_v2") : NULL;
	if (!look_up || look_up(SG_CALLS_NAME, &found, 0, 0, &status))
		return -1;
	api = found;
	return 0;
}

/* The order counts: nothing has called the driver before this test. */
static void test_first_call_of_the_program_is_seen_by_a_tool_that_came_before(void **state)
{
	void *memory;

	(void)state;
	assert_true(api->attach(&tool));
	assert_int_equal(nr_domains, 1); /* the driver's */
	assert_success(cudaMalloc(&memory, 1000));
	assert_int_equal(nr_domains, 2);
	assert_int_equal(runtime_version, CUDART_VERSION);
	assert_memory_equal(story, "+cudaMalloc ", strlen("+cudaMalloc "));
	assert_non_null(strstr(story, "+cuInit -cuInit "));
	assert_non_null(strstr(story, "+cuMemAlloc_v2 -cuMemAlloc_v2 -cudaMalloc "));
	story[0] = '\0';
	assert_success(cudaFree(memory));
	assert_non_null(strstr(story, "+cuMemFree_v2 -cuMemFree_v2 -cudaFree "));
	assert_memory_equal(story, "+cudaFree ", strlen("+cudaFree "));
	api->detach(&tool);
}

static void test_nothing_is_told_without_a_tool(void **state)
{
	(void)state;
	story[0] = '\0';
	assert_success(cudaDeviceSynchronize());
	assert_string_equal(story, "");
}

static void test_failure_is_told_with_its_code(void **state)
{
	(void)state;
	story[0] = '\0';
	assert_true(api->attach(&tool));
	assert_error(cudaMemcpy(NULL, NULL, 1, (enum cudaMemcpyKind)77),
		     cudaErrorInvalidMemcpyDirection);
	api->detach(&tool);
	assert_non_null(strstr(story, "!cudaMemcpy "));
}

static void test_per_thread_twin_has_its_own_name(void **state)
{
	cudaError_t (*twin)(cudaStream_t) =
		(cudaError_t(*)(cudaStream_t))dlsym(RTLD_DEFAULT, "cudaStreamSynchronize_ptsz");

	(void)state;
	assert_non_null(twin);
	story[0] = '\0';
	assert_true(api->attach(&tool));
	assert_success(twin(NULL));
	api->detach(&tool);
	assert_non_null(strstr(story, "+cudaStreamSynchronize_ptsz "));
	assert_null(strstr(story, "cudaStreamSynchronize "));
}

static const char *kernel_name;

static void note_kernel(struct sg_call *call)
{
	const char *name = call->domain->find_kernel_name(call);

	if (call->domain->kind == SG_CALLS_RUNTIME && name)
		kernel_name = name;
}

void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);

static void test_launch_has_the_registered_name_of_its_kernel(void **state)
{
	static const struct sg_calls_tool names = {note_join, note_kernel, note_kernel,
						   note_resource};
	static struct {
		unsigned magic, version;
		const void *data;
		void *unused;
	} wrapper = {0x466243b1, 1, NULL, NULL};
	static char stub, device_name[] = "_Z6kernelPf";
	dim3 one = {1, 1, 1};
	void **handle = __cudaRegisterFatBinary(&wrapper);
	cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};

	(void)state;
	__cudaRegisterFunction(handle, &stub, device_name, device_name, -1, NULL, NULL, NULL, NULL,
			       NULL);
	assert_true(api->attach(&names));
	/* Whether it can be launched is not the question here. */
	(void)cudaLaunchKernel(&stub, one, one, NULL, 0, NULL);
	assert_string_equal(kernel_name, "_Z6kernelPf");
	kernel_name = NULL;
	(void)cudaLaunchKernelExC(&config, &stub, NULL);
	assert_string_equal(kernel_name, "_Z6kernelPf");
	kernel_name = NULL;
	(void)cudaLaunchKernel(&one, one, one, NULL, 0, NULL);
	assert_null(kernel_name);
	api->detach(&names);
	__cudaUnregisterFatBinary(handle);
	(void)cudaGetLastError();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_call_of_the_program_is_seen_by_a_tool_that_came_before),
		cmocka_unit_test(test_nothing_is_told_without_a_tool),
		cmocka_unit_test(test_failure_is_told_with_its_code),
		cmocka_unit_test(test_per_thread_twin_has_its_own_name),
		cmocka_unit_test(test_launch_has_the_registered_name_of_its_kernel),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
