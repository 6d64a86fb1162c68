#include "peak_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "address_map.h"
#include "measure_peaks.h"
#include "report_json.h"
#include "report_text.h"
#include "site_order.h"
#include "units.h"
#include "why_json.h"

/* What a site has live at the peak, piece by piece. */
struct pieces {
	uint64_t count; /* that were found; arrays and handles have no place in the map */
	uint64_t least;
	uint64_t most;
	uint64_t oldest_ns;
	uint64_t newest_ns;
};

/* ---- Pieces of sites ------------------------------------------------------------------------ */

static void add_piece(struct pieces *pieces, uint64_t size, uint64_t birth_ns)
{
	if (!pieces->count++) {
		*pieces = (struct pieces){1, size, size, birth_ns, birth_ns};
		return;
	}
	if (size < pieces->least)
		pieces->least = size;
	if (size > pieces->most)
		pieces->most = size;
	if (birth_ns < pieces->oldest_ns)
		pieces->oldest_ns = birth_ns;
	if (birth_ns > pieces->newest_ns)
		pieces->newest_ns = birth_ns;
}

static void add_item(struct pieces *pieces, size_t nr_pieces, const struct vs_item *item)
{
	if (item->account->index < nr_pieces)
		add_piece(&pieces[item->account->index], item->size, item->birth_ns);
}

/* At the peak, which is the state of `then`. */
static int add_then(struct pieces *pieces, size_t nr_pieces, const struct vs_replay *then,
		    const struct vs_replay_device *device)
{
	struct vs_address_map map = {0};
	size_t i;
	int err = 0;

	if (vs_replay_get_device(then, device->ordinal))
		err = vs_address_map_init(&map, then, vs_replay_get_device(then, device->ordinal));
	for (i = 0; i < map.nr_entries; i++)
		if (map.entries[i].type != VS_ADDRESS_HOLE && map.entries[i].item->is_charged)
			add_item(pieces, nr_pieces, map.entries[i].item);
	vs_address_map_fini(&map);
	return err;
}

/* The same by what is alive at the end, and what has gone since. */
static int add_now(struct pieces *pieces, size_t nr_pieces, const struct vs_analysis *analysis,
		   const struct vs_replay_device *device)
{
	const struct vs_peaks_piece *gone = analysis->peaks.devices[device->index].gone;
	size_t i, nr_gone = vs_measure_peaks_count_gone(&analysis->peaks, device);
	struct vs_address_map map;
	int err = vs_address_map_init(&map, analysis->replay, device);

	if (err)
		return err;
	for (i = 0; i < map.nr_entries; i++)
		if (map.entries[i].type != VS_ADDRESS_HOLE &&
		    vs_measure_peaks_was_live(&analysis->peaks, map.entries[i].item))
			add_item(pieces, nr_pieces, map.entries[i].item);
	for (i = 0; i < nr_gone; i++)
		add_piece(&pieces[gone[i].account], gone[i].size, gone[i].birth_ns);
	vs_address_map_fini(&map);
	return 0;
}

/* By account; *out is the caller's to free. */
static int find_pieces(struct vs_story *story, const struct vs_replay_device *device,
		       const struct vs_instant *at, struct pieces **out)
{
	size_t nr_pieces = story->analysis.replay->nr_accounts;
	struct pieces *pieces = calloc(nr_pieces + 1, sizeof(*pieces));
	struct vs_replay *then;
	int err;

	if (!pieces)
		return -VS_ERR_NO_MEMORY;
	if (vs_measure_peaks_get(&story->analysis.peaks, device)) {
		err = add_now(pieces, nr_pieces, &story->analysis, device);
	} else {
		err = vs_analysis_go_to(&story->analysis, at, &then);
		if (!err) {
			err = add_then(pieces, nr_pieces, then, device);
			vs_replay_destroy(then);
		}
	}
	if (err)
		free(pieces);
	else
		*out = pieces;
	return err;
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* " (27 % lower)" */
static void add_lower(struct vs_text_line *line, uint64_t bytes, uint64_t highest)
{
	char text[VS_UNITS_MAX];

	vs_text_add(line, " (%s lower)", vs_units_put_share(text, highest - bytes, highest));
}

static void put_near(struct vs_story *story, const struct vs_peak_curve *peaks)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;

	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "reached %s times within 1 %%",
		    vs_units_put_number(a, peaks->nr_near, story->options->ascii));
	for (i = 0; i < peaks->nr_near_phases; i++) {
		vs_text_add(&line, "%s", i ? ", " : ": ");
		if (peaks->nr_near_phases > 1)
			vs_text_add(&line, "%" PRIu64 " ", peaks->near[i].count);
		if (peaks->near[i].name) {
			vs_text_add(&line, "in ");
			vs_text_add_name(&line, peaks->near[i].name, VS_TEXT_NAME_COLUMNS);
		} else {
			vs_text_add(&line, "in no phase");
		}
	}
	if (peaks->below.bytes) {
		vs_text_add(&line, "; the next below is %s",
			    vs_units_put_bytes(a, peaks->below.bytes));
		add_lower(&line, peaks->below.bytes, peaks->highest);
		vs_story_add_instant(&line, &peaks->below.at);
	}
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_peaks(struct vs_story *story, struct vs_peak_curve *peaks)
{
	uint64_t typical = vs_peak_curve_get_typical(peaks);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];

	if (peaks->nr_near > 1)
		put_near(story, peaks);
	if (peaks->nr_peaks < 2 || peaks->nr_near == peaks->nr_peaks)
		return;
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	if (peaks->nr_near < 2) {
		vs_text_add(&line, "the second peak is %s",
			    vs_units_put_bytes(a, peaks->second.bytes));
		add_lower(&line, peaks->second.bytes, peaks->highest);
		vs_story_add_instant(&line, &peaks->second.at);
		vs_text_add(&line, "; ");
	}
	vs_text_add(&line, "a typical one of %" PRIu64 " is %s", peaks->nr_peaks,
		    vs_units_put_bytes(a, typical));
	add_lower(&line, typical, peaks->highest);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_made(struct vs_story *story, const struct vs_peaks_device *peaks)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;

	/* Without any phase there is nothing to tell. */
	if (!peaks->nr_made || (peaks->nr_made == 1 && !peaks->made[0].name))
		return;
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	for (i = 0; i < peaks->nr_made && i < VS_PEAK_CURVE_NAMED; i++) {
		vs_text_add(&line, "%s", i ? ", " : "made ");
		if (peaks->made[i].name) {
			vs_text_add(&line, "in ");
			vs_text_add_name(&line, peaks->made[i].name, VS_TEXT_NAME_COLUMNS);
		} else {
			vs_text_add(&line, "outside all phases");
		}
		vs_text_add(&line, " %s", vs_units_put_bytes(a, peaks->made[i].bytes));
	}
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_pools(struct vs_story *story, const struct vs_measure_peaks *peaks,
		      const struct vs_replay_device *device)
{
	const struct vs_replay *replay = story->analysis.replay;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;

	for (i = 0; i < replay->nr_pools && i < peaks->pools_capacity; i++) {
		const struct vs_peaks_pool *pool = &peaks->pools[i];

		if (replay->pools[i]->device != device || (!pool->live_bytes && !pool->held_bytes))
			continue;
		vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
		vs_text_add(&line, "pool ");
		vs_text_add_name(&line, replay->pools[i]->name, VS_TEXT_NAME_COLUMNS);
		vs_text_add(&line, ": at most %s live", vs_units_put_bytes(a, pool->live_bytes));
		vs_story_add_instant(&line, &pool->live_at);
		vs_text_add(&line, ", %s held", vs_units_put_bytes(a, pool->held_bytes));
		vs_story_add_instant(&line, &pool->held_at);
		vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	}
}

static int put_rows(struct vs_story *story, const struct vs_site_row *rows, size_t nr_rows,
		    const struct pieces *pieces, const struct vs_peak *peak)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];
	size_t i;
	int err = 0;

	if (nr_rows) {
		vs_text_add(&line, "  %-9s %5s %7s   %-10s %-9s at", "bytes", "share", "pieces",
			    "largest", "oldest");
		vs_text_put(&story->style, &line);
	}
	for (i = 0; i < nr_rows && !err; i++) {
		const struct pieces *own = &pieces[rows[i].account->index];

		vs_text_add(&line, "  %-9s %5s %7" PRIu64 " x ",
			    vs_units_put_bytes(a, rows[i].bytes),
			    vs_units_put_share(b, rows[i].bytes, peak->bytes), rows[i].count);
		if (own->count)
			vs_text_add(&line, "%-10s %-9s ", vs_units_put_bytes(a, own->most),
				    vs_units_put_time(c, peak->at.time_ns - own->oldest_ns));
		else
			vs_text_add(&line, "%-10s %-9s ", "-", "-");
		err = vs_story_add_site(story, &line, rows[i].account);
		vs_text_put(&story->style, &line);
	}
	return err;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_json_phases(struct vs_json *json, const char *key,
			    const struct vs_peak_phase *phases, size_t nr, bool is_bytes)
{
	size_t i;

	vs_json_begin_array(json, key);
	for (i = 0; i < nr; i++) {
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "phase", phases[i].name);
		if (is_bytes)
			vs_json_put_number(json, "bytes", phases[i].bytes);
		else
			vs_json_put_number(json, "count", phases[i].count);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static void put_json_pools(struct vs_story *story, const struct vs_measure_peaks *peaks,
			   const struct vs_replay_device *device)
{
	const struct vs_replay *replay = story->analysis.replay;
	struct vs_json *json = story->json;
	size_t i;

	vs_json_begin_array(json, "pools");
	for (i = 0; i < replay->nr_pools && i < peaks->pools_capacity; i++) {
		if (replay->pools[i]->device != device)
			continue;
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "name", replay->pools[i]->name);
		vs_json_put_number(json, "peak_live_bytes", peaks->pools[i].live_bytes);
		vs_story_put_json_instant(story, "peak_live_at", &peaks->pools[i].live_at);
		vs_json_put_number(json, "peak_held_bytes", peaks->pools[i].held_bytes);
		vs_story_put_json_instant(story, "peak_held_at", &peaks->pools[i].held_at);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static void put_json(struct vs_story *story, const struct vs_measure_peaks *measure,
		     struct vs_peaks_device *peaks, const struct vs_replay_device *device)
{
	struct vs_peak_curve *curve = &peaks->curve;
	struct vs_json *json = story->json;

	vs_json_begin_object(json, "peaks");
	vs_json_put_number(json, "count", curve->nr_peaks);
	vs_json_put_number(json, "near", curve->nr_near);
	put_json_phases(json, "near_phases", curve->near, curve->nr_near_phases, false);
	vs_why_json_put_known(json, "second_bytes", curve->nr_peaks > 1, curve->second.bytes);
	vs_why_json_put_known(json, "next_below_bytes", curve->below.bytes, curve->below.bytes);
	vs_why_json_put_known(json, "typical_bytes", curve->nr_peaks,
			      vs_peak_curve_get_typical(curve));
	vs_json_end_object(json);
	put_json_phases(json, "peak_phases", peaks->made, peaks->nr_made, true);
	put_json_pools(story, measure, device);
}

static void put_json_rows(struct vs_json *json, const struct vs_site_row *rows, size_t nr_rows,
			  const struct pieces *pieces)
{
	size_t i;

	vs_json_begin_array(json, "peak_pieces");
	for (i = 0; i < nr_rows; i++) {
		const struct pieces *own = &pieces[rows[i].account->index];

		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "bytes", rows[i].bytes);
		vs_why_json_put_known(json, "least_bytes", own->count, own->least);
		vs_why_json_put_known(json, "most_bytes", own->count, own->most);
		vs_why_json_put_known(json, "oldest_ns", own->count, own->oldest_ns);
		vs_why_json_put_known(json, "newest_ns", own->count, own->newest_ns);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

/* ---- Both ----------------------------------------------------------------------------------- */

static int tell_rows(struct vs_story *story, const struct vs_replay_device *device,
		     const struct vs_peak *peak, size_t top)
{
	struct pieces *pieces = NULL;
	struct vs_text_line line = {0};
	struct vs_site_row *rows;
	size_t nr_rows, nr;
	int err = vs_site_order_peak(&story->analysis, device, &rows, &nr_rows);

	if (err)
		return err;
	nr = nr_rows < top ? nr_rows : top;
	err = find_pieces(story, device, &peak->at, &pieces);
	if (!err && story->json)
		put_json_rows(story->json, rows, nr, pieces);
	else if (!err)
		err = put_rows(story, rows, nr, pieces, peak);
	if (!err && !story->json && nr_rows > nr) {
		vs_text_add(&line, "  and %zu more sites", nr_rows - nr);
		vs_text_put(&story->style, &line);
	}
	free(pieces);
	free(rows);
	return err;
}

static void tell_peaks(struct vs_story *story, const struct vs_measure_peaks *measure,
		       const struct vs_replay_device *device)
{
	struct vs_peaks_device none = {0}, *peaks = vs_measure_peaks_get(measure, device);

	if (!peaks)
		peaks = &none;
	if (story->json) {
		put_json(story, measure, peaks, device);
		return;
	}
	put_peaks(story, &peaks->curve);
	put_made(story, peaks);
	put_pools(story, measure, device);
}

/* In a pass of its own: of a part of the trace, or if there were very many peaks. */
static int measure_again(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_measure_peaks peaks;
	struct vs_replay *replay;
	int err;

	vs_measure_peaks_init(&peaks, &story->analysis.peak, true);
	err = vs_analysis_observe(&story->analysis, &peaks.observer, &replay);
	if (!err) {
		tell_peaks(story, &peaks, device);
		vs_replay_destroy(replay); /* names of phases were its own */
	}
	vs_measure_peaks_fini(&peaks);
	return err;
}

int vs_peak_report_tell(struct vs_story *story, const struct vs_replay_device *device, size_t top)
{
	const struct vs_peak *peak = &vs_measure_peak_get(&story->analysis.peak, device)->live;
	int err = 0;

	if (vs_measure_peaks_get(&story->analysis.peaks, device))
		tell_peaks(story, &story->analysis.peaks, device);
	else
		err = measure_again(story, device);
	return err ? err : tell_rows(story, device, peak, top);
}
