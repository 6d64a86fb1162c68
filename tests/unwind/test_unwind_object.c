#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind_arch.h"
#include "unwind_asm.h"
#include "unwind_object.h"

/* Both ways to find an object. */
static int with_finder(void **state)
{
	(void)state;
	vs_unwind_object_init(true);
	return 0;
}

static int without_finder(void **state)
{
	(void)state;
	vs_unwind_object_init(false);
	vs_unwind_object_forget();
	return 0;
}

static uintptr_t address_of(const char *name)
{
	uintptr_t address = (uintptr_t)dlsym(RTLD_DEFAULT, name);

	assert_int_not_equal(address, 0);
	return address;
}

static enum vs_unwind_object_result find(uintptr_t pc)
{
	struct vs_unwind_cfi_row row;

	return vs_unwind_object_find(pc, &row);
}

static void test_code_of_the_program_libc_and_the_kernel(void **state)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct vs_unwind_cfi_row row;
	bool is_in_vdso = false;

	(void)state;
	assert_int_equal(vs_unwind_object_find((uintptr_t)unwind_asm_switch + 4, &row),
			 VS_UNWIND_OBJECT_FOUND);
	assert_int_equal(row.cfa_register, VS_UNWIND_ARCH_DWARF_BP);
	assert_int_equal(row.cfa_offset, 16);
	assert_int_equal(vs_unwind_object_find(address_of("qsort"), &row), VS_UNWIND_OBJECT_FOUND);
	assert_int_equal(row.cfa_register, VS_UNWIND_ARCH_DWARF_SP);
	assert_int_equal(row.cfa_offset, 8); /* nothing is pushed yet */
	/* What the kernel brings along has no file, but is listed. */
	for (uintptr_t pc = vdso; vdso && pc < vdso + 8192; pc += 16)
		is_in_vdso |= find(pc) == VS_UNWIND_OBJECT_FOUND;
	assert_true(!vdso || is_in_vdso);
}

static void test_code_that_its_library_says_nothing_about(void **state)
{
	(void)state;
	assert_int_equal(find((uintptr_t)unwind_asm_bare), VS_UNWIND_OBJECT_BARE);
	assert_int_equal(find((uintptr_t)unwind_asm_bare_end - 1), VS_UNWIND_OBJECT_BARE);
}

static void test_addresses_in_no_library(void **state)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(find(0), VS_UNWIND_OBJECT_LOOSE);
	assert_int_equal(find((uintptr_t)memory + 8), VS_UNWIND_OBJECT_LOOSE);
	assert_int_equal(find((uintptr_t)&memory), VS_UNWIND_OBJECT_LOOSE);
	assert_int_equal(find(UINTPTR_MAX), VS_UNWIND_OBJECT_LOOSE);
	munmap(memory, 4096);
}

static void test_libraries_come_and_go(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/host_plugin_a.so", getenv("VS_TEST_HOSTS"));
	for (int i = 0; i < 5; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		uintptr_t call = (uintptr_t)dlsym(handle, "plugin_call");

		assert_int_not_equal(call, 0);
		assert_int_equal(find(call), VS_UNWIND_OBJECT_FOUND);
		dlclose(handle);
		vs_unwind_object_forget();
		assert_int_equal(find(call), VS_UNWIND_OBJECT_LOOSE);
	}
}

/* The bytes of an expression are where they are: their place is compared, and nothing else. */
static void test_both_ways_find_the_same(void **state)
{
	static const char *const names[] = {"qsort", "vfprintf", "malloc", "dlopen"};
	struct vs_unwind_cfi_row one, two;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (uintptr_t pc = address_of(names[i]), end = pc + 2000; pc < end; pc++) {
			enum vs_unwind_object_result result;

			memset(&one, 0, sizeof(one));
			memset(&two, 0, sizeof(two));
			vs_unwind_object_init(true);
			result = vs_unwind_object_find(pc, &one);
			vs_unwind_object_init(false);
			assert_int_equal(vs_unwind_object_find(pc, &two), result);
			assert_int_equal(one.cfa_register, two.cfa_register);
			assert_int_equal(one.cfa_offset, two.cfa_offset);
			assert_ptr_equal(one.cfa_expression.start, two.cfa_expression.start);
		}
	}
}

#define NR_QUESTIONS 5000

static atomic_bool is_over;

static void *forget(void *argument)
{
	while (!is_over)
		vs_unwind_object_forget();
	return argument;
}

/* One thread at a time makes the list; the others are told so, or get an answer that is right. */
static void *ask(void *nr_found)
{
	uintptr_t known = (uintptr_t)unwind_asm_switch, loose = (uintptr_t)&known;

	for (int i = 0; i < NR_QUESTIONS; i++) {
		enum vs_unwind_object_result result = find(known);

		if (result == VS_UNWIND_OBJECT_FOUND)
			++*(unsigned *)nr_found;
		else if (result != VS_UNWIND_OBJECT_BUSY)
			return "a library was not found";
		result = find(loose);
		if (result != VS_UNWIND_OBJECT_LOOSE && result != VS_UNWIND_OBJECT_BUSY)
			return "something was found in no library";
	}
	return NULL;
}

/* Forked while somebody makes the list, who is not there in the child. */
static void check_children(void)
{
#ifndef __SANITIZE_THREAD__ /* which allows no such thing */
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			vs_unwind_object_begin_in_child();
			_exit(find((uintptr_t)unwind_asm_switch) != VS_UNWIND_OBJECT_FOUND);
		}
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
#endif
}

static void test_threads_do_not_wait_for_one_another(void **state)
{
	unsigned nr_found[3] = {0};
	pthread_t threads[3], forgetful;
	void *complaint;

	(void)state;
	is_over = false;
	assert_int_equal(pthread_create(&forgetful, NULL, forget, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &nr_found[i]), 0);
	check_children();
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &complaint);
		assert_null(complaint);
	}
	is_over = true;
	pthread_join(forgetful, NULL);
	assert_true(nr_found[0] + nr_found[1] + nr_found[2] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                 \
	cmocka_unit_test_setup(name, with_finder), \
		{#name " (own list)", name, without_finder, NULL, NULL}
		TEST(test_code_of_the_program_libc_and_the_kernel),
		TEST(test_code_that_its_library_says_nothing_about),
		TEST(test_addresses_in_no_library),
		TEST(test_libraries_come_and_go),
#undef TEST
		cmocka_unit_test(test_both_ways_find_the_same),
		cmocka_unit_test_setup(test_threads_do_not_wait_for_one_another, without_finder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
