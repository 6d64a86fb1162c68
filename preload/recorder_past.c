#include "recorder_past.h"

#include <string.h>

#include "event_room.h"
#include "lifecycle.h"
#include "phases.h"
#include "ranges.h"
#include "recorder_define.h"

/*
 * An event with the time it had. Ticks ascend in a ring, so definitions in front of it are of then,
 * too. The drain may be past that time: then the event gets the time of the one before it. Returns
 * how many are lost.
 */
static uint32_t put(struct vs_thread_state *self, enum vs_record_type type, const void *body,
		    uint32_t size)
{
	struct vs_live_record *record = vs_event_room_begin_record(self, vs_event_room_pad(size));

	if (!record)
		return 1;
	record->type = (uint8_t)type;
	record->flags = 0;
	record->ticks = self->past;
	memcpy(record + 1, body, size);
	vs_ring_end(&self->ring, record);
	return 0;
}

static uint32_t say_note(struct vs_thread_state *self, const struct vs_phase_note *note)
{
	struct vs_step step = {.number = note->value};
	struct vs_mark mark;

	self->past = vs_clock_instant_ticks(&note->at);
	if (note->is_step)
		return put(self, VS_RECORD_STEP, &step, sizeof(step));
	mark.name = (uint32_t)note->value;
	vs_recorder_define_name(self, mark.name);
	return put(self, VS_RECORD_MARK, &mark, sizeof(mark));
}

static uint32_t say_open(struct vs_thread_state *self, const struct vs_open_phase *phase)
{
	struct vs_phase_push push;

	self->past = vs_clock_instant_ticks(&phase->at);
	push.name = phase->name;
	vs_recorder_define_name(self, push.name);
	return put(self, VS_RECORD_PHASE_PUSH, &push, sizeof(push));
}

/* Ranges are everybody's: whoever comes first says them. */
static uint32_t say_ranges(struct vs_thread_state *self)
{
	struct vs_range_start start;
	struct vs_clock_instant at;
	uint32_t nr_lost = 0;

	while (vs_ranges_take(&start.id, &start.name, &at)) {
		if (vs_clock_instant_ticks(&at) > self->past)
			self->past = vs_clock_instant_ticks(&at);
		vs_recorder_define_name(self, start.name);
		nr_lost += put(self, VS_RECORD_RANGE_START, &start, sizeof(start));
	}
	return nr_lost;
}

uint32_t vs_recorder_past_say(struct vs_thread_state *self)
{
	const struct vs_phases *phases = &self->scratch->phases;
	uint32_t phase = 0, note = 0, nr_lost = 0;
	bool is_note;

	while (vs_phases_next(phases, &phase, &note, &is_note))
		nr_lost += is_note ? say_note(self, &phases->notes[note - 1])
				   : say_open(self, &phases->open[phase - 1]);
	nr_lost += say_ranges(self);
	self->scratch->phases.nr_notes = 0;
	self->past = 0;
	return nr_lost;
}

uint64_t vs_recorder_past_get_first(struct vs_thread_state *self)
{
	struct vs_phases *phases = &self->scratch->phases;
	uint32_t phase = 0, note = 0;
	bool is_note;

	vs_phases_enter(phases, vs_lifecycle_recording());
	if (!vs_phases_next(phases, &phase, &note, &is_note))
		return 0;
	return vs_clock_instant_ticks(is_note ? &phases->notes[0].at : &phases->open[0].at);
}
