#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>

int cufftCreate(int *plan);
int cufftDestroy(int plan);
int cufftPlan1d(int *plan, int nx, int type, int batch);
int cufftPlanMany(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
		  int ostride, int odist, int type, int batch);
int cufftMakePlan2d(int plan, int nx, int ny, int type, size_t *size);
int cufftGetSize(int plan, size_t *size);
int cufftSetAutoAllocation(int plan, int is_wanted);
int cufftExecC2C(int plan, void *from, void *to, int direction);

#define C2C          0x29
#define Z2Z          0x69
#define INVALID_PLAN 1
#define ALLOC_FAILED 2
#define INVALID_SIZE 8

static size_t free_bytes(void)
{
	size_t free = 0, total = 0;

	assert_int_equal(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
	return free;
}

static int use_device(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static void test_plan_holds_its_work_area(void **state)
{
	size_t before = free_bytes(), size = 0;
	int plan = 0;

	(void)state;
	assert_int_equal(cufftPlan1d(&plan, 1 << 20, C2C, 2), 0);
	assert_int_equal(cufftGetSize(plan, &size), 0);
	assert_int_equal(size, (size_t)(1 << 20) * 2 * 8);
	assert_int_equal(before - free_bytes(), size);
	assert_int_equal(cufftExecC2C(plan, NULL, NULL, -1), 0);
	assert_int_equal(cufftDestroy(plan), 0);
	assert_int_equal(free_bytes(), before);
	assert_int_equal(cufftDestroy(plan), INVALID_PLAN);
}

static void test_plan_without_allocation_holds_nothing(void **state)
{
	size_t before = free_bytes(), size = 0;
	int plan = 0;

	(void)state;
	assert_int_equal(cufftCreate(&plan), 0);
	assert_int_equal(cufftExecC2C(plan, NULL, NULL, -1), INVALID_PLAN); /* not made yet */
	assert_int_equal(cufftSetAutoAllocation(plan, 0), 0);
	assert_int_equal(cufftMakePlan2d(plan, 1024, 1024, Z2Z, &size), 0);
	assert_int_equal(size, (size_t)1024 * 1024 * 16);
	assert_int_equal(free_bytes(), before);
	assert_int_equal(cufftDestroy(plan), 0);
}

static void test_plan_that_does_not_fit_fails_and_leaves_nothing(void **state)
{
	size_t before = free_bytes();
	int plan = 0;

	(void)state;
	assert_int_equal(cufftPlan1d(&plan, 1 << 28, C2C, 1), ALLOC_FAILED);
	assert_int_equal(free_bytes(), before);
}

static void test_sizes_that_are_none_are_refused(void **state)
{
	int n[] = {8, 0}, plan = 0;

	(void)state;
	assert_int_equal(cufftPlan1d(&plan, 0, C2C, 1), INVALID_SIZE);
	assert_int_equal(cufftPlanMany(&plan, 2, n, NULL, 1, 0, NULL, 1, 0, C2C, 1), INVALID_SIZE);
	assert_int_equal(cufftPlanMany(&plan, 4, n, NULL, 1, 0, NULL, 1, 0, C2C, 1), INVALID_SIZE);
	assert_int_equal(cufftExecC2C(-1, NULL, NULL, -1), INVALID_PLAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_holds_its_work_area),
		cmocka_unit_test(test_plan_without_allocation_holds_nothing),
		cmocka_unit_test(test_plan_that_does_not_fit_fails_and_leaves_nothing),
		cmocka_unit_test(test_sizes_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, use_device, NULL);
}
