#include "analysis.h"

#include <string.h>

#include "foresight.h"
#include "index_writer.h"
#include "large_heap.h"
#include "progress.h"
#include "read_ahead.h"
#include "steps.h"
#include "totals.h"

/* From so many bytes on it pays to prepare for what a trace may need: a million events or so. */
#define LARGE_TRACE ((uint64_t)1 << 20)

/* What must be known before the second pass, of a replay after the last record. */
struct extent {
	uint64_t first_ns;
	uint64_t now_ns;
	uint64_t nr_steps;
	uint64_t nr_phases;
};

static void set_extent(struct vs_analysis *analysis, const struct extent *extent)
{
	enum vs_boundary_unit unit = VS_BOUNDARY_INTERVALS;
	uint64_t first_ns = analysis->window.from_ns;

	if (extent->nr_steps > 1)
		unit = VS_BOUNDARY_STEPS;
	else if (extent->nr_phases > 1)
		unit = VS_BOUNDARY_PHASES;
	if (first_ns < extent->first_ns)
		first_ns = extent->first_ns;
	if (first_ns > extent->now_ns)
		first_ns = extent->now_ns;
	analysis->duration_ns = extent->now_ns;
	vs_measure_retained_init(&analysis->retained, unit, first_ns, extent->now_ns);
}

static bool is_whole(const struct vs_window *window)
{
	return !window->from_ns && window->to_ns == UINT64_MAX;
}

/* ---- Passes --------------------------------------------------------------------------------- */

static void begin(struct vs_replay *replay, const struct vs_window *window)
{
	replay->from_ns = window->from_ns;
	replay->is_in_window = !window->from_ns;
}

/* One record after the other, up to the end of a window, from where the source stands. */
static int run_window(const struct vs_source *source, const struct vs_window *window,
		      struct vs_replay *replay)
{
	struct vs_record record;
	struct vs_reader_block block;
	uint32_t nr = 0;
	int got, err = 0;

	vs_progress_begin(source->get_block ? source->size : 0);
	while (!err && (got = source->next(source->context, &record)) > 0) {
		if (vs_replay_is_event(&record) && record.time_ns > window->to_ns)
			break;
		err = vs_replay_add(replay, &record);
		if (++nr % VS_BATCH_MAX || !source->get_block)
			continue;
		source->get_block(source->context, &block);
		vs_progress_set(block.offset);
	}
	vs_progress_end();
	if (err || got < 0)
		return err ? err : got;
	return vs_replay_end(replay);
}

/* All records, which another thread reads meanwhile, and who else wants to know of them. */
struct pass {
	struct vs_replay *replay;
	struct vs_index_writer *writer; /* or NULL */
	struct vs_read_ahead *ahead;
};

/* One that is not plain, number i. */
static int add_one(struct pass *pass, const struct vs_batch *batch, uint32_t i)
{
	const struct vs_record *record = &batch->records[i];
	struct vs_replay *replay = pass->replay;
	int err;

	if (replay->expected && vs_foresight_is_needed(record))
		vs_foresight_look(replay, pass->ahead, batch, i);
	if (pass->writer)
		vs_index_writer_enter(pass->writer, record, &batch->block);
	err = vs_replay_add(replay, record);
	if (pass->writer)
		vs_index_writer_leave(pass->writer);
	return err;
}

/* The first records of a batch. */
static int add_batch(struct pass *pass, const struct vs_batch *batch, uint32_t nr)
{
	uint32_t i = 0;
	int err = 0;

	if (pass->writer && nr)
		vs_index_writer_enter_block(pass->writer, &batch->block);
	while (i < nr && !err) {
		int nr_plain = vs_replay_add_some(pass->replay, batch->records, i, nr);

		if (nr_plain < 0)
			return nr_plain;
		if (pass->writer)
			vs_index_writer_pass(pass->writer, (uint32_t)nr_plain);
		i += (uint32_t)nr_plain;
		if (i < nr)
			err = add_one(pass, batch, i++);
	}
	return err;
}

/* What `ahead` reads of the source, which is stopped. */
static int run_started(const struct vs_source *source, struct vs_read_ahead *ahead,
		       struct vs_replay *replay, struct vs_index_writer *writer,
		       const struct vs_chore *chore)
{
	struct pass pass = {replay, writer, ahead};
	const struct vs_batch *batch;
	int status = 1, err = 0;

	if (chore)
		vs_read_ahead_give_chore(ahead, chore);
	vs_progress_begin(source->size);
	while (!err && status > 0) {
		batch = vs_read_ahead_get(pass.ahead, 0);
		status = batch->status;
		vs_progress_set(batch->block.offset);
		err = add_batch(&pass, batch, batch->nr);
		vs_read_ahead_release(pass.ahead);
		/* A second pass is needed, for which this one finds out what is adopted. */
		if (replay->is_misled)
			vs_replay_mute(replay);
	}
	vs_read_ahead_stop(pass.ahead);
	vs_progress_end();
	if (writer)
		vs_index_writer_end_pass(writer);
	if (!err)
		err = status;
	return err ? err : vs_replay_end(replay);
}

static int run_all(const struct vs_source *source, struct vs_replay *replay,
		   struct vs_index_writer *writer, const struct vs_chore *chore)
{
	struct vs_read_ahead *ahead;
	int err = vs_read_ahead_start(&ahead, source);

	return err ? err : run_started(source, ahead, replay, writer, chore);
}

/* The rest of a window. To the end, it does not matter how far the source has been read. */
static int run(const struct vs_source *source, const struct vs_window *window,
	       struct vs_replay *replay)
{
	return window->to_ns == UINT64_MAX ? run_all(source, replay, NULL, NULL)
					   : run_window(source, window, replay);
}

int vs_analysis_pass(const struct vs_source *source, const struct vs_window *window,
		     struct vs_replay *replay)
{
	int err = source->rewind(source->context);

	if (err)
		return err;
	begin(replay, window);
	return run(source, window, replay);
}

/* The same from a snapshot on. */
static int pass_from(const struct vs_analysis *analysis, const struct vs_index_snapshot *snapshot,
		     const struct vs_window *window, struct vs_replay *replay)
{
	int err;

	begin(replay, window);
	err = vs_trace_index_enter(analysis->index, snapshot, replay);
	if (!err)
		err = run(analysis->source, window, replay);
	/* What was damaged since the index was made is not to be told from here. */
	return !err && !vs_trace_index_is_sound(analysis->index) ? -VS_ERR_CORRUPT : err;
}

/* ---- First pass, or what an index knows ----------------------------------------------------- */

/* The extent of what a replay has behind it. */
static struct extent get_extent(const struct vs_replay *replay)
{
	return (struct extent){replay->first_ns, replay->now_ns, replay->nr_steps,
			       replay->nr_phases};
}

static int find_adopted(struct vs_analysis *analysis, struct vs_index_writer *writer)
{
	const struct vs_source *source = analysis->source;
	struct extent extent;
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopting = &analysis->adoption;
	if (writer) {
		vs_index_writer_take_notes(writer, &analysis->adoption, replay);
		err = source->rewind(source->context);
		if (!err)
			err = run_all(source, replay, writer, NULL);
	} else {
		err = vs_analysis_pass(source, &analysis->window, replay);
	}
	extent = get_extent(replay);
	if (!err)
		set_extent(analysis, &extent);
	vs_replay_destroy(replay);
	return err;
}

/* What was adopted by one of the first records. */
static int take_adopted(struct vs_analysis *analysis, uint64_t nr_records)
{
	const struct vs_index_directory *directory = vs_trace_index_get(analysis->index);
	size_t i;
	int err = 0;

	for (i = 0; i < directory->nr_adoptions && !err; i++) {
		const struct vs_index_adoption *adoption = &directory->adoptions[i];

		if (adoption->record <= nr_records)
			err = vs_adoption_add(&analysis->adoption, adoption->key,
					      &directory->pools[adoption->pool]);
	}
	return err;
}

/* Whether something is there after these records that only later ones say is adopted. */
static bool has_unknown(const struct vs_index_directory *directory, const struct vs_replay *replay)
{
	size_t i;

	for (i = directory->nr_adoptions; i-- > 0;) {
		const struct vs_index_adoption *adoption = &directory->adoptions[i];
		uint64_t id = adoption->key & ~VS_ADOPTION_RESERVATION;
		uint64_t last = adoption->key == id ? replay->last_id : replay->last_reservation_id;

		if (adoption->record <= replay->counters.nr_records)
			return false; /* they are in order */
		if (id <= last)
			return true;
	}
	return false;
}

/*
 * What a first pass up to the end of the window would find out. The snapshots know of all that is
 * ever adopted, so they are of no use if the window would not: 0.
 */
static int learn_part(struct vs_analysis *analysis)
{
	struct vs_window window = {0, analysis->window.to_ns};
	const struct vs_index_snapshot *snapshot =
		vs_trace_index_find_time(analysis->index, window.to_ns);
	struct vs_replay *replay;
	int ret = vs_replay_create(&replay);

	if (ret)
		return ret;
	ret = take_adopted(analysis, UINT64_MAX);
	replay->adopted = &analysis->adoption;
	if (!ret && snapshot)
		ret = pass_from(analysis, snapshot, &window, replay);
	else if (!ret)
		ret = vs_analysis_pass(analysis->source, &window, replay);
	vs_adoption_fini(&analysis->adoption);
	if (!ret && !has_unknown(vs_trace_index_get(analysis->index), replay)) {
		analysis->nr_known = replay->counters.nr_records;
		set_extent(analysis, &(struct extent){replay->first_ns, replay->now_ns,
						      replay->nr_steps, replay->nr_phases});
		ret = take_adopted(analysis, analysis->nr_known);
		ret = ret ? ret : 1;
	}
	vs_replay_destroy(replay);
	return ret;
}

/* 1, or 0: the index is of no use, or there is none. */
static int learn(struct vs_analysis *analysis)
{
	const struct vs_index_directory *directory =
		analysis->index ? vs_trace_index_get(analysis->index) : NULL;
	int err;

	if (!directory)
		return 0;
	if (analysis->window.to_ns < directory->now_ns)
		return learn_part(analysis);
	analysis->nr_known = UINT64_MAX;
	set_extent(analysis, &(struct extent){directory->first_ns, directory->now_ns,
					      directory->nr_steps, directory->nr_phases});
	err = take_adopted(analysis, UINT64_MAX);
	return err ? err : 1;
}

/* ---- Second pass ---------------------------------------------------------------------------- */

/* Where it can begin: before the window, but only if that opens at all. */
static const struct vs_index_snapshot *find_start(const struct vs_analysis *analysis)
{
	uint64_t from_ns = analysis->window.from_ns;

	if (!analysis->can_seek || !from_ns || analysis->duration_ns < from_ns)
		return NULL;
	return vs_trace_index_find_time(analysis->index, from_ns - 1);
}

static void init_measures(struct vs_analysis *analysis)
{
	vs_measure_peak_init(&analysis->peak);
	vs_measure_peaks_init(&analysis->peaks, &analysis->peak, false);
	vs_measure_counts_init(&analysis->counts);
	vs_measure_sites_init(&analysis->sites);
	vs_measure_fragmentation_init(&analysis->fragmentation);
	vs_failures_init(&analysis->failures);
}

static void fini_measures(struct vs_analysis *analysis)
{
	vs_measure_peak_fini(&analysis->peak);
	vs_measure_peaks_fini(&analysis->peaks);
	vs_measure_counts_fini(&analysis->counts);
	vs_measure_sites_fini(&analysis->sites);
	vs_measure_fragmentation_fini(&analysis->fragmentation);
	vs_measure_retained_fini(&analysis->retained);
	vs_failures_fini(&analysis->failures);
	vs_steps_finder_destroy(analysis->finder);
	analysis->finder = NULL;
	vs_replay_destroy(analysis->replay);
	analysis->replay = NULL;
}

/* Before the first thread. */
static void prepare_heap(const struct vs_source *source)
{
	if (source->size >= LARGE_TRACE)
		vs_large_heap_prepare();
}

/* A replay that feeds all measures. */
static int create_measuring(struct vs_analysis *analysis)
{
	bool is_all = is_whole(&analysis->window);
	int err = vs_replay_create(&analysis->replay);

	if (!err && analysis->wants.steps && is_all &&
	    analysis->retained.unit == VS_BOUNDARY_INTERVALS)
		err = vs_steps_finder_create(&analysis->finder);
	if (err)
		return err;
	analysis->basic = (struct vs_measure_basic){
		.peak = &analysis->peak,
		.peaks = analysis->wants.peaks && is_all ? &analysis->peaks : NULL,
		.counts = &analysis->counts,
		.sites = &analysis->sites,
		.retained = &analysis->retained,
	};
	vs_measure_basic_init(&analysis->basic);
	vs_replay_add_observer(analysis->replay, &analysis->basic.observer);
	if (!analysis->wants.no_holes)
		vs_replay_add_observer(analysis->replay, &analysis->fragmentation.observer);
	vs_replay_add_observer(analysis->replay, &analysis->failures.observer);
	if (analysis->finder)
		vs_replay_add_observer(analysis->replay, &analysis->finder->observer);
	analysis->lane = (struct vs_measure_lane){
		.basic = &analysis->basic,
		.failures = &analysis->failures,
		.fragmentation = analysis->wants.no_holes ? NULL : &analysis->fragmentation,
		.finder = analysis->finder,
	};
	vs_measure_lane_enter(&analysis->lane, analysis->replay);
	return 0;
}

/* What is measured on the side, or NULL. */
static const struct vs_chore *get_chore(const struct vs_analysis *analysis)
{
	return analysis->finder ? vs_steps_finder_get_chore(analysis->finder) : NULL;
}

static int measure(struct vs_analysis *analysis, struct vs_index_writer *writer)
{
	const struct vs_index_snapshot *start = find_start(analysis);
	const struct vs_source *source = analysis->source;
	int err;

	prepare_heap(source);
	err = create_measuring(analysis);
	if (err)
		return err;
	analysis->replay->adopted = &analysis->adoption;
	if (start)
		return pass_from(analysis, start, &analysis->window, analysis->replay);
	if (!writer)
		return vs_analysis_pass(source, &analysis->window, analysis->replay);
	vs_index_writer_take_snapshots(writer, analysis->replay);
	err = source->rewind(source->context);
	begin(analysis->replay, &analysis->window);
	return err ? err : run_all(source, analysis->replay, writer, get_chore(analysis));
}

/* ---- Both at once --------------------------------------------------------------------------- */

/* Nothing that the measures were told in advance was wrong. */
static bool is_as_guessed(const struct extent *guess, const struct extent *is)
{
	return guess->first_ns == is->first_ns && guess->now_ns == is->now_ns &&
	       (guess->nr_steps > 1) == (is->nr_steps > 1) &&
	       (is->nr_steps > 1 || (guess->nr_phases > 1) == (is->nr_phases > 1));
}

/* 1: measured. 0: it was not as expected, but all is known now that measure() needs. */
static int foresee(struct vs_analysis *analysis, const struct extent *guess,
		   struct vs_index_writer *writer)
{
	const struct vs_source *source = analysis->source;
	struct vs_adoption expected = {0};
	struct vs_read_ahead *ahead = NULL;
	struct extent extent;
	bool is_right = false;
	int err = source->rewind(source->context);

	prepare_heap(source);
	set_extent(analysis, guess);
	/* Reading begins while the memory for all measures is got, which may take as long. */
	if (!err)
		err = vs_read_ahead_start(&ahead, source);
	if (!err)
		err = create_measuring(analysis);
	if (err) {
		vs_read_ahead_stop(ahead);
		return err;
	}
	analysis->replay->adopting = &analysis->adoption;
	analysis->replay->expected = &expected;
	if (writer) {
		vs_index_writer_take_notes(writer, &analysis->adoption, analysis->replay);
		vs_index_writer_take_snapshots(writer, analysis->replay);
	}
	err = run_started(source, ahead, analysis->replay, writer, get_chore(analysis));
	if (!err) {
		extent = get_extent(analysis->replay);
		is_right =
			vs_foresight_was_right(analysis->replay) && is_as_guessed(guess, &extent);
	}
	analysis->replay->adopting = analysis->replay->expected = NULL;
	analysis->replay->adopted = &analysis->adoption;
	vs_adoption_fini(&expected);
	if (err || is_right)
		return err ? err : 1;
	fini_measures(analysis);
	init_measures(analysis);
	set_extent(analysis, &extent);
	return 0;
}

/* Nothing is known of the trace yet. is_all: the window is all of it. */
static int learn_and_measure(struct vs_analysis *analysis, bool is_all,
			     struct vs_index_writer *writer)
{
	const struct vs_source *source = analysis->source;
	struct vs_source_extent said;
	int ret = 0;

	if (is_all && source->guess && source->guess(source->context, &said) > 0) {
		struct extent guess = {said.first_ns, said.now_ns, said.has_steps ? 2 : 0,
				       said.has_phases ? 2 : 0};

		ret = foresee(analysis, &guess, writer);
		if (ret)
			return ret < 0 ? ret : 0;
	} else {
		ret = find_adopted(analysis, writer);
		if (ret)
			return ret;
	}
	return measure(analysis, writer);
}

/* With an index it goes on as if that had been there from the start. */
static void write_index(struct vs_analysis *analysis, struct vs_index_writer *writer)
{
	struct vs_trace_index *index = analysis->index;
	struct vs_pack totals = {0};

	vs_totals_put(&totals, analysis);
	if (!totals.error && vs_index_writer_finish(writer, &totals))
		vs_trace_index_reload(index);
	vs_pack_fini(&totals);
	analysis->can_seek = vs_trace_index_get(index) != NULL;
	analysis->nr_known = UINT64_MAX;
}

static int analyse(struct vs_analysis *analysis)
{
	struct vs_trace_index *index = analysis->index;
	bool is_all = is_whole(&analysis->window);
	struct vs_index_writer writer;
	int ret = learn(analysis);

	if (ret < 0)
		return ret;
	analysis->can_seek = ret;
	if (ret)
		return measure(analysis, NULL);
	if (!index || !is_all)
		return learn_and_measure(analysis, is_all, NULL);
	/* What it says is for all commands. */
	analysis->wants.no_holes = false;
	vs_index_writer_init(&writer, vs_trace_index_get_reader(index),
			     vs_trace_index_get_path(index));
	ret = learn_and_measure(analysis, is_all, &writer);
	if (!ret)
		write_index(analysis, &writer);
	vs_index_writer_fini(&writer);
	return ret;
}

static void init(struct vs_analysis *analysis, const struct vs_source *source,
		 const struct vs_window *window, struct vs_trace_index *index)
{
	memset(analysis, 0, sizeof(*analysis));
	analysis->source = source;
	analysis->index = index;
	analysis->window = *window;
	init_measures(analysis);
}

int vs_analysis_init(struct vs_analysis *analysis, const struct vs_source *source,
		     const struct vs_window *window)
{
	return vs_analysis_init_indexed(analysis, source, window, NULL, &(struct vs_wants){0});
}

int vs_analysis_init_indexed(struct vs_analysis *analysis, const struct vs_source *source,
			     const struct vs_window *window, struct vs_trace_index *index,
			     const struct vs_wants *wants)
{
	bool has_index = index && vs_trace_index_get(index);
	int err;

	init(analysis, source, window, index);
	analysis->wants = *wants;
	err = analyse(analysis);
	if (err)
		vs_analysis_fini(analysis);
	if (!err || !has_index || err == -VS_ERR_NO_MEMORY)
		return err;
	/* The index was wrong, or the trace is damaged by now. */
	vs_trace_index_drop(index);
	return vs_analysis_init_indexed(analysis, source, window, index, wants);
}

/* From what the index says of the end. */
static int recall(struct vs_analysis *analysis)
{
	const struct vs_pack *totals = &vs_trace_index_get(analysis->index)->totals;
	int err = learn(analysis);

	analysis->can_seek = true;
	if (err >= 0)
		err = vs_replay_create(&analysis->replay);
	if (!err)
		err = vs_trace_index_enter_end(analysis->index, analysis->replay);
	return err ? err : vs_totals_get(analysis, totals->bytes, totals->size);
}

int vs_analysis_recall(struct vs_analysis *analysis, const struct vs_source *source,
		       struct vs_trace_index *index)
{
	int err;

	if (!index || !vs_trace_index_get(index))
		return 0;
	init(analysis, source, &(struct vs_window){0, UINT64_MAX}, index);
	err = recall(analysis);
	if (!err)
		return 1;
	vs_analysis_fini(analysis);
	if (err == -VS_ERR_NO_MEMORY)
		return err;
	vs_trace_index_drop(index);
	return 0;
}

void vs_analysis_fini(struct vs_analysis *analysis)
{
	fini_measures(analysis);
	vs_adoption_fini(&analysis->adoption);
	memset(analysis, 0, sizeof(*analysis));
}

int vs_analysis_find_instant(const struct vs_analysis *analysis,
			     const struct vs_replay_device *device, enum vs_at at, uint64_t at_ns,
			     struct vs_instant *instant)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&analysis->peak, device);
	const struct vs_failure_group *oom = vs_failures_get_last(&analysis->failures, device);

	switch (at) {
	case VS_AT_TIME:
		*instant = (struct vs_instant){.time_ns = at_ns};
		return 0;
	case VS_AT_END:
		*instant = vs_instant_now(analysis->replay, 0);
		return 0;
	case VS_AT_PEAK:
		*instant = peaks->live.at;
		return 0;
	case VS_AT_OOM:
		if (!oom)
			return -VS_ERR_INVALID;
		*instant = oom->last_oom.at;
		return 0;
	case VS_AT_DEFAULT:
		*instant = oom ? oom->last_oom.at : peaks->reserved.at;
		return 0;
	}
	return -VS_ERR_INVALID;
}

/* ---- Third pass ----------------------------------------------------------------------------- */

/* The snapshot that is nearest before the instant, or NULL. */
static const struct vs_index_snapshot *find_before(const struct vs_analysis *analysis,
						   const struct vs_instant *instant)
{
	const struct vs_trace_index *index = analysis->index;
	bool is_known = analysis->nr_known == UINT64_MAX;

	if (!analysis->can_seek)
		return NULL;
	if (instant->record)
		return is_known || instant->record <= analysis->nr_known
			       ? vs_trace_index_find_record(index, instant->record)
			       : NULL;
	return is_known || instant->time_ns <= analysis->window.to_ns
		       ? vs_trace_index_find_time(index, instant->time_ns)
		       : NULL;
}

/* Whether the replay is after the record of an instant. */
static bool has_reached(const struct vs_replay *replay, const struct vs_instant *instant)
{
	return instant->record && replay->counters.nr_records >= instant->record;
}

/* How many records of a batch there are up to the instant. */
static uint32_t count_until(const struct vs_batch *batch, const struct vs_instant *instant,
			    const struct vs_replay *replay)
{
	uint64_t left = instant->record - replay->counters.nr_records;
	uint32_t nr = 0;

	if (instant->record)
		return left < batch->nr ? (uint32_t)left : batch->nr;
	while (nr < batch->nr && (batch->records[nr].time_ns <= instant->time_ns ||
				  !vs_replay_is_event(&batch->records[nr])))
		nr++;
	return nr;
}

/* The same with batches, as another thread has read them. */
static int approach_in_batches(struct pass *pass, const struct vs_instant *instant)
{
	const struct vs_batch *batch;
	int status = 1, err = 0;

	while (!err && status > 0 && !has_reached(pass->replay, instant)) {
		uint32_t nr;

		batch = vs_read_ahead_get(pass->ahead, 0);
		nr = count_until(batch, instant, pass->replay);
		status = nr < batch->nr ? 0 : batch->status;
		err = add_batch(pass, batch, nr);
		vs_read_ahead_release(pass->ahead);
	}
	vs_replay_settle(pass->replay);
	return err || has_reached(pass->replay, instant) ? err : status;
}

/* From a snapshot, or the start (NULL), to an instant. Another thread reads on while the state is
 * restored: the source stands anywhere behind the instant then. */
static int approach(const struct vs_analysis *analysis, const struct vs_index_snapshot *snapshot,
		    const struct vs_instant *instant, struct vs_replay *replay)
{
	const struct vs_source *source = analysis->source;
	struct pass pass = {replay, NULL, NULL};
	int err = snapshot ? vs_trace_index_approach(analysis->index, snapshot, replay)
			   : source->rewind(source->context);

	if (!err)
		err = vs_read_ahead_start(&pass.ahead, source);
	if (!err && snapshot)
		err = vs_trace_index_restore(analysis->index, snapshot, replay);
	if (!err)
		err = approach_in_batches(&pass, instant);
	vs_read_ahead_stop(pass.ahead);
	return err;
}

/* The same one by one, so that the source stands right behind the instant. */
static int approach_slowly(const struct vs_analysis *analysis,
			   const struct vs_index_snapshot *snapshot,
			   const struct vs_instant *instant, struct vs_replay *replay)
{
	const struct vs_source *source = analysis->source;
	struct vs_record record;
	int got, err = snapshot ? vs_trace_index_enter(analysis->index, snapshot, replay)
				: source->rewind(source->context);

	while (!err && !has_reached(replay, instant)) {
		got = source->next(source->context, &record);
		if (got <= 0)
			return got;
		err = vs_replay_add(replay, &record);
	}
	return err;
}

/* snapshot: NULL is the start. is_behind: the source is to stand behind the record. */
static int go_from(const struct vs_analysis *analysis, const struct vs_index_snapshot *snapshot,
		   const struct vs_instant *instant, bool is_behind, struct vs_replay **out)
{
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = &analysis->adoption;
	err = is_behind ? approach_slowly(analysis, snapshot, instant, replay)
			: approach(analysis, snapshot, instant, replay);
	if (!err && snapshot && !vs_trace_index_is_sound(analysis->index))
		err = -VS_ERR_CORRUPT;
	if (err) {
		vs_replay_destroy(replay);
		return err;
	}
	*out = replay;
	return 0;
}

static int go_to(const struct vs_analysis *analysis, const struct vs_instant *instant,
		 bool is_behind, struct vs_replay **out)
{
	const struct vs_index_snapshot *snapshot = find_before(analysis, instant);
	int err = go_from(analysis, snapshot, instant, is_behind, out);

	if (!err || !snapshot || err == -VS_ERR_NO_MEMORY)
		return err;
	/* The index was wrong, or the trace is damaged by now. */
	vs_trace_index_drop(analysis->index);
	return go_from(analysis, NULL, instant, is_behind, out);
}

int vs_analysis_go_to(const struct vs_analysis *analysis, const struct vs_instant *instant,
		      struct vs_replay **out)
{
	return go_to(analysis, instant, false, out);
}

int vs_analysis_go_behind(const struct vs_analysis *analysis, const struct vs_instant *instant,
			  struct vs_replay **out)
{
	return go_to(analysis, instant, true, out);
}

bool vs_analysis_has_device(const struct vs_analysis *analysis,
			    const struct vs_replay_device *device)
{
	int kind;

	for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++) {
		const struct vs_counts *counts = vs_measure_counts_get_kind(
			&analysis->counts, device, (enum vs_memory_kind)kind);

		if (counts->allocs || counts->frees || counts->failed_allocs ||
		    counts->failed_frees || counts->peak_bytes)
			return true;
	}
	return vs_measure_peak_get(&analysis->peak, device)->reserved.bytes;
}

/* ---- Another observer ----------------------------------------------------------------------- */

int vs_analysis_observe(const struct vs_analysis *analysis, struct vs_observer *observer,
			struct vs_replay **out)
{
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = &analysis->adoption;
	vs_replay_add_observer(replay, observer);
	err = vs_analysis_pass(analysis->source, &analysis->window, replay);
	if (err)
		vs_replay_destroy(replay);
	else
		*out = replay;
	return err;
}
