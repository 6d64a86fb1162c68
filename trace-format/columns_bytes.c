#include "columns_bytes.h"

#include <string.h>
#include <sys/mman.h>

#include "columns_pack.h"

/* Sizes of the columns, and what stands before them. */
#define HEAD_SIZE_MAX 1024

uint8_t *vs_columns_bytes_of(struct vs_columns_bytes *content, enum vs_column column)
{
	switch (column) {
	case VS_COLUMN_SITE_LOW:
	case VS_COLUMN_SIZE_LOW:
	case VS_COLUMN_ADDRESS_LOW:
	case VS_COLUMN_FREE_LOW:
		return content->lows[column - VS_COLUMN_SITE_LOW];
	case VS_COLUMN_TIME_REST:
		return content->time_rests;
	case VS_COLUMN_THREAD:
		return content->threads;
	case VS_COLUMN_NEW_SITE:
		return content->new_sites;
	case VS_COLUMN_ROW:
		return content->rows;
	case VS_COLUMN_SITE:
	case VS_COLUMN_SIZE:
	case VS_COLUMN_ADDRESS:
	case VS_COLUMN_FREE:
		return content->codes[column];
	default:
		return NULL; /* made from numbers, or from all times */
	}
}

/*
 * Numbers without what they have in common: above the lowest, without the zero bits at their end,
 * first the lowest byte of all of them, then the next.
 */
static uint8_t *put_planes(uint8_t *out, const struct vs_columns_numbers *numbers)
{
	uint64_t lowest = UINT64_MAX, bits = 0;
	uint32_t shift, width;

	if (!numbers->nr)
		return out;
	for (uint32_t i = 0; i < numbers->nr; i++)
		if (numbers->values[i] < lowest)
			lowest = numbers->values[i];
	for (uint32_t i = 0; i < numbers->nr; i++)
		bits |= numbers->values[i] - lowest;
	shift = bits ? (uint32_t)__builtin_ctzll(bits) : 0;
	width = bits ? (71 - (uint32_t)__builtin_clzll(bits) - shift) / 8 : 0;
	out = vs_wire_put_varint(out, lowest);
	*out++ = (uint8_t)shift;
	*out++ = (uint8_t)width;
	for (uint32_t plane = 0; plane < width; plane++)
		for (uint32_t i = 0; i < numbers->nr; i++)
			*out++ = (uint8_t)((numbers->values[i] - lowest) >> shift >> 8 * plane);
	return out;
}

static void add_part(struct vs_columns_bytes *content, size_t size, enum vs_byte_texture texture)
{
	struct vs_byte_texture_part *last = &content->parts[content->nr_parts];

	_Static_assert(VS_NR_COLUMNS < VS_COLUMNS_NR_PARTS, "the head is one, too");
	if (!size)
		return;
	if (content->nr_parts && last[-1].texture == texture)
		last[-1].size += size;
	else
		content->parts[content->nr_parts++] = (struct vs_byte_texture_part){size, texture};
}

/*
 * Each class by itself, in the order of events. Mostly the next event is of the same class as the
 * one before, and to count up what was just counted up waits for memory: so the events go in four
 * parts, one of each in turn.
 */
#define NR_TURNS 4
static void sort_times(struct vs_columns_bytes *content)
{
	const uint8_t *classes = content->time_classes, *times = content->times;
	uint8_t *sorted = content->sorted_times;
	uint32_t ends[NR_TURNS][VS_NR_TIME_CLASSES] = {0};
	size_t size = content->nr / NR_TURNS;
	uint32_t end = 0;

	for (size_t i = 0; i < size; i++) {
		ends[0][classes[i]]++;
		ends[1][classes[i + size]]++;
		ends[2][classes[i + 2 * size]]++;
		ends[3][classes[i + 3 * size]]++;
	}
	for (size_t i = NR_TURNS * size; i < content->nr; i++)
		ends[3][classes[i]]++;
	for (uint32_t class = 0; class < VS_NR_TIME_CLASSES; class ++) {
		for (uint32_t turn = 0; turn < NR_TURNS; turn++) {
			uint32_t nr = ends[turn][class];

			ends[turn][class] = end;
			end += nr;
		}
		content->time_ends[class] = end;
	}
	for (size_t i = 0; i < size; i++) {
		sorted[ends[0][classes[i]]++] = times[i];
		sorted[ends[1][classes[i + size]]++] = times[i + size];
		sorted[ends[2][classes[i + 2 * size]]++] = times[i + 2 * size];
		sorted[ends[3][classes[i + 3 * size]]++] = times[i + 3 * size];
	}
	for (size_t i = NR_TURNS * size; i < content->nr; i++)
		sorted[ends[3][classes[i]]++] = times[i];
}

/* What is in a column so far, and how many bytes of it there are; NULL: it is made from numbers. */
static const uint8_t *get_bytes(struct vs_columns_bytes *content, enum vs_column column,
				size_t *size)
{
	const uint8_t *bytes = vs_columns_bytes_of(content, column);
	uint32_t start = 0;

	*size = bytes ? (size_t)(content->ends[column] - bytes) : 0;
	if (column < VS_COLUMN_TIME || column >= VS_COLUMN_TIME_END)
		return bytes;
	if (column > VS_COLUMN_TIME)
		start = content->time_ends[column - VS_COLUMN_TIME - 1];
	*size = content->time_ends[column - VS_COLUMN_TIME] - start;
	return content->sorted_times + start;
}

/* Writes a column, and its two sizes at *head. */
static uint8_t *put_column(struct vs_columns_bytes *content, enum vs_column column, uint8_t *out,
			   uint8_t **head)
{
	size_t size, stored;
	const uint8_t *bytes = get_bytes(content, column, &size);

	if (column == VS_COLUMN_NEW_SIZE)
		size = (size_t)(put_planes(out, &content->sizes) - out);
	else if (column == VS_COLUMN_NEW_ADDRESS)
		size = (size_t)(put_planes(out, &content->addresses) - out);
	stored = size;
	if (column < VS_COLUMN_TIME_END)
		stored = vs_columns_pack_put(out, bytes, size);
	else if (bytes)
		vs_wire_put_bytes(out, bytes, size);
	*head = vs_wire_put_varint(*head, size);
	*head = vs_wire_put_varint(*head, stored);
	add_part(content, stored,
		 column < VS_COLUMN_TIME_END ? VS_BYTE_TEXTURE_DENSE
					     : vs_byte_texture_get(out, stored));
	return out + stored;
}

size_t vs_columns_bytes_put(struct vs_columns_bytes *content, uint8_t *out)
{
	uint8_t *body = out + HEAD_SIZE_MAX, *end = body, *head = out;

	content->nr_parts = 0;
	if (!content->nr)
		return 0;
	head = vs_wire_put_varint(head, content->time_unit_ns);
	head = vs_wire_put_varint(head, content->first_time);
	head = vs_wire_put_varint(head, VS_NR_COLUMNS);
	add_part(content, 1, VS_BYTE_TEXTURE_DENSE);
	sort_times(content);
	for (uint32_t i = 0; i < VS_NR_COLUMNS; i++)
		end = put_column(content, (enum vs_column)i, end, &head);
	memmove(head, body, (size_t)(end - body));
	content->parts[0].size += (size_t)(head - out) - 1; /* now that it is known */
	return (size_t)(head - out) + (size_t)(end - body);
}

const struct vs_byte_texture_part *vs_columns_bytes_get_parts(
	const struct vs_columns_bytes *content, uint32_t *nr)
{
	*nr = content->nr_parts;
	return content->parts;
}

size_t vs_columns_bound(void)
{
	return HEAD_SIZE_MAX + (size_t)VS_COLUMNS_MAX * VS_COLUMNS_EVENT_MAX;
}

/* ---- Life --------------------------------------------------------------------------------- */

int vs_columns_bytes_create(struct vs_columns_bytes **content)
{
	/* Much is never touched, and costs nothing then. */
	void *made = mmap(NULL, sizeof(**content), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	*content = made;
	return 0;
}

void vs_columns_bytes_destroy(struct vs_columns_bytes *content)
{
	munmap(content, sizeof(*content));
}
