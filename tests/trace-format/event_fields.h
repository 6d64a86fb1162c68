#ifndef VS_EVENT_FIELDS_H
#define VS_EVENT_FIELDS_H

/*
 * Events field by field, by the list of the rows' encoding (record_fields.def), which the columns
 * do not use: what tests fill in and compare is not what is tested.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "record.h"

/* Any number, for the next field. */
typedef uint64_t (*vs_event_fields_draw)(void *source);

static inline void vs_event_fields_fill(struct vs_record *event, enum vs_record_type type,
					vs_event_fields_draw draw, void *source)
{
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->time_ns = draw(source);
	event->thread = (uint32_t)draw(source);
	switch (type) {
#define FILL_u32(member)    event->member = (uint32_t)draw(source);
#define FILL_u64(member)    event->member = draw(source);
#define FILL_device(member) event->member = (uint32_t)draw(source);
#define FILL_kind(member)   event->member = draw(source) % VS_NR_MEMORY_KINDS;
#define FILL_change(member) event->member = draw(source) % (VS_CONTEXT_RESET + 1);
#define FILL_owner(member)  /* from here on of definitions alone */
#define FILL_flag(member)
#define FILL_text(member)
#define FILL_short_text(member)
#define FILL_uuid(member)
#define FILL_build_id(member)
#define FILL_frames(member)
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) FILL_##how(member)
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
#undef FILL_u32
#undef FILL_u64
#undef FILL_device
#undef FILL_kind
#undef FILL_change
	}
}

/* The same but for the time. */
static inline bool vs_event_fields_is_same(const struct vs_record *a, const struct vs_record *b)
{
	bool is_same = a->type == b->type && a->thread == b->thread;

	switch (a->type) {
#define SAME_u32(member)    is_same = is_same && a->member == b->member;
#define SAME_u64(member)    is_same = is_same && a->member == b->member;
#define SAME_device(member) is_same = is_same && a->member == b->member;
#define SAME_kind(member)   is_same = is_same && a->member == b->member;
#define SAME_change(member) is_same = is_same && a->member == b->member;
#define SAME_owner(member)
#define SAME_flag(member)
#define SAME_text(member)
#define SAME_short_text(member)
#define SAME_uuid(member)
#define SAME_build_id(member)
#define SAME_frames(member)
#define VS_FIELDS_BEGIN(NAME) case VS_RECORD_##NAME:
#define VS_FIELD(how, member) SAME_##how(member)
#define VS_FIELDS_END         break;
#include "record_fields.def"
#undef VS_FIELDS_BEGIN
#undef VS_FIELD
#undef VS_FIELDS_END
	}
	return is_same;
}

#endif
