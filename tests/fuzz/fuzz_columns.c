/*
 * Columns made of any bytes. By the first byte the input is: columns as they stand; what the
 * columns contain, with sizes that fit, for otherwise hardly anything would come so far; or events,
 * which must come back.
 */
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "event_fields.h"
#include "wire.h"

#define UNIT       1000
#define NR_COLUMNS 30
#define MAX_EVENTS 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As in a program: one of each for all blocks, so that nothing of a block may show in the next. */
static struct vs_columns *columns;
static struct vs_columns_reader *reader;
static uint8_t *block; /* as large as one can be */

static void create_all(void)
{
	if (columns)
		return;
	block = malloc(vs_columns_bound());
	if (!block || vs_columns_create(&columns, UNIT) || vs_columns_reader_create(&reader))
		abort();
}

/* The next byte, 0 when there is none left. */
static uint8_t get_byte(struct vs_wire *in)
{
	return vs_wire_left(in) ? *vs_wire_get_bytes(in, 1) : 0;
}

/* ---- Bytes -------------------------------------------------------------------------------- */

/* Whatever it is, it ends, and says the same about its end twice. */
static void read_all(const uint8_t *bytes, size_t size, uint32_t nr)
{
	struct vs_record event;
	uint32_t nr_read = 0;
	int ret;

	if (vs_columns_reader_begin(reader, bytes, size, nr))
		return;
	while ((ret = vs_columns_reader_next(reader, &event)) == 1)
		if (++nr_read > nr)
			abort();
	if (vs_columns_reader_next(reader, &event) != ret)
		abort();
}

/* Two bytes: the number of events. */
static void read_as_it_stands(struct vs_wire *in)
{
	uint32_t nr = get_byte(in);

	nr |= (uint32_t)get_byte(in) << 8;
	read_all(in->next, vs_wire_left(in), nr);
}

/*
 * A byte for the number of events, then for each column one for its size: 7 bits of what it takes
 * here, and whether that is packed and will be as many bytes as there are events.
 */
static void read_with_sizes(struct vs_wire *in)
{
	uint32_t nr = get_byte(in), stored[NR_COLUMNS];
	uint8_t head[512], *p = head, *bytes;

	p = vs_wire_put_varint(p, UNIT);
	p = vs_wire_put_varint(p, 1000000);
	p = vs_wire_put_varint(p, NR_COLUMNS);
	for (uint32_t i = 0; i < NR_COLUMNS; i++) {
		uint8_t control = get_byte(in);

		stored[i] = control & 0x7f;
		p = vs_wire_put_varint(p, control & 0x80 ? nr : stored[i]);
		p = vs_wire_put_varint(p, stored[i]);
	}
	/* No longer than it is, so that a step too far is seen. */
	bytes = malloc((size_t)(p - head) + vs_wire_left(in));
	if (!bytes)
		abort();
	memcpy(bytes, head, (size_t)(p - head));
	memcpy(bytes + (p - head), in->next, vs_wire_left(in));
	read_all(bytes, (size_t)(p - head) + vs_wire_left(in), nr);
	free(bytes);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* A byte: a small number as it is, one end or the other, or how many bytes follow. */
static uint64_t draw(void *source)
{
	struct vs_wire *in = source;
	uint8_t control = get_byte(in);
	uint64_t value = 0;

	if (control < 0xf0)
		return control;
	if (control >= 0xf8)
		return control == 0xff ? UINT64_MAX : UINT64_MAX / (control - 0xf6u);
	for (uint32_t i = control & 7; i > 0; i--)
		value = value << 8 | get_byte(in);
	return value;
}

static enum vs_record_type draw_type(struct vs_wire *in)
{
	static const enum vs_record_type types[] = {
#define VS_RECORD(number, NAME, name) VS_RECORD_##NAME,
#include "record.def"
#undef VS_RECORD
		/* Most of what there is. */
		VS_RECORD_BLOCK_ALLOC, VS_RECORD_BLOCK_FREE, VS_RECORD_BLOCK_ALLOC,
		VS_RECORD_BLOCK_FREE,  VS_RECORD_ALLOC,      VS_RECORD_FREE,
	};
	enum vs_record_type type = types[get_byte(in) % (sizeof(types) / sizeof(types[0]))];

	return type < VS_RECORD_ALLOC ? VS_RECORD_BLOCK_ALLOC : type;
}

static void expect_back(struct vs_wire *in)
{
	static struct vs_record events[MAX_EVENTS];
	struct vs_record found;
	size_t size;
	uint32_t nr = 0;

	for (; nr < MAX_EVENTS && vs_wire_left(in); nr++) {
		vs_event_fields_fill(&events[nr], draw_type(in), draw, in);
		vs_columns_add(columns, &events[nr]);
	}
	size = vs_columns_finish(columns, block);
	if (size > vs_columns_bound() || vs_columns_reader_begin(reader, block, size, nr))
		abort();
	for (uint32_t i = 0; i < nr; i++)
		if (vs_columns_reader_next(reader, &found) != 1 ||
		    !vs_event_fields_is_same(&events[i], &found) ||
		    found.time_ns != events[i].time_ns / UNIT * UNIT)
			abort();
	if (vs_columns_reader_next(reader, &found))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vs_wire in;

	if (!size)
		return 0;
	create_all();
	vs_wire_init(&in, data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		read_as_it_stands(&in);
		break;
	case 1:
		expect_back(&in);
		break;
	default:
		read_with_sizes(&in);
	}
	return 0;
}
