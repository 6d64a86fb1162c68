#include <inttypes.h>

#include "command.h"
#include "map.h"
#include "map_bar.h"
#include "map_gather.h"
#include "report_text.h"
#include "story.h"
#include "units.h"

static int run_map(int argc, char **argv);

const struct vs_command vs_cmd_map = {
	.name = "map",
	.summary = "Show the address space at one instant",
	.usage = "[--json] [--device N] [--at WHEN] [--from TIME] [--to TIME] TRACE...",
	.details =
		"Each segment has a line and, below it, rows of signs that tell how much of each part\n"
		"is live; small segments are put together. Without --at: at the last out-of-memory of\n"
		"each device, else at the peak of its reserved memory.",
	.takes = VS_TAKES_ANALYSIS & ~(unsigned int)VS_TAKES_TOP,
	.recalls = VS_RECALLS_EACH,
	.run = run_map,
};

static void put_json_segment(struct vs_json *json, const struct vs_map_state *map,
			     const struct vs_map_segment *segment)
{
	struct vs_map_sums sums = {0};
	char address[32];

	vs_map_bar_add_sums(map, segment, &sums);
	snprintf(address, sizeof(address), "0x%" PRIx64, segment->address);
	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "address", address);
	vs_json_put_number(json, "bytes", segment->size);
	vs_json_put_text(json, "what", segment->label);
	vs_json_put_bool(json, "is_pooled", segment->is_owned);
	vs_json_put_number(json, "live_bytes", sums.live);
	vs_json_put_number(json, "blocks", sums.nr_blocks);
	vs_json_put_number(json, "holes", sums.nr_holes);
	vs_json_put_number(json, "hole_bytes", sums.hole_bytes);
	vs_json_put_number(json, "largest_hole_bytes", sums.largest_hole);
	vs_json_put_number(json, "releasable_bytes", sums.releasable);
	vs_json_end_object(json);
}

static void put_json(struct vs_story *story, const struct vs_device_state *state,
		     const struct vs_map_state *map)
{
	vs_story_put_json_instant(story, "at", &state->at);
	vs_json_put_number(story->json, "live_bytes", map->live_bytes);
	vs_json_put_number(story->json, "reserved_bytes", map->reserved_bytes);
	vs_json_begin_array(story->json, "segments");
	for (size_t i = 0; i < map->nr_segments; i++)
		put_json_segment(story->json, map, &map->segments[i]);
	vs_json_end_array(story->json);
}

static void put_heading(struct vs_story *story, const struct vs_device_state *state)
{
	struct vs_text_line line = {0};
	char size[VS_UNITS_MAX];

	vs_text_add(&line, "MAP");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "addresses");
	vs_story_add_instant(&line, &state->at);
	if (state->oom)
		vs_text_add(&line, ", out of memory: %s asked",
			    vs_units_put_bytes(size, state->oom->last_oom.size));
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

/* The terminal is for all devices together. */
static size_t share_lines(const struct vs_story *story)
{
	size_t i = 0, nr = 0;

	while (vs_story_next_device(story, &i))
		nr++;
	return nr ? story->options->height / nr : 0;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_device_state state;
	struct vs_map_state map;
	int err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				       story->options->at_ns);

	if (err)
		return err;
	vs_map_init(&map);
	map.height = share_lines(story);
	err = vs_map_gather_state(&map, &state);
	if (!err && story->json) {
		put_json(story, &state, &map);
	} else if (!err) {
		put_heading(story, &state);
		err = vs_map_put(&map, &story->style);
	}
	vs_map_fini(&map);
	vs_device_state_fini(&state);
	return err;
}

static int tell_map(struct vs_story *story)
{
	return vs_story_tell_devices(story, tell_device);
}

static int run_map(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_map, argc, argv, "vramscope.map/0", tell_map);
}
