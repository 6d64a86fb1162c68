#include "page_overview.h"

#include <stdlib.h>
#include <string.h>

#include "site_order.h"

/* Programs start long before their first event: nothing is there to see. */
static void choose_window(struct vs_page_overview *overview, const struct vs_analysis *analysis)
{
	uint64_t first = analysis->replay->first_ns, last = analysis->duration_ns;
	uint64_t margin = last > first ? (last - first) / 50 : 0;

	overview->from_ns = first > margin ? first - margin : 0;
	overview->to_ns = last > overview->from_ns ? last : overview->from_ns + 1;
}

int vs_page_overview_init(struct vs_page_overview *overview, const struct vs_analysis *analysis,
			  const struct vs_replay_device *device)
{
	struct vs_site_row *rows;
	size_t nr_rows;
	int err = vs_site_order_peak(analysis, device, &rows, &nr_rows);

	if (err)
		return err;
	memset(overview, 0, sizeof(*overview));
	choose_window(overview, analysis);
	for (size_t i = 0; i < nr_rows && i < VS_PAGE_OVERVIEW_SITES; i++)
		overview->sites[overview->nr_sites++] = rows[i].account->site->index;
	free(rows);
	return 0;
}

void vs_page_overview_charge(struct vs_page_overview *overview, uint32_t site, uint64_t size,
			     bool is_live)
{
	size_t group = 0;

	while (group < overview->nr_sites && overview->sites[group] != site)
		group++;
	if (group == overview->nr_sites)
		group = VS_PAGE_OVERVIEW_SITES;
	overview->charged[group] += is_live ? size : 0 - size;
}

/* What holds now also holds at the beginning of the columns that follow. */
static void go_to(struct vs_page_overview *overview, uint32_t column)
{
	while (overview->column < column)
		overview->columns[++overview->column] = overview->now;
}

void vs_page_overview_add(struct vs_page_overview *overview, uint64_t time_ns, uint64_t live,
			  uint64_t reserved)
{
	struct vs_page_column_level *level;
	double since = time_ns > overview->from_ns ? (double)(time_ns - overview->from_ns) : 0;
	double place =
		since / (double)(overview->to_ns - overview->from_ns) * VS_PAGE_OVERVIEW_COLUMNS;
	uint32_t column =
		place < VS_PAGE_OVERVIEW_COLUMNS ? (uint32_t)place : VS_PAGE_OVERVIEW_COLUMNS - 1;

	go_to(overview, column);
	overview->now.live = live;
	overview->now.reserved = reserved;
	memcpy(overview->now.groups, overview->charged, sizeof(overview->charged));
	level = &overview->columns[overview->column];
	if (live > level->live) {
		uint64_t most = level->reserved;

		*level = overview->now;
		level->reserved = most;
	}
	if (reserved > level->reserved)
		level->reserved = reserved;
}

void vs_page_overview_finish(struct vs_page_overview *overview)
{
	go_to(overview, VS_PAGE_OVERVIEW_COLUMNS - 1);
}
