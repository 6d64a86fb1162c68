#include "instant_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report_text.h"
#include "site_order.h"
#include "units.h"

static void add_heading(struct vs_text_line *line, const char *heading)
{
	vs_text_add(line, "%s", heading);
	vs_text_mark(line, VS_TEXT_STRONG);
	vs_text_fill(line, VS_REPORT_TEXT_COLUMN);
}

void vs_instant_report_put_live(struct vs_story *story, const struct vs_device_state *state)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (story->json) {
		vs_json_put_number(story->json, "live_bytes", state->map.live_bytes);
		vs_json_put_number(story->json, "reserved_bytes", state->map.reserved_bytes);
		return;
	}
	add_heading(&line, "LIVE");
	vs_text_add(&line, "%s in %s reserved", vs_units_put_bytes(a, state->map.live_bytes),
		    vs_units_put_bytes(b, state->map.reserved_bytes));
	vs_story_add_instant(&line, &state->at);
	vs_text_put(&story->style, &line);
}

static int put_row(struct vs_story *story, const struct vs_site_row *row, uint64_t live_bytes)
{
	const struct vs_account *account = story->analysis.replay->accounts[row->account->index];
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	int err;

	if (story->json) {
		vs_json_begin_object(story->json, NULL);
		vs_json_put_number(story->json, "bytes", row->bytes);
		vs_json_put_number(story->json, "count", row->count);
		err = vs_story_put_json_site(story, account->site, account->api);
		if (!err)
			vs_json_end_object(story->json);
		return err;
	}
	vs_text_add(&line, "  %-9s %5s %7" PRIu64 " x   ", vs_units_put_bytes(a, row->bytes),
		    vs_units_put_share(b, row->bytes, live_bytes), row->count);
	err = vs_story_add_site(story, &line, account);
	vs_text_put(&story->style, &line);
	return err;
}

int vs_instant_report_put_sites(struct vs_story *story, const struct vs_device_state *state,
				size_t top)
{
	const struct vs_replay_device *device = state->map.device;
	struct vs_site_row *rows = NULL;
	size_t nr_rows = 0, i;
	int err = 0;

	if (story->json)
		vs_json_begin_array(story->json, "sites");
	/* Before its first record a device is not there, and has nothing. */
	if (device != state->device)
		err = vs_site_order_live(state->then, device, &rows, &nr_rows);
	for (i = 0; !err && i < nr_rows && i < top; i++)
		err = put_row(story, &rows[i], device->live_bytes);
	free(rows);
	if (!err && story->json)
		vs_json_end_array(story->json);
	return err;
}

void vs_instant_report_put_holes(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	uint64_t total, largest;

	add_heading(&line, "FRAGMENTATION");
	if (worst) {
		total = worst->holes.total_bytes;
		largest = vs_hole_set_get_largest(&worst->holes);
		vs_text_add(&line, "%.2f in pool ", vs_hole_set_get_share(&worst->holes));
		vs_text_add_name(&line, worst->pool->name, VS_TEXT_NAME_COLUMNS);
		vs_text_add(&line, ": of %s in holes, %s are outside the largest",
			    vs_units_put_bytes(a, total), vs_units_put_bytes(b, total - largest));
	} else {
		vs_text_add(&line, "no hole is known then");
	}
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

void vs_instant_report_put_run(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_peak_device *peaks =
		vs_measure_peak_get(&story->analysis.peak, state->device);
	const struct vs_failure_group *oom =
		vs_failures_get_last(&story->analysis.failures, state->device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];

	add_heading(&line, "WHOLE RUN");
	vs_text_add(&line, "at most %s live", vs_units_put_bytes(a, peaks->live.bytes));
	vs_story_add_instant(&line, &peaks->live.at);
	if (oom) {
		vs_text_add(&line, "; out of memory");
		vs_story_add_instant(&line, &oom->last_oom.at);
	}
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "causes and growth: vramscope report %s", story->path);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}
