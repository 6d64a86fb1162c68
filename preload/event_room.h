#ifndef VS_EVENT_ROOM_H
#define VS_EVENT_ROOM_H

#include <string.h>

#include "record.h"
#include "thread.h"

/*
 * Room for records in the own ring. In a header because it is to be inlined, with sizes that the
 * compiler knows: nearly all events come by. The own thread, inside the recorder.
 */

static inline uint32_t vs_event_room_pad(uint32_t size)
{
	return (VS_LIVE_RECORD_HEAD + size + 7) & ~7u;
}

/* How often the log grows for one event: other threads may take what there is before this one. */
#define VS_EVENT_ROOM_NR_TRIES 64

/* The rare half of what follows: makes the log larger first. */
struct vs_live_record *vs_event_room_make(struct vs_thread_state *self, uint32_t size);

/* Room for a record of `size` bytes, stamped now, or NULL. */
static inline __attribute__((always_inline)) struct vs_live_record *vs_event_room_begin_record(
	struct vs_thread_state *self, uint32_t size)
{
	struct vs_live_record *record = vs_ring_begin(&self->ring, size);

	return __builtin_expect(record != NULL, 1) ? record : vs_event_room_make(self, size);
}

/*
 * An event, stamped now: room for its struct of record.h, or NULL. Inlined with a size that the
 * compiler knows.
 */
static inline __attribute__((always_inline)) void *vs_event_room_begin(struct vs_thread_state *self,
								       enum vs_record_type type,
								       uint32_t size)
{
	struct vs_live_record *record = vs_event_room_begin_record(self, vs_event_room_pad(size));

	if (__builtin_expect(!record, 0))
		return NULL;
	record->type = (uint8_t)type;
	record->flags = 0;
	return record + 1;
}

/* body: what vs_event_room_begin() returned, not NULL. */
static inline void vs_event_room_end(struct vs_thread_state *self, const void *body)
{
	vs_ring_end(&self->ring, (const struct vs_live_record *)body - 1);
}

static inline __attribute__((always_inline)) bool vs_event_room_put(struct vs_thread_state *self,
								    enum vs_record_type type,
								    const void *body, uint32_t size)
{
	void *room = vs_event_room_begin(self, type, size);

	if (__builtin_expect(!room, 0))
		return false;
	memcpy(room, body, size);
	vs_event_room_end(self, room);
	return true;
}

#endif
