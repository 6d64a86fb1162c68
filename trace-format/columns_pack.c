#include "columns_pack.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "wire.h"

/* The compiler would call what is used for two kinds of columns. */
#define INLINE static inline __attribute__((always_inline))

/*
 * A state is a number from LOW to below LOW << 16. Four take turns, so that the processor can work
 * on them side by side. Frequencies of a table add up to SCALE.
 */
#define SCALE_BITS 12
#define SCALE      (1u << SCALE_BITS)
#define LOW        (1u << 16)
#define NR_STATES  4
#define STATE_SIZE 4

/* Below this, a table takes more than it saves. */
#define MIN_SIZE 32

/* Bytes of a column that are looked at to guess what all of them are like. */
#define NR_SAMPLES 64

/* From this frequency on, four bytes of a kind in a row are what comes next nearly always. */
#define USUAL_FREQUENCY (SCALE - SCALE / 16)

struct table {
	uint16_t frequency[256];
	uint16_t start[256]; /* sum of the frequencies before it */
	uint32_t first, last;
	uint32_t nr;   /* bytes that occur */
	uint32_t most; /* the most frequent one */
};

/* ---- Packing ------------------------------------------------------------------------------ */

/*
 * Whether nearly all bytes are the same, by some of them: such are columns where everything is as
 * expected. Where it is not so, to look for it would be a branch that nobody can foresee.
 */
static bool guess_usual(const uint8_t *column, size_t size, uint8_t *usual)
{
	size_t step = size / NR_SAMPLES;
	uint32_t nr = 0;

	/* Of three, the one that another agrees with. */
	*usual = column[0] == column[size / 2] ? column[0] : column[size - 1];
	for (size_t i = 0; step && i < NR_SAMPLES; i++)
		nr += column[i * step] == *usual;
	return nr >= NR_SAMPLES - NR_SAMPLES / 32;
}

/* Four counters for each byte: adding to the same one twice in a row waits for memory. */
static inline void count_four(uint32_t parts[4][256], const uint8_t *column)
{
	parts[0][column[0]]++;
	parts[1][column[1]]++;
	parts[2][column[2]]++;
	parts[3][column[3]]++;
}

static void count_bytes(uint32_t counts[256], const uint8_t *column, size_t size)
{
	uint32_t parts[4][256] = {0};
	uint32_t nr_usual = 0;
	uint64_t eights, eight;
	uint8_t usual;
	bool has_usual = guess_usual(column, size, &usual);
	size_t i = 0;

	eights = UINT64_C(0x0101010101010101) * usual;
	for (; i + 8 <= size; i += 8) {
		memcpy(&eight, column + i, sizeof(eight));
		if (has_usual && eight == eights) {
			nr_usual += 8;
			continue;
		}
		count_four(parts, column + i);
		count_four(parts, column + i + 4);
	}
	for (; i < size; i++)
		parts[0][column[i]]++;
	for (uint32_t byte = 0; byte < 256; byte++)
		counts[byte] = parts[0][byte] + parts[1][byte] + parts[2][byte] + parts[3][byte];
	counts[usual] += nr_usual;
}

/* Everything that occurs gets at least 1; what rounding leaves goes to the most frequent. */
static void make_table(struct table *table, const uint32_t counts[256], size_t size)
{
	uint32_t most = 0, sum = 0;

	memset(table, 0, sizeof(*table));
	table->first = 256;
	for (uint32_t byte = 0; byte < 256; byte++) {
		if (!counts[byte])
			continue;
		if (table->first == 256)
			table->first = byte;
		table->last = byte;
		table->nr++;
		if (counts[byte] > counts[most])
			most = byte;
	}
	for (uint32_t byte = table->first; byte <= table->last; byte++) {
		if (!counts[byte])
			continue;
		table->frequency[byte] =
			(uint16_t)(1 + (uint64_t)counts[byte] * (SCALE - table->nr) / size);
		sum += table->frequency[byte];
	}
	table->frequency[most] = (uint16_t)(table->frequency[most] + SCALE - sum);
	table->most = most;
	for (uint32_t byte = table->first; byte < table->last; byte++)
		table->start[byte + 1] = (uint16_t)(table->start[byte] + table->frequency[byte]);
}

static uint8_t *put_table(uint8_t *out, const struct table *table)
{
	*out++ = (uint8_t)table->first;
	*out++ = (uint8_t)(table->last - table->first);
	if (table->nr == 1)
		return out;
	for (uint32_t byte = table->first; byte <= table->last; byte++)
		out = vs_wire_put_varint(out, table->frequency[byte]);
	return out;
}

/*
 * What a byte does to a state, without a division:
 *
 *   state / frequency * SCALE + state % frequency + start  =
 *   state + state / frequency * (SCALE - frequency) + start
 *
 * The quotient of 32 bits is the upper half of a product with 2^64 / frequency, rounded up. That
 * does not fit for a frequency of 1: there, the product is one too small, and `start` makes up for
 * it.
 */
struct turn {
	uint64_t reciprocal;
	uint32_t limit; /* of a state before it; from there on, a word goes out first */
	uint16_t rest;  /* SCALE - frequency */
	uint16_t start;
};

__extension__ typedef unsigned __int128 wide;

static void make_turns(struct turn turns[256], const struct table *table)
{
	for (uint32_t byte = table->first; byte <= table->last; byte++) {
		uint32_t frequency = table->frequency[byte];
		struct turn *turn = &turns[byte];

		if (!frequency)
			continue;
		/* It fits: a table of one byte, whose frequency is SCALE, makes no turns. */
		turn->limit = frequency << (32 - SCALE_BITS);
		turn->rest = (uint16_t)(SCALE - frequency);
		turn->start = table->start[byte];
		turn->reciprocal = UINT64_MAX / frequency + 1;
		if (frequency == 1) {
			turn->reciprocal = UINT64_MAX;
			turn->start = (uint16_t)(turn->start + SCALE - 1);
		}
	}
}

/* Whether a word goes out cannot be foreseen: it is written anyway, and kept or not. */
static inline uint8_t *put_byte(uint8_t *end, uint32_t *state, const struct turn *turn)
{
	uint32_t is_below = *state < turn->limit;
	uint32_t left = is_below ? *state : *state >> 16;
	uint16_t word = htole16((uint16_t)*state);

	/* One store: the compiler makes two of vs_wire_put_le16(). */
	memcpy(end - 2, &word, sizeof(word));
	*state = left + turn->start + (uint32_t)((wide)left * turn->reciprocal >> 64) * turn->rest;
	return end - 2 + 2 * is_below;
}

/* The same for a state that is known to be below the limit. */
static inline void take_turn(uint32_t *state, const struct turn *turn)
{
	*state += turn->start + (uint32_t)((wide)*state * turn->reciprocal >> 64) * turn->rest;
}

/*
 * Four times the byte that nearly all are. False, and nothing is done: other bytes, or a word has
 * to go out, which is rare then.
 */
static inline bool put_usual(uint32_t states[NR_STATES], const struct turn *turn, uint32_t usual,
			     const uint8_t *column)
{
	uint32_t four;

	memcpy(&four, column, sizeof(four));
	if (four != usual || states[0] >= turn->limit || states[1] >= turn->limit ||
	    states[2] >= turn->limit || states[3] >= turn->limit)
		return false;
	take_turn(&states[0], turn);
	take_turn(&states[1], turn);
	take_turn(&states[2], turn);
	take_turn(&states[3], turn);
	return true;
}

/*
 * From the last byte of the column to the first, because it is read the other way round. The words
 * go down from `end` on; NULL if they would come below `low`. The states at the end need more room
 * than a word for each of them, so it is enough to look for that.
 */
INLINE uint8_t *put_words(uint8_t *low, uint8_t *end, const struct turn turns[256],
			  const uint8_t *column, size_t size, bool has_usual, uint32_t usual)
{
	const uint32_t usual_four = UINT32_C(0x01010101) * usual;
	const struct turn usual_turn = turns[usual];
	uint32_t states[NR_STATES] = {LOW, LOW, LOW, LOW};
	size_t i = size;

	if (end - low < NR_STATES * STATE_SIZE)
		return NULL;
	for (; i % NR_STATES; i--)
		end = put_byte(end, &states[(i - 1) % NR_STATES], &turns[column[i - 1]]);
	for (; i > 0; i -= NR_STATES) {
		if (has_usual && put_usual(states, &usual_turn, usual_four, &column[i - NR_STATES]))
			continue;
		if (end - low < NR_STATES * STATE_SIZE)
			return NULL;
		end = put_byte(end, &states[3], &turns[column[i - 1]]);
		end = put_byte(end, &states[2], &turns[column[i - 2]]);
		end = put_byte(end, &states[1], &turns[column[i - 3]]);
		end = put_byte(end, &states[0], &turns[column[i - 4]]);
	}
	if (end - low < NR_STATES * STATE_SIZE)
		return NULL;
	for (uint32_t state = NR_STATES; state-- > 0;) {
		end -= STATE_SIZE;
		vs_wire_put_le32(end, states[state]);
	}
	return end;
}

/* Each kind by code of its own. */
static uint8_t *put_any(uint8_t *low, uint8_t *end, const struct turn turns[256],
			const uint8_t *column, size_t size, const struct table *table)
{
	if (table->frequency[table->most] >= USUAL_FREQUENCY)
		return put_words(low, end, turns, column, size, true, table->most);
	return put_words(low, end, turns, column, size, false, table->most);
}

size_t vs_columns_pack_put(uint8_t *out, const uint8_t *column, size_t size)
{
	uint32_t counts[256];
	struct turn turns[256];
	struct table table;
	uint8_t head[2 + 256 * 2];
	size_t head_size, words_size;
	uint8_t *words;

	if (size < MIN_SIZE)
		goto plain;
	count_bytes(counts, column, size);
	make_table(&table, counts, size);
	head_size = (size_t)(put_table(head, &table) - head);
	if (head_size >= size)
		goto plain;
	memcpy(out, head, head_size);
	if (table.nr == 1)
		return head_size;
	/* One byte less than the column has: the same size would mean that it is not packed. */
	make_turns(turns, &table);
	words = put_any(out + head_size, out + size - 1, turns, column, size, &table);
	if (!words)
		goto plain;
	words_size = (size_t)(out + size - 1 - words);
	memmove(out + head_size, words, words_size);
	return head_size + words_size;
plain:
	vs_wire_put_bytes(out, column, size);
	return size;
}

/* ---- Unpacking ---------------------------------------------------------------------------- */

/* What the low bits of a state mean: the byte, its frequency, and by how much they are above its
 * start. Each is a load; out of one number they would have to be cut. */
struct slots {
	struct {
		uint16_t frequency;
		uint16_t above;
	} slot[SCALE];
	uint8_t byte[SCALE];
};

static void fill_slots(struct slots *slots, uint32_t start, uint32_t byte, uint32_t frequency)
{
	for (uint32_t i = 0; i < frequency; i++) {
		slots->slot[start + i].frequency = (uint16_t)frequency;
		slots->slot[start + i].above = (uint16_t)i;
	}
	memset(&slots->byte[start], (int)byte, frequency);
}

/* False: there is only one byte, *first. */
static bool get_slots(struct slots *slots, struct vs_wire *in, uint32_t *first)
{
	const uint8_t *range = vs_wire_get_bytes(in, 2);
	uint32_t start = 0;

	if (!range)
		return false;
	*first = range[0];
	if (range[1] == 0)
		return false;
	for (uint32_t byte = range[0]; byte <= (uint32_t)range[0] + range[1]; byte++) {
		uint32_t frequency = vs_wire_get_varint32(in);

		/* SCALE itself leaves nothing for another byte. */
		if (byte > 255 || frequency >= SCALE || frequency > SCALE - start)
			in->error = -VS_ERR_CORRUPT;
		if (in->error)
			return false;
		fill_slots(slots, start, byte, frequency);
		start += frequency;
	}
	if (start != SCALE)
		in->error = -VS_ERR_CORRUPT;
	return true;
}

/* The next byte, and the state after it. False: there are not enough words. */
static inline bool get_byte(uint8_t *byte, uint32_t *state, const struct slots *slots,
			    const uint8_t **word, const uint8_t *end)
{
	uint32_t slot = *state % SCALE;
	uint32_t next =
		slots->slot[slot].frequency * (*state >> SCALE_BITS) + slots->slot[slot].above;

	*byte = slots->byte[slot];
	if (next < LOW) {
		if (end - *word < 2)
			return false;
		next = next << 16 | (*word)[0] | (uint32_t)(*word)[1] << 8;
		*word += 2;
	}
	*state = next;
	return true;
}

static int get_words(uint8_t *column, size_t size, const struct slots *slots, struct vs_wire *in)
{
	uint32_t a = vs_wire_get_le32(in), b = vs_wire_get_le32(in);
	uint32_t c = vs_wire_get_le32(in), d = vs_wire_get_le32(in);
	const uint8_t *word = in->next, *end = in->end;
	uint32_t *rest[NR_STATES - 1] = {&a, &b, &c};
	size_t i = 0;

	if (in->error)
		return -VS_ERR_CORRUPT;
	for (; i + NR_STATES <= size; i += NR_STATES)
		if (!get_byte(&column[i], &a, slots, &word, end) ||
		    !get_byte(&column[i + 1], &b, slots, &word, end) ||
		    !get_byte(&column[i + 2], &c, slots, &word, end) ||
		    !get_byte(&column[i + 3], &d, slots, &word, end))
			return -VS_ERR_CORRUPT;
	for (uint32_t k = 0; i < size; i++, k++)
		if (!get_byte(&column[i], rest[k], slots, &word, end))
			return -VS_ERR_CORRUPT;
	/* Where the packing began. */
	return a == LOW && b == LOW && c == LOW && d == LOW && word == end ? 0 : -VS_ERR_CORRUPT;
}

int vs_columns_pack_get(uint8_t *column, size_t size, const uint8_t *packed, size_t packed_size)
{
	struct slots slots;
	struct vs_wire in;
	uint32_t first = 0;

	vs_wire_init(&in, packed, packed_size);
	if (get_slots(&slots, &in, &first) && !in.error)
		return get_words(column, size, &slots, &in);
	if (in.error || vs_wire_left(&in))
		return -VS_ERR_CORRUPT;
	memset(column, (int)first, size);
	return 0;
}
