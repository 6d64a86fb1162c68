#include "doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_findings_are_kept_in_order(void **state)
{
	struct vs_doctor doctor = {.nr_findings = 0};

	(void)state;
	assert_int_equal(vs_doctor_get_worst(&doctor), VS_FINDING_GOOD);
	vs_doctor_add(&doctor, VS_FINDING_NOTE, "disk", "make room", "%d bytes", 5);
	vs_doctor_add(&doctor, VS_FINDING_GOOD, "limits", NULL, "enough");
	assert_int_equal(doctor.nr_findings, 2);
	assert_string_equal(doctor.findings[0].text, "5 bytes");
	assert_string_equal(doctor.findings[0].remedy, "make room");
	assert_string_equal(doctor.findings[1].remedy, "");
	assert_int_equal(vs_doctor_get_worst(&doctor), VS_FINDING_NOTE);
	vs_doctor_add(&doctor, VS_FINDING_BAD, "driver", NULL, "none");
	assert_int_equal(vs_doctor_get_worst(&doctor), VS_FINDING_BAD);
	assert_string_equal(vs_doctor_get_state_name(VS_FINDING_BAD), "bad");
}

static void test_too_many_findings_are_left_out(void **state)
{
	struct vs_doctor doctor = {.nr_findings = 0};
	char text[VS_DOCTOR_TEXT_MAX * 2];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < VS_DOCTOR_MAX + 5; i++)
		vs_doctor_add(&doctor, VS_FINDING_GOOD, "topic", text, "%s", text);
	assert_int_equal(doctor.nr_findings, VS_DOCTOR_MAX);
	assert_int_equal(strlen(doctor.findings[0].text), VS_DOCTOR_TEXT_MAX - 1);
	assert_int_equal(strlen(doctor.findings[0].remedy), VS_DOCTOR_TEXT_MAX - 1);
}

static void say(int out, void *context)
{
	dprintf(out, "%s", (const char *)context);
}

static void crash(int out, void *context)
{
	(void)context;
	dprintf(out, "half");
	_exit(77);
}

static void test_what_a_child_says_comes_back(void **state)
{
	char text[64];

	(void)state;
	assert_true(vs_doctor_ask(text, sizeof(text), say, "hello"));
	assert_string_equal(text, "hello");
	assert_true(vs_doctor_ask(text, sizeof(text), say, ""));
	assert_string_equal(text, "");
	/* More than fits: its beginning. */
	assert_true(vs_doctor_ask(text, 4, say, "hello"));
	assert_string_equal(text, "hel");
}

static void test_child_that_does_not_end_in_order_is_told(void **state)
{
	char text[64];

	(void)state;
	assert_false(vs_doctor_ask(text, sizeof(text), crash, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_are_kept_in_order),
		cmocka_unit_test(test_too_many_findings_are_left_out),
		cmocka_unit_test(test_what_a_child_says_comes_back),
		cmocka_unit_test(test_child_that_does_not_end_in_order_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
