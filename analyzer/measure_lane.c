#include "measure_lane.h"

#include "replay_plain.h"
#include "steps.h"

static inline int tell_observer(struct vs_observer *observer, const struct vs_replay *replay,
				struct vs_item *block, const struct vs_record *record)
{
	return observer->on_block(observer, replay, block, record);
}

/* It is about requests. That they are plain says that their stacks have accounts, on a device. */
static inline __attribute__((always_inline)) void tell_finder(struct vs_steps_finder *finder,
							      const struct vs_replay *replay,
							      const struct vs_record *record)
{
	if (record->type == VS_RECORD_BLOCK_ALLOC)
		vs_steps_finder_note_birth(finder, replay,
					   vs_replay_get_noted(replay, record->block_alloc.stack),
					   record->block_alloc.size, true);
	else if (record->type == VS_RECORD_ALLOC)
		vs_steps_finder_note_birth(finder, replay,
					   vs_replay_get_noted(replay, record->alloc.stack),
					   record->alloc.size, false);
}

static inline __attribute__((always_inline)) int tell_before(const struct vs_replay *replay,
							     const struct vs_record *record)
{
	const struct vs_measure_lane *lane = replay->lane_context;
	struct vs_observer *observer;
	int err = 0;

	if (__builtin_expect(record->time_ns > lane->basic->retained->next_ns, 0)) {
		observer = &lane->basic->retained->observer;
		err = observer->before_record(observer, replay, record);
	}
	if (!err && lane->finder)
		tell_finder(lane->finder, replay, record);
	return err;
}

static inline __attribute__((always_inline)) int tell(const struct vs_replay *replay,
						      struct vs_item *block,
						      const struct vs_record *record, bool is_birth)
{
	const struct vs_measure_lane *lane = replay->lane_context;
	int err = vs_measure_basic_note_block(lane->basic, replay, block, record, is_birth);

	/* Holes are in what pools divide. */
	if (!err && lane->fragmentation && block->parent)
		err = tell_observer(&lane->fragmentation->observer, replay, block, record);
	/* What is served after a failure is of interest. */
	if (!err && is_birth && lane->failures->threads.nr_used)
		err = tell_observer(&lane->failures->observer, replay, block, record);
	if (lane->finder && !is_birth)
		vs_steps_finder_note_free(lane->finder);
	return err ? err : 1;
}

static inline int tell_begin(const struct vs_replay *replay)
{
	const struct vs_measure_lane *lane = replay->lane_context;

	return vs_measure_basic_have_room(lane->basic, replay);
}

static int add_some(struct vs_replay *replay, const struct vs_record *records, uint32_t first,
		    uint32_t nr)
{
	static const struct vs_replay_plain_told told = {tell_before, tell, true, tell_begin};

	return vs_replay_plain_run(replay, records, first, nr, &told);
}

void vs_measure_lane_enter(struct vs_measure_lane *lane, struct vs_replay *replay)
{
	replay->lane_context = lane;
	replay->lane = add_some;
}
