/* Choosing from fat binaries, good, truncated and senseless. */
#include "rt_fatbin.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_fatbin.h"

static struct fake_fatbin fatbin;
static struct sg_rt_fatbin_choice choice;

static int start_empty(void **state)
{
	(void)state;
	fake_fatbin_init(&fatbin);
	memset(&choice, 0, sizeof(choice));
	return 0;
}

static enum sg_rt_fatbin_fit choose(unsigned device_arch)
{
	return sg_rt_fatbin_choose(&fatbin.wrapper, device_arch, &choice);
}

static void add_elf(unsigned arch)
{
	unsigned char image[256] = {0};

	memcpy(image, ELFMAG, SELFMAG);
	image[100] = (unsigned char)arch;
	fake_fatbin_add(&fatbin, FAKE_ELF, arch, image, sizeof(image));
}

static void test_newest_code_that_runs_is_chosen(void **state)
{
	(void)state;
	add_elf(80);
	add_elf(86);
	add_elf(90);
	fake_fatbin_add(&fatbin, FAKE_PTX, 90, "", 1);
	assert_int_equal(choose(89), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 86);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 90);
}

static void test_an_image_of_any_architecture_is_given_for_its_values(void **state)
{
	(void)state;
	fake_fatbin_add(&fatbin, FAKE_PTX, 75, "", 1);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_null(choice.cubin);
	add_elf(75);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.ptx_arch, 75);
	assert_int_equal(((const unsigned char *)choice.cubin)[100], 75);
	assert_int_equal(choice.cubin_size, 256);
}

static void test_machine_code_runs_within_its_major_version_only(void **state)
{
	(void)state;
	add_elf(75);
	assert_int_equal(choose(75), SG_RT_FATBIN_FITS);
	assert_int_equal(choose(80), SG_RT_FATBIN_NO_IMAGE);
	fake_fatbin_add(&fatbin, FAKE_PTX, 75, "", 1);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 90); /* compiled for the device */
	assert_int_equal(choice.ptx_arch, 75);
}

static void test_machine_code_goes_before_newer_ptx(void **state)
{
	(void)state;
	fake_fatbin_add(&fatbin, FAKE_PTX, 89, "", 1);
	add_elf(80);
	fake_fatbin_add(&fatbin, FAKE_PTX, 75, "", 1);
	assert_int_equal(choose(89), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 80);
	assert_int_equal(choice.ptx_arch, 80);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 90);
	assert_int_equal(choice.ptx_arch, 89);
}

static void test_chosen_image_goes_before_other_readable_ones(void **state)
{
	(void)state;
	add_elf(80);
	add_elf(86);
	add_elf(90);
	assert_int_equal(choose(89), SG_RT_FATBIN_FITS);
	assert_int_equal(((const unsigned char *)choice.cubin)[100], 86);
}

static void test_code_for_one_architecture_runs_on_that_alone(void **state)
{
	(void)state;
	add_elf(90);
	fake_fatbin_set_flags(&fatbin, 256, FAKE_ONE_ARCH);
	fake_fatbin_add(&fatbin, FAKE_PTX, 90, "", 1);
	fake_fatbin_set_flags(&fatbin, 1, FAKE_ONE_ARCH);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
	assert_int_equal(choose(91), SG_RT_FATBIN_NO_IMAGE);
	assert_int_equal(choose(100), SG_RT_FATBIN_NO_IMAGE);
}

static void test_code_for_a_family_runs_in_that_alone(void **state)
{
	(void)state;
	fake_fatbin_add(&fatbin, FAKE_PTX, 100, "", 1);
	fake_fatbin_set_flags(&fatbin, 1, FAKE_FAMILY);
	assert_int_equal(choose(100), SG_RT_FATBIN_FITS);
	assert_int_equal(choose(103), SG_RT_FATBIN_FITS);
	assert_int_equal(choose(120), SG_RT_FATBIN_NO_IMAGE);
	assert_int_equal(choose(90), SG_RT_FATBIN_NO_IMAGE);
}

static void test_code_for_newer_devices_does_not_run(void **state)
{
	(void)state;
	add_elf(100);
	fake_fatbin_add(&fatbin, FAKE_PTX, 100, "", 1);
	assert_int_equal(choose(90), SG_RT_FATBIN_NO_IMAGE);
	assert_int_equal(choose(103), SG_RT_FATBIN_FITS);
}

static void test_compressed_code_has_an_architecture_but_no_image(void **state)
{
	static const unsigned char compressed[] = {0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3};

	(void)state;
	fake_fatbin_add(&fatbin, FAKE_ELF, 86, compressed, sizeof(compressed));
	assert_int_equal(choose(86), SG_RT_FATBIN_FITS);
	assert_int_equal(choice.arch, 86);
	assert_null(choice.cubin);
}

static void test_unknown_kinds_of_entries_are_passed_over(void **state)
{
	(void)state;
	fake_fatbin_add(&fatbin, (enum fake_kind)8, 90, "x", 1);
	assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE);
	add_elf(90);
	assert_int_equal(choose(90), SG_RT_FATBIN_FITS);
}

static void test_what_is_no_fat_binary_is_unreadable(void **state)
{
	(void)state;
	assert_int_equal(sg_rt_fatbin_choose(NULL, 90, &choice), SG_RT_FATBIN_UNREADABLE);
	assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE); /* no entries */
	add_elf(90);
	fatbin.data[0] ^= 1;
	assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE);
	fatbin.data[0] ^= 1;
	fatbin.wrapper.magic ^= 1;
	assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE);
	fatbin.wrapper.magic ^= 1;
	fatbin.wrapper.data = NULL;
	assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE);
}

/* The container says its size; an entry that does not fit in it must not be touched. */
static void test_every_truncation_is_read_within_its_bounds(void **state)
{
	(void)state;
	add_elf(80);
	add_elf(90);
	for (size_t size = 0; size <= fatbin.used; size++) {
		/* An exact copy, so that a sanitizer sees any byte read beyond it. */
		unsigned char *copy = malloc(16 + size);
		uint64_t total = size;
		enum sg_rt_fatbin_fit fit;

		assert_non_null(copy);
		memcpy(copy, fatbin.data, 16 + size);
		memcpy(copy + 8, &total, sizeof(total));
		fatbin.wrapper.data = copy;
		fit = choose(90);
		free(copy);
		assert_int_equal(fit, size == fatbin.used       ? SG_RT_FATBIN_FITS
				      : size >= fatbin.used / 2 ? SG_RT_FATBIN_NO_IMAGE
								: SG_RT_FATBIN_UNREADABLE);
	}
}

static void test_sizes_that_overflow_end_the_reading(void **state)
{
	static const uint64_t huge[] = {UINT64_MAX, UINT64_MAX - 63, INT64_MAX, 1u << 20};

	(void)state;
	add_elf(90);
	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		memcpy(fatbin.data + 16 + 8, &huge[i], sizeof(huge[i]));
		assert_int_equal(choose(90), SG_RT_FATBIN_UNREADABLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_newest_code_that_runs_is_chosen, start_empty),
		cmocka_unit_test_setup(test_an_image_of_any_architecture_is_given_for_its_values,
				       start_empty),
		cmocka_unit_test_setup(test_machine_code_runs_within_its_major_version_only,
				       start_empty),
		cmocka_unit_test_setup(test_machine_code_goes_before_newer_ptx, start_empty),
		cmocka_unit_test_setup(test_chosen_image_goes_before_other_readable_ones,
				       start_empty),
		cmocka_unit_test_setup(test_code_for_one_architecture_runs_on_that_alone,
				       start_empty),
		cmocka_unit_test_setup(test_code_for_a_family_runs_in_that_alone, start_empty),
		cmocka_unit_test_setup(test_code_for_newer_devices_does_not_run, start_empty),
		cmocka_unit_test_setup(test_compressed_code_has_an_architecture_but_no_image,
				       start_empty),
		cmocka_unit_test_setup(test_unknown_kinds_of_entries_are_passed_over, start_empty),
		cmocka_unit_test_setup(test_what_is_no_fat_binary_is_unreadable, start_empty),
		cmocka_unit_test_setup(test_every_truncation_is_read_within_its_bounds,
				       start_empty),
		cmocka_unit_test_setup(test_sizes_that_overflow_end_the_reading, start_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
