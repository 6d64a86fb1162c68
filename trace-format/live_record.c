#include "live_record.h"

#include <string.h>

#include "codec.h"

/* ---- The structures of record.h are what was promised ---------------------------------------- */

#define MEMBER(member)   (((struct vs_record *)0)->member)
#define ROUNDED_UP(size) (((size) + 7) / 8 * 8)

#define VS_LIVE_EVENT(NAME, member, size) \
	_Static_assert(ROUNDED_UP(sizeof(MEMBER(member))) == (size), "live_events.def: " #NAME);
#define VS_LIVE_FIELD(member, field, offset, type)                                   \
	_Static_assert(offsetof(struct vs_record, member.field) -                    \
					       offsetof(struct vs_record, member) == \
				       (offset) &&                                   \
			       sizeof(MEMBER(member.field)) == sizeof(type),         \
		       "live_events.def: " #member "." #field);
#include "live_events.def"
#undef VS_LIVE_EVENT
#undef VS_LIVE_FIELD

uint32_t vs_live_record_get_body_size(enum vs_record_type type)
{
	switch ((int)type) {
#define VS_LIVE_EVENT(NAME, member, size) \
	case VS_RECORD_##NAME:            \
		return size;
#define VS_LIVE_FIELD(member, field, offset, type)
#include "live_events.def"
#undef VS_LIVE_EVENT
#undef VS_LIVE_FIELD
	default:
		return 0;
	}
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Readers use these as indices. */
static bool is_sound(const struct vs_record *record)
{
	switch ((int)record->type) {
	case VS_RECORD_ALLOC:
		return (uint32_t)record->alloc.kind < VS_NR_MEMORY_KINDS;
	case VS_RECORD_FREE:
		return (uint32_t)record->free.kind < VS_NR_MEMORY_KINDS;
	case VS_RECORD_FREE_FAILED:
		return (uint32_t)record->free_failed.kind < VS_NR_MEMORY_KINDS;
	case VS_RECORD_ALLOC_FAILED:
		return (uint32_t)record->alloc_failed.kind < VS_NR_MEMORY_KINDS;
	case VS_RECORD_CONTEXT:
		return (uint32_t)record->context.change <= VS_CONTEXT_RESET;
	default:
		return true;
	}
}

static int get_event(const uint8_t *body, size_t size, struct vs_record *record)
{
	switch ((int)record->type) {
#define VS_LIVE_EVENT(NAME, member, body_size)                         \
	case VS_RECORD_##NAME:                                         \
		if (size < (body_size))                                \
			return -VS_ERR_CORRUPT;                        \
		memcpy(&record->member, body, sizeof(record->member)); \
		break;
#define VS_LIVE_FIELD(member, field, offset, type)
#include "live_events.def"
#undef VS_LIVE_EVENT
#undef VS_LIVE_FIELD
	case VS_RECORD_PHASE_POP:
		break;
	default:
		return vs_record_is_event(record->type) ? 0 : -VS_ERR_CORRUPT;
	}
	return is_sound(record) ? 1 : -VS_ERR_CORRUPT;
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* A row, as definitions are. */
static int get_encoded(const uint8_t *body, size_t size, struct vs_record *record,
		       uint64_t frames[VS_STACK_MAX])
{
	uint8_t type = (uint8_t)record->type;

	if (vs_codec_get_record(body, size, record, frames) < 0 || (uint8_t)record->type != type)
		return -VS_ERR_CORRUPT;
	switch (record->type) {
#define VS_RECORD(number, NAME, name) case VS_RECORD_##NAME:
#include "record.def"
#undef VS_RECORD
		return 1;
	}
	return 0;
}

int vs_live_record_get(const uint8_t *bytes, size_t size, uint32_t ring, struct vs_record *record,
		       uint64_t frames[VS_STACK_MAX])
{
	struct vs_record found = {0};
	struct vs_live_record head;
	int ret;

	if (size < sizeof(head))
		return -VS_ERR_CORRUPT;
	memcpy(&head, bytes, sizeof(head));
	bytes += sizeof(head);
	size -= sizeof(head);
	if (!head.type)
		return -VS_ERR_CORRUPT; /* zeros are what a lost page consists of */
	if (head.flags & ~VS_LIVE_ENCODED)
		return 0;
	found.type = (enum vs_record_type)head.type;
	if (head.flags & VS_LIVE_ENCODED)
		ret = get_encoded(bytes, size, &found, frames);
	else
		ret = get_event(bytes, size, &found);
	if (ret <= 0)
		return ret;
	found.time_ns = 0;
	found.thread = vs_record_is_event(found.type) ? ring : 0;
	*record = found;
	return 1;
}
