#ifndef VS_COLUMNS_FIELDS_H
#define VS_COLUMNS_FIELDS_H

/*
 * An event as the numbers that columns consist of, and back: both expanded from columns_fields.def.
 * Any thread.
 */
#include <stdbool.h>
#include <string.h>

#include "record.h"

/* No event has more. */
#define VS_COLUMNS_FIELDS_MAX 6
#define VS_COLUMNS_ROWS_MAX   4

struct vs_columns_values {
	uint32_t fields[VS_COLUMNS_FIELDS_MAX]; /* of the site; the rest is 0 */
	uint64_t rows[VS_COLUMNS_ROWS_MAX];     /* the rest is undefined, as are these: */
	uint64_t address, size;                 /* if the event has none */
};

/* How many fields the site of an event has; and its row. 0 for a type that is not known. */
uint32_t vs_columns_fields_count_site(uint32_t type);
uint32_t vs_columns_fields_count_rows(uint32_t type);

/* False: a field of a site is out of its range. */
bool vs_columns_fields_is_valid(uint32_t type, const uint32_t fields[VS_COLUMNS_FIELDS_MAX]);

/* type: the event's. Inlined with one that the compiler knows, it is a few loads. */
static inline void vs_columns_fields_get(struct vs_columns_values *values,
					 const struct vs_record *event, uint32_t type)
{
	uint32_t *field = values->fields;
	uint64_t *row = values->rows;

	/* One by one: what memset() clears stays in memory, and need not be there. */
	_Static_assert(VS_COLUMNS_FIELDS_MAX == 6, "as many as here");
	values->fields[0] = values->fields[1] = values->fields[2] = 0;
	values->fields[3] = values->fields[4] = values->fields[5] = 0;
	switch (type) {
#define VS_COLUMNS_BEGIN(NAME)        case VS_RECORD_##NAME:
#define VS_SITE(member)               *field++ = event->member;
#define VS_SITE_CHOICE(member, limit) *field++ = (uint32_t)event->member;
#define VS_ROW(member)                *row++ = event->member;
#define VS_ADDRESS(member)            values->address = event->member;
#define VS_SIZE(member)               values->size = event->member;
#define VS_COLUMNS_END                break;
#include "columns_fields.def"
#undef VS_COLUMNS_BEGIN
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
#undef VS_ADDRESS
#undef VS_SIZE
#undef VS_COLUMNS_END
	default:
		break;
	}
	/* The last ones of their kind are stored and moved for nothing. */
	(void)field;
	(void)row;
}

/* What of its site the event has in another way than `field`; 0: nothing. type: as above. */
static inline uint32_t vs_columns_fields_compare(const uint32_t *field,
						 const struct vs_record *event, uint32_t type)
{
	uint32_t difference = 0;

	switch (type) {
#define VS_COLUMNS_BEGIN(NAME)        case VS_RECORD_##NAME:
#define VS_SITE(member)               difference |= *field++ ^ event->member;
#define VS_SITE_CHOICE(member, limit) difference |= *field++ ^ (uint32_t)event->member;
#define VS_ROW(member)
#define VS_ADDRESS(member)
#define VS_SIZE(member)
#define VS_COLUMNS_END break;
#include "columns_fields.def"
#undef VS_COLUMNS_BEGIN
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
#undef VS_ADDRESS
#undef VS_SIZE
#undef VS_COLUMNS_END
	default:
		break;
	}
	(void)field;
	return difference;
}

/* Fills in what comes after the thread. False: not a type that is known. type: as above. */
static inline bool vs_columns_fields_set(struct vs_record *event, uint32_t type,
					 const uint32_t *field, const uint64_t *row,
					 uint64_t address, uint64_t size)
{
	switch (type) {
#define VS_COLUMNS_BEGIN(NAME)        case VS_RECORD_##NAME:
#define VS_SITE(member)               event->member = *field++;
#define VS_SITE_CHOICE(member, limit) event->member = *field++;
#define VS_ROW(member)                event->member = *row++;
#define VS_ADDRESS(value)             event->value = address;
#define VS_SIZE(value)                event->value = size;
#define VS_COLUMNS_END                return true;
#include "columns_fields.def"
#undef VS_COLUMNS_BEGIN
#undef VS_SITE
#undef VS_SITE_CHOICE
#undef VS_ROW
#undef VS_ADDRESS
#undef VS_SIZE
#undef VS_COLUMNS_END
	default:
		return false;
	}
}

#endif
