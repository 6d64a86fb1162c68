#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler.h"

static char names[500];

static void collect(const char *name, size_t size, void *argument)
{
	(void)argument;
	strncat(names, name, size);
	strcat(names, " ");
}

static void assert_kernels(const char *source, const char *expected)
{
	names[0] = '\0';
	sg_compiler_names_scan(source, collect, NULL);
	assert_string_equal(names, expected);
}

static void test_kernels_are_found(void **state)
{
	(void)state;
	assert_kernels("extern \"C\" __global__ void scale(float *x, int n) { }", "scale ");
	assert_kernels("__global__ void a(){}\n__global__\nvoid b (int){}", "a b ");
	assert_kernels("template <typename T> __global__ void t(T *x) {}", "t ");
}

static void test_launch_bounds_are_not_a_kernel(void **state)
{
	(void)state;
	assert_kernels("__global__ void __launch_bounds__(256, 2) bounded(int *p) {}", "bounded ");
	assert_kernels("__global__ __launch_bounds__(MAX(1, 2)) void nested(int) {}", "nested ");
}

static void test_comments_and_longer_words_are_skipped(void **state)
{
	(void)state;
	assert_kernels("// __global__ void no()\n/* __global__ void no() */ int x;", "");
	assert_kernels("int my__global__x; void f();", "");
	assert_kernels("__global__", "");
	assert_kernels("/* never closed", "");
	assert_kernels("__global__ void open(", "open ");
}

static void assert_lowered_differ(const char *a, const char *b)
{
	char *lowered_a = sg_compiler_names_lower(a), *lowered_b = sg_compiler_names_lower(b);

	assert_string_not_equal(lowered_a, lowered_b);
	free(lowered_a);
	free(lowered_b);
}

static void test_lowered_names_are_identifiers_and_differ(void **state)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char *name = sg_compiler_names_lower("&scale<float, 3>");

	(void)state;
	assert_int_equal(strspn(name, letters), strlen(name));
	assert_non_null(strstr(name, "scale"));
	free(name);
	assert_lowered_differ("scale<float>", "scale<double>");
	name = sg_compiler_names_lower("&plain");
	assert_string_equal(name, "plain");
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_are_found),
		cmocka_unit_test(test_launch_bounds_are_not_a_kernel),
		cmocka_unit_test(test_comments_and_longer_words_are_skipped),
		cmocka_unit_test(test_lowered_names_are_identifiers_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
