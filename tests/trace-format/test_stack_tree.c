#include <errno.h>
#include <sys/mman.h>

#include "cmocka_all.h"
#include "stack_tree.h"

/* ---- An mmap(2) that can run out (linked with --wrap=mmap) ------------------------------------
 */

void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);

static int is_out_of_memory;

void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (is_out_of_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(addr, size, prot, flags, fd, offset);
}

static void test_nodes_are_found_by_parent_and_address(void **state)
{
	struct vs_stack_tree tree;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	assert_int_equal(vs_stack_tree_find(&tree, 0, 0x10), 0);
	assert_int_equal(vs_stack_tree_add(&tree, 0, 0x10), 1);
	assert_int_equal(vs_stack_tree_add(&tree, 1, 0x10), 2); /* it calls itself */
	assert_int_equal(vs_stack_tree_add(&tree, 0, 0), 3);
	assert_int_equal(vs_stack_tree_find(&tree, 0, 0x10), 1);
	assert_int_equal(vs_stack_tree_find(&tree, 1, 0x10), 2);
	assert_int_equal(vs_stack_tree_find(&tree, 0, 0), 3);
	assert_int_equal(vs_stack_tree_find(&tree, 2, 0x10), 0);
	vs_stack_tree_fini(&tree);
}

static void test_many_nodes_stay_known(void **state)
{
	struct vs_stack_tree tree;
	enum {
		NR = 100000
	};

	(void)state;
	vs_stack_tree_init(&tree, 50);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(vs_stack_tree_add(&tree, i / 7, 0x7f0000000000 + i % 7 * 16),
				 50 + i);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(vs_stack_tree_find(&tree, i / 7, 0x7f0000000000 + i % 7 * 16),
				 50 + i);
	assert_int_equal(vs_stack_tree_find(&tree, NR, 0x7f0000000000), 0);
	vs_stack_tree_fini(&tree);
}

static void test_without_memory_nodes_are_always_new(void **state)
{
	struct vs_stack_tree tree;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	is_out_of_memory = 1;
	assert_int_equal(vs_stack_tree_add(&tree, 0, 1), 1);
	assert_int_equal(vs_stack_tree_find(&tree, 0, 1), 0);
	assert_int_equal(vs_stack_tree_add(&tree, 0, 1), 2);
	is_out_of_memory = 0;
	assert_int_equal(vs_stack_tree_add(&tree, 0, 1), 3);
	assert_int_equal(vs_stack_tree_find(&tree, 0, 1), 3);
	vs_stack_tree_fini(&tree);
}

/* What is known stays known, and looking for the rest comes to an end. */
static void test_table_that_cannot_grow_keeps_what_it_has(void **state)
{
	struct vs_stack_tree tree;
	uint32_t nr_known = 0;

	(void)state;
	vs_stack_tree_init(&tree, 1);
	assert_int_equal(vs_stack_tree_add(&tree, 0, 0), 1);
	is_out_of_memory = 1;
	for (uint32_t i = 1; i < 20000; i++)
		assert_int_equal(vs_stack_tree_add(&tree, 0, i), i + 1);
	for (uint32_t i = 0; i < 20000; i++)
		nr_known += vs_stack_tree_find(&tree, 0, i) == i + 1;
	is_out_of_memory = 0;
	assert_true(nr_known > 1000 && nr_known < 19000);
	vs_stack_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_are_found_by_parent_and_address),
		cmocka_unit_test(test_many_nodes_stay_known),
		cmocka_unit_test(test_without_memory_nodes_are_always_new),
		cmocka_unit_test(test_table_that_cannot_grow_keeps_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
