#include "columns_bytes.h"

#include <string.h>
#include <sys/mman.h>

#include "columns_fields.h"
#include "columns_pack.h"
#include "columns_predict.h"
#include "populate.h"
#include "wire.h"

/* The compiler would call what is used for several types of events. */
#define INLINE static inline __attribute__((always_inline))

__extension__ typedef unsigned __int128 wide;

/*
 * Finds what was there before by its value: numbers of threads, sites, sizes, allocations. Twice as
 * many slots as there can be entries, so a search ends soon. A slot counts if its upper half is the
 * block's mark.
 */
#define SLOT_BITS 17
struct finder {
	uint32_t slots[1u << SLOT_BITS];
};

/* What a thread will have behind it: of some that share a place, the last one's. */
struct ahead {
	uint64_t address;
	uint64_t sites;
};

#define NR_AHEAD_THREADS 64u

struct vs_columns {
	uint32_t time_unit_ns;
	uint64_t reciprocal; /* of that, times 2^64, rounded up: get_delta() */
	uint64_t near_ns;    /* that it is exact for */
	uint32_t nr;
	uint32_t mark; /* of this block in the finders: 1 to 65535, in the upper half */
	uint64_t first_time;
	uint64_t floor_ns;              /* time of the event before, as the decoder will see it */
	uint32_t nr_unexpected;         /* sites, among the events that were added together */
	bool is_astray;                 /* it was many of them the last time */
	bool has_homes, has_site_homes; /* pages of what events and sites go all over */
	struct vs_columns_bytes *bytes; /* what becomes of the events */
	uint8_t *ends[VS_NR_COLUMNS];   /* of its columns so far */
	struct ahead ahead[NR_AHEAD_THREADS]; /* by a thread's id */
	struct finder threads_by_id, sites_by_fields, sizes_by_value, allocs_by_address;
	struct vs_columns_predict predict;
};

/* ---- Finding what was there before -------------------------------------------------------- */

/* The number that a slot holds; not is_number() if it is empty in this block. */
INLINE uint32_t get_slot(const struct vs_columns *columns, uint32_t slot)
{
	return slot ^ columns->mark;
}

INLINE bool is_number(uint32_t number)
{
	return number < VS_COLUMNS_MAX;
}

INLINE void set_slot(const struct vs_columns *columns, uint32_t *slot, uint32_t number)
{
	*slot = columns->mark | number;
}

/*
 * The slot of what `is_same` says is the same, or the empty one where it belongs. Inlined with the
 * function it is given.
 */
INLINE uint32_t *find_slot(struct vs_columns *columns, struct finder *finder, uint64_t key,
			   bool (*is_same)(const struct vs_columns *columns, uint32_t number,
					   const void *what),
			   const void *what)
{
	uint32_t at = vs_columns_predict_hash(key, SLOT_BITS);

	for (;; at = (at + 1) % (1u << SLOT_BITS)) {
		uint32_t number = get_slot(columns, finder->slots[at]);

		if (!is_number(number) || is_same(columns, number, what))
			return &finder->slots[at];
	}
}

INLINE bool is_same_thread(const struct vs_columns *columns, uint32_t number, const void *id)
{
	return columns->predict.threads[number].id == *(const uint32_t *)id;
}

/* type: the event's, which its inlined users know. */
struct at_site {
	const struct vs_record *event;
	const uint32_t *fields; /* the event's */
	uint32_t type;
	const uint32_t *hint; /* the number it may have; NULL */
};

/* Two at once: the compiler makes one load of them if they stand side by side. */
INLINE uint64_t get_pair(const uint32_t *fields)
{
	return fields[0] | (uint64_t)fields[1] << 32;
}

/*
 * Whether all differences that were put together are 0, by one comparison: which part of them is
 * not cannot be foreseen, and the compiler would make a branch of each.
 */
INLINE bool is_nothing(uint64_t differences)
{
	__asm__("" : "+r"(differences));
	return !differences;
}

INLINE uint64_t compare_site(const struct vs_columns *columns, uint32_t number,
			     const struct at_site *at)
{
	const struct vs_columns_site *site = &columns->predict.sites[number];

	/* Most fields, and they do stand side by side. */
	if (at->type == VS_RECORD_ALLOC)
		return (uint64_t)(site->type ^ at->type) |
		       (get_pair(site->fields) ^ get_pair(at->fields)) |
		       (get_pair(site->fields + 2) ^ get_pair(at->fields + 2)) |
		       (get_pair(site->fields + 4) ^ get_pair(at->fields + 4));
	return (site->type ^ at->type) |
	       vs_columns_fields_compare(site->fields, at->event, at->type);
}

INLINE bool is_same_site(const struct vs_columns *columns, uint32_t number, const void *at)
{
	return is_nothing(compare_site(columns, number, at));
}

INLINE bool is_same_size(const struct vs_columns *columns, uint32_t number, const void *value)
{
	return columns->predict.sizes[number].value == *(const uint64_t *)value;
}

struct address {
	uint64_t value;
	bool is_block; /* a pool's block often begins where its segment does */
};

INLINE bool is_same_address(const struct vs_columns *columns, uint32_t number, const void *what)
{
	const struct vs_columns_alloc *alloc = &columns->predict.allocs[number];
	const struct address *address = what;

	return alloc->address == address->value && alloc->is_block == address->is_block;
}

/* Looked for later, but the memory may take its time. */
INLINE void prefetch_alloc(const struct vs_columns *columns, uint64_t address)
{
	uint32_t at = vs_columns_predict_hash(address, SLOT_BITS);

	__builtin_prefetch(&columns->allocs_by_address.slots[at]);
}

/* Where the newest allocation with an address is or will be. */
INLINE uint32_t *find_alloc(struct vs_columns *columns, const struct address *address)
{
	return find_slot(columns, &columns->allocs_by_address, address->value, is_same_address,
			 address);
}

/* ---- Columns ------------------------------------------------------------------------------ */

INLINE void put_byte(struct vs_columns *columns, enum vs_column column, uint32_t byte)
{
	*columns->ends[column]++ = (uint8_t)byte;
}

static void put_varint(struct vs_columns *columns, enum vs_column column, uint64_t value)
{
	columns->ends[column] = vs_wire_put_varint(columns->ends[column], value);
}

/* A number of at most 16 bits in two columns: columns_layout.h. */
static void put_known(struct vs_columns *columns, enum vs_column column, enum vs_column low,
		      uint32_t first, uint32_t number)
{
	put_byte(columns, low, number & 0xff);
	if (__builtin_expect(first + (number >> 8) < 255, 1)) {
		put_byte(columns, column, first + (number >> 8));
		return;
	}
	put_byte(columns, column, 255); /* VS_SIZE_FAR, VS_ADDRESS_FAR, VS_FREE_FAR */
	put_byte(columns, low, number >> 8);
}

static void add_number(struct vs_columns_numbers *numbers, uint64_t value)
{
	numbers->values[numbers->nr++] = value;
}

/* Not the one that was expected. Returns its number. */
static __attribute__((noinline)) uint32_t put_other_thread(struct vs_columns *columns, uint32_t id)
{
	uint32_t *slot = find_slot(columns, &columns->threads_by_id, id, is_same_thread, &id);
	uint32_t thread = get_slot(columns, *slot);

	put_byte(columns, VS_COLUMN_SITE, VS_SITE_THREAD);
	if (is_number(thread)) {
		put_varint(columns, VS_COLUMN_THREAD, thread);
		return thread;
	}
	thread = vs_columns_predict_add_thread(&columns->predict, id);
	set_slot(columns, slot, thread);
	put_varint(columns, VS_COLUMN_THREAD, thread);
	put_varint(columns, VS_COLUMN_THREAD, id);
	return thread;
}

/*
 * now: that of the event before, or what vs_columns_predict_get_now() made. Mostly a thread goes
 * on, and that was expected: then nothing is to be noted.
 */
INLINE void put_thread(struct vs_columns *columns, struct vs_columns_now *now, uint32_t id)
{
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t thread = now->next_thread;

	if ((thread == now->thread->number) & (id == now->thread->id)) {
		now->context = &predict->contexts[now->thread->context];
		return;
	}
	if (thread == VS_COLUMNS_NONE || predict->threads[thread].id != id)
		thread = put_other_thread(columns, id);
	vs_columns_predict_take_thread(predict, now, thread);
}

static __attribute__((noinline)) uint32_t put_new_site(struct vs_columns *columns,
						       const struct vs_columns_thread *thread,
						       const struct vs_record *event, uint32_t type)
{
	static const uint32_t zeros[VS_COLUMNS_FIELDS_MAX];
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t newest = predict->newest_site[type];
	const uint32_t *before = newest == VS_COLUMNS_NONE ? zeros : predict->sites[newest].fields;
	uint32_t nr_fields = vs_columns_fields_count_site(type);
	struct vs_columns_values values;
	struct vs_columns_site site = {
		.type = (uint8_t)type,
		.nr_rows = (uint8_t)vs_columns_fields_count_rows(type),
	};

	/* Not handed over: for that, they would be stored with every event. */
	vs_columns_fields_get(&values, event, type);
	memcpy(site.fields, values.fields, sizeof(site.fields));
	put_byte(columns, VS_COLUMN_SITE, VS_SITE_NEW);
	put_byte(columns, VS_COLUMN_NEW_SITE, type);
	put_byte(columns, VS_COLUMN_NEW_SITE, nr_fields);
	put_byte(columns, VS_COLUMN_NEW_SITE, site.nr_rows);
	for (uint32_t i = 0; i < nr_fields; i++) {
		int32_t difference = (int32_t)(site.fields[i] - before[i]);

		put_varint(columns, VS_COLUMN_NEW_SITE,
			   (uint32_t)vs_wire_fold_sign((uint64_t)(int64_t)difference));
	}
	return vs_columns_predict_add_site(predict, thread, &site);
}

INLINE void put_known_site(struct vs_columns *columns, const struct vs_columns_site *site)
{
	uint32_t code = VS_SITE_KNOWN + site->class +
			VS_NR_SITE_CLASSES * ((uint32_t)site->class_index >> 8);

	if (code < VS_SITE_FAR) {
		put_byte(columns, VS_COLUMN_SITE, code);
		put_byte(columns, VS_COLUMN_SITE_LOW, site->class_index & 0xff);
	} else {
		put_byte(columns, VS_COLUMN_SITE, VS_SITE_FAR);
		put_byte(columns, VS_COLUMN_SITE_LOW, site->class);
		put_byte(columns, VS_COLUMN_SITE_LOW, site->class_index & 0xff);
		put_byte(columns, VS_COLUMN_SITE_LOW, site->class_index >> 8);
	}
}

/* The stack says most; the others only must not fall together with it. */
INLINE uint64_t hash_site(uint32_t type, const uint32_t *fields)
{
	return get_pair(fields) * 0x9e3779b97f4a7c15 + get_pair(fields + 2) * 0xe7037ed1a0b428db +
	       get_pair(fields + 4) * 0x8ebc6af09c88c6e3 + type;
}

/* 0: what was expected is of this block. */
INLINE uint32_t compare_generation(const struct vs_columns *columns,
				   const struct vs_columns_now *now)
{
	return now->context->generation ^ columns->predict.generation;
}

/* Not the one that was expected, nor one that was foreseen. */
INLINE uint32_t put_any_site(struct vs_columns *columns, const struct vs_columns_now *now,
			     const struct at_site *at)
{
	uint32_t *slot = find_slot(columns, &columns->sites_by_fields,
				   hash_site(at->type, at->fields), is_same_site, at);
	uint32_t number = get_slot(columns, *slot);

	columns->nr_unexpected++;
	if (is_number(number)) {
		put_known_site(columns, &columns->predict.sites[number]);
	} else {
		number = put_new_site(columns, now->thread, at->event, at->type);
		set_slot(columns, slot, number);
	}
	vs_columns_predict_expect_site(&columns->predict, now, number);
	return number;
}

/* One that is known to be right. */
INLINE void put_right_site(struct vs_columns *columns, const struct vs_columns_now *now,
			   uint32_t number)
{
	if (is_nothing(compare_generation(columns, now) | (now->context->site ^ number))) {
		put_byte(columns, VS_COLUMN_SITE, VS_SITE_EXPECTED);
		return;
	}
	columns->nr_unexpected++;
	put_known_site(columns, &columns->predict.sites[number]);
	vs_columns_predict_expect_site(&columns->predict, now, number);
}

/*
 * All fields are compared at once: which of them differs cannot be foreseen by the processor. Not
 * so what an earlier block has left, whose site may be far away; nor, with a hint, any site that is
 * only expected.
 */
INLINE void put_site(struct vs_columns *columns, struct vs_columns_now *now,
		     const struct at_site *at)
{
	uint32_t number = now->context->site;

	if (at->hint && is_number(*at->hint) && is_same_site(columns, *at->hint, at)) {
		number = *at->hint;
		put_right_site(columns, now, number);
	} else if (__builtin_expect(!compare_generation(columns, now) &&
					    is_same_site(columns, number, at),
				    1)) {
		put_byte(columns, VS_COLUMN_SITE, VS_SITE_EXPECTED);
	} else {
		number = put_any_site(columns, now, at);
	}
	/* A prefetch is never left out: for frees it would be for nothing. */
	if (vs_columns_layout_get_class(at->type) == VS_SITE_ALLOC ||
	    vs_columns_layout_get_class(at->type) == VS_SITE_BLOCK_ALLOC)
		vs_columns_predict_take_place(&columns->predict, now, number);
	vs_columns_predict_take_expected_site(&columns->predict, now, number);
}

/* Units since the event before; a step backwards is a negative number modulo 2^64. */
INLINE uint64_t get_delta(struct vs_columns *columns, uint64_t time_ns)
{
	uint64_t unit = columns->time_unit_ns;
	uint64_t passed = time_ns - columns->floor_ns;
	uint64_t delta;

	/* Several times faster than a division. */
	if (__builtin_expect(passed <= columns->near_ns && time_ns >= columns->floor_ns, 1))
		delta = (uint64_t)((wide)passed * columns->reciprocal >> 64);
	else if (time_ns < columns->floor_ns)
		delta = time_ns / unit - columns->floor_ns / unit;
	else
		delta = passed / unit;
	columns->floor_ns += delta * unit;
	return delta;
}

/* The byte of a time that is not told by it alone. */
static __attribute__((noinline)) uint8_t put_long_time(struct vs_columns *columns, uint64_t delta)
{
	uint32_t power = 63 - (uint32_t)__builtin_clzll(delta);

	if (delta >> VS_TIME_LAST_POWER > 1) {
		put_varint(columns, VS_COLUMN_TIME_REST, vs_wire_fold_sign(delta));
		return VS_TIME_OTHER;
	}
	put_varint(columns, VS_COLUMN_TIME_REST, delta & ((1ull << (power - 2)) - 1));
	return (uint8_t)(VS_TIME_POWER + 4 * (power - VS_TIME_POWER_BITS) +
			 (delta >> (power - 2) & 3));
}

/* Twice the same but for what the compiler knows of a short time. */
INLINE void put_time(struct vs_columns *columns, const struct vs_columns_now *now, uint64_t time_ns)
{
	uint64_t delta = get_delta(columns, time_ns);

	columns->bytes->time_classes[columns->nr] = (uint8_t)vs_columns_predict_get_time_class(now);
	if (delta < VS_TIME_POWER) {
		columns->bytes->times[columns->nr] = (uint8_t)delta;
		vs_columns_predict_take_time(now, delta);
	} else {
		columns->bytes->times[columns->nr] = put_long_time(columns, delta);
		vs_columns_predict_take_time(now, delta);
	}
}

/*
 * What an earlier block has left is compared as well: there is an answer for every number, and
 * sizes are near. Allocations are not: put_address().
 */
INLINE uint32_t put_size(struct vs_columns *columns, const struct vs_columns_now *now,
			 uint64_t value)
{
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t of_place = now->place->size, of_site = now->site->size;
	bool is_of_place = vs_columns_predict_has_place(predict, now) &
			   (predict->sizes[of_place].value == value);
	bool is_of_site = now->site->has_size & (predict->sizes[of_site].value == value);
	uint32_t size;
	uint32_t *slot;

	if (is_of_place | is_of_site) {
		put_byte(columns, VS_COLUMN_SIZE, is_of_place ? VS_SIZE_OF_PLACE : VS_SIZE_OF_SITE);
		return is_of_place ? of_place : of_site;
	}
	slot = find_slot(columns, &columns->sizes_by_value, value, is_same_size, &value);
	size = get_slot(columns, *slot);
	if (is_number(size)) {
		put_known(columns, VS_COLUMN_SIZE, VS_COLUMN_SIZE_LOW, VS_SIZE_KNOWN, size);
	} else {
		put_byte(columns, VS_COLUMN_SIZE, VS_SIZE_NEW);
		add_number(&columns->bytes->sizes, value);
		size = vs_columns_predict_add_size(predict, value);
		set_slot(columns, slot, size);
	}
	return size;
}

INLINE bool has_address(const struct vs_columns *columns, uint32_t alloc, uint64_t address)
{
	return alloc != VS_COLUMNS_NONE && columns->predict.allocs[alloc].address == address;
}

/* Returns the allocation that had it before, if that is how it is told. */
INLINE uint32_t put_address(struct vs_columns *columns, const struct vs_columns_now *now,
			    uint32_t size, uint64_t address, uint32_t newest)
{
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t of_place = now->place->alloc;
	uint32_t freed;

	if (vs_columns_predict_has_place(predict, now) &&
	    predict->allocs[of_place].address == address) {
		put_byte(columns, VS_COLUMN_ADDRESS, VS_ADDRESS_OF_PLACE);
		return of_place;
	}
	freed = vs_columns_predict_get_freed(predict, size);
	if (has_address(columns, freed, address)) {
		put_byte(columns, VS_COLUMN_ADDRESS, VS_ADDRESS_FREED);
		return freed;
	}
	if (vs_columns_predict_get_behind(predict) == address) {
		put_byte(columns, VS_COLUMN_ADDRESS, VS_ADDRESS_BEHIND);
		return VS_COLUMNS_NONE;
	}
	if (!is_number(newest)) {
		put_byte(columns, VS_COLUMN_ADDRESS, VS_ADDRESS_NEW);
		add_number(&columns->bytes->addresses, address);
		return VS_COLUMNS_NONE;
	}
	put_known(columns, VS_COLUMN_ADDRESS, VS_COLUMN_ADDRESS_LOW, VS_ADDRESS_KNOWN,
		  predict->nr_allocs - 1 - newest);
	return newest;
}

INLINE void put_alloc(struct vs_columns *columns, const struct vs_columns_now *now, uint64_t value,
		      const struct address *address)
{
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t *slot = find_alloc(columns, address);
	uint32_t size, reused;

	size = put_size(columns, now, value);
	vs_columns_predict_take_size(now, size);
	reused = put_address(columns, now, size, address->value, get_slot(columns, *slot));
	set_slot(columns, slot, predict->nr_allocs);
	vs_columns_predict_take_alloc_of(predict, now, size, address->value, reused,
					 address->is_block);
}

INLINE void put_free(struct vs_columns *columns, const struct vs_columns_now *now,
		     const struct address *address)
{
	struct vs_columns_predict *predict = &columns->predict;
	uint32_t alloc = get_slot(columns, *find_alloc(columns, address));
	uint32_t rank = now->context->rank;

	if (!is_number(alloc) || predict->allocs[alloc].state != VS_COLUMNS_LIVE) {
		put_byte(columns, VS_COLUMN_FREE, VS_FREE_NEW);
		add_number(&columns->bytes->addresses, address->value);
		vs_columns_predict_take_address(now, address->value);
		return;
	}
	if (vs_columns_predict_get_ranked(predict, now) == alloc) {
		put_byte(columns, VS_COLUMN_FREE, VS_FREE_RANKED);
	} else {
		put_known(columns, VS_COLUMN_FREE, VS_COLUMN_FREE_LOW, VS_FREE_KNOWN,
			  predict->nr_allocs - 1 - alloc);
		rank = vs_columns_predict_get_rank(predict, (uint16_t)(alloc + 1));
	}
	vs_columns_predict_take_free(predict, now, alloc, rank);
}

static void put_row(struct vs_columns *columns, const struct vs_columns_site *site,
		    const uint64_t *row)
{
	uint64_t *before = columns->predict.rows[site - columns->predict.sites];

	for (uint32_t i = 0; i < site->nr_rows; i++) {
		put_varint(columns, VS_COLUMN_ROW, vs_wire_fold_sign(row[i] - before[i]));
		before[i] = row[i];
	}
}

/*
 * type: the event's. Inlined with one that the compiler knows. now: of the event before, and then
 * of this one.
 */
INLINE void add_event(struct vs_columns *columns, struct vs_columns_now *now,
		      const struct vs_record *event, uint32_t type, const uint32_t *hint)
{
	struct vs_columns_values values;
	struct at_site at = {event, values.fields, type, hint};
	struct address address;

	vs_columns_fields_get(&values, event, type);
	if (vs_columns_layout_get_class(type) != VS_SITE_OTHER)
		prefetch_alloc(columns, values.address);
	put_thread(columns, now, event->thread);
	put_site(columns, now, &at);
	put_time(columns, now, event->time_ns);
	switch (vs_columns_layout_get_class(type)) {
	case VS_SITE_ALLOC:
	case VS_SITE_BLOCK_ALLOC:
		address.value = values.address;
		address.is_block = type == VS_RECORD_BLOCK_ALLOC;
		put_alloc(columns, now, values.size, &address);
		break;
	case VS_SITE_FREE:
	case VS_SITE_BLOCK_FREE:
		address.value = values.address;
		address.is_block = type == VS_RECORD_BLOCK_FREE;
		put_free(columns, now, &address);
		break;
	default:
		put_row(columns, now->site, values.rows);
	}
	now->next_thread = now->site->next_thread;
	columns->nr++;
}

/* ---- Looking ahead ------------------------------------------------------------------------ */

/*
 * Where sites are not what is expected, most of the time goes into waiting for memory: for the slot
 * of the site, the site, its place, the context behind it, the slot of the address, the allocation.
 * So the next events' are asked for before their turn, in two rounds: where the others lie is known
 * when the slots have come. Whatever is foreseen here, the same bytes come out.
 */
#define NR_AHEAD  32u
#define MIN_AHEAD 4u

/* With fewer sites, all that belongs to them is near. */
#define MIN_SITES_AHEAD 2048u

struct hints {
	uint32_t sites[NR_AHEAD];  /* first the slot, then the number that it holds */
	uint32_t allocs[NR_AHEAD]; /* the slot */
	uint64_t addresses[NR_AHEAD];
};

/* Nearly all events are of four types. do_it(..., type) with one that the compiler knows. */
#define FOR_TYPE(type, do_it, do_other)       \
	switch (type) {                       \
	case VS_RECORD_ALLOC:                 \
		do_it(VS_RECORD_ALLOC);       \
		break;                        \
	case VS_RECORD_FREE:                  \
		do_it(VS_RECORD_FREE);        \
		break;                        \
	case VS_RECORD_BLOCK_ALLOC:           \
		do_it(VS_RECORD_BLOCK_ALLOC); \
		break;                        \
	case VS_RECORD_BLOCK_FREE:            \
		do_it(VS_RECORD_BLOCK_FREE);  \
		break;                        \
	default:                              \
		do_other(type);               \
	}

INLINE void expect_slots(const struct vs_columns *columns, const struct vs_record *event,
			 uint32_t type, struct hints *hints, uint32_t i)
{
	struct vs_columns_values values;

	vs_columns_fields_get(&values, event, type);
	hints->sites[i] = vs_columns_predict_hash(hash_site(type, values.fields), SLOT_BITS);
	hints->allocs[i] = vs_columns_predict_hash(values.address, SLOT_BITS);
	hints->addresses[i] = values.address;
	__builtin_prefetch(&columns->sites_by_fields.slots[hints->sites[i]]);
	__builtin_prefetch(&columns->allocs_by_address.slots[hints->allocs[i]]);
}

/* Any slots will do. */
INLINE void expect_nothing(struct hints *hints, uint32_t i)
{
	hints->sites[i] = 0;
	hints->allocs[i] = 0;
	hints->addresses[i] = 0;
}

/* No matter which type it is: that could not be foreseen. */
INLINE void expect_rest(struct vs_columns *columns, uint32_t thread_id, struct hints *hints,
			uint32_t i)
{
	const struct vs_columns_predict *predict = &columns->predict;
	uint32_t site = get_slot(columns, columns->sites_by_fields.slots[hints->sites[i]]);
	uint32_t alloc = get_slot(columns, columns->allocs_by_address.slots[hints->allocs[i]]);
	struct ahead *thread = &columns->ahead[thread_id % NR_AHEAD_THREADS];
	uint64_t key = thread->address ^ (uint64_t)site << 48;

	hints->sites[i] = site;
	thread->address = hints->addresses[i];
	thread->sites = (thread->sites << 16 | (site & 0xffff)) & 0xffffffffffff;
	/* Of a slot that is empty, any will do. A site may lie in two lines. */
	__builtin_prefetch(&predict->allocs[alloc % VS_COLUMNS_MAX]);
	__builtin_prefetch(&predict->sites[site % VS_COLUMNS_MAX]);
	__builtin_prefetch(&predict->sites[site % VS_COLUMNS_MAX].class_index);
	__builtin_prefetch(&predict->places[vs_columns_predict_hash(key, VS_COLUMNS_PLACE_BITS)]);
	__builtin_prefetch(&predict->contexts[vs_columns_predict_hash(thread->sites,
								      VS_COLUMNS_CONTEXT_BITS)]);
}

static void look_ahead(struct vs_columns *columns, const struct vs_record *events, uint32_t nr,
		       struct hints *hints)
{
	for (uint32_t i = 0; i < nr; i++) {
#define EXPECT_SLOTS(type)   expect_slots(columns, &events[i], type, hints, i)
#define EXPECT_NOTHING(type) expect_nothing(hints, i)
		FOR_TYPE(events[i].type, EXPECT_SLOTS, EXPECT_NOTHING)
	}
	for (uint32_t i = 0; i < nr; i++)
		expect_rest(columns, events[i].thread, hints, i);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* hints: NULL, or look_ahead()'s. Inlined with what the compiler knows of that. */
INLINE void add_all(struct vs_columns *columns, const struct vs_record *events, uint32_t nr,
		    const struct hints *hints)
{
	struct vs_columns_now now = vs_columns_predict_get_now(&columns->predict);

	for (const struct vs_record *event = events; event < events + nr; event++) {
		const uint32_t *hint = hints ? &hints->sites[event - events] : NULL;

#define ADD_EVENT(type) add_event(columns, &now, event, type, hint)
		FOR_TYPE(event->type, ADD_EVENT, ADD_EVENT)
	}
}

static __attribute__((noinline)) void add_foreseen(struct vs_columns *columns,
						   const struct vs_record *events, uint32_t nr)
{
	struct hints hints;

	look_ahead(columns, events, nr, &hints);
	add_all(columns, events, nr, &hints);
}

/* At most NR_AHEAD. */
INLINE void add_together(struct vs_columns *columns, const struct vs_record *events, uint32_t nr)
{
	columns->nr_unexpected = 0;
	if (columns->is_astray && nr >= MIN_AHEAD)
		add_foreseen(columns, events, nr);
	else
		add_all(columns, events, nr, NULL);
	if (nr >= MIN_AHEAD)
		columns->is_astray = columns->nr_unexpected > nr / 4 &&
				     columns->predict.nr_sites >= MIN_SITES_AHEAD;
}

/*
 * What is found by a hash goes all over its table: with so many events, or sites, it has nearly a
 * half of the pages, got them one by one, and will soon need the rest.
 */
#define MANY_EVENTS 256u
#define MANY_SITES  64u

static __attribute__((noinline)) void settle_events(struct vs_columns *columns)
{
	vs_populate(&columns->allocs_by_address, sizeof(columns->allocs_by_address));
	vs_populate(columns->predict.contexts, sizeof(columns->predict.contexts));
	vs_populate(columns->predict.places, sizeof(columns->predict.places));
	columns->has_homes = true;
}

static __attribute__((noinline)) void settle_sites(struct vs_columns *columns)
{
	vs_populate(&columns->sites_by_fields, sizeof(columns->sites_by_fields));
	columns->has_site_homes = true;
}

void vs_columns_add_some(struct vs_columns *columns, const struct vs_record *events, uint32_t nr)
{
	if (!columns->has_homes && columns->nr >= MANY_EVENTS)
		settle_events(columns);
	if (!columns->has_site_homes && columns->predict.nr_sites >= MANY_SITES)
		settle_sites(columns);
	if (!columns->nr && nr) {
		columns->first_time = events->time_ns / columns->time_unit_ns;
		columns->floor_ns = columns->first_time * columns->time_unit_ns;
	}
	for (uint32_t i = 0; i < nr; i += NR_AHEAD)
		add_together(columns, events + i, nr - i < NR_AHEAD ? nr - i : NR_AHEAD);
}

/* ---- Blocks ------------------------------------------------------------------------------- */

static void begin_block(struct vs_columns *columns)
{
	columns->nr = 0;
	columns->bytes->sizes.nr = 0;
	columns->bytes->addresses.nr = 0;
	if (columns->mark == (uint32_t)UINT16_MAX << 16) {
		columns->mark = 0;
		memset(&columns->threads_by_id, 0, sizeof(columns->threads_by_id));
		memset(&columns->sites_by_fields, 0, sizeof(columns->sites_by_fields));
		memset(&columns->sizes_by_value, 0, sizeof(columns->sizes_by_value));
		memset(&columns->allocs_by_address, 0, sizeof(columns->allocs_by_address));
	}
	columns->mark += 1u << 16;
	for (uint32_t i = 0; i < VS_NR_COLUMNS; i++)
		columns->ends[i] = vs_columns_bytes_of(columns->bytes, (enum vs_column)i);
	vs_columns_predict_begin(&columns->predict);
}

static void end_block(struct vs_columns *columns)
{
	struct vs_columns_bytes *bytes = columns->bytes;

	bytes->time_unit_ns = columns->time_unit_ns;
	bytes->first_time = columns->first_time;
	bytes->nr = columns->nr;
	memcpy(bytes->ends, columns->ends, sizeof(bytes->ends));
}

struct vs_columns_bytes *vs_columns_exchange(struct vs_columns *columns,
					     struct vs_columns_bytes *other)
{
	struct vs_columns_bytes *bytes = columns->bytes;

	end_block(columns);
	columns->bytes = other;
	begin_block(columns);
	return bytes;
}

size_t vs_columns_finish(struct vs_columns *columns, uint8_t *out)
{
	size_t size;

	if (!columns->nr)
		return 0;
	end_block(columns);
	size = vs_columns_bytes_put(columns->bytes, out);
	begin_block(columns);
	return size;
}

const struct vs_byte_texture_part *vs_columns_get_parts(const struct vs_columns *columns,
							uint32_t *nr)
{
	return vs_columns_bytes_get_parts(columns->bytes, nr);
}

/* ---- Life --------------------------------------------------------------------------------- */

int vs_columns_create(struct vs_columns **columns, uint32_t time_unit_ns)
{
	struct vs_columns *made;

	if (!time_unit_ns)
		return -VS_ERR_INVALID;
	/* Much is never touched, and costs nothing then. */
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (made == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	if (vs_columns_bytes_create(&made->bytes)) {
		munmap(made, sizeof(*made));
		return -VS_ERR_NO_MEMORY;
	}
	made->time_unit_ns = time_unit_ns;
	made->reciprocal =
		UINT64_MAX / time_unit_ns + 1; /* 0 for a unit of 1, and right for 0 ns */
	made->near_ns = time_unit_ns > 1 ? UINT32_MAX : 0;
	begin_block(made);
	*columns = made;
	return 0;
}

void vs_columns_destroy(struct vs_columns *columns)
{
	if (!columns)
		return;
	vs_columns_bytes_destroy(columns->bytes);
	munmap(columns, sizeof(*columns));
}

uint32_t vs_columns_get_nr(const struct vs_columns *columns)
{
	return columns->nr;
}

bool vs_columns_is_full(const struct vs_columns *columns)
{
	return columns->nr == VS_COLUMNS_MAX;
}
