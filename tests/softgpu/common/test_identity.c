#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "identity.h"

static void test_pci_bus_counts_from_one(void **state)
{
	(void)state;
	assert_int_equal(sg_identity_get_pci_bus(0), 1);
	assert_int_equal(sg_identity_get_pci_bus(15), 16);
}

static void test_uuid_is_the_name_and_the_device(void **state)
{
	static const unsigned char first[16] = "softgpu\0\0\0\0\0\0\0\0\1";
	unsigned char uuid[16];

	(void)state;
	memset(uuid, 0xff, sizeof(uuid));
	sg_identity_get_uuid(0, uuid);
	assert_memory_equal(uuid, first, sizeof(uuid));
	sg_identity_get_uuid(15, uuid);
	assert_memory_equal(uuid, first, 15);
	assert_int_equal(uuid[15], 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_bus_counts_from_one),
		cmocka_unit_test(test_uuid_is_the_name_and_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
