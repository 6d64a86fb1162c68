/* What the replay says becomes stretches of addresses and time. */
#include "lifetimes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "picture_records.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

/* Writes "device address+size start-end hl" and a newline, h: held, l: live. */
static int note(void *data, const struct vs_item *item, const struct vs_lifetime *lifetime)
{
	fprintf(data, "%u %lx+%lx %lu-%lu %s%s\n", item->device->ordinal, lifetime->address,
		lifetime->size, lifetime->start_ns, lifetime->end_ns, lifetime->is_held ? "h" : "",
		lifetime->is_live ? "l" : "");
	return 0;
}

static void replay_once(const struct vs_record *records, size_t nr_records,
			struct vs_adoption *adopting, const struct vs_adoption *adopted, FILE *file)
{
	struct vs_lifetimes lifetimes;
	struct vs_replay *replay;

	assert_int_equal(vs_replay_create(&replay), 0);
	replay->adopting = adopting;
	replay->adopted = adopted;
	vs_lifetimes_init(&lifetimes, note, file);
	if (file)
		vs_replay_add_observer(replay, &lifetimes.observer);
	for (size_t i = 0; i < nr_records; i++)
		assert_int_equal(vs_replay_add(replay, &records[i]), 0);
	assert_int_equal(vs_replay_end(replay), 0);
	vs_lifetimes_fini(&lifetimes);
	vs_replay_destroy(replay);
}

static void expect(const struct vs_record *records, size_t nr_records, const char *expected)
{
	struct vs_adoption adoption = {0};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	replay_once(records, nr_records, &adoption, NULL, NULL);
	replay_once(records, nr_records, NULL, &adoption, file);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
	vs_adoption_fini(&adoption);
}

static void test_segment_without_pool_is_held_and_live(void **state)
{
	const struct vs_record records[] = {
		picture_alloc(10, VS_MEMORY_DEVICE, 0, 0x1000, 0x100),
		picture_alloc(20, VS_MEMORY_MANAGED, 1, 0x8000, 0x200),
		picture_free(50, VS_MEMORY_DEVICE, 0x1000),
	};

	(void)state;
	/* What is alive at the end is seen up to and with the last instant. */
	expect(records, NR(records), "0 1000+100 10-50 hl\n1 8000+200 20-51 hl\n");
}

static void test_memory_that_is_not_the_devices_is_left_out(void **state)
{
	const struct vs_record records[] = {
		picture_alloc(10, VS_MEMORY_PINNED, 0, 0x1000, 0x100),
		picture_alloc(11, VS_MEMORY_REGISTERED, 0, 0x2000, 0x100),
		picture_alloc(12, VS_MEMORY_ARRAY, 0, 0x3000, 0x100),
		picture_alloc(13, VS_MEMORY_VMM, 0, 0x4000, 0x100),
		picture_step(20, 1),
	};

	(void)state;
	expect(records, NR(records), "");
}

static void test_segment_of_a_pool_is_held_and_its_blocks_are_live(void **state)
{
	const struct vs_record records[] = {
		picture_pool(1, 0, "arena"),
		picture_alloc(10, VS_MEMORY_DEVICE, 0, 0x1000, 0x1000),
		picture_block(20, 1, 0x1000, 0x100),
		picture_block(30, 1, 0x1200, 0x100),
		picture_block_free(40, 1, 0x1000),
		picture_free(60, VS_MEMORY_DEVICE, 0x1000),
	};

	(void)state;
	/* Held from its birth, though the pool shows itself later; the last block goes with it. */
	expect(records, NR(records),
	       "0 1000+100 20-40 l\n0 1200+100 30-60 l\n0 1000+1000 10-60 h\n");
}

static void test_block_of_a_driver_pool_stands_alone(void **state)
{
	const struct vs_record records[] = {
		picture_alloc(10, VS_MEMORY_ASYNC, 0, 0x1000, 0x100),
		picture_free(30, VS_MEMORY_ASYNC, 0x1000),
	};

	(void)state;
	expect(records, NR(records), "0 1000+100 10-30 hl\n");
}

static void test_free_that_failed_leaves_no_gap_but_its_own(void **state)
{
	const struct vs_record records[] = {
		picture_alloc(10, VS_MEMORY_DEVICE, 0, 0x1000, 0x100),
		picture_free(50, VS_MEMORY_DEVICE, 0x1000),
		picture_free_failed(52, VS_MEMORY_DEVICE, 0x1000),
		picture_free(90, VS_MEMORY_DEVICE, 0x1000),
	};

	(void)state;
	expect(records, NR(records), "0 1000+100 10-50 hl\n0 1000+100 52-90 hl\n");
}

static void test_vmm_segment_grows_splits_and_shrinks(void **state)
{
	const struct vs_record records[] = {
		picture_reserve(1, 0x10000, 0x10000),
		picture_alloc(2, VS_MEMORY_VMM, 0, 0x99, 0x4000),
		picture_map(10, 0x10000, 0x1000, 0x99),
		picture_map(20, 0x11000, 0x1000, 0x99), /* one of 0x2000 */
		picture_map(30, 0x12000, 0x1000, 0x99), /* 0x3000 */
		picture_unmap(40, 0x11000, 0x1000),     /* two of 0x1000 */
		picture_unmap(50, 0x10000, 0x1000),     /* the upper one is left */
		picture_step(60, 1),
	};

	(void)state;
	expect(records, NR(records),
	       "0 10000+1000 10-20 hl\n0 10000+2000 20-30 hl\n0 10000+3000 30-40 hl\n"
	       "0 10000+1000 40-50 hl\n0 12000+1000 40-61 hl\n");
}

static void test_blocks_stay_when_their_vmm_segments_merge(void **state)
{
	const struct vs_record records[] = {
		picture_pool(1, 0, "expandable"),
		picture_reserve(1, 0x10000, 0x10000),
		picture_alloc(2, VS_MEMORY_VMM, 0, 0x99, 0x4000),
		picture_map(10, 0x10000, 0x1000, 0x99),
		picture_map(20, 0x12000, 0x1000, 0x99),
		picture_block(30, 1, 0x12000, 0x800),
		picture_map(40, 0x11000, 0x1000, 0x99), /* all three are one */
		picture_block_free(50, 1, 0x12000),
		picture_unmap(60, 0x10000, 0x3000),
	};
	static const char *const parts[] = {
		"0 12000+800 30-50 l\n",
		"0 10000+1000 10-40 h\n",
		"0 12000+1000 20-40 h\n",
	};
	struct vs_adoption adoption = {0};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	replay_once(records, NR(records), &adoption, NULL, NULL);
	replay_once(records, NR(records), NULL, &adoption, file);
	fclose(file);
	for (size_t i = 0; i < NR(parts); i++)
		assert_non_null(strstr(text, parts[i]));
	/* From 40 to 60 the whole stretch is held, in however many pieces. */
	assert_non_null(strstr(text, "0 10000+3000 40-60 h\n"));
	free(text);
	vs_adoption_fini(&adoption);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segment_without_pool_is_held_and_live),
		cmocka_unit_test(test_memory_that_is_not_the_devices_is_left_out),
		cmocka_unit_test(test_segment_of_a_pool_is_held_and_its_blocks_are_live),
		cmocka_unit_test(test_block_of_a_driver_pool_stands_alone),
		cmocka_unit_test(test_free_that_failed_leaves_no_gap_but_its_own),
		cmocka_unit_test(test_vmm_segment_grows_splits_and_shrinks),
		cmocka_unit_test(test_blocks_stay_when_their_vmm_segments_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
