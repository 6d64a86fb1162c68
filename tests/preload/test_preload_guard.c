#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard.h"
#include "record.h"
#include "thread.h"
#include "usual.h"

/* Frames of a made-up stack, which grows down. */
static const void *frame(uintptr_t depth)
{
	return (const void *)(uintptr_t)(0x10000 - 0x100 * depth);
}

static int set_up(void **state)
{
	struct vs_thread_state *self = vs_thread_self();

	(void)state;
	self->base = (struct vs_thread){.ticket = VS_GUARD_NO_TICKET};
	self->inside = NULL;
	vs_usual_begin(NULL);
	return 0;
}

/* The same in a thread that has a ring: most hooks take the short way then. */
static int set_up_with_ticket(void **state)
{
	set_up(state);
	vs_usual_open(7);
	vs_thread_self()->base.ticket = vs_usual_make_ticket(7);
	return 0;
}

static void test_the_outermost_hook_gives_name_and_frame(void **state)
{
	struct vs_thread *outer, *inner;

	(void)state;
	errno = 4711;
	outer = vs_guard_enter(VS_GUARD_RUNTIME, 5, frame(1));
	assert_non_null(outer);
	assert_int_equal(outer->depth, 1);
	assert_int_equal(outer->nr_driver, 0);
	inner = vs_guard_enter(VS_GUARD_DRIVER, 6, frame(2));
	assert_ptr_equal(inner, outer);
	assert_int_equal(inner->depth, 2);
	assert_true(vs_guard_is_outermost_driver(inner));
	assert_int_equal(inner->api, 5);
	assert_ptr_equal(inner->frame, frame(1));
	vs_guard_enter(VS_GUARD_DRIVER, 7, frame(3));
	assert_false(vs_guard_is_outermost_driver(inner));
	vs_guard_leave(inner, VS_GUARD_DRIVER);
	vs_guard_leave(inner, VS_GUARD_DRIVER);
	vs_guard_leave(outer, VS_GUARD_RUNTIME);
	assert_int_equal(outer->depth, 0);
	assert_int_equal(outer->nr_driver, 0);
	assert_int_equal(errno, 4711);
}

static void test_the_next_outermost_hook_starts_anew(void **state)
{
	struct vs_thread *self;

	(void)state;
	self = vs_guard_enter(VS_GUARD_DRIVER, 5, frame(1));
	self->stack = 77;
	vs_guard_leave(self, VS_GUARD_DRIVER);
	self = vs_guard_enter(VS_GUARD_DRIVER, 6, frame(2));
	assert_int_equal(self->api, 6);
	assert_int_equal(self->stack, VS_NO_ID);
	vs_guard_leave(self, VS_GUARD_DRIVER);
}

static void test_inside_the_recorder_nothing_is_recorded(void **state)
{
	struct vs_thread_state *self = vs_thread_self();

	(void)state;
	self->base.is_inside = true; /* the drain: for good */
	assert_null(vs_guard_enter(VS_GUARD_DRIVER, 5, frame(1)));
	self->inside = frame(2); /* a hook that was interrupted below it */
	assert_null(vs_guard_enter(VS_GUARD_DRIVER, 5, frame(3)));
	assert_int_equal(self->base.depth, 0);
}

static void test_a_hook_left_by_a_jump_is_forgotten(void **state)
{
	struct vs_thread *self;

	(void)state;
	vs_guard_enter(VS_GUARD_RUNTIME, 5, frame(5));
	vs_guard_enter(VS_GUARD_DRIVER, 6, frame(6));
	self = vs_guard_enter(VS_GUARD_DRIVER, 7, frame(5));
	assert_non_null(self);
	assert_int_equal(self->depth, 1);
	assert_int_equal(self->nr_driver, 1);
	assert_int_equal(self->api, 7);
	vs_guard_leave(self, VS_GUARD_DRIVER);
}

static void test_a_recorder_left_by_a_jump_records_again(void **state)
{
	struct vs_thread_state *self = vs_thread_self();

	(void)state;
	vs_guard_enter(VS_GUARD_DRIVER, 5, frame(5));
	self->base.is_inside = true;
	self->inside = frame(6);
	assert_non_null(vs_guard_enter(VS_GUARD_DRIVER, 7, frame(4)));
	assert_false(self->base.is_inside);
	assert_int_equal(self->base.depth, 1);
	vs_guard_leave(&self->base, VS_GUARD_DRIVER);
}

static void test_leaving_more_often_than_entering_does_no_harm(void **state)
{
	struct vs_thread *self;

	(void)state;
	self = vs_guard_enter(VS_GUARD_DRIVER, 5, frame(1));
	vs_guard_leave(self, VS_GUARD_DRIVER);
	vs_guard_leave(self, VS_GUARD_DRIVER);
	assert_int_equal(self->depth, 0);
	assert_int_equal(self->nr_driver, 0);
}

/* The words differ as soon as a hook is on the stack, and are the same again behind it. */
static void test_a_ticket_is_all_that_the_short_way_asks_for(void **state)
{
	struct vs_thread *self = &vs_thread_self()->base;

	(void)state;
	assert_int_equal(self->door, vs_usual_get());
	assert_ptr_equal(vs_guard_enter(VS_GUARD_DRIVER, 5, frame(1)), self);
	assert_int_not_equal(self->door, vs_usual_get());
	assert_int_equal(self->depth, 1);
	assert_int_equal(self->nr_driver, 1);
	assert_int_equal(self->ticket, vs_usual_get());
	vs_guard_leave(self, VS_GUARD_DRIVER);
	assert_int_equal(self->door, vs_usual_get());
	self->is_inside = true;
	assert_int_not_equal(self->door, vs_usual_get());
	self->is_inside = false;
	vs_usual_clear(VS_USUAL_SILENT);
	assert_int_not_equal(self->door, vs_usual_get());
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup(name, set_up), cmocka_unit_test_setup(name, set_up_with_ticket)
	const struct CMUnitTest tests[] = {
		TEST(test_the_outermost_hook_gives_name_and_frame),
		TEST(test_the_next_outermost_hook_starts_anew),
		TEST(test_inside_the_recorder_nothing_is_recorded),
		TEST(test_a_hook_left_by_a_jump_is_forgotten),
		TEST(test_a_recorder_left_by_a_jump_records_again),
		TEST(test_leaving_more_often_than_entering_does_no_harm),
		cmocka_unit_test_setup(test_a_ticket_is_all_that_the_short_way_asks_for,
				       set_up_with_ticket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
