/* 24,133 kernels and 18,430 variables, registered before main() and all of them found afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "many_kernels.h"

#define assert_cuda(call) assert_int_equal((call), cudaSuccess)

__attribute__((constructor)) static void register_all(void)
{
	sg_many_kernels_init();
	sg_many_kernels_register();
}

static void test_every_kernel_is_found(void **state)
{
	struct cudaFuncAttributes attributes;
	cudaFunction_t function, last = NULL;

	(void)state;
	for (int i = 0; i < SG_MANY_KERNELS_NR; i++) {
		const void *kernel = sg_many_kernels_get_kernel(i);

		assert_cuda(cudaGetFuncBySymbol(&function, kernel));
		assert_ptr_not_equal(function, last);
		last = function;
		assert_cuda(cudaFuncGetAttributes(&attributes, kernel));
		assert_true(attributes.maxThreadsPerBlock > 0);
	}
}

static void test_every_kernel_can_be_launched(void **state)
{
	const dim3 one = {1, 1, 1};

	(void)state;
	for (int i = 0; i < SG_MANY_KERNELS_NR; i += 7)
		assert_cuda(
			cudaLaunchKernel(sg_many_kernels_get_kernel(i), one, one, NULL, 0, NULL));
}

static void test_every_variable_has_its_size_and_its_own_memory(void **state)
{
	int value;

	(void)state;
	for (int i = 0; i < SG_MANY_KERNELS_NR_VARS; i++) {
		const void *symbol = sg_many_kernels_get_var(i);
		size_t size = 0;

		assert_cuda(cudaGetSymbolSize(&size, symbol));
		assert_int_equal(size, SG_MANY_KERNELS_VAR + i % 7);
		assert_cuda(cudaMemcpyToSymbol(symbol, &i, sizeof(i), 8, cudaMemcpyHostToDevice));
	}
	for (int i = 0; i < SG_MANY_KERNELS_NR_VARS; i++) {
		assert_cuda(cudaMemcpyFromSymbol(&value, sg_many_kernels_get_var(i), sizeof(value),
						 8, cudaMemcpyDeviceToHost));
		assert_int_equal(value, i);
	}
}

static void test_unregistered_kernels_are_unknown(void **state)
{
	const dim3 one = {1, 1, 1};
	size_t size;

	(void)state;
	sg_many_kernels_unregister();
	assert_int_equal(cudaLaunchKernel(sg_many_kernels_get_kernel(5), one, one, NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	assert_int_equal(cudaGetSymbolSize(&size, sg_many_kernels_get_var(5)),
			 cudaErrorInvalidSymbol);
	sg_many_kernels_register();
	assert_cuda(cudaLaunchKernel(sg_many_kernels_get_kernel(5), one, one, NULL, 0, NULL));
	sg_many_kernels_unregister();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kernel_is_found),
		cmocka_unit_test(test_every_kernel_can_be_launched),
		cmocka_unit_test(test_every_variable_has_its_size_and_its_own_memory),
		cmocka_unit_test(test_unregistered_kernels_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
