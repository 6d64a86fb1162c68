/* What NVTX tells reaches the recorder, whose part is played here. */
#include "nvtx.h"

#include <stdio.h>
#include <string.h>

#include "hooks_cmocka.h"
#include "lifecycle.h"
#include "message.h"
#include "names.h"
#include "recorder.h"

#define NR_NAMES 8

static struct vs_thread thread;
static bool is_off;
static bool is_full; /* there is no room for more names */
static char names[NR_NAMES][VS_NAMES_TEXT_MAX + 1];
static uint32_t nr_names;
static char said[128];
static unsigned nr_messages;

/* ---- What lies around it ---- */

static _Atomic uint32_t mark = 1;
_Atomic uint32_t *vs_lifecycle_mark = &mark;

void vs_lifecycle_begin(void)
{
	fail();
}

bool vs_lifecycle_is_recording(void)
{
	return !is_off;
}

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

void vs_message_post(const char *text, ...)
{
	assert_non_null(strstr(text, "too many names"));
	nr_messages++;
}

uint32_t vs_names_get(const char *text)
{
	for (uint32_t i = 0; i < nr_names; i++)
		if (!strcmp(names[i], text))
			return i + 1;
	assert_true(nr_names < NR_NAMES);
	strcpy(names[nr_names], text);
	return ++nr_names;
}

uint32_t vs_names_get_below(const char *text, uint32_t limit)
{
	assert_true(limit < VS_NAMES_MAX);
	return is_full ? VS_NO_ID : vs_names_get(text);
}

bool vs_names_is_given(uint32_t number)
{
	return number && number <= nr_names;
}

static const char *text_of(uint32_t name)
{
	return name ? names[name - 1] : "nothing";
}

void vs_recorder_push_phase(struct vs_thread *self, uint32_t source, uint32_t name)
{
	assert_int_equal(self->depth, 1);
	snprintf(said, sizeof(said), "push %u '%s'", source, text_of(name));
}

void vs_recorder_pop_phase(struct vs_thread *self, uint32_t source)
{
	assert_int_equal(self->depth, 1);
	snprintf(said, sizeof(said), "pop %u", source);
}

uint64_t vs_recorder_start_range(struct vs_thread *self, uint32_t name)
{
	assert_int_equal(self->depth, 1);
	snprintf(said, sizeof(said), "start '%s'", text_of(name));
	return 77;
}

void vs_recorder_end_range(struct vs_thread *self, uint64_t id)
{
	assert_int_equal(self->depth, 1);
	snprintf(said, sizeof(said), "end %lu", id);
}

void vs_recorder_add_mark(struct vs_thread *self, uint32_t name)
{
	assert_int_equal(self->depth, 1);
	snprintf(said, sizeof(said), "mark '%s'", text_of(name));
}

/* ---- Tests ---- */

static int start(void **state)
{
	(void)state;
	thread = (struct vs_thread){0};
	is_off = is_full = false;
	nr_names = nr_messages = 0;
	said[0] = '\0';
	return 0;
}

static void expect(const char *text)
{
	assert_string_equal(said, text);
	assert_int_equal(thread.depth, 0);
	said[0] = '\0';
}

static void test_levels_are_counted_for_each_domain(void **state)
{
	struct vs_nvtx_domain *domain = vs_nvtx_get_domain("levels");
	uint32_t name = vs_nvtx_name_ascii("range");

	(void)state;
	assert_int_equal(vs_nvtx_push(NULL, name), 0);
	expect("push 1 'range'");
	assert_int_equal(vs_nvtx_push(NULL, name), 1);
	assert_int_equal(vs_nvtx_push(domain, name), 0);
	assert_string_not_equal(said, "push 1 'range'");
	assert_int_equal(vs_nvtx_pop(NULL), 1);
	expect("pop 1");
	assert_int_equal(vs_nvtx_pop(domain), 0);
	assert_int_equal(vs_nvtx_pop(NULL), 0);
	said[0] = '\0';
	assert_int_equal(vs_nvtx_pop(NULL), -1);
	assert_int_equal(vs_nvtx_pop(domain), -1);
	expect("");
}

static void test_ranges_and_marks_are_told(void **state)
{
	uint64_t before = vs_nvtx_get_nr_calls();

	(void)state;
	assert_int_equal(vs_nvtx_start(vs_nvtx_name_wide(L"w\u00efde")), 77);
	expect("start 'w\u00efde'");
	vs_nvtx_end(77);
	expect("end 77");
	vs_nvtx_end(0); /* given out while nothing was recorded */
	expect("");
	vs_nvtx_mark(vs_nvtx_name_ascii("here"));
	expect("mark 'here'");
	assert_int_equal(vs_nvtx_get_nr_calls() - before, 4);
}

static void test_messages_of_all_types_become_names(void **state)
{
	struct vs_nvtx_domain *domain = vs_nvtx_get_domain("messages");
	struct vs_nvtx_attributes event = {.size = sizeof(event)};
	uint32_t registered;

	(void)state;
	assert_string_equal(text_of(vs_nvtx_name(NULL, NULL)), "unnamed");
	assert_string_equal(text_of(vs_nvtx_name(domain, &event)), "messages: unnamed");
	event.message_type = VS_NVTX_ASCII;
	event.message.ascii = "text";
	registered = vs_nvtx_name(domain, &event);
	assert_string_equal(text_of(registered), "messages: text");
	event.message_type = VS_NVTX_UNICODE;
	event.message.unicode = L"\u00fc";
	assert_string_equal(text_of(vs_nvtx_name(NULL, &event)), "\u00fc");
	event.message_type = VS_NVTX_REGISTERED;
	event.message.registered = (const void *)(uintptr_t)registered;
	assert_int_equal(vs_nvtx_name(domain, &event), registered);
	event.message.registered = &event; /* of another library */
	assert_string_equal(text_of(vs_nvtx_name(domain, &event)), "messages: unnamed");
	event.message_type = VS_NVTX_ASCII;
	event.message.ascii = "cut off";
	event.size = 40; /* of a header that has no message */
	assert_string_equal(text_of(vs_nvtx_name(NULL, &event)), "unnamed");
}

static void test_too_many_names_are_one_and_said_once(void **state)
{
	(void)state;
	is_full = true;
	assert_string_equal(text_of(vs_nvtx_name_ascii("a")), "other ranges");
	assert_string_equal(text_of(vs_nvtx_name_ascii("b")), "other ranges");
	assert_int_equal(nr_messages, 1);
}

static void test_domains_have_one_place_each_and_the_rest_share_the_last(void **state)
{
	struct vs_nvtx_domain *first = vs_nvtx_get_domain("domain 0"), *last = NULL;
	char name[32];

	(void)state;
	assert_ptr_equal(vs_nvtx_get_domain("domain 0"), first);
	for (int i = 1; i < 40; i++) {
		snprintf(name, sizeof(name), "domain %d", i);
		last = vs_nvtx_get_domain(name);
		assert_ptr_not_equal(last, first);
	}
	assert_ptr_equal(vs_nvtx_get_domain("one more"), last);
	assert_string_equal(text_of(vs_nvtx_name(last, NULL)), "other domains: unnamed");
	assert_ptr_equal(vs_nvtx_get_domain("domain 0"), first);
}

static void test_nothing_is_told_while_nothing_is_recorded(void **state)
{
	(void)state;
	is_off = true;
	assert_int_equal(vs_nvtx_name_ascii("a"), VS_NO_ID);
	assert_int_equal(vs_nvtx_push(NULL, VS_NO_ID), 0);
	assert_int_equal(vs_nvtx_pop(NULL), 0);
	assert_int_equal(vs_nvtx_start(VS_NO_ID), 0);
	vs_nvtx_mark(VS_NO_ID);
	expect("");
	assert_int_equal(nr_names, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
	const struct CMUnitTest tests[] = {
		TEST(test_levels_are_counted_for_each_domain),
		TEST(test_ranges_and_marks_are_told),
		TEST(test_messages_of_all_types_become_names),
		TEST(test_too_many_names_are_one_and_said_once),
		TEST(test_domains_have_one_place_each_and_the_rest_share_the_last),
		TEST(test_nothing_is_told_while_nothing_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
