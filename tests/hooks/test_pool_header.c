/*
 * What a program says with vramscope.h reaches the recorder. The program is this one, the profiler
 * is linked into it, and the recorder's part is played here.
 */
#include <stdio.h>
#include <string.h>

#include "hooks_cmocka.h"
#include "lifecycle.h"
#include "names.h"
#include "recorder.h"
#include "vramscope.h"

static struct vs_thread thread;
static struct vs_settings settings;
static bool is_off;      /* nothing is to be recorded */
static char said[128];   /* to the recorder, last */
static unsigned nr_said; /* since the start of the test */

/* ---- guard.h, lifecycle.h ---- */

struct vs_thread *vs_guard_enter(enum vs_guard_level level, uint32_t api, const void *frame)
{
	assert_int_equal(level, VS_GUARD_POOL);
	assert_int_equal(api, VS_NO_ID);
	assert_non_null(frame);
	if (is_off)
		return NULL;
	thread.depth++;
	return &thread;
}

void vs_guard_leave(struct vs_thread *self, enum vs_guard_level level)
{
	assert_int_equal(level, VS_GUARD_POOL);
	self->depth--;
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &settings;
}

/* ---- recorder.h ---- */

__attribute__((format(printf, 2, 3))) static void say(struct vs_thread *self, const char *format,
						      ...)
{
	va_list arguments;

	/* Between enter and leave, once. */
	assert_ptr_equal(self, &thread);
	assert_int_equal(self->depth, 1);
	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	nr_said++;
}

uint32_t vs_recorder_create_pool(struct vs_thread *self, enum vs_pool_owner owner, const char *name,
				 uint32_t device, uint64_t limit_size)
{
	assert_int_equal(owner, VS_POOL_PROGRAM);
	say(self, "create '%s' %d %lu", name, (int)device, limit_size);
	return 7;
}

void vs_recorder_end_pool(struct vs_thread *self, uint32_t pool)
{
	say(self, "end %u", pool);
}

void vs_recorder_add_block(struct vs_thread *self, uint32_t pool, uint64_t address, uint64_t size)
{
	say(self, "alloc %u %lx %lu", pool, address, size);
}

void vs_recorder_free_block(struct vs_thread *self, uint32_t pool, uint64_t address)
{
	say(self, "free %u %lx", pool, address);
}

void vs_recorder_fail_block(struct vs_thread *self, uint32_t pool, uint64_t size)
{
	say(self, "oom %u %lu", pool, size);
}

/* Stands in for names.c: the number tells the text. */
static const char *last_name;

uint32_t vs_names_get(const char *text)
{
	last_name = text;
	return 12;
}

void vs_recorder_push_phase(struct vs_thread *self, uint32_t source, uint32_t name)
{
	assert_int_equal(source, VS_PHASE_SOURCE_HEADER);
	assert_int_equal(name, 12);
	say(self, "push '%s'", last_name);
}

void vs_recorder_pop_phase(struct vs_thread *self, uint32_t source)
{
	assert_int_equal(source, VS_PHASE_SOURCE_HEADER);
	say(self, "pop");
}

void vs_recorder_add_step(struct vs_thread *self, uint64_t number)
{
	say(self, "step %lu", number);
}

void vs_recorder_add_mark(struct vs_thread *self, uint32_t name)
{
	assert_int_equal(name, 12);
	say(self, "mark '%s'", last_name);
}

/* ---- Tests ---- */

static int start(void **state)
{
	(void)state;
	settings = (struct vs_settings){0};
	thread = (struct vs_thread){0};
	is_off = false;
	nr_said = 0;
	said[0] = '\0';
	return 0;
}

/* One sentence was said, and the door is closed again. */
static void expect(const char *text)
{
	assert_string_equal(said, text);
	assert_int_equal(nr_said, 1);
	assert_int_equal(thread.depth, 0);
	nr_said = 0;
}

static void test_everything_a_program_says_is_recorded(void **state)
{
	(void)state;
	assert_int_equal(vs_pool_create("mine", 2, 1000), 7);
	expect("create 'mine' 2 1000");
	vs_pool_alloc(7, (void *)0x1000, 10);
	expect("alloc 7 1000 10");
	vs_pool_free(7, (void *)0x1000);
	expect("free 7 1000");
	vs_pool_oom(7, 99);
	expect("oom 7 99");
	vs_pool_destroy(7);
	expect("end 7");
	vs_phase_push("forward");
	expect("push 'forward'");
	vs_phase_pop();
	expect("pop");
	vs_step(UINT64_MAX);
	expect("step 18446744073709551615");
	vs_mark("here");
	expect("mark 'here'");
}

/* For programs that cannot include the header. */
static void test_every_function_is_exported_by_name(void **state)
{
	static const char *const names[] = {
		"vramscope_pool_create", "vramscope_pool_destroy", "vramscope_pool_alloc",
		"vramscope_pool_free",   "vramscope_pool_oom",     "vramscope_phase_push",
		"vramscope_phase_pop",   "vramscope_step",         "vramscope_mark"};
	const struct vramscope_api *api = dlsym(NULL, "vramscope_api");
	const void *functions[] = {
		(void *)api->pool_create, (void *)api->pool_destroy, (void *)api->pool_alloc,
		(void *)api->pool_free,   (void *)api->pool_oom,     (void *)api->phase_push,
		(void *)api->phase_pop,   (void *)api->step,         (void *)api->mark};

	(void)state;
	assert_int_equal(api->size, sizeof(*api));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_non_null(functions[i]);
		assert_ptr_equal(dlsym(NULL, names[i]), functions[i]);
	}
}

static void test_name_that_is_null_is_empty(void **state)
{
	(void)state;
	(void)vs_pool_create(NULL, 0, 0);
	expect("create '' 0 0");
	vs_phase_push(NULL);
	expect("push ''");
	vs_mark(NULL);
	expect("mark ''");
}

static void test_pool_may_have_no_device(void **state)
{
	(void)state;
	(void)vs_pool_create("host", -1, 0);
	expect("create 'host' -1 0");
	(void)vs_pool_create("host", INT32_MIN, 0);
	expect("create 'host' -1 0");
}

static void test_what_is_said_about_no_pool_is_ignored(void **state)
{
	(void)state;
	vs_pool_alloc(0, (void *)0x1000, 10);
	vs_pool_free(0, (void *)0x1000);
	vs_pool_oom(0, 10);
	vs_pool_destroy(0);
	vs_pool_free(7, NULL);
	assert_int_equal(nr_said, 0);
	assert_int_equal(thread.depth, 0);
}

static void test_without_pools_phases_are_still_recorded(void **state)
{
	(void)state;
	settings.no_pools = true;
	assert_int_equal(vs_pool_create("mine", 0, 0), 0);
	assert_int_equal(nr_said, 0);
	assert_int_equal(thread.depth, 0);
	vs_phase_push("forward");
	expect("push 'forward'");
}

static void test_nothing_is_said_while_recording_is_off(void **state)
{
	(void)state;
	is_off = true;
	assert_int_equal(vs_pool_create("mine", 0, 0), 0);
	vs_pool_alloc(7, (void *)0x1000, 10);
	vs_pool_free(7, (void *)0x1000);
	vs_pool_oom(7, 10);
	vs_pool_destroy(7);
	vs_phase_push("forward");
	vs_phase_pop();
	vs_step(1);
	vs_mark("here");
	assert_int_equal(nr_said, 0);
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_everything_a_program_says_is_recorded),
		TEST(test_every_function_is_exported_by_name),
		TEST(test_name_that_is_null_is_empty),
		TEST(test_pool_may_have_no_device),
		TEST(test_what_is_said_about_no_pool_is_ignored),
		TEST(test_without_pools_phases_are_still_recorded),
		TEST(test_nothing_is_said_while_recording_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
