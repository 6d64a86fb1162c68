#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "profile_field.h"

/* A profile with one variable set. */
static struct sg_profile read_with(const char *name, const char *value)
{
	struct sg_profile profile = *sg_profile_find("a100-80g");

	setenv(name, value, 1);
	sg_profile_field_read_all(&profile);
	unsetenv(name);
	return profile;
}

static void test_nothing_set_changes_nothing(void **state)
{
	struct sg_profile profile = read_with("SOFTGPU_NOTHING", "1");

	(void)state;
	assert_memory_equal(&profile, sg_profile_find("a100-80g"), sizeof(profile));
}

static void test_numbers_are_taken_in_their_units(void **state)
{
	(void)state;
	assert_int_equal(read_with("SOFTGPU_SMS", "17").nr_multiprocessors, 17);
	assert_int_equal(read_with("SOFTGPU_THREADS_PER_SM", "1536").threads_per_multiprocessor,
			 1536);
	assert_int_equal(read_with("SOFTGPU_BLOCKS_PER_SM", "8").blocks_per_multiprocessor, 8);
	assert_int_equal(read_with("SOFTGPU_REGISTERS", "32768").registers_per_block, 32768);
	assert_int_equal(read_with("SOFTGPU_CLOCK", "1000").clock_khz, 1000000);
	assert_int_equal(read_with("SOFTGPU_MEMORY_CLOCK", "2000").memory_clock_khz, 2000000);
	assert_int_equal(read_with("SOFTGPU_SHARED_PER_SM", "64K").shared_per_multiprocessor,
			 65536);
	assert_int_equal(read_with("SOFTGPU_L2", "1.5M").l2_size, 1536 * 1024);
	assert_int_equal(read_with("SOFTGPU_MEMORY", "90G").memory_size, 90 * SG_GIB);
	assert_int_equal(read_with("SOFTGPU_RESERVED", "0").reserved_size, 0);
	assert_int_equal(read_with("SOFTGPU_PCI_ID", "0x1234").pci_device_id, 0x1234);
}

static void test_flags_and_words_are_taken(void **state)
{
	(void)state;
	assert_false(read_with("SOFTGPU_ECC", "0").has_ecc);
	assert_false(read_with("SOFTGPU_MANAGED", "0").has_oversubscription);
	assert_int_equal(read_with("SOFTGPU_ADDRESSES", "packed").addresses, SG_ADDRESSES_PACKED);
	assert_int_equal(read_with("SOFTGPU_ADDRESSES", "chunks").addresses, SG_ADDRESSES_CHUNKS);
}

static void test_text_is_kept_when_the_environment_changes(void **state)
{
	struct sg_profile profile = read_with("SOFTGPU_NAME", "My Card");

	(void)state;
	assert_string_equal(profile.name, "My Card");
	free((void *)(uintptr_t)profile.name);
	assert_string_equal(read_with("SOFTGPU_NAME", "").name, "NVIDIA A100-SXM4-80GB");
}

/* Each one by itself: no two rows are for one member, none is forgotten. */
static void test_every_figure_has_one_variable(void **state)
{
	const struct sg_profile_field *field;
	size_t nr = 0;

	(void)state;
	for (; (field = sg_profile_field_get(nr)); nr++) {
		const char *name = field->name;
		char variable[64];
		struct sg_profile changed, plain = *sg_profile_find("a100-80g");
		const char *value = !strcmp(name, "NAME")                                 ? "other"
				    : !strcmp(name, "ADDRESSES")                          ? "packed"
				    : !strcmp(name, "ECC") || !strcmp(name, "MANAGED")    ? "0"
				    : strstr(name, "REGISTERS") || strstr(name, "SHARED") ? "40000"
				    : strstr(name, "THREADS")                             ? "1536"
				    : !strcmp(name, "PCIE")                               ? "2"
				    : !strcmp(name, "CC")                                 ? "75"
				    : !strcmp(name, "MEMORY")                             ? "77M"
											  : "55";
		size_t nr_changed = 0;

		snprintf(variable, sizeof(variable), "SOFTGPU_%s", name);
		changed = read_with(variable, value);
#define COUNT(member) nr_changed += changed.member != plain.member
		COUNT(name);
		COUNT(cc);
		COUNT(nr_multiprocessors);
		COUNT(threads_per_multiprocessor);
		COUNT(blocks_per_multiprocessor);
		COUNT(registers_per_multiprocessor);
		COUNT(registers_per_block);
		COUNT(shared_per_multiprocessor);
		COUNT(shared_per_block);
		COUNT(shared_per_block_optin);
		COUNT(l2_size);
		COUNT(clock_khz);
		COUNT(memory_clock_khz);
		COUNT(bus_width);
		COUNT(nr_copy_engines);
		COUNT(memory_size);
		COUNT(reserved_size);
		COUNT(context_size);
		COUNT(power_limit);
		COUNT(pci_device_id);
		COUNT(pcie_generation);
		COUNT(has_ecc);
		COUNT(has_oversubscription);
		COUNT(addresses);
#undef COUNT
		if (nr_changed != 1)
			fail_msg("%s changes %zu figures", name, nr_changed);
		if (changed.name != plain.name)
			free((void *)(uintptr_t)changed.name);
	}
	assert_int_equal(nr, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_set_changes_nothing),
		cmocka_unit_test(test_numbers_are_taken_in_their_units),
		cmocka_unit_test(test_flags_and_words_are_taken),
		cmocka_unit_test(test_text_is_kept_when_the_environment_changes),
		cmocka_unit_test(test_every_figure_has_one_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
