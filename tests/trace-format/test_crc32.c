#include <zlib.h>

#include "cmocka_all.h"
#include "crc32.h"

static void test_check_value_of_the_catalogue_comes_out(void **state)
{
	(void)state;
	assert_int_equal(vs_crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(vs_crc32_add(0, "", 0), 0);
}

static void test_every_byte_and_every_cut_agree_with_zlib(void **state)
{
	unsigned char bytes[600];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		uint32_t whole = vs_crc32_add(0, bytes, sizeof(bytes));
		uint32_t first = vs_crc32_add(0, bytes, cut);

		assert_int_equal(first, crc32(0, bytes, (uInt)cut));
		assert_int_equal(vs_crc32_add(first, bytes + cut, sizeof(bytes) - cut), whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_value_of_the_catalogue_comes_out),
		cmocka_unit_test(test_every_byte_and_every_cut_agree_with_zlib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
