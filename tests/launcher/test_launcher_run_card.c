#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "command.h"
#include "run_card.h"
#include "scratch.h"

/* As the build writes it, with fewer rows. */
static const char profiles[] =
	"profile  name                cc  SMs\n"
	"softgpu  softgpu            9.0  132\n"
	"rtx4090  GeForce RTX 4090   8.9  128\n"
	"\n"
	"field          variable               values            meaning\n"
	"name           SOFTGPU_NAME           text              its name\n"
	"cc             SOFTGPU_CC             number:30-129     compute capability\n"
	"pci-id         SOFTGPU_PCI_ID         number:0-65535    PCI device id\n"
	"l2             SOFTGPU_L2             size:1024-1048576 cache\n"
	"addresses      SOFTGPU_ADDRESSES      word:chunks|packed their order\n";

static const struct vs_run_asker asker = {&vs_cmd_run, "softgpu"};

static int enter(void **state)
{
	static const char *const ours[] = {"SOFTGPU_PROFILE", "SOFTGPU_DEVICES",  "SOFTGPU_MEMORY",
					   "SOFTGPU_NAME",    "SOFTGPU_CC",       "SOFTGPU_PCI_ID",
					   "SOFTGPU_L2",      "SOFTGPU_ADDRESSES"};
	int err = vs_scratch_enter(state);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	if (!err)
		vs_scratch_write_text("profiles.txt", profiles);
	return err;
}

static void expect(const char *name, const char *value)
{
	const char *found = getenv(name);

	if (!value) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, value);
}

static void take(const char *text)
{
	assert_int_equal(vs_run_card_set_profile(&asker, ".", text), 0);
}

static void refuse(const char *text, const char *why)
{
	char expected[500];
	int status;

	snprintf(expected, sizeof(expected),
		 "vramscope: run: --softgpu: %s (see: vramscope help run)\n", why);
	vs_capture_begin(STDERR_FILENO);
	status = vs_run_card_set_profile(&asker, ".", text);
	assert_string_equal(vs_capture_end(), expected);
	assert_int_equal(status, VS_EXIT_USAGE);
}

static void test_sizes_begin_with_a_digit(void **state)
{
	(void)state;
	assert_true(vs_run_card_is_size("8G"));
	assert_true(vs_run_card_is_size("0"));
	assert_false(vs_run_card_is_size("h100-80g"));
	assert_false(vs_run_card_is_size("-1"));
	assert_false(vs_run_card_is_size(""));
}

static void test_profile_is_named(void **state)
{
	(void)state;
	take("rtx4090"); /* which ends like a number of devices */
	expect("SOFTGPU_PROFILE", "rtx4090");
	expect("SOFTGPU_DEVICES", NULL);
}

static void test_number_of_devices_follows_a_cross(void **state)
{
	(void)state;
	take("rtx4090x2");
	expect("SOFTGPU_PROFILE", "rtx4090");
	expect("SOFTGPU_DEVICES", "2");
	take("softgpux16");
	expect("SOFTGPU_PROFILE", "softgpu");
	expect("SOFTGPU_DEVICES", "16");
	refuse("softgpux17", "'17' is not a number from 0 to 16");
}

static void test_fields_follow_commas(void **state)
{
	(void)state;
	take("rtx4090x2,name=My card,pci-id=0x2684,l2=64K,addresses=packed,cc=8.6");
	expect("SOFTGPU_DEVICES", "2");
	expect("SOFTGPU_NAME", "My card");
	expect("SOFTGPU_PCI_ID", "0x2684");
	expect("SOFTGPU_L2", "64K");
	expect("SOFTGPU_ADDRESSES", "packed");
	expect("SOFTGPU_CC", "86"); /* as the stand-ins want it */
	take("softgpu,cc=90");
	expect("SOFTGPU_CC", "90");
}

static void test_unknown_profiles_are_refused_with_the_known_ones(void **state)
{
	static const char *const bad[] = {"rtx5090",  "",         "x2",
					  "softgpu ", "softgpux", "softgpux2x",
					  "SOFTGPU",  "profile",  "cc"};
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(why, sizeof(why),
			 "'%s' is neither a size (8G) nor one of the profiles softgpu, rtx4090",
			 bad[i]);
		refuse(bad[i], why);
	}
	expect("SOFTGPU_PROFILE", NULL);
}

static void test_unknown_fields_are_refused_with_the_known_ones(void **state)
{
	(void)state;
	refuse("softgpu,sms=1",
	       "'sms' is no FIELD=VALUE of these fields: name, cc, pci-id, l2, addresses");
	refuse("softgpu,cc",
	       "'cc' is no FIELD=VALUE of these fields: name, cc, pci-id, l2, addresses");
	refuse("softgpu,", "'' is no FIELD=VALUE of these fields: name, cc, pci-id, l2, addresses");
}

static void test_values_out_of_range_are_refused(void **state)
{
	(void)state;
	refuse("softgpu,cc=29", "cc: '29' is not a number from 30 to 129");
	refuse("softgpu,cc=", "cc: '' is not a number from 30 to 129");
	refuse("softgpu,cc=9.0.0", "cc: '9.0.0' is not a number from 30 to 129");
	refuse("softgpu,pci-id=0x", "pci-id: '0x' is not a number from 0 to 65535");
	refuse("softgpu,pci-id=0x10000", "pci-id: '0x10000' is not a number from 0 to 65535");
	refuse("softgpu,pci-id=0x12g", "pci-id: '0x12g' is not a number from 0 to 65535");
	refuse("softgpu,l2=1", "l2: '1' is too small, the least is 1024 bytes");
	refuse("softgpu,l2=2M", "l2: '2M' is too large, the most is 1048576 bytes");
	refuse("softgpu,l2=big", "l2: 'big' is not a size (8G, 512M, 1.5G, bytes)");
	refuse("softgpu,addresses=pack", "addresses: 'pack' is none of chunks|packed");
	refuse("softgpu,addresses=", "addresses: '' is none of chunks|packed");
	refuse("softgpu,name=", "name needs a value");
}

static void test_list_that_is_not_there_is_missed(void **state)
{
	char text[200];
	int status;

	(void)state;
	vs_capture_begin(STDERR_FILENO);
	status = vs_run_card_set_profile(&asker, "nowhere", "softgpu");
	snprintf(text, sizeof(text), "%s", vs_capture_end());
	assert_int_equal(status, VS_EXIT_FAILED);
	assert_string_equal(text, "vramscope: nowhere/profiles.txt: the list of profiles: No such "
				  "file or directory\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_sizes_begin_with_a_digit),
		TEST(test_profile_is_named),
		TEST(test_number_of_devices_follows_a_cross),
		TEST(test_fields_follow_commas),
		TEST(test_unknown_profiles_are_refused_with_the_known_ones),
		TEST(test_unknown_fields_are_refused_with_the_known_ones),
		TEST(test_values_out_of_range_are_refused),
		TEST(test_list_that_is_not_there_is_missed),
	};

	return cmocka_run_group_tests_name("run_card", tests, NULL, NULL);
}
