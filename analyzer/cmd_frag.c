#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "frag_report.h"
#include "report_json.h"
#include "report_text.h"
#include "story.h"
#include "units.h"

#define TOP 10

enum own {
	OWN_REQUEST,
	OWN_OVER_TIME,
};

static const struct vs_option own_options[] = {
	{"request", 0, "SIZE",
	 "could this have been served, when, and what is in the way (1.25GiB)"},
	{"over-time", 0, NULL, "the measures at 24 instants, too"},
	{NULL, 0, NULL, NULL},
};

static int compare_holes(const void *a, const void *b)
{
	const struct vs_address_entry *x = *(const struct vs_address_entry *const *)a;
	const struct vs_address_entry *y = *(const struct vs_address_entry *const *)b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->base > y->base) - (x->base < y->base);
}

/* Holes that cannot be given back, largest first. *holes is the caller's to free. */
static int find_holes(const struct vs_address_map *map, const struct vs_address_entry ***holes,
		      size_t *nr_holes)
{
	size_t i;

	*nr_holes = 0;
	*holes = calloc(map->nr_entries + 1, sizeof(**holes));
	if (!*holes)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < map->nr_entries; i++)
		if (map->entries[i].type == VS_ADDRESS_HOLE && !map->entries[i].is_releasable)
			(*holes)[(*nr_holes)++] = &map->entries[i];
	qsort(*holes, *nr_holes, sizeof(**holes), compare_holes);
	return 0;
}

static void put_hole(struct vs_story *story, const struct vs_address_entry *hole)
{
	const struct vs_item *item = hole->item;
	struct vs_text_line line = {0};
	char address[32], a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	snprintf(address, sizeof(address), "0x%" PRIx64, hole->base);
	if (story->json) {
		vs_json_begin_object(story->json, NULL);
		vs_json_put_text(story->json, "address", address);
		vs_json_put_number(story->json, "bytes", hole->size);
		vs_json_put_text(story->json, "pool", item->owner->name);
		vs_json_put_number(story->json, "segment_bytes", item->range.size);
		vs_json_put_number(story->json, "segment_blocks", item->blocks.nr_ranges);
		vs_json_end_object(story->json);
		return;
	}
	vs_text_add(&line, "  %-9s at %-16s in a segment of %s with %zu block%s",
		    vs_units_put_bytes(a, hole->size), address,
		    vs_units_put_bytes(b, item->range.size), item->blocks.nr_ranges,
		    item->blocks.nr_ranges == 1 ? "" : "s");
	vs_text_put(&story->style, &line);
}

static int put_holes(struct vs_story *story, const struct vs_device_state *state, size_t top)
{
	const struct vs_address_entry **holes;
	struct vs_text_line line = {0};
	size_t nr_holes, i;
	int err = find_holes(&state->map, &holes, &nr_holes);

	if (err)
		return err;
	if (story->json) {
		vs_json_begin_array(story->json, "largest_holes");
	} else if (nr_holes) {
		vs_text_add(&line, "LARGEST HOLES");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_put(&story->style, &line);
	}
	for (i = 0; i < nr_holes && i < top; i++)
		put_hole(story, holes[i]);
	if (story->json)
		vs_json_end_array(story->json);
	free(holes);
	return 0;
}

static int put_neighbour(struct vs_story *story, const struct vs_address_neighbour *neighbour)
{
	const struct vs_account *account =
		story->analysis.replay->accounts[neighbour->account->index];
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	int err;

	if (story->json) {
		vs_json_begin_object(story->json, NULL);
		vs_json_put_number(story->json, "blocks", neighbour->nr_blocks);
		vs_json_put_number(story->json, "bytes", neighbour->bytes);
		vs_json_put_number(story->json, "first_ns", neighbour->first_ns);
		vs_json_put_number(story->json, "steps", neighbour->nr_births);
		err = vs_story_put_json_site(story, account->site, account->api);
		if (!err)
			vs_json_end_object(story->json);
		return err;
	}
	vs_text_add(&line, "  %7" PRIu64 " x  %-9s ", neighbour->nr_blocks,
		    vs_units_put_bytes(a, neighbour->bytes));
	vs_text_fill(&line, 27);
	err = vs_story_add_site(story, &line, account);
	vs_text_put(&story->style, &line);
	return err;
}

/* The blocks next to the holes of the worst pool. */
static int put_neighbours(struct vs_story *story, const struct vs_device_state *state, size_t top)
{
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);
	struct vs_address_neighbour *neighbours = NULL;
	struct vs_text_line line = {0};
	size_t nr = 0, i;
	int err = 0;

	if (worst)
		err = vs_address_map_find_neighbours(&state->map, worst->pool, &neighbours, &nr);
	if (err)
		return err;
	if (story->json) {
		vs_json_begin_array(story->json, "neighbours");
	} else if (nr) {
		vs_text_add(&line, "BLOCKS NEXT TO THEM");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_put(&story->style, &line);
	}
	for (i = 0; i < nr && i < top && !err; i++)
		err = put_neighbour(story, &neighbours[i]);
	if (story->json && !err)
		vs_json_end_array(story->json);
	free(neighbours);
	return err;
}

static void put_now(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	vs_text_add(&line, "HOLES");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	if (worst) {
		vs_text_add(&line, "%s in %" PRIu64 " holes of pool ",
			    vs_units_put_bytes(a, worst->holes.total_bytes), worst->holes.nr_holes);
		vs_text_add_name(&line, worst->pool->name, VS_TEXT_NAME_COLUMNS);
		vs_text_add(&line, ", the largest %s",
			    vs_units_put_bytes(b, vs_hole_set_get_largest(&worst->holes)));
		vs_story_add_instant(&line, &state->at);
		vs_text_add(&line, ": fragmentation %.2f, scatter %.2f",
			    vs_hole_set_get_share(&worst->holes),
			    vs_hole_set_get_scatter(&worst->holes));
	} else {
		vs_text_add(&line, "none");
		vs_story_add_instant(&line, &state->at);
	}
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

/* How much of what was taken was ever used: the most live against the most reserved. */
static void put_utilization(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	double share = 0;

	if (peaks->reserved.bytes)
		share = (double)peaks->live.bytes / (double)peaks->reserved.bytes;
	if (story->json) {
		vs_json_put_real(story->json, "utilization", share);
		return;
	}
	vs_text_add(&line, "UTILIZATION");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "%.2f: at most %s live, at most %s reserved", share,
		    vs_units_put_bytes(a, peaks->live.bytes),
		    vs_units_put_bytes(b, peaks->reserved.bytes));
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

/* run_frag has looked at it: it is a size. */
static uint64_t get_request(const struct vs_story *story)
{
	const char *text = story->options->own[OWN_REQUEST];
	uint64_t request = 0;

	return text && !vs_options_parse_size(&request, text) ? request : 0;
}

static int tell_state(struct vs_story *story, const struct vs_device_state *state, size_t top)
{
	bool has_rows = story->options->own[OWN_OVER_TIME];
	uint64_t request = get_request(story);
	int err = 0;

	if (story->json) {
		vs_report_json_put_holes(story, state);
		vs_report_json_put_pools(story, state);
		vs_report_json_put_worst(story, state->device);
	} else {
		put_now(story, state);
		vs_report_text_put_pools(story, state);
		vs_report_text_put_fragmentation(story, state->device);
	}
	put_utilization(story, state->device);
	if (request || has_rows)
		err = vs_frag_report_tell_history(story, state, request, has_rows);
	if (!err)
		err = put_holes(story, state, top);
	if (!err)
		err = put_neighbours(story, state, top);
	if (!err)
		err = vs_frag_report_tell_pinning(story, state, request, top);
	return err ? err : vs_frag_report_tell_segments(story, state, top);
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				       story->options->at_ns);

	if (err)
		return err;
	err = tell_state(story, &state, vs_story_get_top(story, TOP));
	vs_device_state_fini(&state);
	return err;
}

static int tell_frag(struct vs_story *story)
{
	return vs_story_tell_devices(story, tell_device);
}

static int run_frag(int argc, char **argv)
{
	struct vs_options options;
	const char *request;
	uint64_t size = 0;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_frag, argc, argv, &status))
		return status;
	request = options.own[OWN_REQUEST];
	if (request && (vs_options_parse_size(&size, request) || !size))
		return vs_command_fail_usage(
			&vs_cmd_frag, "--request: '%s' is not a size (1.25GiB, 512M)", request);
	return vs_story_tell(&options, "vramscope.frag/0", tell_frag);
}

const struct vs_command vs_cmd_frag = {
	.name = "frag",
	.summary = "Show the holes in the memory of pools, and who sits between them",
	.usage = "[--json] [--device N] [--at WHEN] [--request SIZE] [--over-time] [--top N] "
		 "TRACE...",
	.details =
		"Holes are free bytes inside segments that a pool holds and cannot give back.\n"
		"Fragmentation is the share of them outside the largest hole; scatter is\n"
		"1 - sqrt(sum of squares) / sum. Without --at: the last out-of-memory, else the\n"
		"peak of reserved memory. What is in the way of a request are the live blocks that\n"
		"would have to go so that holes become one of its size.",
	.takes = VS_TAKES_ANALYSIS,
	.options = own_options,
	.recalls = VS_RECALLS_EACH,
	.run = run_frag,
};
