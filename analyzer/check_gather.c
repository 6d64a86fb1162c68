#include "check_gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_totals.h"
#include "id_map.h"
#include "units.h"

/* What must be kept of a thread. */
struct thread {
	uint64_t last_ns;
	bool has_unknown_free; /* its latest event freed something unknown, and may have failed */
};

struct gathering {
	struct vs_observer observer;
	const struct vs_check_input *input;
	struct vs_check_facts *facts;
	struct vs_id_map threads; /* struct thread */
	struct vs_check_totals totals;
	uint64_t last_ns;  /* latest time so far */
	bool is_unmatched; /* the record that is being replayed frees something unknown */
};

static struct gathering *gathering_of(struct vs_observer *self)
{
	return (struct gathering *)(void *)self; /* its first member */
}

static int get_thread(struct gathering *gathering, uint32_t id, struct thread **thread)
{
	struct thread *found = vs_id_map_get(&gathering->threads, id);
	int err;

	if (!found) {
		found = calloc(1, sizeof(*found));
		if (!found)
			return -VS_ERR_NO_MEMORY;
		err = vs_id_map_put(&gathering->threads, id, found);
		if (err) {
			free(found);
			return err;
		}
	}
	*thread = found;
	return 0;
}

/* ---- References ------------------------------------------------------------------------------ */

static bool has_module(const struct vs_definitions *definitions, uint32_t id)
{
	size_t i;

	for (i = 0; i < definitions->nr_modules; i++)
		if (definitions->modules[i]->id == id)
			return true;
	return false;
}

static bool is_defined(const struct vs_replay *replay, enum vs_check_reference reference,
		       uint32_t id)
{
	const struct vs_definitions *definitions = &replay->definitions;

	switch (reference) {
	case VS_CHECK_THREAD:
		return vs_definitions_get_thread(definitions, id) != NULL;
	case VS_CHECK_STACK:
		return vs_id_map_get(&definitions->stacks, id) != NULL;
	case VS_CHECK_NAME:
		return vs_definitions_get_name(definitions, id) != NULL;
	case VS_CHECK_POOL:
		return vs_replay_get_pool(replay, id) != NULL;
	case VS_CHECK_MODULE:
		return has_module(definitions, id);
	case VS_NR_CHECK_REFERENCES:
		break;
	}
	return false;
}

static void look_up(struct gathering *gathering, const struct vs_replay *replay,
		    enum vs_check_reference reference, uint32_t id)
{
	gathering->facts->nr_undefined[reference] += !is_defined(replay, reference, id);
}

/* The same for what an event need not have. */
static void look_up_any(struct gathering *gathering, const struct vs_replay *replay,
			enum vs_check_reference reference, uint32_t id)
{
	if (id != VS_NO_ID)
		look_up(gathering, replay, reference, id);
}

static void check_call(struct gathering *gathering, const struct vs_replay *replay, uint32_t stack,
		       uint32_t api)
{
	look_up_any(gathering, replay, VS_CHECK_STACK, stack);
	look_up_any(gathering, replay, VS_CHECK_NAME, api);
}

static void check_block(struct gathering *gathering, const struct vs_replay *replay, uint32_t pool,
			uint32_t stack)
{
	look_up(gathering, replay, VS_CHECK_POOL, pool);
	look_up_any(gathering, replay, VS_CHECK_STACK, stack);
}

static void check_references(struct gathering *gathering, const struct vs_replay *replay,
			     const struct vs_record *record)
{
	look_up(gathering, replay, VS_CHECK_THREAD, record->thread);
	switch (record->type) {
	case VS_RECORD_ALLOC:
		look_up_any(gathering, replay, VS_CHECK_POOL, record->alloc.pool);
		check_call(gathering, replay, record->alloc.stack, record->alloc.api);
		break;
	case VS_RECORD_FREE:
		check_call(gathering, replay, record->free.stack, record->free.api);
		break;
	case VS_RECORD_ALLOC_FAILED:
		look_up_any(gathering, replay, VS_CHECK_POOL, record->alloc_failed.pool);
		check_call(gathering, replay, record->alloc_failed.stack, record->alloc_failed.api);
		break;
	case VS_RECORD_POOL_STATE:
		look_up(gathering, replay, VS_CHECK_POOL, record->pool_state.pool);
		break;
	case VS_RECORD_POOL_END:
		look_up(gathering, replay, VS_CHECK_POOL, record->pool_end.pool);
		break;
	case VS_RECORD_BLOCK_ALLOC:
		check_block(gathering, replay, record->block_alloc.pool, record->block_alloc.stack);
		break;
	case VS_RECORD_BLOCK_FREE:
		check_block(gathering, replay, record->block_free.pool, record->block_free.stack);
		break;
	case VS_RECORD_BLOCK_FAILED:
		check_block(gathering, replay, record->block_failed.pool,
			    record->block_failed.stack);
		break;
	case VS_RECORD_BLOCK_FAILED_TEXT:
		look_up(gathering, replay, VS_CHECK_POOL, record->block_failed_text.pool);
		look_up(gathering, replay, VS_CHECK_NAME, record->block_failed_text.name);
		break;
	case VS_RECORD_PHASE_PUSH:
		look_up(gathering, replay, VS_CHECK_NAME, record->phase_push.name);
		break;
	case VS_RECORD_RANGE_START:
		look_up(gathering, replay, VS_CHECK_NAME, record->range_start.name);
		break;
	case VS_RECORD_MARK:
		look_up(gathering, replay, VS_CHECK_NAME, record->mark.name);
		break;
	case VS_RECORD_MEMORY_HOLDER:
		if (record->memory_holder.name != VS_NO_ID)
			look_up(gathering, replay, VS_CHECK_NAME, record->memory_holder.name);
		break;
	case VS_RECORD_ADOPTED:
		look_up(gathering, replay, VS_CHECK_POOL, record->adopted.pool);
		break;
	case VS_RECORD_MODULE_END:
		look_up(gathering, replay, VS_CHECK_MODULE, record->module_end.id);
		break;
	default: /* refers to nothing */
		break;
	}
}

/* ---- Order, frees ---------------------------------------------------------------------------- */

static bool is_in_snapshot(const struct vs_check_input *input)
{
	return input->is_in_snapshot && input->is_in_snapshot(input->source.context);
}

static void check_order(struct gathering *gathering, struct thread *thread, uint64_t time_ns)
{
	if (!is_in_snapshot(gathering->input)) {
		gathering->facts->nr_earlier += time_ns < gathering->last_ns;
		gathering->facts->nr_earlier_in_thread += time_ns < thread->last_ns;
	}
	if (time_ns > gathering->last_ns)
		gathering->last_ns = time_ns;
	if (time_ns > thread->last_ns)
		thread->last_ns = time_ns;
}

/* A free is recorded before the call. If the driver refuses it, the program made a mistake, not
 * the recorder. */
static void check_free(struct gathering *gathering, struct thread *thread,
		       const struct vs_record *record)
{
	if (record->type == VS_RECORD_FREE_FAILED && thread->has_unknown_free)
		gathering->facts->nr_unknown_frees--;
	gathering->facts->nr_unknown_frees += gathering->is_unmatched;
	thread->has_unknown_free = gathering->is_unmatched && record->type == VS_RECORD_FREE;
	gathering->is_unmatched = false;
}

static int on_change(struct vs_observer *self, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct gathering *gathering = gathering_of(self);

	(void)replay;
	if (change->type == VS_CHANGE_UNMATCHED)
		gathering->is_unmatched = true;
	vs_check_totals_see_change(&gathering->totals, change);
	return 0;
}

static int on_record(struct vs_observer *self, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct gathering *gathering = gathering_of(self);
	struct thread *thread;
	int err;

	if (!vs_record_is_event(record->type))
		return 0;
	err = get_thread(gathering, record->thread, &thread);
	if (err)
		return err;
	check_references(gathering, replay, record);
	check_order(gathering, thread, record->time_ns);
	check_free(gathering, thread, record);
	return vs_check_totals_see_record(&gathering->totals, replay, record,
					  is_in_snapshot(gathering->input));
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool has_foreign_frame(const struct vs_site *site)
{
	uint32_t i;

	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames; i++)
		if (!site->frames[i].module && !vs_frame_is_special(site->frames[i].address))
			return true;
	return false;
}

/* What the first difference is, for people. */
static void gather_totals(struct gathering *gathering)
{
	struct vs_check_totals *totals = &gathering->totals;
	struct vs_check_facts *facts = gathering->facts;
	const struct vs_check_totals_sum *said = &totals->first_said;
	const struct vs_check_totals_sum *found = &totals->first_found;
	char time[VS_UNITS_MAX];

	vs_check_totals_end(totals);
	facts->nr_other_totals = totals->nr_different;
	facts->nr_late_totals = totals->nr_late;
	if (totals->nr_different)
		snprintf(facts->other_totals, sizeof(facts->other_totals),
			 "first at %s: it says %" PRIu64 " allocated and %" PRIu64
			 " reserved, the trace has %" PRIu64 " and %" PRIu64,
			 vs_units_put_time(time, totals->first_ns), said->used, said->reserved,
			 found->used, found->reserved);
}

static int on_end(struct vs_observer *self, const struct vs_replay *replay)
{
	struct vs_check_facts *facts = gathering_of(self)->facts;
	const struct vs_definitions *definitions = &replay->definitions;
	size_t i;

	facts->counters = replay->counters;
	gather_totals(gathering_of(self));
	for (i = 0; i < replay->nr_devices; i++)
		facts->nr_undescribed_devices += !replay->devices[i]->is_defined;
	for (i = 0; i < definitions->nr_sites; i++) {
		facts->nr_short_stacks += definitions->sites[i]->is_cut;
		facts->nr_foreign_stacks += has_foreign_frame(definitions->sites[i]);
	}
	return 0;
}

static void free_threads(struct vs_id_map *threads)
{
	struct thread *thread;
	size_t slot = 0;

	while ((thread = vs_id_map_next(threads, &slot)))
		free(thread);
	vs_id_map_fini(threads);
}

static int replay_records(struct vs_replay *replay, const struct vs_source *source)
{
	struct vs_record record;
	int got, err;

	while ((got = source->next(source->context, &record)) > 0) {
		err = vs_replay_add(replay, &record);
		if (err)
			return err;
	}
	return got < 0 ? got : vs_replay_end(replay);
}

int vs_check_gather_records(struct vs_check_facts *facts, const struct vs_check_input *input)
{
	struct vs_check_facts found = {0};
	struct gathering gathering = {
		.observer = {.on_change = on_change, .on_record = on_record, .on_end = on_end},
		.input = input,
		.facts = &found,
	};
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	vs_replay_add_observer(replay, &gathering.observer);
	err = replay_records(replay, &input->source);
	free_threads(&gathering.threads);
	vs_check_totals_fini(&gathering.totals);
	vs_replay_destroy(replay);
	if (err)
		return err;
	found.state = facts->state;
	*facts = found;
	return 0;
}
