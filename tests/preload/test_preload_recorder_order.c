#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lifecycle.h"
#include "log_double.h"
#include "modules.h"
#include "names.h"
#include "recorder.h"
#include "stack_table.h"
#include "thread.h"

/* What the recorder defines, when, and what becomes of it when there is no room or a fork. */

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	vs_modules_init("/the/program");
	return vs_names_init() || vs_stack_table_init() ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	log_double_reset();
	vs_recorder_clear();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	log_double_assert_consistent();
	return 0;
}

/* What the unwinder will find: up to three frames, innermost first. */
static void set_frames(uint64_t a, uint64_t b, uint64_t c)
{
	log_double.frames[0] = a;
	log_double.frames[1] = b;
	log_double.frames[2] = c;
	log_double.nr_frames = a ? b ? c ? 3 : 2 : 1 : 0;
}

/* One hook, one event of it; the number of its stack. */
static uint32_t say_alloc(void)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_DRIVER, vs_recorder_name("cuMemAlloc_v2"),
						__builtin_frame_address(0));
	uint32_t pool = vs_recorder_driver_pool(0x1234000, 0);
	uint32_t stack;

	assert_non_null(self);
	vs_recorder_add_alloc(self, VS_MEMORY_DEVICE, 0, 0x1000, 1, pool, 0);
	stack = self->stack;
	vs_guard_leave(self, VS_GUARD_DRIVER);
	return stack;
}

static void say_step(uint64_t number)
{
	struct vs_thread *self =
		vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0));

	assert_non_null(self);
	vs_recorder_add_step(self, number);
	vs_guard_leave(self, VS_GUARD_POOL);
}

static uint64_t in_this_program(void)
{
	return (uint64_t)(uintptr_t)say_alloc + 1;
}

static uint64_t in_libc(void)
{
	return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version") + 1;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static void test_all_events_of_a_hook_share_one_walk_and_one_stack(void **state)
{
	struct vs_thread *self;

	(void)state;
	set_frames(0x1000, 0x2000, 0);
	self = vs_guard_enter(VS_GUARD_DRIVER, VS_NO_ID, __builtin_frame_address(0));
	vs_recorder_add_free(self, VS_MEMORY_DEVICE, 0x1000);
	vs_recorder_add_alloc(self, VS_MEMORY_DEVICE, 0, 0x1000, 1, VS_NO_ID, 0);
	vs_guard_leave(self, VS_GUARD_DRIVER);
	assert_int_equal(log_double.nr_captures, 1);
	assert_int_equal(log_double_count(VS_RECORD_STACK), 1);
	assert_int_equal(log_double_get(VS_RECORD_FREE, 0)->free.stack,
			 log_double_get(VS_RECORD_ALLOC, 0)->alloc.stack);
}

static void test_a_stack_seen_before_has_its_old_number_and_no_new_record(void **state)
{
	uint32_t first, other, nr;

	(void)state;
	set_frames(0x1000, 0x2000, 0);
	first = say_alloc();
	set_frames(0x1000, 0x2001, 0);
	other = say_alloc();
	assert_int_not_equal(other, first);
	nr = log_double_get_nr();
	set_frames(0x1000, 0x2000, 0);
	assert_int_equal(say_alloc(), first);
	assert_int_equal(log_double_get_nr(), nr + 1);
	assert_int_equal(log_double_get(VS_RECORD_STACK, 0)->stack.nr_frames, 2);
	assert_int_equal(log_double_get(VS_RECORD_STACK, 0)->stack.frames[1], 0x2000);
}

static void test_without_stacks_nobody_walks(void **state)
{
	(void)state;
	log_double.settings.no_stacks = true;
	set_frames(0x1000, 0, 0);
	assert_int_equal(say_alloc(), VS_NO_ID);
	assert_int_equal(log_double.nr_captures, 0);
	assert_int_equal(log_double_count(VS_RECORD_STACK), 0);
	assert_int_equal(log_double_get(VS_RECORD_ALLOC, 0)->alloc.stack, VS_NO_ID);
}

static void test_an_empty_stack_is_no_stack(void **state)
{
	(void)state;
	set_frames(0, 0, 0);
	assert_int_equal(say_alloc(), VS_NO_ID);
	assert_int_equal(log_double_count(VS_RECORD_STACK), 0);
	assert_int_equal(log_double_count(VS_RECORD_ALLOC), 1);
}

/* ---- Modules --------------------------------------------------------------------------------- */

static void test_the_files_of_a_stack_are_described_once_each_before_it(void **state)
{
	(void)state;
	set_frames(in_this_program(), in_libc(), 0x1000);
	say_alloc();
	set_frames(in_libc(), in_this_program(), 0);
	say_alloc();
	/* That they come before the stack is asserted for every test. */
	assert_int_equal(log_double_count(VS_RECORD_MODULE), 2);
	assert_int_equal(log_double_count(VS_RECORD_STACK), 2);
}

/* A call may be the last instruction of a file: then its return address is behind. */
static void test_a_frame_is_looked_up_by_the_call_not_by_its_return_address(void **state)
{
	uint64_t start;

	(void)state;
	set_frames(in_libc(), 0, 0);
	say_alloc();
	start = log_double_get(VS_RECORD_MODULE, 0)->module.start;
	log_double_reset();
	vs_recorder_clear();
	set_frames(start, 0, 0); /* of the file before it, if there is one */
	say_alloc();
	for (uint32_t i = 0; i < log_double_count(VS_RECORD_MODULE); i++)
		assert_int_not_equal(log_double_get(VS_RECORD_MODULE, i)->module.start, start);
	set_frames(start + 1, 0, 0);
	say_alloc();
	assert_int_equal(log_double_at(log_double_get_nr() - 3)->module.start, start);
}

static void *open_plugin(uint64_t *frame)
{
	void *handle = dlopen(PLUGIN, RTLD_NOW);

	assert_non_null(handle);
	*frame = (uint64_t)(uintptr_t)dlsym(handle, "plugin_call") + 1;
	return handle;
}

static void test_an_unloaded_file_ends_and_its_stacks_are_not_meant_any_more(void **state)
{
	uint32_t before, module;
	uint64_t frame;
	void *handle;

	(void)state;
	handle = open_plugin(&frame);
	set_frames(frame, in_this_program(), 0);
	before = say_alloc();
	module = log_double_get(VS_RECORD_MODULE, 0)->module.id;
	dlclose(handle);
	errno = 4711;
	vs_recorder_check_modules();
	assert_int_equal(errno, 4711);
	assert_int_equal(log_double_count(VS_RECORD_MODULE_END), 1);
	assert_int_equal(log_double_get(VS_RECORD_MODULE_END, 0)->module_end.id, module);
	assert_true(log_double.nr_forgets >= 1);
	vs_recorder_check_modules();
	assert_int_equal(log_double_count(VS_RECORD_MODULE_END), 1);
	/* The same addresses, in whatever is there now. */
	assert_int_not_equal(say_alloc(), before);
}

static void test_while_everything_stays_loaded_nothing_ends(void **state)
{
	uint32_t before, nr;

	(void)state;
	set_frames(in_this_program(), in_libc(), 0);
	before = say_alloc();
	nr = log_double_get_nr();
	vs_recorder_check_modules();
	assert_int_equal(log_double_get_nr(), nr);
	assert_int_equal(say_alloc(), before);
}

static void test_unloading_inside_the_recorder_waits(void **state)
{
	struct vs_thread_state *self = vs_thread_self();
	uint64_t frame;
	void *handle;

	(void)state;
	handle = open_plugin(&frame);
	set_frames(frame, 0, 0);
	say_alloc();
	dlclose(handle);
	self->base.is_inside = true;
	vs_recorder_check_modules();
	assert_true(self->base.is_inside);
	self->base.is_inside = false;
	assert_int_equal(log_double_count(VS_RECORD_MODULE_END), 0);
	assert_true(log_double.nr_forgets >= 1); /* that cannot wait */
	vs_recorder_check_modules();
	assert_int_equal(log_double_count(VS_RECORD_MODULE_END), 1);
}

/* ---- No room --------------------------------------------------------------------------------- */

/* As it is in the log. */
#define STEP_SIZE (VS_LIVE_RECORD_HEAD + (uint32_t)sizeof(struct vs_step))

static void test_what_does_not_fit_is_counted_and_told_before_the_next_event(void **state)
{
	const struct vs_record *record;

	(void)state;
	say_step(1);
	log_double_limit(0);
	say_step(2);
	say_step(3);
	assert_int_equal(log_double_get_lost(), 2);
	assert_int_equal(log_double.nr_wakes, 2);
	log_double_unlimit();
	say_step(4);
	say_step(5);
	assert_int_equal(log_double_count(VS_RECORD_LOST), 1);
	record = log_double_get(VS_RECORD_LOST, 0);
	assert_int_equal(record->lost.nr_events, 2);
	assert_int_equal(record->thread, vs_thread_self()->base.id);
	assert_ptr_equal(record - 1, log_double_get(VS_RECORD_STEP, 0));
	assert_ptr_equal(record + 1, log_double_get(VS_RECORD_STEP, 1));
	assert_int_equal(log_double_get(VS_RECORD_STEP, 1)->step.number, 4);
}

static void test_a_loss_that_could_not_be_told_is_told_later(void **state)
{
	(void)state;
	say_step(1);
	log_double_limit(0);
	say_step(2);
	log_double_unlimit();
	log_double_limit(STEP_SIZE); /* as long as a LOST, and nothing else */
	say_step(3);
	say_step(4);
	log_double_unlimit();
	say_step(5);
	assert_int_equal(log_double_get_lost(), 3);
	assert_int_equal(log_double_get_told(), 3);
	assert_int_equal(log_double_count(VS_RECORD_STEP), 2);
}

/* A block and what it was asked for go together, and are lost together: also where there is room
 * for one of them. */
static void test_a_block_is_lost_with_what_it_was_asked_for(void **state)
{
	struct vs_thread *self;
	uint32_t pool;

	(void)state;
	say_step(1);
	self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0));
	pool = vs_recorder_create_pool(self, VS_POOL_FRAMEWORK, "bfc", 0, 0);
	vs_recorder_add_asked_block(self, pool, 0x1000, 512, 400, 7);
	log_double_limit(VS_LIVE_RECORD_HEAD + sizeof(struct vs_block_alloc) + 8);
	vs_recorder_add_asked_block(self, pool, 0x2000, 512, 400, 8);
	log_double_unlimit();
	vs_recorder_add_asked_block(self, pool, 0x3000, 512, 400, 9);
	vs_guard_leave(self, VS_GUARD_POOL);
	assert_int_equal(log_double_get_lost(), 2);
	assert_int_equal(log_double_get_told(), 2);
	assert_int_equal(log_double_count(VS_RECORD_BLOCK_ALLOC), 2);
	assert_int_equal(log_double_count(VS_RECORD_BLOCK_ASKED), 2);
	assert_int_equal(log_double_get(VS_RECORD_BLOCK_ASKED, 1)->block_asked.run, 9);
}

static void test_before_an_event_is_lost_room_is_asked_for(void **state)
{
	(void)state;
	say_step(1);
	log_double_limit(0);
	log_double.has_more_room = true;
	say_step(2);
	assert_int_equal(log_double.nr_asked, 1);
	assert_int_equal(log_double_get_lost(), 0);
	assert_int_equal(log_double_get(VS_RECORD_STEP, 1)->step.number, 2);
}

/*
 * Wherever the room ends, between the definitions of an event or before it: no event stands without
 * what it refers to, and nothing is taken for defined that is not there. Records differ in length:
 * one that comes later may fit where one before it did not.
 */
static uint32_t measure_alloc(void)
{
	uint32_t before;

	say_step(1);
	before = vs_thread_self()->ring.end;
	set_frames(in_this_program(), in_libc(), 0);
	say_alloc();
	/* Thread, step; pool, two modules, stack, name, event. */
	assert_int_equal(log_double_get_nr(), 8);
	return vs_thread_self()->ring.end - before;
}

static void test_an_event_whose_definitions_do_not_fit_is_lost_and_leaves_no_trap(void **state)
{
	uint32_t needed = measure_alloc();

	(void)state;
	for (uint32_t size = 0; size <= needed; size += 8) {
		uint64_t nr_lost;

		log_double_reset();
		vs_recorder_clear();
		set_frames(in_this_program(), in_libc(), 0);
		say_step(1);
		log_double_limit(size);
		say_alloc();
		nr_lost = log_double_get_lost();
		assert_int_equal(nr_lost, size < needed ? 1 : 0);
		say_alloc();
		log_double_unlimit();
		assert_int_not_equal(say_alloc(), VS_NO_ID);
		log_double_assert_consistent();
		assert_int_equal(log_double_count(VS_RECORD_ALLOC), 3 - log_double_get_lost());
		assert_int_equal(log_double_get_told(), log_double_get_lost());
		/* No number was used up by what was not written. */
		assert_int_equal(log_double_get(VS_RECORD_STACK, 0)->stack.id, 1);
		assert_int_equal(log_double_get(VS_RECORD_MODULE, 0)->module.id, 1);
		assert_int_equal(log_double_get(VS_RECORD_MODULE, 1)->module.id, 2);
	}
}

static void push_phase(const char *name)
{
	struct vs_thread *self =
		vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0));

	vs_recorder_push_phase(self, VS_PHASE_SOURCE_HEADER, vs_names_get(name));
	vs_guard_leave(self, VS_GUARD_POOL);
}

static void test_what_follows_a_definition_that_did_not_fit_is_lost_even_if_it_fits(void **state)
{
	(void)state;
	say_step(1);
	log_double_limit(2 * STEP_SIZE);
	push_phase("a name that is longer than the phase itself, and than what is left of the log");
	assert_int_equal(log_double_get_lost(), 1);
	assert_int_equal(log_double_count(VS_RECORD_PHASE_PUSH), 0);
	assert_int_equal(log_double_count(VS_RECORD_NAME), 0);
	say_step(2); /* needs no name */
	assert_int_equal(log_double_count(VS_RECORD_STEP), 2);
}

static void test_a_thread_that_gets_no_chunk_loses_its_event_and_the_next_one_tells(void **state)
{
	uint32_t chunks[LOG_DOUBLE_NR_CHUNKS];

	(void)state;
	for (uint32_t i = 0; i < LOG_DOUBLE_NR_CHUNKS; i++)
		chunks[i] = vs_live_log_take_chunk(&log_double.log);
	say_step(1);
	say_step(2);
	assert_int_equal(log_double_get_nr(), 0);
	assert_int_equal(log_double_get_lost(), 2);
	assert_int_equal(log_double.nr_asked, 2);
	assert_true(log_double.nr_wakes > 0);
	vs_live_log_give_chunk(&log_double.log, chunks[0]);
	say_step(3);
	assert_int_equal(log_double_get_nr(), 3);
	assert_int_equal(log_double_at(0)->type, VS_RECORD_THREAD);
	assert_int_equal(log_double_get_told(), 2);
	assert_int_equal(log_double_get(VS_RECORD_STEP, 0)->step.number, 3);
}

static void test_what_is_no_event_is_no_loss(void **state)
{
	static const uint8_t uuid[16];
	struct vs_thread *self;
	uint32_t pool;

	(void)state;
	for (uint32_t i = 0; i < LOG_DOUBLE_NR_CHUNKS; i++)
		(void)vs_live_log_take_chunk(&log_double.log);
	self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0));
	pool = vs_recorder_create_pool(self, VS_POOL_PROGRAM, "pool", 0, 0);
	vs_guard_leave(self, VS_GUARD_POOL);
	assert_int_not_equal(pool, VS_NO_ID);
	vs_recorder_define_device(9, "card", 1, 90, uuid, false);
	vs_recorder_check_modules();
	assert_int_equal(log_double_get_lost(), 0);
}

static void test_a_device_that_does_not_fit_is_defined_the_next_time(void **state)
{
	static const uint8_t uuid[16];

	(void)state;
	say_step(1);
	log_double_limit(0);
	vs_recorder_define_device(9, "card", 1, 90, uuid, false);
	assert_false(vs_recorder_has_device(9));
	log_double_unlimit();
	vs_recorder_define_device(9, "card", 1, 90, uuid, false);
	assert_true(vs_recorder_has_device(9));
	assert_int_equal(log_double_count(VS_RECORD_DEVICE), 1);
}

static pthread_barrier_t limit_is_set;

static void *say_late(void *argument)
{
	pthread_barrier_wait(&limit_is_set);
	say_step(1);
	return argument;
}

/* Its own process: the limit stays. */
static void be_a_thread_without_memory(void)
{
	static const struct rlimit none;
	pthread_t thread;

	pthread_barrier_init(&limit_is_set, NULL, 2);
	pthread_create(&thread, NULL, say_late, NULL);
	setrlimit(RLIMIT_AS, &none);
	pthread_barrier_wait(&limit_is_set);
	pthread_join(thread, NULL);
	_exit(log_double_get_lost() == 1 && log_double_get_nr() == 0 ? 0 : 1);
}

static void test_a_thread_that_gets_no_memory_loses_its_event(void **state)
{
	pid_t pid;
	int status;

	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	print_message("AddressSanitizer needs memory itself and gives up without\n");
	skip();
#endif
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_a_thread_without_memory();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- Another recording ----------------------------------------------------------------------- */

static void test_a_new_recording_defines_everything_anew(void **state)
{
	static const uint8_t uuid[16];
	uint32_t name, pool;

	(void)state;
	set_frames(0x1000, 0x2000, 0);
	say_alloc();
	set_frames(in_this_program(), in_libc(), 0);
	say_alloc();
	vs_recorder_define_device(1, "card", 1, 90, uuid, false);
	name = log_double_get(VS_RECORD_ALLOC, 0)->alloc.api;
	pool = log_double_get(VS_RECORD_ALLOC, 0)->alloc.pool;

	log_double_reset();
	vs_recorder_clear();
	set_frames(in_this_program(), in_libc(), 0);
	assert_false(vs_recorder_has_device(1));
	assert_int_equal(say_alloc(), 1); /* stacks are numbered from 1 in each trace */
	assert_int_equal(log_double_count(VS_RECORD_THREAD), 1);
	assert_int_equal(log_double_count(VS_RECORD_MODULE), 2);
	assert_int_equal(log_double_get(VS_RECORD_MODULE, 0)->module.id, 1);
	/* The program has these numbers in its hands: they must stay what they are. */
	assert_int_equal(log_double_get(VS_RECORD_NAME, 0)->name.id, name);
	assert_int_equal(log_double_get(VS_RECORD_POOL, 0)->pool.id, pool);
}

/* A thread keeps the number for the next stack; in another trace it is not the next. */
static void test_a_new_recording_uses_no_number_that_was_left_over(void **state)
{
	(void)state;
	set_frames(0x1000, 0, 0);
	assert_int_equal(say_alloc(), 1);
	set_frames(0x2000, 0, 0);
	log_double_limit(0);
	say_alloc();

	log_double_reset();
	vs_recorder_clear();
	set_frames(0x2000, 0, 0);
	assert_int_equal(say_alloc(), 1);
}

static void test_a_new_recording_knows_nothing_of_losses_before_it(void **state)
{
	(void)state;
	say_step(0);
	log_double_limit(0);
	for (int i = 0; i < 5; i++)
		say_step(1);
	log_double_unlimit();
	say_step(2);
	assert_int_equal(log_double_get(VS_RECORD_LOST, 0)->lost.nr_events, 5);

	log_double_reset();
	vs_recorder_clear();
	say_step(0);
	log_double_limit(0);
	say_step(1);
	log_double_unlimit();
	say_step(2);
	assert_int_equal(log_double_get(VS_RECORD_LOST, 0)->lost.nr_events, 1);
}

static void test_a_name_asked_for_in_a_new_process_begins_it(void **state)
{
	(void)state;
	atomic_store(vs_lifecycle_mark, 0);
	assert_int_not_equal(vs_recorder_name("cuInit"), VS_NO_ID);
	assert_int_equal(log_double.nr_begins, 1);
	vs_recorder_name("cuInit");
	assert_int_equal(log_double.nr_begins, 1);
}

static void *say_one(void *argument)
{
	say_alloc();
	return argument;
}

static void test_each_thread_is_defined_with_a_number_of_its_own(void **state)
{
	pthread_t thread;

	(void)state;
	set_frames(0x1000, 0, 0);
	say_alloc();
	assert_int_equal(pthread_create(&thread, NULL, say_one, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(log_double_count(VS_RECORD_THREAD), 2);
	assert_int_equal(log_double_get(VS_RECORD_ALLOC, 0)->thread,
			 log_double_get(VS_RECORD_THREAD, 0)->thread_name.id);
	assert_int_equal(log_double_get(VS_RECORD_ALLOC, 1)->thread,
			 log_double_get(VS_RECORD_THREAD, 1)->thread_name.id);
	/* All else they share. */
	assert_int_equal(log_double_count(VS_RECORD_STACK), 1);
	assert_int_equal(log_double_count(VS_RECORD_NAME), 1);
	assert_int_equal(log_double_count(VS_RECORD_POOL), 1);
}

/* ---- Interruptions --------------------------------------------------------------------------- */

/* As a handler does that interrupts the recorder. */
static void say_from_inside(void)
{
	struct vs_thread_state *self = vs_thread_self();

	self->base.is_inside = true;
	self->inside = (const char *)__builtin_frame_address(0) + 64;
	assert_null(vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0)));
	self->base.is_inside = false;
}

static void test_what_interrupts_the_first_event_of_a_thread_is_lost_and_counted(void **state)
{
	(void)state;
	vs_ring_forget(&vs_thread_self()->ring); /* it has none yet */
	vs_thread_self()->defined_in = 0;
	say_from_inside();
	assert_int_equal(log_double_get_lost(), 1);
	say_step(1);
	assert_int_equal(log_double_get_told(), 1);
}

static void test_what_interrupts_the_first_event_of_all_is_lost_and_counted(void **state)
{
	(void)state;
	vs_ring_forget(&vs_thread_self()->ring);
	vs_thread_self()->defined_in = 0;
	log_double.has_log = false; /* as yet */
	say_from_inside();
	say_from_inside();
	log_double.has_log = true;
	say_step(1);
	assert_int_equal(log_double_get_lost(), 2);
	assert_int_equal(log_double_get_told(), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_all_events_of_a_hook_share_one_walk_and_one_stack),
		TEST(test_a_stack_seen_before_has_its_old_number_and_no_new_record),
		TEST(test_without_stacks_nobody_walks),
		TEST(test_an_empty_stack_is_no_stack),
		TEST(test_the_files_of_a_stack_are_described_once_each_before_it),
		TEST(test_a_frame_is_looked_up_by_the_call_not_by_its_return_address),
		TEST(test_an_unloaded_file_ends_and_its_stacks_are_not_meant_any_more),
		TEST(test_while_everything_stays_loaded_nothing_ends),
		TEST(test_unloading_inside_the_recorder_waits),
		TEST(test_what_does_not_fit_is_counted_and_told_before_the_next_event),
		TEST(test_a_loss_that_could_not_be_told_is_told_later),
		TEST(test_a_block_is_lost_with_what_it_was_asked_for),
		TEST(test_before_an_event_is_lost_room_is_asked_for),
		TEST(test_an_event_whose_definitions_do_not_fit_is_lost_and_leaves_no_trap),
		TEST(test_what_follows_a_definition_that_did_not_fit_is_lost_even_if_it_fits),
		TEST(test_a_thread_that_gets_no_chunk_loses_its_event_and_the_next_one_tells),
		TEST(test_what_is_no_event_is_no_loss),
		TEST(test_a_device_that_does_not_fit_is_defined_the_next_time),
		TEST(test_a_thread_that_gets_no_memory_loses_its_event),
		TEST(test_a_new_recording_defines_everything_anew),
		TEST(test_a_new_recording_uses_no_number_that_was_left_over),
		TEST(test_a_new_recording_knows_nothing_of_losses_before_it),
		TEST(test_a_name_asked_for_in_a_new_process_begins_it),
		TEST(test_each_thread_is_defined_with_a_number_of_its_own),
		TEST(test_what_interrupts_the_first_event_of_a_thread_is_lost_and_counted),
		TEST(test_what_interrupts_the_first_event_of_all_is_lost_and_counted),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
