#include "event_room.h"

#include "hot.h"
#include "session.h"

VS_COLD struct vs_live_record *vs_event_room_make(struct vs_thread_state *self, uint32_t size)
{
	struct vs_live_record *record = NULL;

	for (int i = 0; i < VS_EVENT_ROOM_NR_TRIES && !record && vs_session_make_room(); i++)
		record = vs_ring_begin(&self->ring, size);
	return record;
}
