#include "event_room.h"

#include "hot.h"
#include "session.h"

/* How often the log grows for one event. */
#define NR_TRIES 4

VS_COLD struct vs_live_record *vs_event_room_make(struct vs_thread_state *self, uint32_t size)
{
	struct vs_live_record *record = NULL;

	/* Other threads may take what there is before we do. */
	for (int i = 0; i < NR_TRIES && !record && vs_session_make_room(); i++)
		record = vs_ring_begin(&self->ring, size);
	return record;
}
