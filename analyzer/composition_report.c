#include "composition_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report_text.h"
#include "units.h"

static uint64_t get_sum(const struct vs_composition *composition)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < VS_NR_CATEGORIES; i++)
		sum += composition->bytes[i];
	return sum;
}

/* Most bytes first, but what is unclear last. */
static size_t order_categories(const struct vs_composition *composition,
			       enum vs_category order[VS_NR_CATEGORIES])
{
	size_t nr = 0, i, k;

	for (i = 0; i < VS_NR_CATEGORIES; i++) {
		if (!composition->bytes[i])
			continue;
		for (k = nr; k > 0 && i != VS_CATEGORY_UNCLEAR &&
			     composition->bytes[order[k - 1]] < composition->bytes[i];
		     k--)
			order[k] = order[k - 1];
		order[k] = (enum vs_category)i;
		nr++;
	}
	return nr;
}

static void put_text(struct vs_story *story, const struct vs_composition *composition,
		     uint64_t live_bytes)
{
	enum vs_category order[VS_NR_CATEGORIES];
	size_t nr = order_categories(composition, order), i;
	uint64_t sum = get_sum(composition);
	struct vs_text_line line = {0};
	char text[VS_UNITS_MAX];

	if (!nr)
		return;
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	for (i = 0; i < nr; i++)
		vs_text_add(&line, "%s%s %s", i ? ", " : "made of ",
			    vs_category_get_plural(order[i]),
			    vs_units_put_bytes(text, composition->bytes[order[i]]));
	if (live_bytes > sum)
		vs_text_add(&line, ", not PyTorch's %s",
			    vs_units_put_bytes(text, live_bytes - sum));
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_json(struct vs_json *json, const char *key,
		     const struct vs_composition *composition)
{
	int i;

	if (!composition->is_known) {
		vs_json_put_null(json, key);
		return;
	}
	vs_json_begin_object(json, key);
	for (i = 0; i < VS_NR_CATEGORIES; i++) {
		vs_json_begin_object(json, vs_category_get_name((enum vs_category)i));
		vs_json_put_number(json, "bytes", composition->bytes[i]);
		vs_json_put_number(json, "count", composition->count[i]);
		vs_json_end_object(json);
	}
	vs_json_end_object(json);
}

int vs_composition_report_tell(struct vs_story *story, const char *key,
			       const struct vs_replay_device *device, const struct vs_instant *at,
			       uint64_t live_bytes)
{
	struct vs_composition composition;
	int err = vs_composition_init(&composition, &story->analysis, story->names, device, at);

	if (err)
		return err;
	if (story->json)
		put_json(story->json, key, &composition);
	else
		put_text(story, &composition, live_bytes);
	vs_composition_fini(&composition);
	return 0;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static int compare_sizes(const void *a, const void *b)
{
	const struct vs_composition_block *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int put_json_block(struct vs_story *story, const struct vs_composition_block *block)
{
	int err;

	vs_json_begin_object(story->json, NULL);
	vs_json_put_number(story->json, "address", block->address);
	vs_json_put_number(story->json, "bytes", block->size);
	vs_json_put_text(story->json, "category", vs_category_get_name(block->category));
	err = vs_story_put_json_site(story, block->site, block->api);
	if (!err)
		vs_json_end_object(story->json);
	return err;
}

static int put_text_block(struct vs_story *story, const struct vs_composition_block *block)
{
	struct vs_text_line line = {0};
	char text[1024], size[VS_UNITS_MAX];
	int err = vs_site_names_put(story->names, block->site, block->api, text, sizeof(text));

	if (err)
		return err;
	vs_text_add(&line, "  0x%" PRIx64 "  %-9s %-11s %s", block->address,
		    vs_units_put_bytes(size, block->size), vs_category_get_name(block->category),
		    text);
	vs_text_put(&story->style, &line);
	return 0;
}

int vs_composition_report_tell_blocks(struct vs_story *story, const struct vs_replay_device *device,
				      const struct vs_instant *at, size_t top)
{
	struct vs_composition composition;
	size_t i;
	int err = vs_composition_init(&composition, &story->analysis, story->names, device, at);

	if (err)
		return err;
	if (composition.nr_blocks)
		qsort(composition.blocks, composition.nr_blocks, sizeof(composition.blocks[0]),
		      compare_sizes);
	if (story->json)
		vs_json_begin_array(story->json, "blocks");
	for (i = 0; i < composition.nr_blocks && i < top && !err; i++)
		err = story->json ? put_json_block(story, &composition.blocks[i])
				  : put_text_block(story, &composition.blocks[i]);
	if (story->json && !err)
		vs_json_end_array(story->json);
	vs_composition_fini(&composition);
	return err;
}
