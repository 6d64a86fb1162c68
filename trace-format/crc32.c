#include "crc32.h"

/*
 * Four bytes at a time: table[k] has the remainder of each byte when k bytes follow it. Remainders
 * are linear: that of a byte is the xor of those of its bits, eight numbers for each table. So the
 * compiler can make the tables, they are constant, and no thread has to be the first.
 */
#define BIT(i, n, value) ((i) >> (n)&1u ? (value) : 0u)
#define REMAINDER(i, a, b, c, d, e, f, g, h)                                                       \
	(BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^ BIT(i, 5, f) ^ \
	 BIT(i, 6, g) ^ BIT(i, 7, h))
#define TABLE_0(i)                                                                                 \
	REMAINDER(i, 0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u, \
		  0x76dc4190u, 0xedb88320u)
#define TABLE_1(i)                                                                                 \
	REMAINDER(i, 0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u, 0x4ac21251u, 0x958424a2u, \
		  0xf0794f05u, 0x3b83984bu)
#define TABLE_2(i)                                                                                 \
	REMAINDER(i, 0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u, 0x1c26a370u, 0x384d46e0u, \
		  0x709a8dc0u, 0xe1351b80u)
#define TABLE_3(i)                                                                                 \
	REMAINDER(i, 0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu, 0x5019579fu, 0xa032af3eu, \
		  0x9b14583du, 0xed59b63bu)

#define ROW_4(table, i) table(i), table((i) + 1), table((i) + 2), table((i) + 3)
#define ROW_16(table, i) \
	ROW_4(table, i), ROW_4(table, (i) + 4), ROW_4(table, (i) + 8), ROW_4(table, (i) + 12)
#define ROW_64(table, i) \
	ROW_16(table, i), ROW_16(table, (i) + 16), ROW_16(table, (i) + 32), ROW_16(table, (i) + 48)
#define ROW_256(table) \
	ROW_64(table, 0u), ROW_64(table, 64u), ROW_64(table, 128u), ROW_64(table, 192u)

static const uint32_t table[4][256] = {
	{ROW_256(TABLE_0)},
	{ROW_256(TABLE_1)},
	{ROW_256(TABLE_2)},
	{ROW_256(TABLE_3)},
};

uint32_t vs_crc32_add(uint32_t crc, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;

	crc = ~crc;
	for (; size >= 4; size -= 4, next += 4) {
		crc ^= (uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 |
		       (uint32_t)next[3] << 24;
		crc = table[3][crc & 0xff] ^ table[2][crc >> 8 & 0xff] ^
		      table[1][crc >> 16 & 0xff] ^ table[0][crc >> 24];
	}
	while (size--)
		crc = crc >> 8 ^ table[0][(crc ^ *next++) & 0xff];
	return ~crc;
}
