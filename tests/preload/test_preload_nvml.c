/* LD_LIBRARY_PATH has a model of NVML (model_nvml_library.c); argv[1]: "old" for one of before. */
#include "nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct vs_nvml_name plain = {
	.uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	.mig_uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
};

static int open_library(void **state)
{
	char what[64];

	(void)state;
	assert_true(vs_nvml_open(what, sizeof(what)));
	assert_string_equal(what, "model 7");
	return 0;
}

static void test_devices_are_found_by_uuid_or_by_bus(void **state)
{
	struct vs_nvml_name name = plain;
	void *card = vs_nvml_find(&plain);

	(void)state;
	assert_non_null(card);
	name.uuid[0] = name.mig_uuid[0] = 99;
	assert_null(vs_nvml_find(&name));
	strcpy(name.pci_bus_id, "0000:3b:00.0");
	assert_ptr_equal(vs_nvml_find(&name), card);
	strcpy(name.pci_bus_id, "0000:3c:00.0");
	assert_null(vs_nvml_find(&name));
}

static void test_part_of_a_card_is_not_the_card(void **state)
{
	struct vs_nvml_name name = plain;

	(void)state;
	name.mig_uuid[0] = 0xff;
	strcpy(name.pci_bus_id, "0000:3b:00.0");
	assert_non_null(vs_nvml_find(&name));
	assert_ptr_not_equal(vs_nvml_find(&name), vs_nvml_find(&plain));
	name.mig_uuid[0] = 0xfe; /* never the whole card instead */
	assert_null(vs_nvml_find(&name));
}

static void test_memory_is_told_with_the_drivers_part_apart(void **state)
{
	struct vs_memory_info info = {0};

	(void)state;
	assert_true(vs_nvml_get_memory(vs_nvml_find(&plain), &info));
	assert_int_equal(info.total_size, 1100);
	assert_int_equal(info.free_size, 300);
	assert_int_equal(info.used_size, 700);
	assert_int_equal(info.reserved_size, 100);
	assert_false(vs_nvml_get_memory(&info, &info));
}

static void test_processes_of_both_lists_are_told_once(void **state)
{
	struct vs_nvml_process processes[8];

	(void)state;
	assert_int_equal(vs_nvml_get_processes(vs_nvml_find(&plain), processes, 8), 3);
	assert_int_equal(processes[0].pid, 10);
	assert_int_equal(processes[0].size, 100);
	assert_int_equal(processes[1].pid, 12);
	assert_int_equal(processes[1].size, 350);
	assert_int_equal(processes[2].pid, 13);
	/* Too little room: how many there are. */
	assert_int_equal(vs_nvml_get_processes(vs_nvml_find(&plain), processes, 2), 3);
}

static void test_old_library_has_first_versions_alone(void **state)
{
	struct vs_nvml_process processes[8];
	struct vs_memory_info info = {.reserved_size = 5};
	void *card = vs_nvml_find(&plain);

	(void)state;
	assert_true(vs_nvml_get_memory(card, &info));
	assert_int_equal(info.used_size, 800);
	assert_int_equal(info.reserved_size, 0);
	assert_int_equal(vs_nvml_get_processes(card, processes, 8), 1);
	assert_int_equal(processes[0].pid, 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest new_tests[] = {
		cmocka_unit_test(test_devices_are_found_by_uuid_or_by_bus),
		cmocka_unit_test(test_part_of_a_card_is_not_the_card),
		cmocka_unit_test(test_memory_is_told_with_the_drivers_part_apart),
		cmocka_unit_test(test_processes_of_both_lists_are_told_once),
	};
	const struct CMUnitTest old_tests[] = {
		cmocka_unit_test(test_devices_are_found_by_uuid_or_by_bus),
		cmocka_unit_test(test_old_library_has_first_versions_alone),
	};

	if (argc > 1 && !strcmp(argv[1], "old"))
		return cmocka_run_group_tests(old_tests, open_library, NULL);
	return cmocka_run_group_tests(new_tests, open_library, NULL);
}
