/*
 * Calls that are told from inside of them, between stand-ins for hooks and recorder. What those are
 * asked to do is a line each:
 *
 *	before FUNCTION, after FUNCTION RESULT, seen N, context found|destroyed HANDLE, pool HANDLE
 */
#include "told_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "driver_pools.h"
#include "hooks.h"
#include "hooks_cmocka.h"
#include "lifecycle.h"
#include "message.h"
#include "resolve.h"
#include "stack.h"
#include "thread.h"

static char lines[1024];
static struct vs_thread_state thread;
static struct vs_settings settings;
static const struct vs_real driver;
static bool has_driver, is_recording, is_in_runtime;
static uint32_t nr_begun;
static _Atomic uint32_t mark;
static void *found; /* a context */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t size = strlen(lines);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(lines + size, sizeof(lines) - size, format, arguments);
	va_end(arguments);
	errno = EXDEV; /* a recorder may be careless */
}

static void expect(const char *text)
{
	assert_string_equal(lines, text);
	lines[0] = '\0';
}

/* ---- The stand-ins --------------------------------------------------------------------------- */

/* Each half records an event; that of a free has both. The doors have none. */
static void say_before(struct vs_call *call, const void *args)
{
	call->is_borrowed = true;
	call->self->nr_events++;
	say("before %s\n", (const char *)args);
}

static void say_after(struct vs_call *call, CUresult result, const void *args)
{
	if (!call->is_recording)
		return;
	call->self->nr_events += 2;
	call->self->nr_states++; /* a pool's state, which the driver did not change */
	say("after %s %d%s%s\n", (const char *)args, (int)result,
	    call->is_borrowed ? " borrowed" : "", call->is_capturing ? " capturing" : "");
}

#define IS_DOOR(symbol) !__builtin_strncmp(#symbol, "cuGetProcAddress", 16)
#define VS_HOOK(name, abi, symbol)                               \
	const struct vs_hook_halves vs_hooks_halves_##symbol = { \
		IS_DOOR(symbol) ? NULL : say_before, IS_DOOR(symbol) ? NULL : say_after};
#include "cuda_api.def"

_Atomic uint32_t *vs_lifecycle_mark = &mark;

void vs_lifecycle_begin(void)
{
	nr_begun++;
	mark = 1;
}

bool vs_lifecycle_is_recording(void)
{
	return is_recording;
}

const struct vs_settings *vs_lifecycle_settings(void)
{
	return &settings;
}

struct vs_thread_state *vs_thread_self(void)
{
	return &thread;
}

const struct vs_real *vs_real_get(void)
{
	return has_driver ? &driver : NULL;
}

struct vs_call vs_hooks_enter_told(enum vs_hook hook, const void *frame)
{
	struct vs_call call = {.real = vs_real_get()};

	(void)hook;
	if (!is_recording)
		return call;
	call.self = &thread.base;
	if (!thread.base.depth++)
		thread.base.frame = frame;
	thread.base.nr_driver++;
	call.is_recording = call.real && vs_guard_is_outermost_driver(call.self);
	return call;
}

void vs_hooks_leave_told(struct vs_call *call)
{
	if (!call->self)
		return;
	call->self->depth--;
	call->self->nr_driver--;
}

bool vs_hooks_is_in_runtime(const struct vs_thread *self)
{
	(void)self;
	return is_in_runtime;
}

void vs_recorder_add_seen_by(struct vs_thread *self, enum vs_seen_source source, uint64_t nr_events)
{
	assert_ptr_equal(self, &thread.base);
	assert_int_equal(source, VS_SEEN_BY_CUPTI);
	say("seen %d\n", (int)nr_events);
}

void vs_contexts_note_found(struct vs_call *call, CUcontext context, CUdevice device)
{
	call->self->nr_events++;
	found = context;
	say("context found %lx %d\n", (unsigned long)(uintptr_t)context, device);
}

bool vs_contexts_is_found(CUcontext context)
{
	return context == found;
}

void vs_contexts_note_destroy(struct vs_call *call, CUcontext context)
{
	call->self->nr_events++;
	found = NULL;
	say("context destroyed %lx\n", (unsigned long)(uintptr_t)context);
}

void vs_driver_pools_note(struct vs_call *call, uint64_t pool, uint32_t device,
			  uint64_t reserved_size, uint64_t used_size)
{
	(void)call;
	say("pool %lx %u %lu %lu\n", pool, device, reserved_size, used_size);
}

bool vs_loaded_object_at(const void *address, struct vs_loaded_object *object)
{
	(void)object;
	return address != NULL;
}

void vs_stack_hide(const struct vs_loaded_object *object)
{
	(void)object;
	say("hide\n");
}

void vs_resolve_replace(const char *name, void *ours, void *_Atomic *behind)
{
	(void)ours;
	(void)behind;
	say("replace %s\n", name);
}

void *vs_resolve_look_up(void *handle, const char *name)
{
	(void)name;
	return handle;
}

void vs_message_print(const char *text, ...)
{
	va_list arguments;

	va_start(arguments, text);
	say("say %s%s\n", text, va_arg(arguments, const char *));
	va_end(arguments);
}

void vs_recorder_add_fact(const char *key, const char *value)
{
	say("fact %s=%s\n", key, value);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* A stack that grows downwards: the smaller, the further inside. */
static const char stack[64];
#define FRAME(outwards) ((const void *)(stack + (outwards)))

static int start(void **state)
{
	(void)state;
	memset(&thread, 0, sizeof(thread));
	memset(&settings, 0, sizeof(settings));
	lines[0] = '\0';
	has_driver = is_recording = true;
	is_in_runtime = false;
	nr_begun = 0;
	mark = 1;
	found = NULL;
	return 0;
}

static uint32_t get_alloc(void)
{
	uint32_t function = vs_told_calls_find("cuMemAlloc_v2");

	assert_int_not_equal(function, VS_TOLD_CALLS_NONE);
	return function;
}

static void test_functions_are_found_by_cuptis_names(void **state)
{
	(void)state;
	assert_int_equal(vs_told_calls_find("cuMemAlloc_v2"), VS_HOOK_cuMemAlloc_v2);
	assert_int_equal(vs_told_calls_find("cuMemFree_v2"), VS_HOOK_cuMemFree_v2);
	/* What CUPTI calls otherwise than the driver does. */
	assert_int_equal(vs_told_calls_find("cuMemHostAlloc_v2"), VS_HOOK_cuMemHostAlloc);
	/* Of the doors there is nothing to say, and of the runtime nothing is told. */
	assert_int_equal(vs_told_calls_find("cuGetProcAddress"), VS_TOLD_CALLS_NONE);
	assert_int_equal(vs_told_calls_find("cuGetProcAddress_v2"), VS_TOLD_CALLS_NONE);
	assert_int_equal(vs_told_calls_find("cudaMalloc"), VS_TOLD_CALLS_NONE);
	assert_int_equal(vs_told_calls_find("cuLaunchKernel"), VS_TOLD_CALLS_NONE);
	assert_int_equal(vs_told_calls_find(""), VS_TOLD_CALLS_NONE);
}

static void test_a_call_that_got_past_the_hooks_is_said_and_marked(void **state)
{
	uint64_t kept = 99;

	(void)state;
	errno = ERANGE;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	expect("before alloc\n");
	assert_int_equal(errno, ERANGE);
	assert_int_equal(thread.base.nr_driver, 1);
	assert_ptr_equal(thread.base.frame, FRAME(8));
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(10), &kept);
	/* Two events of the driver; the state of a pool is none. What `before` found is not lost.
	 */
	expect("after alloc 0 borrowed\nseen 2\n");
	assert_int_equal(errno, ERANGE);
	assert_int_equal(kept, 0);
	assert_int_equal(thread.base.nr_driver, 0);
	assert_int_equal(thread.base.depth, 0);
	/* The stack is that of who told the end: the function that told the beginning returned. */
	assert_ptr_equal(thread.base.frame, FRAME(10));
}

static void test_an_end_without_a_beginning_is_ignored(void **state)
{
	uint64_t kept = 0;

	(void)state;
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	kept = UINT64_MAX; /* whatever was there */
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	kept = 1;
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("");
	assert_int_equal(kept, 0);
	/* Nor is one of a function that there is not. */
	vs_told_calls_enter(VS_TOLD_CALLS_NONE, "none", FRAME(8), &kept);
	vs_told_calls_enter(VS_HOOK_cudaMalloc, "of the runtime", FRAME(8), &kept);
	expect("");
	assert_int_equal(kept, 0);
}

static void test_a_call_inside_a_hook_is_the_hooks(void **state)
{
	uint64_t kept;

	(void)state;
	thread.base.depth = thread.base.nr_driver = 1;
	thread.base.frame = FRAME(20);
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	assert_int_equal(kept, 0);
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("");
	assert_int_equal(thread.base.nr_driver, 1);
}

static void test_a_call_inside_another_that_was_told_is_part_of_it(void **state)
{
	uint64_t outer, inner;

	(void)state;
	vs_told_calls_enter(get_alloc(), "outer", FRAME(20), &outer);
	vs_told_calls_enter(get_alloc(), "inner", FRAME(8), &inner);
	vs_told_calls_leave(get_alloc(), "inner", 0, FRAME(8), &inner);
	vs_told_calls_leave(get_alloc(), "outer", 2, FRAME(20), &outer);
	expect("before outer\nafter outer 2 borrowed\nseen 2\n");
}

/* The hook above has returned, without having been left: by a longjmp. Its frame is further in. */
static void test_a_hook_that_is_not_around_does_not_match(void **state)
{
	uint64_t kept;

	(void)state;
	thread.base.depth = thread.base.nr_driver = 1;
	thread.base.frame = FRAME(4);
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	/* It is looked at, but two levels of the driver record nothing. */
	assert_int_equal(kept, 0);
	assert_int_equal(thread.base.nr_driver, 1);
	expect("");
}

static void test_the_runtimes_name_or_no_hooks_need_no_mark(void **state)
{
	uint64_t kept;

	(void)state;
	is_in_runtime = true;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("before alloc\nafter alloc 0 borrowed\n");
	is_in_runtime = false;
	assert_false(vs_told_calls_is_alone());
	settings.no_hooks = true;
	assert_true(vs_told_calls_is_alone());
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("before alloc\nafter alloc 0 borrowed\n");
}

static void test_nothing_is_said_where_nothing_is_recorded(void **state)
{
	uint64_t kept;

	(void)state;
	is_recording = false;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	assert_int_equal(kept, 0);
	is_recording = true;
	has_driver = false;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	assert_int_equal(kept, 0);
	assert_int_equal(thread.base.depth, 0);
	vs_told_calls_add_context(&thread, 0, FRAME(8));
	vs_told_calls_note_pool(0x77, 0, 1, 1);
	expect("");
}

/* A child of fork, or a program whose books were cleared, between beginning and end. */
static void test_books_that_were_cleared_meanwhile_stay_clear(void **state)
{
	uint64_t kept;

	(void)state;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	expect("before alloc\n");
	thread.base.depth = 0;
	thread.base.nr_driver = 0;
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("");
	assert_int_equal(thread.base.nr_driver, 0);
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(8), &kept);
	expect("before alloc\n");
	mark = 0;
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(8), &kept);
	expect("");
}

static void test_contexts_that_no_call_tells_of_are_noted(void **state)
{
	(void)state;
	errno = ERANGE;
	vs_told_calls_add_context((void *)0xc0, 3, FRAME(8));
	expect("context found c0 3\nseen 1\n");
	/* One that was not told of is cleaned up by the driver. */
	vs_told_calls_end_context((void *)0xc1, FRAME(8));
	expect("");
	vs_told_calls_end_context((void *)0xc0, FRAME(8));
	expect("context destroyed c0\nseen 1\n");
	vs_told_calls_add_context(NULL, 0, FRAME(8));
	vs_told_calls_end_context(NULL, FRAME(8));
	expect("");
	assert_int_equal(errno, ERANGE);
	assert_int_equal(thread.base.depth, 0);
}

static void test_a_context_inside_a_call_is_the_calls(void **state)
{
	uint64_t kept;

	(void)state;
	vs_told_calls_enter(get_alloc(), "alloc", FRAME(20), &kept);
	vs_told_calls_add_context((void *)0xc0, 3, FRAME(8));
	found = (void *)0xc0;
	vs_told_calls_end_context((void *)0xc0, FRAME(8));
	vs_told_calls_leave(get_alloc(), "alloc", 0, FRAME(20), &kept);
	expect("before alloc\nafter alloc 0 borrowed\nseen 2\n");
}

static void test_pools_are_noted_by_their_handle(void **state)
{
	(void)state;
	errno = ERANGE;
	vs_told_calls_note_pool(0x77, 1, 4096, 512);
	expect("pool 77 1 4096 512\n");
	vs_told_calls_note_pool(0, 1, 4096, 512);
	expect("");
	assert_int_equal(errno, ERANGE);
}

static void test_it_begins_with_the_first_question(void **state)
{
	(void)state;
	mark = 0;
	assert_true(vs_told_calls_is_wanted());
	assert_true(vs_told_calls_is_wanted());
	assert_int_equal(nr_begun, 1);
	is_recording = false;
	assert_false(vs_told_calls_is_wanted());
}

static void test_services_are_passed_on(void **state)
{
	(void)state;
	errno = ERANGE;
	vs_told_calls_say("cannot: ", "detail");
	vs_told_calls_add_fact("cupti.events", "none");
	assert_int_equal(errno, ERANGE);
	vs_told_calls_hide(FRAME(0));
	vs_told_calls_hide(NULL); /* in no library */
	vs_told_calls_replace("cuptiSubscribe", NULL, NULL);
	expect("say cannot: detail\nfact cupti.events=none\nhide\nreplace cuptiSubscribe\n");
	assert_ptr_equal(vs_told_calls_look_up(&thread, "name"), &thread);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
	const struct CMUnitTest tests[] = {
		TEST(test_functions_are_found_by_cuptis_names),
		TEST(test_a_call_that_got_past_the_hooks_is_said_and_marked),
		TEST(test_an_end_without_a_beginning_is_ignored),
		TEST(test_a_call_inside_a_hook_is_the_hooks),
		TEST(test_a_call_inside_another_that_was_told_is_part_of_it),
		TEST(test_a_hook_that_is_not_around_does_not_match),
		TEST(test_the_runtimes_name_or_no_hooks_need_no_mark),
		TEST(test_nothing_is_said_where_nothing_is_recorded),
		TEST(test_books_that_were_cleared_meanwhile_stay_clear),
		TEST(test_contexts_that_no_call_tells_of_are_noted),
		TEST(test_a_context_inside_a_call_is_the_calls),
		TEST(test_pools_are_noted_by_their_handle),
		TEST(test_it_begins_with_the_first_question),
		TEST(test_services_are_passed_on),
	};

	return cmocka_run_group_tests_name("told_calls", tests, NULL, NULL);
}
