#include <stdlib.h>
#include <string.h>

#include "byte_texture.h"
#include "cmocka_all.h"

#define SIZE_MOST 100000u

static uint8_t bytes[SIZE_MOST];

/* xorshift64 */
static uint64_t draw(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void test_bytes_in_no_order_do_not_repeat(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZE_MOST; i++)
		bytes[i] = (uint8_t)draw();
	for (size_t size = 256; size <= SIZE_MOST; size += 997)
		assert_int_equal(vs_byte_texture_get(bytes, size), VS_BYTE_TEXTURE_UNEVEN);
}

static void test_bytes_of_uneven_frequency_do_not_repeat(void **state)
{
	(void)state;
	/* Low ones are more frequent by far. */
	for (size_t i = 0; i < SIZE_MOST; i++)
		bytes[i] = (uint8_t)((draw() & 0xff) * (draw() & 0xff) >> 8);
	assert_int_equal(vs_byte_texture_get(bytes, SIZE_MOST), VS_BYTE_TEXTURE_UNEVEN);
}

static void test_one_byte_repeats(void **state)
{
	(void)state;
	memset(bytes, 63, SIZE_MOST);
	for (size_t size = 256; size <= SIZE_MOST; size += 997)
		assert_int_equal(vs_byte_texture_get(bytes, size), VS_BYTE_TEXTURE_REPEATING);
}

static void test_a_sequence_that_comes_again_repeats(void **state)
{
	(void)state;
	for (size_t i = 0; i < 300; i++)
		bytes[i] = (uint8_t)draw();
	for (size_t i = 300; i < SIZE_MOST; i++)
		bytes[i] = bytes[i - 300];
	assert_int_equal(vs_byte_texture_get(bytes, SIZE_MOST), VS_BYTE_TEXTURE_REPEATING);
	/* Also where every tenth byte is another one. */
	for (size_t i = 0; i < SIZE_MOST; i += 10)
		bytes[i] = (uint8_t)draw();
	assert_int_equal(vs_byte_texture_get(bytes, SIZE_MOST), VS_BYTE_TEXTURE_REPEATING);
}

/* Exactly as long as the bytes, so that a sanitizer sees a step too far. */
static void test_any_size_will_do(void **state)
{
	(void)state;
	for (size_t size = 0; size < 5000; size += size < 300 ? 1 : 37) {
		uint8_t *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memset(copy, 1, size);
		assert_int_equal(vs_byte_texture_get(copy, size), VS_BYTE_TEXTURE_REPEATING);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_in_no_order_do_not_repeat),
		cmocka_unit_test(test_bytes_of_uneven_frequency_do_not_repeat),
		cmocka_unit_test(test_one_byte_repeats),
		cmocka_unit_test(test_a_sequence_that_comes_again_repeats),
		cmocka_unit_test(test_any_size_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
