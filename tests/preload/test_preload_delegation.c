#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delegation.h"
#include "record.h"

#define BACKWARD vs_frame_make_link(VS_LINK_BACKWARD)
#define SEVERAL  vs_frame_make_link(VS_LINK_SEVERAL)

static const uint64_t stack_a[] = {11, 12, 13};
static const uint64_t stack_b[] = {21, 22};

static vs_delegation begin_call(const uint64_t *frames, uint32_t nr_frames, bool is_nested)
{
	vs_delegation place = vs_delegation_take();

	vs_delegation_begin(place, vs_delegation_keep(VS_LINK_BACKWARD, frames, nr_frames),
			    is_nested);
	return place;
}

static void end_call(vs_delegation place)
{
	vs_delegation_end(place);
	vs_delegation_give_back(place);
}

static int init(void **state)
{
	(void)state;
	return vs_delegation_init();
}

static int clear(void **state)
{
	(void)state;
	vs_delegation_clear();
	return 0;
}

static uint64_t get_print(void)
{
	struct vs_unwind_path path = {.a = 1, .b = 2};

	vs_delegation_recall(&path);
	return path.a ^ path.b << 1;
}

/* The frames are these, and of the calls that a fingerprint is taken of. */
static void expect(const uint64_t *wanted, uint32_t nr_wanted)
{
	struct vs_unwind_path path = {.a = 1, .b = 2};
	uint64_t frames[8], which;

	assert_int_equal(vs_delegation_get(frames, 8, &which), nr_wanted);
	assert_memory_equal(frames, wanted, nr_wanted * sizeof(*wanted));
	assert_true(which == vs_delegation_recall(&path));
}

static void test_without_a_call_there_is_nothing(void **state)
{
	(void)state;
	expect(NULL, 0);
	assert_true(get_print() == (UINT64_C(1) ^ 2 << 1));
}

static void test_of_one_call_the_frames_are_given(void **state)
{
	const uint64_t wanted[] = {BACKWARD, 11, 12, 13};
	vs_delegation call = begin_call(stack_a, 3, false);
	uint64_t frames[3], which;

	(void)state;
	expect(wanted, 4);
	/* What has no room is left out. */
	assert_int_equal(vs_delegation_get(frames, 3, &which), 3);
	assert_memory_equal(frames, wanted, sizeof(frames));
	assert_int_equal(vs_delegation_get(frames, 1, &which), 0);
	end_call(call);
	expect(NULL, 0);
}

static void test_of_several_calls_none_is_given(void **state)
{
	const uint64_t only_b[] = {BACKWARD, 21, 22};
	const uint64_t several = SEVERAL;
	vs_delegation a = begin_call(stack_a, 3, false);
	vs_delegation b = begin_call(stack_b, 2, false);

	(void)state;
	expect(&several, 1);
	end_call(a);
	expect(only_b, 3);
	end_call(b);
	expect(NULL, 0);
}

static void test_a_nested_call_is_part_of_another_one(void **state)
{
	const uint64_t wanted[] = {BACKWARD, 11, 12, 13};
	vs_delegation a = begin_call(stack_a, 3, false);
	vs_delegation b = begin_call(stack_b, 2, true);

	(void)state;
	expect(wanted, 4);
	end_call(b);
	expect(wanted, 4);
	end_call(a);
}

static void test_a_call_without_python_gives_nothing(void **state)
{
	uint64_t frames[4], which;
	vs_delegation call = begin_call(NULL, 0, false);

	(void)state;
	assert_int_equal(vs_delegation_get(frames, 4, &which), 0);
	end_call(call);
}

static void test_fingerprints_differ_as_the_calls_do(void **state)
{
	uint64_t none = get_print(), only_a, only_b, both;
	vs_delegation a, b;

	(void)state;
	a = begin_call(stack_a, 3, false);
	only_a = get_print();
	b = begin_call(stack_b, 2, false);
	both = get_print();
	end_call(a);
	only_b = get_print();
	end_call(b);
	assert_true(none != only_a && only_a != only_b && only_b != both && both != none);
	assert_true(only_a != both && none != only_b);
	assert_true(get_print() == none);
	/* The same call again, in another place of the table. */
	b = begin_call(stack_b, 2, true);
	a = begin_call(stack_a, 3, false);
	assert_true(get_print() == only_a);
	end_call(a);
	end_call(b);
}

static void test_a_call_that_found_no_room_makes_others_uncertain(void **state)
{
	const uint64_t only[] = {BACKWARD, 11, 12, 13};
	const uint64_t several = SEVERAL;
	vs_delegation calls[VS_DELEGATION_MAX], extra;

	(void)state;
	for (int i = 0; i < VS_DELEGATION_MAX; i++)
		calls[i] = begin_call(stack_a, 3, i > 0);
	expect(only, 4);
	extra = begin_call(stack_b, 2, false);
	assert_true(extra == VS_DELEGATION_NONE);
	expect(&several, 1);
	end_call(extra);
	expect(only, 4);
	for (int i = 0; i < VS_DELEGATION_MAX; i++)
		end_call(calls[i]);
	expect(NULL, 0);
	assert_true(begin_call(stack_a, 3, false) != VS_DELEGATION_NONE);
}

static void test_a_place_is_kept_from_call_to_call(void **state)
{
	const uint64_t of_a[] = {BACKWARD, 11, 12, 13}, of_b[] = {BACKWARD, 21, 22};
	vs_delegation place = vs_delegation_take(), other = vs_delegation_take();

	(void)state;
	assert_true(place != other);
	expect(NULL, 0);
	for (int i = 0; i < 3; i++) {
		vs_delegation_begin(place, vs_delegation_keep(VS_LINK_BACKWARD, stack_a, 3), false);
		expect(of_a, 4);
		vs_delegation_end(place);
		expect(NULL, 0);
		vs_delegation_begin(place, vs_delegation_keep(VS_LINK_BACKWARD, stack_b, 2), false);
		expect(of_b, 3);
		vs_delegation_end(place);
		expect(NULL, 0);
	}
	/* Who gives it back has no call. */
	vs_delegation_begin(place, vs_delegation_keep(VS_LINK_BACKWARD, stack_a, 3), false);
	vs_delegation_give_back(place);
	expect(NULL, 0);
	assert_true(vs_delegation_take() == place);
}

static void test_frames_are_kept_once(void **state)
{
	const uint64_t same[] = {11, 12, 13};
	const struct vs_delegation_call *call = vs_delegation_keep(VS_LINK_BACKWARD, stack_a, 3);

	(void)state;
	assert_int_equal(call->nr_frames, 3);
	assert_memory_equal(call->frames, stack_a, sizeof(stack_a));
	assert_ptr_equal(vs_delegation_keep(VS_LINK_BACKWARD, same, 3), call);
	assert_ptr_not_equal(vs_delegation_keep(VS_LINK_BACKWARD, same, 2), call);
	assert_ptr_not_equal(vs_delegation_keep(VS_LINK_EXECUTE, same, 3), call);
}

static void test_frames_that_find_no_room_are_not_known(void **state)
{
	const uint64_t several = vs_frame_make_link(VS_LINK_EXECUTE_SEVERAL);
	const struct vs_delegation_call *call, *before = NULL;
	vs_delegation place = vs_delegation_take();
	uint64_t frames[VS_PYTHON_MAX_FRAMES] = {0};

	(void)state;
	/* The same for all of them from then on. */
	for (;; before = call) {
		frames[0]++;
		call = vs_delegation_keep(VS_LINK_EXECUTE, frames, VS_PYTHON_MAX_FRAMES);
		if (call == before)
			break;
	}
	vs_delegation_begin(place, call, false);
	expect(&several, 1);
	assert_true(vs_delegation_is_any());
	vs_delegation_end(place);
	expect(NULL, 0);
}

static void test_clearing_forgets_all(void **state)
{
	(void)state;
	begin_call(stack_a, 3, false);
	begin_call(stack_b, 2, false);
	vs_delegation_clear();
	expect(NULL, 0);
}

/* ---- Threads ------------------------------------------------------------------------------- */

#define NR_CALLERS 4
#define NR_CALLS   20000

static _Atomic bool is_over;

/* Frames that belong together: all the same, as many as the number says. */
static void *call_often(void *argument)
{
	uint64_t first = (uint64_t)(uintptr_t)argument;
	uint64_t frames[VS_PYTHON_MAX_FRAMES];
	vs_delegation place = vs_delegation_take();

	for (uint64_t i = 0; i < NR_CALLS; i++) {
		uint32_t nr = 1 + (uint32_t)((i + first) % 9);

		for (uint32_t k = 0; k < nr; k++)
			frames[k] = first << 32 | nr;
		/* Another one now and then. */
		if (i % 64 == 0) {
			vs_delegation_give_back(place);
			place = vs_delegation_take();
		}
		vs_delegation_begin(place, vs_delegation_keep(VS_LINK_BACKWARD, frames, nr), false);
		vs_delegation_end(place);
	}
	vs_delegation_give_back(place);
	return NULL;
}

static void *look_often(void *argument)
{
	uint64_t *nr_wrong = argument;

	while (!atomic_load(&is_over)) {
		struct vs_unwind_path path = {0};
		uint64_t frames[16], which;
		uint32_t nr = vs_delegation_get(frames, 16, &which);

		vs_delegation_recall(&path);
		if (nr == 0)
			continue;
		if (frames[0] == SEVERAL) {
			*nr_wrong += nr != 1;
			continue;
		}
		*nr_wrong += frames[0] != BACKWARD || nr - 1 != (uint32_t)frames[1];
		for (uint32_t i = 2; i < nr; i++)
			*nr_wrong += frames[i] != frames[1];
	}
	return NULL;
}

static void test_threads_see_whole_calls_or_none(void **state)
{
	pthread_t callers[NR_CALLERS], watcher;
	uint64_t nr_wrong = 0;

	(void)state;
	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&watcher, NULL, look_often, &nr_wrong), 0);
	for (uintptr_t i = 0; i < NR_CALLERS; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, call_often, (void *)(i + 1)), 0);
	for (int i = 0; i < NR_CALLERS; i++)
		pthread_join(callers[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(watcher, NULL);
	assert_int_equal(nr_wrong, 0);
	expect(NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_call_there_is_nothing),
		TEST(test_of_one_call_the_frames_are_given),
		TEST(test_of_several_calls_none_is_given),
		TEST(test_a_nested_call_is_part_of_another_one),
		TEST(test_a_call_without_python_gives_nothing),
		TEST(test_fingerprints_differ_as_the_calls_do),
		TEST(test_a_call_that_found_no_room_makes_others_uncertain),
		TEST(test_a_place_is_kept_from_call_to_call),
		TEST(test_frames_are_kept_once),
		TEST(test_frames_that_find_no_room_are_not_known),
		TEST(test_clearing_forgets_all),
		TEST(test_threads_see_whole_calls_or_none),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
