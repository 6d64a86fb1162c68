#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind_memory.h"

#define PAGE 4096u

/* nr pages that can be read, between two that cannot. */
static uintptr_t map_pages(size_t nr)
{
	char *pages = mmap(NULL, (nr + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, nr * PAGE, PROT_READ | PROT_WRITE), 0);
	return (uintptr_t)pages + PAGE;
}

static void unmap_pages(uintptr_t start, size_t nr)
{
	munmap((void *)(start - PAGE), (nr + 2) * PAGE);
}

static void test_what_can_be_read_is_known(void **state)
{
	uintptr_t start = map_pages(2);

	(void)state;
	errno = 77;
	assert_true(vs_unwind_memory_is_readable(start, 1));
	assert_true(vs_unwind_memory_is_readable(start, 2 * PAGE));
	assert_true(vs_unwind_memory_is_readable(start + PAGE - 1, 2));
	assert_false(vs_unwind_memory_is_readable(start - 1, 1));
	assert_false(vs_unwind_memory_is_readable(start - 1, 2));
	assert_false(vs_unwind_memory_is_readable(start + 2 * PAGE - 1, 2));
	assert_false(vs_unwind_memory_is_readable(start + 2 * PAGE, 1));
	/* Nowhere, in the kernel, around the end of all addresses. */
	assert_false(vs_unwind_memory_is_readable(0, 8));
	assert_false(vs_unwind_memory_is_readable(0xffffffff81000000, 8));
	assert_false(vs_unwind_memory_is_readable(0x0000900000000000, 8));
	assert_false(vs_unwind_memory_is_readable(UINTPTR_MAX - 7, 8));
	assert_false(vs_unwind_memory_is_readable(UINTPTR_MAX - 7, 100));
	/* Mapped, but not to be read. */
	assert_int_equal(mprotect((void *)start, PAGE, PROT_NONE), 0);
	assert_false(vs_unwind_memory_is_readable(start, 1));
	assert_true(vs_unwind_memory_is_readable(start + PAGE, 1));
	assert_int_equal(errno, 77);
	unmap_pages(start, 2);
	assert_false(vs_unwind_memory_is_readable(start + PAGE, 1));
}

/* All words of the window, up to both of its ends. */
static void load_all(const struct vs_unwind_window *window)
{
	for (uintptr_t i = 0; i < window->size; i += 64)
		vs_unwind_memory_load(window->start + i);
	vs_unwind_memory_load(window->start + window->size - 1);
}

static void *check_own_stack(void *argument)
{
	struct vs_unwind_own_stack own = {0};
	struct vs_unwind_window window = {0};
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)argument;
	assert_false(vs_unwind_memory_has(&window, 0));
	assert_false(vs_unwind_memory_has(&window, here));
	assert_true(vs_unwind_memory_open(&own, &window, here));
	assert_true(vs_unwind_memory_has(&window, here));
	/* It is the own one: it stays known, and reaches far beyond a page. */
	assert_memory_equal(&window, &own.window, sizeof(window));
	assert_true(vs_unwind_memory_has(&own.window, here + 8));
	load_all(&window);
	/* The stack grows. */
	assert_true(vs_unwind_memory_open(&own, &window, here - 3 * PAGE));
	assert_true(vs_unwind_memory_has(&own.window, here - 3 * PAGE));
	assert_true(vs_unwind_memory_has(&own.window, here));
	load_all(&own.window);
	return NULL;
}

static void test_the_own_stack_of_the_first_thread(void **state)
{
	volatile char room[8 * PAGE];

	(void)state;
	room[0] = 0; /* so deep the stack is already */
	check_own_stack((void *)room);
}

static void test_the_own_stack_of_another_thread(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;
	uintptr_t memory;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, check_own_stack, NULL), 0);
	pthread_join(thread, NULL);
	/* Memory that the program brought, up to the very end of what is mapped. */
	memory = map_pages(64);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, (void *)memory, 64 * PAGE), 0);
	assert_int_equal(pthread_create(&thread, &attributes, check_own_stack, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	unmap_pages(memory, 64);
}

static void test_another_stack_is_asked_about_each_time(void **state)
{
	struct vs_unwind_own_stack own = {0}, before;
	struct vs_unwind_window window = {0};
	uintptr_t start = map_pages(4);

	(void)state;
	assert_true(vs_unwind_memory_open(&own, &window, (uintptr_t)__builtin_frame_address(0)));
	before = own;
	assert_true(vs_unwind_memory_open(&own, &window, start + 100));
	assert_true(vs_unwind_memory_has(&window, start + 100));
	assert_false(vs_unwind_memory_has(&window, start - 1));
	load_all(&window);
	/* Up the stack: what was there is still there. */
	assert_true(vs_unwind_memory_open(&own, &window, start + 3 * PAGE));
	assert_true(vs_unwind_memory_has(&window, start + 100));
	assert_true(vs_unwind_memory_has(&window, start + 4 * PAGE - 8));
	assert_false(vs_unwind_memory_has(&window, start + 4 * PAGE - 7));
	load_all(&window);
	assert_false(vs_unwind_memory_open(&own, &window, start + 4 * PAGE));
	assert_false(vs_unwind_memory_open(&own, &window, start + 4 * PAGE - 4));
	assert_false(vs_unwind_memory_open(&own, &window, start - 8));
	assert_memory_equal(&own.window, &before.window, sizeof(own.window));
	unmap_pages(start, 4);
	window = own.window; /* the next walk */
	assert_false(vs_unwind_memory_open(&own, &window, start + 100));
}

static void test_a_hole_in_the_way_begins_another_window(void **state)
{
	struct vs_unwind_own_stack own = {0};
	struct vs_unwind_window window = {0};
	uintptr_t start = map_pages(5);

	(void)state;
	assert_int_equal(mprotect((void *)(start + 2 * PAGE), PAGE, PROT_NONE), 0);
	assert_true(vs_unwind_memory_open(&own, &window, start));
	assert_true(vs_unwind_memory_open(&own, &window, start + 4 * PAGE));
	assert_false(vs_unwind_memory_has(&window, start));
	assert_false(vs_unwind_memory_has(&window, start + 2 * PAGE));
	assert_true(vs_unwind_memory_has(&window, start + 4 * PAGE));
	load_all(&window);
	/* And back again. */
	assert_true(vs_unwind_memory_open(&own, &window, start + 8));
	assert_true(vs_unwind_memory_has(&window, start + 8));
	load_all(&window);
	unmap_pages(start, 5);
}

static void test_addresses_that_are_none(void **state)
{
	static const uintptr_t addresses[] = {
		0,
		1,
		4095,
		0x800000000000 - 4,
		0x800000000000,
		0xdeadbeefdeadbeef,
		UINTPTR_MAX - PAGE,
		UINTPTR_MAX - 8,
		UINTPTR_MAX,
	};
	struct vs_unwind_own_stack own = {0};
	struct vs_unwind_window window = {0};

	(void)state;
	/* Before and after the own stack is known. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
			assert_false(vs_unwind_memory_open(&own, &window, addresses[i]));
		assert_true(vs_unwind_memory_open(&own, &window,
						  (uintptr_t)__builtin_frame_address(0)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_be_read_is_known),
		cmocka_unit_test(test_the_own_stack_of_the_first_thread),
		cmocka_unit_test(test_the_own_stack_of_another_thread),
		cmocka_unit_test(test_another_stack_is_asked_about_each_time),
		cmocka_unit_test(test_a_hole_in_the_way_begins_another_window),
		cmocka_unit_test(test_addresses_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
