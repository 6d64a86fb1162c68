#include "columns.h"

#include <string.h>
#include <sys/mman.h>

#include "columns_fields.h"
#include "columns_pack.h"
#include "columns_predict.h"
#include "wire.h"

/* The compiler would call what is used for several types of events; and not what is rare. */
#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* Later versions may have more than this one, but not any number. */
#define NR_COLUMNS_MAX 256

/* Numbers in planes: the lowest, and what each is above it. */
struct planes {
	uint64_t lowest;
	uint32_t shift, width;
	size_t nr, next;
	const uint8_t *bytes; /* width times nr */
};

struct vs_columns_reader {
	int error; /* the first one, and then every time */
	uint32_t nr_left;
	uint64_t time_unit_ns;
	uint64_t time;  /* of the event before, in units */
	uint64_t types; /* of its sites */
	struct vs_wire columns[VS_NR_COLUMNS];
	struct planes sizes, addresses;
	struct vs_columns_predict predict;
	uint16_t sites_of_class[VS_NR_SITE_CLASSES][VS_COLUMNS_MAX];
	uint8_t unpacked[]; /* vs_columns_bound() */
};

/* ---- Columns: once there is an error, everything is 0 ------------------------------------- */

static uint32_t fail(struct vs_columns_reader *reader)
{
	reader->error = -VS_ERR_CORRUPT;
	return 0;
}

INLINE uint32_t get_byte(struct vs_columns_reader *reader, enum vs_column column)
{
	struct vs_wire *wire = &reader->columns[column];

	return wire->next == wire->end ? fail(reader) : *wire->next++;
}

static uint64_t get_varint(struct vs_columns_reader *reader, enum vs_column column)
{
	uint64_t value = vs_wire_get_varint(&reader->columns[column]);

	return reader->columns[column].error ? fail(reader) : value;
}

/* A number in two columns, which must be below `limit`: columns_layout.h. */
static uint32_t get_known(struct vs_columns_reader *reader, uint32_t code, uint32_t first,
			  enum vs_column low, uint32_t limit)
{
	uint32_t number = get_byte(reader, low);

	number |= code == 255 ? get_byte(reader, low) << 8 : (code - first) << 8;
	return number < limit && !reader->error ? number : fail(reader);
}

static uint64_t get_number(struct vs_columns_reader *reader, struct planes *planes)
{
	uint64_t value = 0;

	if (planes->next == planes->nr)
		return fail(reader);
	for (uint32_t i = planes->width; i-- > 0;)
		value = value << 8 | planes->bytes[i * planes->nr + planes->next];
	planes->next++;
	return planes->lowest + (value << planes->shift);
}

/* ---- Events ------------------------------------------------------------------------------- */

/*
 * Nearly all is as expected, and as few instructions as possible are spent on that: an error is
 * noticed at the end, before anything is told of the event. Until then everything is 0: no place in
 * memory is wrong, and what it holds is of no use to anybody afterwards.
 */

/* Those of struct vs_record: links of columns_predict.h, for which NONE is 0. */
struct kin {
	uint16_t birth, before;
};

/*
 * It is another one than expected, or there was none to go on. What is called here is given what
 * the event is about, and not where that is kept: it is kept in registers.
 */
static NOINLINE struct vs_columns_now get_other_thread(struct vs_columns_reader *reader,
						       struct vs_columns_now now, bool is_told)
{
	struct vs_columns_predict *predict = &reader->predict;
	uint32_t thread = now.next_thread;
	uint64_t id;

	if (is_told) {
		uint64_t number = get_varint(reader, VS_COLUMN_THREAD);

		thread = VS_COLUMNS_NONE;
		if (number < predict->nr_threads) {
			thread = (uint32_t)number;
		} else if (number == predict->nr_threads) {
			id = get_varint(reader, VS_COLUMN_THREAD);
			if (id <= UINT32_MAX && !reader->error)
				thread = vs_columns_predict_add_thread(predict, (uint32_t)id);
		}
	}
	if (thread == VS_COLUMNS_NONE)
		thread = fail(reader);
	vs_columns_predict_take_thread(predict, &now, thread);
	return now;
}

/* Returns the byte of the site, which stands behind that of the thread. */
INLINE uint32_t get_thread(struct vs_columns_reader *reader, struct vs_columns_now *now)
{
	uint32_t code = get_byte(reader, VS_COLUMN_SITE);
	bool is_told = code == VS_SITE_THREAD;

	if (__builtin_expect(is_told | (now->next_thread != now->thread->number), 0)) {
		*now = get_other_thread(reader, *now, is_told);
		return is_told ? get_byte(reader, VS_COLUMN_SITE) : code;
	}
	now->context = &reader->predict.contexts[now->thread->context];
	return code;
}

static uint64_t get_type_bit(uint32_t type)
{
	return (uint64_t)1 << (type < 63 ? type : 63);
}

/* Fields that a later version appended are passed over; there must not be fewer. */
static uint32_t get_new_site(struct vs_columns_reader *reader,
			     const struct vs_columns_thread *thread)
{
	struct vs_columns_predict *predict = &reader->predict;
	struct vs_columns_site site = {0};
	uint32_t nr_fields, newest, number;

	site.type = (uint8_t)get_byte(reader, VS_COLUMN_NEW_SITE);
	nr_fields = get_byte(reader, VS_COLUMN_NEW_SITE);
	site.nr_rows = (uint8_t)get_byte(reader, VS_COLUMN_NEW_SITE);
	newest = predict->newest_site[site.type];
	if (newest != VS_COLUMNS_NONE)
		memcpy(site.fields, predict->sites[newest].fields, sizeof(site.fields));
	for (uint32_t i = 0; i < nr_fields; i++) {
		uint64_t folded = get_varint(reader, VS_COLUMN_NEW_SITE);

		if (folded > UINT32_MAX)
			return fail(reader);
		if (i < VS_COLUMNS_FIELDS_MAX)
			site.fields[i] += (uint32_t)vs_wire_unfold_sign(folded);
	}
	if (site.type < VS_RECORD_ALLOC || nr_fields < vs_columns_fields_count_site(site.type) ||
	    site.nr_rows < vs_columns_fields_count_rows(site.type) ||
	    !vs_columns_fields_is_valid(site.type, site.fields) || reader->error)
		return fail(reader);
	reader->types |= get_type_bit(site.type);
	number = vs_columns_predict_add_site(predict, thread, &site);
	reader->sites_of_class[predict->sites[number].class][predict->sites[number].class_index] =
		(uint16_t)number;
	return number;
}

INLINE uint32_t get_known_site(struct vs_columns_reader *reader, uint32_t code)
{
	uint32_t class = (code - VS_SITE_KNOWN) % VS_NR_SITE_CLASSES;
	uint32_t index = (code - VS_SITE_KNOWN) / VS_NR_SITE_CLASSES << 8;

	if (code == VS_SITE_FAR) {
		class = get_byte(reader, VS_COLUMN_SITE_LOW);
		index = get_byte(reader, VS_COLUMN_SITE_LOW);
		index |= get_byte(reader, VS_COLUMN_SITE_LOW) << 8;
	} else {
		index |= get_byte(reader, VS_COLUMN_SITE_LOW);
	}
	if (class >= VS_NR_SITE_CLASSES || index >= reader->predict.nr_in_class[class])
		return fail(reader);
	return reader->sites_of_class[class][index];
}

/* Not what was expected, or nothing was. */
static NOINLINE uint32_t get_other_site(struct vs_columns_reader *reader,
					const struct vs_columns_thread *thread,
					struct vs_columns_context *context, uint32_t code)
{
	const struct vs_columns_now now = {.context = context};
	uint32_t site;

	if (code == VS_SITE_NEW)
		site = get_new_site(reader, thread);
	else if (code > VS_SITE_FAR || code == VS_SITE_EXPECTED)
		site = fail(reader);
	else
		site = get_known_site(reader, code);
	if (vs_columns_predict_get_site(&reader->predict, &now) != site)
		vs_columns_predict_expect_site(&reader->predict, &now, site);
	return site;
}

/* Returns its number. */
INLINE uint32_t get_site(struct vs_columns_reader *reader, struct vs_columns_now *now,
			 uint32_t code)
{
	uint32_t site = now->context->site;

	if ((code != VS_SITE_EXPECTED) | (now->context->generation != reader->predict.generation))
		site = get_other_site(reader, now->thread, now->context, code);
	vs_columns_predict_take_expected_site(&reader->predict, now, site);
	return site;
}

/* Units, of a time that is not told by its byte alone. */
static NOINLINE uint64_t get_long_time(struct vs_columns_reader *reader, uint32_t code)
{
	uint32_t shift;
	uint64_t delta, rest;

	if (code == VS_TIME_OTHER)
		return vs_wire_unfold_sign(get_varint(reader, VS_COLUMN_TIME_REST));
	shift = (code - VS_TIME_POWER) / 4 + VS_TIME_POWER_BITS - 2;
	rest = get_varint(reader, VS_COLUMN_TIME_REST);
	delta = ((uint64_t)(4 + code % 4) << shift) + rest;
	if (rest >> shift || delta >> VS_TIME_LAST_POWER > 1)
		fail(reader);
	return delta;
}

/* Twice the same but for what the compiler knows of a short time. */
INLINE void get_time(struct vs_columns_reader *reader, const struct vs_columns_now *now)
{
	uint32_t class = vs_columns_predict_get_time_class(now);
	uint32_t code = get_byte(reader, VS_COLUMN_TIME + class);

	if (__builtin_expect(code < VS_TIME_POWER, 1)) {
		vs_columns_predict_take_time(now, code);
		reader->time += code;
	} else {
		uint64_t delta = get_long_time(reader, code);

		vs_columns_predict_take_time(now, delta);
		reader->time += delta;
	}
}

INLINE uint32_t get_size(struct vs_columns_reader *reader, const struct vs_columns_now *now)
{
	struct vs_columns_predict *predict = &reader->predict;
	uint32_t code = get_byte(reader, VS_COLUMN_SIZE);
	uint32_t size;

	switch (code) {
	case VS_SIZE_OF_PLACE:
		size = vs_columns_predict_get_size_of_place(predict, now);
		break;
	case VS_SIZE_OF_SITE:
		size = vs_columns_predict_get_size_of_site(now);
		break;
	case VS_SIZE_NEW:
		return vs_columns_predict_add_size(predict, get_number(reader, &reader->sizes));
	default:
		return get_known(reader, code, VS_SIZE_KNOWN, VS_COLUMN_SIZE_LOW,
				 predict->nr_sizes);
	}
	return size == VS_COLUMNS_NONE ? fail(reader) : size;
}

/* *reused: the allocation that had the address, unless it is told otherwise. */
INLINE uint64_t get_address(struct vs_columns_reader *reader, const struct vs_columns_now *now,
			    uint32_t size, uint32_t *reused)
{
	struct vs_columns_predict *predict = &reader->predict;
	uint32_t code = get_byte(reader, VS_COLUMN_ADDRESS);

	*reused = VS_COLUMNS_NONE;
	switch (code) {
	case VS_ADDRESS_OF_PLACE:
		*reused = vs_columns_predict_get_alloc_of_place(predict, now);
		break;
	case VS_ADDRESS_FREED:
		*reused = vs_columns_predict_get_freed(predict, size);
		break;
	case VS_ADDRESS_BEHIND:
		return vs_columns_predict_get_behind(predict);
	case VS_ADDRESS_NEW:
		return get_number(reader, &reader->addresses);
	default:
		*reused = predict->nr_allocs - 1 -
			  get_known(reader, code, VS_ADDRESS_KNOWN, VS_COLUMN_ADDRESS_LOW,
				    predict->nr_allocs);
	}
	/* Also if there was no allocation yet: 0 - 1 - 0. */
	if (*reused == VS_COLUMNS_NONE)
		return fail(reader);
	return predict->allocs[*reused].address;
}

/* Of an allocation at a site of this number: *size, and what is returned is the address. */
INLINE uint64_t get_alloc(struct vs_columns_reader *reader, struct vs_columns_now *now,
			  uint32_t site, struct kin *kin, uint64_t *size, bool is_block)
{
	struct vs_columns_predict *predict = &reader->predict;
	uint32_t number, reused;
	uint64_t address;

	vs_columns_predict_take_place(predict, now, site);
	number = get_size(reader, now);
	vs_columns_predict_take_size(now, number);
	*size = predict->sizes[number].value;
	address = get_address(reader, now, number, &reused);
	*kin = (struct kin){(uint16_t)(predict->nr_allocs + 1), (uint16_t)(reused + 1)};
	vs_columns_predict_take_alloc_of(predict, now, number, address, reused, is_block);
	return address;
}

/* Of a free: what is returned is the address. */
INLINE uint64_t get_free(struct vs_columns_reader *reader, const struct vs_columns_now *now,
			 struct kin *kin)
{
	struct vs_columns_predict *predict = &reader->predict;
	uint32_t code = get_byte(reader, VS_COLUMN_FREE);
	uint32_t alloc, rank = now->context->rank;
	uint64_t address;

	if (code == VS_FREE_NEW) {
		address = get_number(reader, &reader->addresses);
		vs_columns_predict_take_address(now, address);
		return address;
	}
	if (code == VS_FREE_RANKED) {
		alloc = vs_columns_predict_get_ranked(predict, now);
	} else {
		alloc = predict->nr_allocs - 1 -
			get_known(reader, code, VS_FREE_KNOWN, VS_COLUMN_FREE_LOW,
				  predict->nr_allocs);
		rank = vs_columns_predict_get_rank(predict, (uint16_t)(alloc + 1));
	}
	/* Freeing it twice would tie its lists into knots. */
	if (alloc == VS_COLUMNS_NONE || predict->allocs[alloc].state != VS_COLUMNS_LIVE)
		return fail(reader);
	kin->before = (uint16_t)(alloc + 1);
	vs_columns_predict_take_free(predict, now, alloc, rank);
	return predict->allocs[alloc].address;
}

/* Returns what ROWS_MAX of them are. */
static NOINLINE const uint64_t *get_row(struct vs_columns_reader *reader,
					const struct vs_columns_site *site)
{
	uint64_t *row = reader->predict.rows[site - reader->predict.sites];

	for (uint32_t i = 0; i < site->nr_rows; i++) {
		uint64_t folded = get_varint(reader, VS_COLUMN_ROW);

		if (i < VS_COLUMNS_ROWS_MAX)
			row[i] += vs_wire_unfold_sign(folded);
	}
	return row;
}

/* Of a type that this version does not know: nothing behind time and thread. */
static void clear_fields(struct vs_record *event)
{
	size_t head = offsetof(struct vs_record, name);

	memset((uint8_t *)event + head, 0, sizeof(*event) - head);
}

INLINE void tell_head(const struct vs_columns_reader *reader,
		      const struct vs_columns_thread *thread, struct vs_record *event,
		      uint32_t type, struct kin kin)
{
	event->type = type;
	event->time_ns = reader->time * reader->time_unit_ns;
	event->thread = thread->id;
	event->birth = kin.birth;
	event->before = kin.before;
}

static NOINLINE bool get_other(struct vs_columns_reader *reader,
			       const struct vs_columns_thread *thread,
			       const struct vs_columns_site *site, struct vs_record *event)
{
	const uint64_t *row = get_row(reader, site);

	if (reader->error)
		return false;
	tell_head(reader, thread, event, site->type, (struct kin){0});
	if (!vs_columns_fields_set(event, site->type, site->fields, row, 0, 0))
		clear_fields(event);
	return true;
}

/* type: the site's. Inlined with one that the compiler knows, which has no row of its own. */
INLINE bool get_values(struct vs_columns_reader *reader, struct vs_columns_now *now, uint32_t site,
		       struct vs_record *event, uint32_t type)
{
	uint64_t address, size = 0;
	struct kin kin = {0};

	if (type == VS_RECORD_ALLOC || type == VS_RECORD_BLOCK_ALLOC)
		address = get_alloc(reader, now, site, &kin, &size, type == VS_RECORD_BLOCK_ALLOC);
	else
		address = get_free(reader, now, &kin);
	/* A later version's. */
	if (__builtin_expect(now->site->nr_rows, 0))
		(void)get_row(reader, now->site);
	if (__builtin_expect(reader->error, 0))
		return false;
	tell_head(reader, now->thread, event, type, kin);
	(void)vs_columns_fields_set(event, type, now->site->fields, NULL, address, size);
	return true;
}

/*
 * There is one left, and no error so far. now: that of the event before, and then of this one.
 * False: there is an error by now, and nothing is told.
 */
INLINE bool get_event(struct vs_columns_reader *reader, struct vs_columns_now *now,
		      struct vs_record *event)
{
	uint32_t code = get_thread(reader, now);
	uint32_t site = get_site(reader, now, code);

	get_time(reader, now);
	now->next_thread = now->site->next_thread;
	switch (now->site->type) {
	case VS_RECORD_ALLOC:
		return get_values(reader, now, site, event, VS_RECORD_ALLOC);
	case VS_RECORD_FREE:
		return get_values(reader, now, site, event, VS_RECORD_FREE);
	case VS_RECORD_BLOCK_ALLOC:
		return get_values(reader, now, site, event, VS_RECORD_BLOCK_ALLOC);
	case VS_RECORD_BLOCK_FREE:
		return get_values(reader, now, site, event, VS_RECORD_BLOCK_FREE);
	default:
		return get_other(reader, now->thread, now->site, event);
	}
}

static bool is_used_up(const struct planes *planes)
{
	return planes->next == planes->nr || !planes->width;
}

/* After the last event: a column with more to say was not made with it. */
static int check_end(struct vs_columns_reader *reader)
{
	for (uint32_t i = 0; i < VS_NR_COLUMNS; i++)
		if (vs_wire_left(&reader->columns[i]))
			fail(reader);
	if (!is_used_up(&reader->sizes) || !is_used_up(&reader->addresses))
		fail(reader);
	return reader->error;
}

int vs_columns_reader_next_some(struct vs_columns_reader *reader, struct vs_record *events,
				uint32_t most)
{
	struct vs_columns_now now;
	uint32_t nr = 0;

	if (reader->error)
		return reader->error;
	if (!reader->nr_left)
		return check_end(reader);
	if (most > reader->nr_left)
		most = reader->nr_left;
	now = vs_columns_predict_get_now(&reader->predict);
	while (nr < most && get_event(reader, &now, &events[nr]))
		nr++;
	reader->nr_left -= nr;
	return nr ? (int)nr : reader->error;
}

uint64_t vs_columns_reader_get_types(const struct vs_columns_reader *reader)
{
	return reader->types;
}

uint64_t vs_columns_reader_foretell_types(const struct vs_columns_reader *reader)
{
	struct vs_wire sites = reader->columns[VS_COLUMN_NEW_SITE];
	const uint8_t *head; /* get_new_site */
	uint64_t types = 0;

	while (vs_wire_left(&sites) && (head = vs_wire_get_bytes(&sites, 3))) {
		types |= get_type_bit(head[0]);
		for (uint32_t i = 0; i < head[1]; i++)
			vs_wire_get_varint(&sites);
	}
	return types;
}

/* ---- Blocks ------------------------------------------------------------------------------- */

/* The numbers are where they are needed; the column itself counts as read. */
static int begin_planes(struct planes *planes, struct vs_wire *column)
{
	const uint8_t *form;

	memset(planes, 0, sizeof(*planes));
	if (!vs_wire_left(column))
		return 0;
	planes->lowest = vs_wire_get_varint(column);
	form = vs_wire_get_bytes(column, 2);
	if (!form || form[0] > 63 || form[1] > 8)
		return -VS_ERR_CORRUPT;
	planes->shift = form[0];
	planes->width = form[1];
	planes->bytes = column->next;
	planes->nr = planes->width ? vs_wire_left(column) / planes->width : SIZE_MAX;
	if (planes->width && vs_wire_left(column) % planes->width)
		return -VS_ERR_CORRUPT;
	if (planes->width)
		column->next = column->end;
	return 0;
}

/*
 * The sizes of all columns stand in front of them. `room` for what is packed is limited by the
 * number of events, so that a few bytes cannot ask for much.
 */
static int begin_columns(struct vs_columns_reader *reader, struct vs_wire *in, uint64_t nr,
			 size_t room_size)
{
	struct vs_wire sizes = *in;
	uint8_t *room = reader->unpacked, *room_end = room + room_size;

	if (nr > NR_COLUMNS_MAX)
		return -VS_ERR_CORRUPT;
	for (uint64_t i = 0; i < 2 * nr; i++)
		vs_wire_get_varint(in);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t size = vs_wire_get_varint(&sizes);
		uint64_t stored = vs_wire_get_varint(&sizes);
		const uint8_t *bytes = vs_wire_get_bytes(in, stored);

		if (!bytes || stored > size)
			return -VS_ERR_CORRUPT;
		if (i >= VS_NR_COLUMNS)
			continue; /* of a later version */
		if (stored < size) {
			if (size > (uint64_t)(room_end - room) ||
			    vs_columns_pack_get(room, size, bytes, stored))
				return -VS_ERR_CORRUPT;
			bytes = room;
			room += size;
		}
		vs_wire_init(&reader->columns[i], bytes, size);
	}
	return in->error || vs_wire_left(in) ? -VS_ERR_CORRUPT : 0;
}

int vs_columns_reader_begin(struct vs_columns_reader *reader, const uint8_t *bytes, size_t size,
			    uint32_t nr)
{
	struct vs_wire in;
	uint64_t nr_columns;
	int err = -VS_ERR_CORRUPT;

	reader->error = -VS_ERR_CORRUPT; /* until it is clear that there is something to read */
	reader->nr_left = nr;
	reader->types = 0;
	for (uint32_t i = 0; i < VS_NR_COLUMNS; i++)
		vs_wire_init(&reader->columns[i], bytes, 0);
	vs_columns_predict_begin(&reader->predict);
	vs_wire_init(&in, bytes, size);
	if (size) {
		reader->time_unit_ns = vs_wire_get_varint(&in);
		reader->time = vs_wire_get_varint(&in);
		nr_columns = vs_wire_get_varint(&in);
		if (nr > VS_COLUMNS_MAX || !reader->time_unit_ns)
			return -VS_ERR_CORRUPT;
		err = begin_columns(reader, &in, nr_columns, (size_t)nr * VS_COLUMNS_EVENT_MAX);
	} else if (!nr) {
		err = 0;
	}
	if (!err)
		err = begin_planes(&reader->sizes, &reader->columns[VS_COLUMN_NEW_SIZE]);
	if (!err)
		err = begin_planes(&reader->addresses, &reader->columns[VS_COLUMN_NEW_ADDRESS]);
	reader->error = err;
	return err;
}

/* ---- Life --------------------------------------------------------------------------------- */

static size_t get_reader_size(void)
{
	return sizeof(struct vs_columns_reader) + vs_columns_bound();
}

int vs_columns_reader_create(struct vs_columns_reader **reader)
{
	/* Much is never touched, and costs nothing then. */
	void *made = mmap(NULL, get_reader_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	*reader = made;
	(*reader)->error = -VS_ERR_CORRUPT; /* no block yet */
	return 0;
}

void vs_columns_reader_destroy(struct vs_columns_reader *reader)
{
	if (reader)
		munmap(reader, get_reader_size());
}
