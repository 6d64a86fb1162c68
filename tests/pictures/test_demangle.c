#include "demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_name(const char *mangled, const char *expected)
{
	char *name = vs_demangle_name(mangled);

	if (!name)
		fail_msg("%s is not taken for a mangled name", mangled);
	assert_string_equal(name, expected);
	free(name);
}

static void test_cpp_names_come_without_parameters(void **state)
{
	(void)state;
	assert_name("_Z1fi", "f");
	assert_name("_ZN2at5emptyEi", "at::empty");
	assert_name("_ZN2at6TensorC1Ev", "at::Tensor::Tensor");
	assert_name("_ZN2at6TensorD2Ev", "at::Tensor::~Tensor");
	assert_name("_ZNK2at6Tensor4sizeEl", "at::Tensor::size");
	assert_name("_ZN12_GLOBAL__N_14growEv", "(anonymous namespace)::grow");
	assert_name("_ZplRK6TensorS1_", "operator+");
	assert_name("_ZN6TensorclEv", "Tensor::operator()");
	assert_name("_Znwm", "operator new");
}

static void test_template_functions_come_without_what_they_return(void **state)
{
	(void)state;
	assert_name("_Z3addIiET_S0_S0_", "add<int>");
	assert_name("_Z3runIPFviEEvT_", "run<void (*)(int)>");
	assert_name("_ZN5outer4growIfEET_RKSt6vectorIS1_SaIS1_EE", "outer::grow<float>");
}

static void test_rust_names_come_without_their_hash(void **state)
{
	(void)state;
	assert_name("_ZN4core3fmt5Write9write_str17h0123456789abcdefE",
		    "core::fmt::Write::write_str");
	assert_name("_RNvC6_123foo3bar", "123foo::bar");
}

static void test_other_names_are_not_mangled(void **state)
{
	static const char *const names[] = {"",     "main",   "cudaMalloc", "_start",
					    "_Z",   "_Z9add", "_R",         "_ZN2at5em",
					    "Z1fi", "x_Z1fi", "\xff"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(vs_demangle_name(names[i]));
}

/* f<A<A<...int...> > >: so many templates in each other. */
static char *make_nested(size_t depth)
{
	char *name = malloc(4 * depth + 32), *at = name;

	assert_non_null(name);
	at = stpcpy(at, "_Z1fI");
	for (size_t i = 0; i < depth; i++)
		at = stpcpy(at, "1AI");
	*at++ = 'i';
	memset(at, 'E', depth);
	strcpy(at + depth, "Evv");
	return name;
}

static void test_names_of_thousands_of_characters_are_whole(void **state)
{
	char *mangled = make_nested(500), *name = vs_demangle_name(mangled);

	(void)state;
	assert_non_null(name);
	assert_true(strlen(name) > 2000);
	assert_memory_equal(name, "f<A<A<A<", 8);
	assert_string_equal(name + strlen(name) - 5, "> > >");
	free(name);
	free(mangled);
}

/* As a damaged file may have them. The stack is not without end. */
static void test_names_nested_without_end_do_no_harm(void **state)
{
	static const size_t sizes[] = {8000, 8192, 8193, 100000, 1000000};
	char *mangled;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		mangled = make_nested(sizes[i] / 4 - 4);
		free(vs_demangle_name(mangled)); /* whatever it is */
		free(mangled);
		mangled = malloc(sizes[i] + 1);
		assert_non_null(mangled);
		memset(mangled, 'P', sizes[i]); /* a pointer to a pointer to a pointer... */
		memcpy(mangled, "_Z1f", 4);
		strcpy(mangled + sizes[i] - 1, "i");
		free(vs_demangle_name(mangled));
		free(mangled);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpp_names_come_without_parameters),
		cmocka_unit_test(test_template_functions_come_without_what_they_return),
		cmocka_unit_test(test_rust_names_come_without_their_hash),
		cmocka_unit_test(test_other_names_are_not_mangled),
		cmocka_unit_test(test_names_of_thousands_of_characters_are_whole),
		cmocka_unit_test(test_names_nested_without_end_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
