#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "cmocka_all.h"
#include "populate.h"

#define PAGE 4096u
#define SIZE (64 * PAGE)

static uint8_t *map(void)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

static long count_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt;
}

/* Whether the kernel can do it: where not, nothing is to be seen. */
static int is_possible(void)
{
	uint8_t *memory = map();
	int result = madvise(memory, PAGE, MADV_POPULATE_WRITE);

	munmap(memory, SIZE);
	return result == 0;
}

static void test_pages_are_there_before_they_are_touched(void **state)
{
	uint8_t *memory = map();
	long before;

	(void)state;
	vs_populate(memory, SIZE);
	before = count_faults();
	for (size_t at = 0; at < SIZE; at += PAGE)
		memory[at]++;
	if (is_possible())
		assert_true(count_faults() - before < SIZE / PAGE / 2);
	munmap(memory, SIZE);
}

static void test_what_is_there_stays(void **state)
{
	uint8_t *memory = map();

	(void)state;
	memory[3 * PAGE] = 7;
	memory[SIZE - 1] = 8;
	/* Neither begins nor ends with a page. */
	vs_populate(memory + 100, SIZE - 200);
	assert_int_equal(memory[3 * PAGE], 7);
	assert_int_equal(memory[SIZE - 1], 8);
	vs_populate(memory + 100, 200);
	munmap(memory, SIZE);
}

static void test_refusal_is_nobodys_concern(void **state)
{
	uint8_t *memory = map();

	(void)state;
	munmap(memory, SIZE);
	errno = EDOM;
	vs_populate(memory, SIZE);
	assert_int_equal(errno, EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_are_there_before_they_are_touched),
		cmocka_unit_test(test_what_is_there_stays),
		cmocka_unit_test(test_refusal_is_nobodys_concern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
