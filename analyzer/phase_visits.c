#include "phase_visits.h"

#include <stdlib.h>

#include "grow.h"

int vs_phase_visits_get_part(struct vs_visit *visit, uint32_t device, struct vs_visit_part **part)
{
	int err = VS_GROW(visit->parts, visit->parts_capacity, device + 1);

	if (!err)
		*part = &visit->parts[device];
	return err;
}

static void raise_part(struct vs_visit_part *part, const struct vs_replay_device *device)
{
	uint64_t reserved = vs_replay_get_reserved(device);

	if (device->live_bytes > part->peak_live)
		part->peak_live = device->live_bytes;
	if (reserved > part->peak_reserved)
		part->peak_reserved = reserved;
}

int vs_phase_visits_raise(struct vs_visits *visits, const struct vs_replay *replay)
{
	struct vs_visit_part *part;
	size_t i;
	int err = 0;

	for (i = 0; visits->newest && i < replay->nr_devices && !err; i++) {
		err = vs_phase_visits_get_part(visits->newest, replay->devices[i]->index, &part);
		if (!err)
			raise_part(part, replay->devices[i]);
	}
	return err;
}

int vs_phase_visits_begin(struct vs_visits *visits, const struct vs_replay *replay,
			  const struct vs_visit *start, struct vs_visit **out)
{
	struct vs_visit *visit = malloc(sizeof(*visit));
	size_t i;
	int err = 0;

	if (!visit)
		return -VS_ERR_NO_MEMORY;
	*visit = *start;
	visit->nr_users = 1;
	visit->older = visits->newest;
	visit->newer = NULL;
	for (i = 0; i < replay->nr_devices && !err; i++) {
		struct vs_visit_part *part;

		err = vs_phase_visits_get_part(visit, replay->devices[i]->index, &part);
		if (!err)
			part->begin_live = replay->devices[i]->live_bytes;
	}
	if (err) {
		free(visit->parts);
		free(visit);
		return err;
	}
	if (visit->parent)
		visit->parent->nr_users++;
	if (visits->newest)
		visits->newest->newer = visit;
	else
		visits->oldest = visit;
	visits->newest = visit;
	*out = visit;
	return vs_phase_visits_raise(visits, replay);
}

struct vs_phase_numbers vs_phase_visits_get(const struct vs_visit *visit,
					    const struct vs_replay_device *device)
{
	struct vs_phase_numbers numbers = {.end_live = device->live_bytes};
	const struct vs_visit_part *part;
	const struct vs_visit *later;

	if (device->index < visit->parts_capacity) {
		part = &visit->parts[device->index];
		numbers.begin_live = part->begin_live;
		numbers.allocated = part->allocated;
		numbers.derived = part->derived;
		numbers.freed = part->freed;
		numbers.kept = part->own_live;
	}
	for (later = visit; later; later = later->newer) {
		if (device->index >= later->parts_capacity)
			continue;
		part = &later->parts[device->index];
		if (part->peak_live > numbers.peak_live)
			numbers.peak_live = part->peak_live;
		if (part->peak_reserved > numbers.peak_reserved)
			numbers.peak_reserved = part->peak_reserved;
	}
	return numbers;
}

/* Its stretch of time becomes one of the visit before it. */
static int hand_over(struct vs_visit *older, const struct vs_visit *visit)
{
	size_t i;
	int err = VS_GROW(older->parts, older->parts_capacity, visit->parts_capacity);

	for (i = 0; i < visit->parts_capacity && !err; i++) {
		if (visit->parts[i].peak_live > older->parts[i].peak_live)
			older->parts[i].peak_live = visit->parts[i].peak_live;
		if (visit->parts[i].peak_reserved > older->parts[i].peak_reserved)
			older->parts[i].peak_reserved = visit->parts[i].peak_reserved;
	}
	return err;
}

int vs_phase_visits_end(struct vs_visits *visits, struct vs_visit *visit)
{
	int err = 0;

	if (visit->older) {
		err = hand_over(visit->older, visit);
		visit->older->newer = visit->newer;
	} else {
		visits->oldest = visit->newer;
	}
	if (visit->newer)
		visit->newer->older = visit->older;
	else
		visits->newest = visit->older;
	vs_phase_visits_release(visit);
	return err;
}

void vs_phase_visits_release(struct vs_visit *visit)
{
	while (visit && !--visit->nr_users) {
		struct vs_visit *parent = visit->parent;

		free(visit->parts);
		free(visit);
		visit = parent;
	}
}
