#include "phases.h"

#include <string.h>

void vs_phases_enter(struct vs_phases *phases, uint32_t recording)
{
	if (phases->recording == recording)
		return;
	phases->recording = recording;
	phases->depth = 0;
	phases->nr_notes = 0;
}

void vs_phases_push(struct vs_phases *phases, uint32_t source, uint32_t name,
		    struct vs_clock_instant at)
{
	if (phases->depth < VS_PHASES_MAX)
		phases->open[phases->depth] = (struct vs_open_phase){name, source, at};
	phases->depth++;
}

uint32_t vs_phases_pop(struct vs_phases *phases, uint32_t source)
{
	uint32_t i;

	/* Whose those are that are not kept is not known: the one that asks. */
	if (phases->depth > VS_PHASES_MAX) {
		phases->depth--;
		return 1;
	}
	for (i = phases->depth; i > 0 && phases->open[i - 1].source != source; i--)
		;
	if (!i)
		return 0;
	memmove(&phases->open[i - 1], &phases->open[i],
		(phases->depth - i) * sizeof(phases->open[0]));
	phases->depth--;
	return phases->depth - i + 2;
}

void vs_phases_add_note(struct vs_phases *phases, const struct vs_phase_note *note)
{
	if (phases->nr_notes == VS_PHASES_NOTES) {
		memmove(&phases->notes[0], &phases->notes[1],
			(VS_PHASES_NOTES - 1) * sizeof(phases->notes[0]));
		phases->nr_notes--;
	}
	phases->notes[phases->nr_notes++] = *note;
}

bool vs_phases_next(const struct vs_phases *phases, uint32_t *phase, uint32_t *note, bool *is_note)
{
	uint32_t nr_kept = phases->depth < VS_PHASES_MAX ? phases->depth : VS_PHASES_MAX;
	bool has_phase = *phase < nr_kept, has_note = *note < phases->nr_notes;

	if (!has_phase && !has_note)
		return false;
	*is_note =
		!has_phase || (has_note && phases->notes[*note].at.ns < phases->open[*phase].at.ns);
	if (*is_note)
		++*note;
	else
		++*phase;
	return true;
}
