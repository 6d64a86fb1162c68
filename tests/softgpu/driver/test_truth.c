#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "truth.h"

static void test_kernels_that_join_are_known_by_name(void **state)
{
	(void)state;
	/* As PyTorch's are called. */
	assert_true(sg_truth_is_conjunction(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIbbbNS0_"
		"17BitwiseAndFunctorIbEEEESt5arrayIPcLm3EEEEviT0_T1_"));
	assert_true(sg_truth_is_conjunction(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIbbbNS0_"
		"15binary_internal10MulFunctorIbEEEESt5arrayIPcLm3EEEEviT0_T1_"));
	assert_true(sg_truth_is_conjunction(
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIbZZZNS0_"
		"15and_kernel_cudaERNS_14TensorIteratorEENKUlvE_clEvE"));
	assert_false(sg_truth_is_conjunction(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffNS0_"
		"15binary_internal10MulFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_"));
	assert_false(sg_truth_is_conjunction(
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIbZZZNS0_"
		"14or_kernel_cudaERNS_14TensorIteratorEENKUlvE_clEvE"));
}

/* The setting is read once: guess, from here on. */
static void test_guess_is_that_of_the_last_kernel(void **state)
{
	(void)state;
	setenv("SOFTGPU_BOOL", "guess", 1);
	assert_int_equal(sg_truth_get_byte(), 0);
	sg_truth_set_last(true);
	assert_int_equal(sg_truth_get_byte(), 1);
	sg_truth_set_last(false);
	assert_int_equal(sg_truth_get_byte(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_that_join_are_known_by_name),
		cmocka_unit_test(test_guess_is_that_of_the_last_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
