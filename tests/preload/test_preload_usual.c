#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard.h"
#include "usual.h"

static void test_nobody_has_a_ticket_before_a_recording_is_open(void **state)
{
	(void)state;
	vs_usual_begin(NULL);
	for (uint32_t recording = 0; recording < 3; recording++)
		assert_int_not_equal(vs_usual_get(), vs_usual_make_ticket(recording));
	assert_int_not_equal(vs_usual_get(), VS_GUARD_NO_TICKET);
	/* What a child finds in its page. */
	for (uint32_t recording = 0; recording < 3; recording++)
		assert_int_not_equal(0, vs_usual_make_ticket(recording));
}

static void test_a_ticket_is_good_for_one_recording(void **state)
{
	static _Atomic uint64_t page;

	(void)state;
	vs_usual_begin(NULL);
	vs_usual_open(1);
	assert_int_equal(vs_usual_get(), vs_usual_make_ticket(1));
	vs_usual_begin(&page);
	assert_int_not_equal(vs_usual_get(), vs_usual_make_ticket(1));
	vs_usual_open(2);
	assert_int_equal(page, vs_usual_make_ticket(2));
	assert_int_not_equal(vs_usual_get(), vs_usual_make_ticket(1));
	atomic_store(&page, 0);
	assert_int_equal(vs_usual_get(), 0);
}

static void test_whatever_is_unusual_makes_tickets_invalid(void **state)
{
	static const uint64_t bits[] = {VS_USUAL_OPEN, VS_USUAL_SILENT, VS_USUAL_WHOLE};
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		vs_usual_begin(NULL);
		vs_usual_open(3);
		vs_usual_clear(bits[i]);
		assert_int_not_equal(vs_usual_get(), vs_usual_make_ticket(3));
		vs_usual_set(bits[i]);
		assert_int_equal(vs_usual_get(), vs_usual_make_ticket(3));
		all |= bits[i];
	}
	assert_int_equal(all, VS_USUAL_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_has_a_ticket_before_a_recording_is_open),
		cmocka_unit_test(test_a_ticket_is_good_for_one_recording),
		cmocka_unit_test(test_whatever_is_unusual_makes_tickets_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
