/*
 * In which order device memory gets its addresses: as seen on Linux, and, in scenes, as on Windows.
 * Frameworks break ties between blocks by address.
 */
#include "rig.h"

#define CHUNK ((CUdeviceptr)32 << 20)

static CUdeviceptr take(size_t mib)
{
	CUdeviceptr address;

	assert_ok(cuMemAlloc(&address, mib * MIB));
	return address;
}

static void give(CUdeviceptr address)
{
	assert_ok(cuMemFree(address));
}

static void test_new_chunks_lie_below_the_old_ones(void **state)
{
	CUdeviceptr first = take(20), second = take(20), third = take(20);

	(void)state;
	assert_int_equal(first % CHUNK, 0);
	assert_int_equal(second, first - CHUNK);
	assert_int_equal(third, second - CHUNK);
	give(first);
	give(second);
	give(third);
}

static void test_large_requests_take_several_chunks_at_once(void **state)
{
	CUdeviceptr first = take(20), large = take(50), next = take(32);

	(void)state;
	assert_int_equal(large, first - 2 * CHUNK);
	assert_int_equal(next, large - CHUNK);
	give(first);
	give(large);
	give(next);
}

static void test_what_chunks_have_left_is_filled_upwards_from_the_lowest(void **state)
{
	CUdeviceptr first = take(20), second = take(20);
	CUdeviceptr a = take(6), b = take(6), c = take(6), d = take(6), e = take(6);

	(void)state;
	assert_int_equal(a, second + 20 * MIB);
	assert_int_equal(b, second + 26 * MIB);
	assert_int_equal(c, first + 20 * MIB);
	assert_int_equal(d, first + 26 * MIB);
	assert_int_equal(e, second - CHUNK);
	give(first);
	give(second);
	give(a);
	give(b);
	give(c);
	give(d);
	give(e);
}

static void test_freed_chunks_are_used_again(void **state)
{
	CUdeviceptr first = take(20), second = take(20);

	(void)state;
	give(first);
	assert_int_equal(take(30), first); /* the highest addresses there are */
	give(second);
	assert_int_equal(take(30), second);
	give(first);
	give(second);
}

static void play_packed_blocks_follow_each_other_upwards(void **state)
{
	CUdeviceptr first, second, third, fourth;

	(void)state;
	sg_rig_open();
	first = take(20);
	second = take(20);
	third = take(50);
	fourth = take(3);
	assert_int_equal(second, first + 20 * MIB);
	assert_int_equal(third, second + 20 * MIB);
	assert_int_equal(fourth, third + 50 * MIB);
	assert_int_equal(take(2), fourth + 4 * MIB); /* in whole pages */
	give(fourth + 4 * MIB);
	give(first);
	give(second);
	give(third);
	give(fourth);
}

static void play_packed_gaps_are_filled_from_the_lowest(void **state)
{
	CUdeviceptr first, second, third;

	(void)state;
	sg_rig_open();
	first = take(20);
	second = take(20);
	third = take(20);
	give(first);
	assert_int_equal(take(6), first);
	assert_int_equal(take(16), third + 20 * MIB); /* 14 are left in the gap */
	assert_int_equal(take(14), first + 6 * MIB);
	give(first);
	give(first + 6 * MIB);
	give(second);
	give(third);
	give(third + 20 * MIB);
	assert_int_equal(take(20), first); /* as if nothing had been */
	give(first);
}

static void play_packed_memory_is_all_there(void **state)
{
	size_t free_size, total, left;
	CUdeviceptr all;

	(void)state;
	sg_rig_open();
	assert_ok(cuMemGetInfo(&free_size, &total));
	assert_ok(cuMemAlloc(&all, free_size));
	assert_ok(cuMemGetInfo(&left, &total));
	assert_int_equal(left, 0);
	give(all);
	assert_ok(cuMemGetInfo(&left, &total));
	assert_int_equal(left, free_size);
}

static void play_new_chunks_lie_below_the_old_ones(void **state)
{
	sg_rig_open();
	test_new_chunks_lie_below_the_old_ones(state);
}

static const struct sg_rig_scene scenes[] = {
	{"order", play_packed_blocks_follow_each_other_upwards},
	{"gaps", play_packed_gaps_are_filled_from_the_lowest},
	{"all", play_packed_memory_is_all_there},
	{"chunks", play_new_chunks_lie_below_the_old_ones},
};

static void run_packed(const char *scene)
{
	SG_RIG_RUN(scene, "SOFTGPU_ADDRESSES=packed", "SOFTGPU_MEMORY=1G", NULL);
}

static void test_packed_blocks_follow_each_other_upwards(void **state)
{
	(void)state;
	run_packed("order");
}

static void test_packed_gaps_are_filled_from_the_lowest(void **state)
{
	(void)state;
	run_packed("gaps");
}

static void test_packed_memory_is_all_there(void **state)
{
	(void)state;
	run_packed("all");
}

static void test_address_policy_that_is_none_is_said_and_not_followed(void **state)
{
	(void)state;
	SG_RIG_RUN("chunks", "SOFTGPU_ADDRESSES=sparse", "SOFTGPU_LOG_FILE=/dev/null", NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_chunks_lie_below_the_old_ones),
		cmocka_unit_test(test_large_requests_take_several_chunks_at_once),
		cmocka_unit_test(test_what_chunks_have_left_is_filled_upwards_from_the_lowest),
		cmocka_unit_test(test_freed_chunks_are_used_again),
		cmocka_unit_test(test_packed_blocks_follow_each_other_upwards),
		cmocka_unit_test(test_packed_gaps_are_filled_from_the_lowest),
		cmocka_unit_test(test_packed_memory_is_all_there),
		cmocka_unit_test(test_address_policy_that_is_none_is_said_and_not_followed),
	};
	int status = SG_RIG_PLAY(argc, argv, scenes);

	if (status >= 0)
		return status;
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=1G", NULL);
	sg_rig_open();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
