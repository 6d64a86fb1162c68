/* What dlsym, dlvsym and cuGetProcAddress answer with the hooks in front. Linked with no CUDA. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "cuda_headers.h"
#include "event_lines.h"
#include "hooks_cmocka.h"

void *next_caller_find(const char *name);
void *next_caller_find_version(const char *name, const char *version);
int next_caller_marker(void);

/* Programs that can do without CUDA refer to it so. */
#pragma weak cuMemAlloc_v2
#pragma weak cuMemFree_v2
#pragma weak cuGetProcAddress_v2
#pragma weak cudaMalloc

typedef CUresult (*get_proc_fn)(const char *, void **, int, cuuint64_t,
				CUdriverProcAddressQueryResult *);
typedef CUresult (*get_proc_old_fn)(const char *, void **, int, cuuint64_t);

static void *driver;
static get_proc_fn get_proc;

/* Which file a function is in: "hooks", "driver", "runtime" or "other". */
static const char *whose(void *function)
{
	const char *base;
	Dl_info info;

	if (!function)
		return "none";
	assert_int_not_equal(dladdr(function, &info), 0);
	base = strrchr(info.dli_fname, '/');
	base = base ? base + 1 : info.dli_fname;
	if (strstr(base, "hooks_printing"))
		return "hooks";
	if (strstr(base, "libcuda.so"))
		return "driver";
	return strstr(base, "libcudart") ? "runtime" : "other";
}

static void *ask(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	assert_int_equal(get_proc(name, &function, version, flags, &status), CUDA_SUCCESS);
	return function;
}

/* The name of the exported function at an address. */
static const char *symbol_at(void *function)
{
	Dl_info info;

	return dladdr(function, &info) && info.dli_sname ? info.dli_sname : "?";
}

/* Must be the first: nothing of CUDA is loaded yet. */
static void test_without_cuda_the_global_scope_has_none(void **state)
{
	void *program = dlopen(NULL, RTLD_NOW);

	(void)state;
	assert_null(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	assert_non_null(dlerror());
	assert_null(dlsym(RTLD_DEFAULT, "cudaMalloc"));
	assert_null(dlsym(program, "cudaMalloc"));
	assert_non_null(dlerror());
	assert_non_null(dlsym(program, "malloc"));
	dlclose(program);
}

/* And the next: a weak reference finds our wrapper, which has nothing behind it. */
static void test_wrapper_without_a_driver_says_so(void **state)
{
	CUdeviceptr a = 5;
	void *p = &a;

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&a, 64), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(cuMemFree_v2(5), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(cuGetProcAddress_v2("cuInit", &p, 12000, 0, NULL), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(cudaMalloc(&p, 64), cudaErrorInsufficientDriver);
	assert_int_equal(a, 5);
	assert_ptr_equal(p, &a);
	vs_event_lines_expect_none();
}

static void test_names_that_are_not_ours_are_passed_on(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	(void)state;
	assert_string_equal(whose(dlsym(libc, "malloc")), "other");
	assert_string_equal(whose(dlsym(RTLD_DEFAULT, "strlen")), "other");
	assert_null(dlsym(libc, "cuMemAlloc_v2"));
	assert_non_null(dlerror());
	assert_null(dlsym(libc, "no such name"));
	assert_non_null(dlvsym(libc, "fopen", "GLIBC_2.2.5"));
	assert_null(dlvsym(libc, "fopen", "GLIBC_9.9"));
	dlclose(libc);
}

static void test_caller_of_rtld_next_is_seen_as_itself(void **state)
{
	int (*next)(void);

	(void)state;
	assert_int_equal(next_caller_marker(), 2);
	next = (int (*)(void))next_caller_find("next_caller_marker");
	assert_non_null(next);
	assert_int_equal(next(), 3);
	assert_ptr_equal(next_caller_find("malloc"), dlsym(RTLD_NEXT, "malloc"));
#if defined(__x86_64__)
	assert_non_null(next_caller_find_version("malloc", "GLIBC_2.2.5"));
#endif
	assert_null(next_caller_find_version("malloc", "GLIBC_9.9"));
}

static int open_driver(void **state)
{
	(void)state;
	if (driver)
		return 0;
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		return -1;
	get_proc = (get_proc_fn)dlsym(driver, "cuGetProcAddress_v2");
	return get_proc ? 0 : -1;
}

static void test_functions_of_the_driver_are_replaced_by_exact_name(void **state)
{
	(void)state;
	assert_string_equal(whose(dlsym(driver, "cuGetProcAddress")), "hooks");
	assert_string_equal(whose((void *)get_proc), "hooks");
	assert_string_equal(whose(dlsym(driver, "cuMemAlloc_v2")), "hooks");
	/* The 32-bit form, functions that are not hooked, and what only starts alike. */
	assert_string_equal(whose(dlsym(driver, "cuMemAlloc")), "driver");
	assert_string_equal(whose(dlsym(driver, "cuMemGetInfo_v2")), "driver");
	assert_string_equal(whose(dlsym(driver, "cuInit")), "driver");
	assert_null(dlsym(driver, "cuMemAlloc_v"));
	assert_null(dlsym(driver, "cuMemAlloc_v22"));
	/* It was opened for us alone. */
	assert_null(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

static void test_answers_have_the_abi_of_the_version(void **state)
{
	(void)state;
	assert_string_equal(symbol_at(ask("cuMemAlloc", 3020, 0)), "cuMemAlloc_v2");
	assert_string_equal(whose(ask("cuMemAlloc", 3020, 0)), "hooks");
	assert_string_equal(whose(ask("cuMemAlloc", 13000, 0)), "hooks");
	assert_string_equal(whose(ask("cuMemAlloc", 3010, 0)), "driver");
	assert_string_equal(symbol_at(ask("cuCtxCreate", 3010, 0)), "cuCtxCreate");
	assert_string_equal(symbol_at(ask("cuCtxCreate", 11030, 0)), "cuCtxCreate_v2");
	assert_string_equal(symbol_at(ask("cuCtxCreate", 12000, 0)), "cuCtxCreate_v3");
	assert_string_equal(symbol_at(ask("cuCtxCreate", 12050, 0)), "cuCtxCreate_v4");
	assert_string_equal(whose(ask("cuCtxCreate", 12050, 0)), "hooks");
	assert_string_equal(whose(ask("cuMemGetInfo", 13000, 0)), "driver");
	assert_string_equal(whose(ask("softgpuIdentify", 0, 0)), "driver");
	assert_int_equal(vs_event_lines_get_nr_unsure(), 0);
}

static void test_answers_have_the_streams_of_the_flags(void **state)
{
	(void)state;
	assert_string_equal(symbol_at(ask("cuMemAllocAsync", 11020, 0)), "cuMemAllocAsync");
	assert_string_equal(symbol_at(ask("cuMemAllocAsync", 11020, 1)), "cuMemAllocAsync");
	assert_string_equal(symbol_at(ask("cuMemAllocAsync", 11020, 2)), "cuMemAllocAsync_ptsz");
	assert_string_equal(whose(ask("cuMemAllocAsync", 11020, 2)), "hooks");
	/* No such variant: the plain one is the answer. */
	assert_string_equal(symbol_at(ask("cuMemAlloc", 11020, 2)), "cuMemAlloc_v2");
	assert_string_equal(whose(ask("cuMemAlloc", 11020, 2)), "hooks");
}

static void test_the_door_gives_out_the_door_of_the_right_shape(void **state)
{
	get_proc_old_fn old;
	void *function = NULL;

	(void)state;
	assert_string_equal(symbol_at(ask("cuGetProcAddress", 11030, 0)), "cuGetProcAddress");
	assert_string_equal(symbol_at(ask("cuGetProcAddress", 11080, 0)), "cuGetProcAddress");
	assert_string_equal(symbol_at(ask("cuGetProcAddress", 12000, 0)), "cuGetProcAddress_v2");
	old = (get_proc_old_fn)ask("cuGetProcAddress", 11080, 0);
	assert_string_equal(whose((void *)old), "hooks");
	assert_int_equal(old("cuMemAlloc", &function, 11080, 0), CUDA_SUCCESS);
	assert_string_equal(whose(function), "hooks");
	assert_int_equal(old("no such name", &function, 11080, 0), CUDA_ERROR_NOT_FOUND);
	assert_null(function);
}

static void test_odd_questions_get_the_drivers_own_answer(void **state)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *function = &status;

	(void)state;
	assert_int_equal(get_proc("", &function, 0, 0, &status), CUDA_SUCCESS);
	assert_null(function);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_int_equal(get_proc("cuMemAlloc", &function, 12000, 0, NULL), CUDA_SUCCESS);
	assert_string_equal(whose(function), "hooks");
	assert_int_equal(get_proc("cuMemAlloc", &function, 12000, 99, &status),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(get_proc("cuMemAlloc", NULL, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(get_proc(NULL, &function, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(get_proc("cuMemAllocAsync", &function, 11010, 0, &status), CUDA_SUCCESS);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(function);
}

static void test_functions_of_a_runtime_are_replaced_while_it_is_the_only_one(void **state)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
	cudaError_t (*allocate)(void **, size_t), (*release)(void *);
	void *a;

	(void)state;
	assert_non_null(runtime);
	assert_string_equal(whose(dlsym(runtime, "cudaMemGetInfo")), "runtime");
	assert_string_equal(whose(dlsym(runtime, "cudaMalloc")), "hooks");
	assert_string_equal(whose(dlvsym(runtime, "cudaMalloc", "libcudart.so.13")), "hooks");
	allocate = (cudaError_t(*)(void **, size_t))dlsym(runtime, "cudaMalloc");
	release = (cudaError_t(*)(void *))dlsym(runtime, "cudaFree");
	assert_int_equal(allocate(&a, 128), cudaSuccess);
	vs_event_lines_skip();
	assert_int_equal(release(a), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (unsigned long)a);
	/* The program sees the global scope as it is without us. */
	assert_null(dlsym(RTLD_DEFAULT, "cudaMalloc"));
	dlclose(runtime);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_cuda_the_global_scope_has_none),
		cmocka_unit_test(test_wrapper_without_a_driver_says_so),
		cmocka_unit_test(test_names_that_are_not_ours_are_passed_on),
		cmocka_unit_test(test_caller_of_rtld_next_is_seen_as_itself),
		cmocka_unit_test_setup(test_functions_of_the_driver_are_replaced_by_exact_name,
				       open_driver),
		cmocka_unit_test_setup(test_answers_have_the_abi_of_the_version, open_driver),
		cmocka_unit_test_setup(test_answers_have_the_streams_of_the_flags, open_driver),
		cmocka_unit_test_setup(test_the_door_gives_out_the_door_of_the_right_shape,
				       open_driver),
		cmocka_unit_test_setup(test_odd_questions_get_the_drivers_own_answer, open_driver),
		cmocka_unit_test_setup(
			test_functions_of_a_runtime_are_replaced_while_it_is_the_only_one,
			open_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
