#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "site_order.h"
#include "story.h"
#include "units.h"

#define TOP 20

static const char *const domain_names[] = {
	[VS_DOMAIN_DEVICE] = "device",
	[VS_DOMAIN_HOST] = "host",
	[VS_DOMAIN_PEER] = "peer",
};

static int put_json_row(struct vs_story *story, const struct vs_site_row *row)
{
	const struct vs_account *account = row->account;
	const struct vs_site_totals *totals = vs_measure_sites_get(&story->analysis.sites, account);
	struct vs_json *json = story->json;
	int err;

	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "domain", domain_names[account->domain]);
	vs_json_put_number(json, "allocs", totals->nr_allocs);
	vs_json_put_number(json, "bytes_allocated", totals->bytes_allocated);
	vs_json_put_number(json, "peak_bytes", totals->peak_bytes);
	vs_json_put_number(json, "min_bytes", totals->min_size);
	vs_json_put_number(json, "max_bytes", totals->max_size);
	vs_json_put_number(json, "live_at_end_count", account->live_count);
	vs_json_put_number(json, "live_at_end_bytes", account->live_bytes);
	vs_json_put_number(json, "first_ns", totals->first_ns);
	vs_json_put_number(json, "last_ns", totals->last_ns);
	err = vs_story_put_json_site(story, account->site, account->api);
	if (!err)
		vs_json_end_object(json);
	return err;
}

static int put_text_row(struct vs_story *story, const struct vs_site_row *row)
{
	const struct vs_site_totals *totals =
		vs_measure_sites_get(&story->analysis.sites, row->account);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];
	int err;

	vs_text_add(&line, "  %-9s %7" PRIu64 " x  %-9s %-9s ", vs_units_put_bytes(a, row->bytes),
		    row->count, vs_units_put_bytes(b, totals->peak_bytes),
		    vs_units_put_bytes(c, row->account->live_bytes));
	if (row->account->domain != VS_DOMAIN_DEVICE)
		vs_text_add(&line, "(%s) ", domain_names[row->account->domain]);
	err = vs_story_add_site(story, &line, row->account);
	vs_text_put(&story->style, &line);
	return err;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_text_line line = {0};
	struct vs_site_row *rows;
	size_t nr_rows, i, top = vs_story_get_top(story, TOP);
	int err = vs_site_order_total(&story->analysis, device, &rows, &nr_rows);

	if (err)
		return err;
	if (story->json) {
		vs_json_put_number(story->json, "nr_sites", nr_rows);
		vs_json_begin_array(story->json, "sites");
	} else {
		vs_text_add(&line, "  %-9s %9s  %-9s %-9s %s", "ALLOCATED", "TIMES", "PEAK",
			    "AT END", "SITE");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_put(&story->style, &line);
	}
	for (i = 0; i < nr_rows && i < top && !err; i++)
		err = story->json ? put_json_row(story, &rows[i]) : put_text_row(story, &rows[i]);
	if (story->json && !err)
		vs_json_end_array(story->json);
	if (!story->json && nr_rows > top) {
		vs_text_add(&line, "  and %zu more sites", nr_rows - top);
		vs_text_put(&story->style, &line);
	}
	free(rows);
	return err;
}

static int tell_sites(struct vs_story *story)
{
	return vs_story_tell_devices(story, tell_device);
}

static int run_sites(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_sites, argc, argv, "vramscope.sites/0", tell_sites);
}

const struct vs_command vs_cmd_sites = {
	.name = "sites",
	.summary = "Show which stacks allocated how much over the whole run",
	.usage = "[--json] [--device N] [--from TIME] [--to TIME] [--top N] TRACE...",
	.details =
		"A site is a distinct stack. PEAK is the most it ever had alive, at its own time;\n"
		"AT END is what was never freed.",
	.takes = VS_TAKES_ANALYSIS & ~(unsigned int)VS_TAKES_AT,
	.wants = {.no_holes = true},
	.run = run_sites,
};
