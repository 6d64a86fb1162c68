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

static void test_mig_device_has_a_uuid_of_its_own(void **state)
{
	unsigned char device[16], mig[16], other[16];

	(void)state;
	sg_identity_get_uuid(3, device);
	sg_identity_get_mig_uuid(3, mig);
	sg_identity_get_mig_uuid(4, other);
	assert_memory_not_equal(device, mig, sizeof(mig));
	assert_memory_not_equal(mig, other, sizeof(mig));
}

static void test_uuid_is_written_in_groups(void **state)
{
	static const unsigned char uuid[16] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
					       0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0xff};
	char text[SG_IDENTITY_UUID_TEXT];

	(void)state;
	sg_identity_format_uuid(text, "MIG-", uuid);
	assert_string_equal(text, "MIG-00010203-0405-0607-0809-0a0b0c0d0eff");
}

/* As NVIDIA's documentation names the partitions that take all of a card. */
static void test_mig_name_tells_the_memory(void **state)
{
	static const char *const names[][2] = {
		{"a100-40g", "NVIDIA A100-SXM4-40GB MIG 7g.40gb"},
		{"a100-80g", "NVIDIA A100-SXM4-80GB MIG 7g.80gb"},
		{"h100-80g", "NVIDIA H100 80GB HBM3 MIG 7g.80gb"},
		{"h200", "NVIDIA H200 MIG 7g.141gb"},
		{"b200", "NVIDIA B200 MIG 7g.180gb"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sg_identity_format_mig_name(text, sizeof(text), sg_profile_find(names[i][0]));
		assert_string_equal(text, names[i][1]);
	}
	sg_identity_format_mig_name(text, 7, sg_profile_find("h200"));
	assert_string_equal(text, "NVIDIA");
}

static void test_pci_id_has_the_device_above_the_vendor(void **state)
{
	(void)state;
	assert_int_equal(sg_identity_get_pci_id(0x2330), 0x233010de);
	assert_int_equal(sg_identity_get_pci_id(0), 0x10de);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_bus_counts_from_one),
		cmocka_unit_test(test_uuid_is_the_name_and_the_device),
		cmocka_unit_test(test_mig_device_has_a_uuid_of_its_own),
		cmocka_unit_test(test_uuid_is_written_in_groups),
		cmocka_unit_test(test_mig_name_tells_the_memory),
		cmocka_unit_test(test_pci_id_has_the_device_above_the_vendor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
