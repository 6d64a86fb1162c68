#include "byte_texture.h"

#include <string.h>

#define SAMPLE_SIZE 4096u
#define TABLE_BITS  10

/* Below this, whatever is done costs nothing. */
#define MIN_SIZE 256u

/* Of the sample: fewer bytes at which four in a row are the same as before are no repetition. */
#define MIN_SHARE 4u

enum vs_byte_texture vs_byte_texture_get(const uint8_t *bytes, size_t size)
{
	size_t length = size < SAMPLE_SIZE ? size : SAMPLE_SIZE;
	const uint8_t *sample = bytes + (size - length) / 2;
	uint32_t table[1u << TABLE_BITS] = {0};
	size_t nr_same = 0;

	if (size < MIN_SIZE)
		return VS_BYTE_TEXTURE_REPEATING;
	for (size_t i = 0; i + 4 <= length; i++) {
		uint32_t four, *slot;

		memcpy(&four, sample + i, sizeof(four));
		slot = &table[four * UINT32_C(0x9e3779b1) >> (32 - TABLE_BITS)];
		nr_same += *slot == four;
		*slot = four;
	}
	return nr_same >= length / MIN_SHARE ? VS_BYTE_TEXTURE_REPEATING : VS_BYTE_TEXTURE_UNEVEN;
}
