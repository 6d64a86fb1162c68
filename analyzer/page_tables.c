#include "page_tables.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* A frame that was written already, and its place in the list. */
struct known_frame {
	const struct vs_definition_module *module;
	uint32_t place;
};

struct table_maker {
	struct vs_story *story;
	struct vs_json json;
	struct vs_id_map by_address; /* struct known_frame */
	uint32_t nr_frames;
	uint32_t *places; /* of all frames of all sites, one site after the other */
	size_t nr_places;
	size_t places_capacity;
};

/* ---- Frames --------------------------------------------------------------------------------- */

static int put_frame(struct table_maker *maker, const struct vs_site_frame *frame)
{
	struct vs_symbol symbols[VS_SYMBOLS_FRAMES_MAX];
	int nr = vs_site_names_resolve(maker->story->names, frame, symbols, VS_SYMBOLS_FRAMES_MAX);

	if (nr < 0)
		return nr;
	vs_json_begin_array(&maker->json, NULL);
	for (int i = 0; i < nr; i++) {
		vs_json_begin_array(&maker->json, NULL);
		vs_json_put_text(&maker->json, NULL, symbols[i].function);
		vs_json_put_text(&maker->json, NULL, symbols[i].file);
		vs_json_put_number(&maker->json, NULL, symbols[i].line);
		vs_json_put_number(&maker->json, NULL, symbols[i].kind);
		vs_json_put_bool(&maker->json, NULL, vs_site_names_is_wrapper(&symbols[i]));
		vs_json_end_array(&maker->json);
	}
	vs_json_end_array(&maker->json);
	return 0;
}

/* The place of a frame; it is written if it is new. Modules may take turns at an address. */
static int find_place(struct table_maker *maker, const struct vs_site_frame *frame, uint32_t *place)
{
	struct known_frame *known = vs_id_map_get(&maker->by_address, frame->address);
	int err;

	if (known && known->module == frame->module) {
		*place = known->place;
		return 0;
	}
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -VS_ERR_NO_MEMORY;
		err = vs_id_map_put(&maker->by_address, frame->address, known);
		if (err) {
			free(known);
			return err;
		}
	}
	*known = (struct known_frame){frame->module, maker->nr_frames};
	*place = maker->nr_frames++;
	return put_frame(maker, frame);
}

static int put_frames(struct table_maker *maker)
{
	const struct vs_definitions *definitions = &maker->story->analysis.replay->definitions;
	int err = 0;

	vs_json_begin_array(&maker->json, "frames");
	for (size_t i = 0; i < definitions->nr_sites && !err; i++) {
		const struct vs_site *site = definitions->sites[i];

		vs_definitions_need_frames(site);
		err = VS_GROW(maker->places, maker->places_capacity,
			      maker->nr_places + site->nr_frames);
		for (uint32_t k = 0; k < site->nr_frames && !err; k++)
			err = find_place(maker, &site->frames[k],
					 &maker->places[maker->nr_places++]);
	}
	if (!err)
		vs_json_end_array(&maker->json);
	return err;
}

/* ---- Sites ---------------------------------------------------------------------------------- */

/* The first API function that is known of each site. */
static uint32_t *find_apis(const struct vs_replay *replay)
{
	uint32_t *apis = calloc(replay->definitions.nr_sites + 1, sizeof(*apis));

	for (size_t i = 0; apis && i < replay->nr_accounts; i++) {
		const struct vs_account *account = replay->accounts[i];

		if (apis[account->site->index] == VS_NO_ID)
			apis[account->site->index] = account->api;
	}
	return apis;
}

static int put_sites(struct table_maker *maker)
{
	const struct vs_replay *replay = maker->story->analysis.replay;
	uint32_t *apis = find_apis(replay);
	const uint32_t *place = maker->places;
	char text[1024];
	int err = apis ? 0 : -VS_ERR_NO_MEMORY;

	vs_json_begin_array(&maker->json, "sites");
	for (size_t i = 0; i < replay->definitions.nr_sites && !err; i++) {
		const struct vs_site *site = replay->definitions.sites[i];

		err = vs_site_names_put(maker->story->names, site, apis[i], text, sizeof(text));
		if (err)
			break;
		vs_json_begin_array(&maker->json, NULL);
		vs_json_put_text(&maker->json, NULL, text);
		vs_json_begin_array(&maker->json, NULL);
		for (uint32_t k = 0; k < site->nr_frames; k++)
			vs_json_put_number(&maker->json, NULL, *place++);
		vs_json_end_array(&maker->json);
		vs_json_end_array(&maker->json);
	}
	free(apis);
	if (!err)
		vs_json_end_array(&maker->json);
	return err;
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void put_names(struct table_maker *maker, const struct vs_page_events *events)
{
	static const char *const kinds[] = {
#define VS_MEMORY_KIND(name, text) [VS_MEMORY_##name] = text,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
	};

	vs_json_begin_array(&maker->json, "names");
	for (size_t i = 0; i < events->nr_names; i++)
		vs_json_put_text(&maker->json, NULL, events->names[i]);
	vs_json_end_array(&maker->json);
	vs_json_begin_array(&maker->json, "categories");
	for (int i = 0; i < VS_NR_CATEGORIES; i++)
		vs_json_put_text(&maker->json, NULL, vs_category_get_plural((enum vs_category)i));
	vs_json_end_array(&maker->json);
	vs_json_begin_array(&maker->json, "kinds");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		vs_json_put_text(&maker->json, NULL, kinds[i]);
	vs_json_end_array(&maker->json);
}

static void put_pools(struct table_maker *maker, const struct vs_replay *replay)
{
	static const char *const owners[] = {[VS_POOL_PROGRAM] = "program",
					     [VS_POOL_DRIVER] = "driver",
					     [VS_POOL_FRAMEWORK] = "framework"};

	vs_json_begin_array(&maker->json, "pools");
	for (size_t i = 0; i < replay->nr_pools; i++) {
		vs_json_begin_object(&maker->json, NULL);
		vs_json_put_text(&maker->json, "name", replay->pools[i]->name);
		vs_json_put_text(&maker->json, "owner", owners[replay->pools[i]->owner]);
		vs_json_put_number(&maker->json, "device", replay->pools[i]->device->index);
		vs_json_end_object(&maker->json);
	}
	vs_json_end_array(&maker->json);
}

static void fini_maker(struct table_maker *maker)
{
	size_t slot = 0;
	void *known;

	while ((known = vs_id_map_next(&maker->by_address, &slot)))
		free(known);
	vs_id_map_fini(&maker->by_address);
	free(maker->places);
}

int vs_page_tables_put(struct vs_story *story, const struct vs_page_events *events,
		       const struct vs_replay *replay)
{
	struct table_maker maker = {.story = story};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int err;

	if (!file)
		return -VS_ERR_NO_MEMORY;
	vs_json_init(&maker.json, file);
	vs_json_begin_object(&maker.json, NULL);
	put_names(&maker, events);
	put_pools(&maker, replay);
	err = put_frames(&maker);
	if (!err)
		err = put_sites(&maker);
	if (!err)
		vs_json_end_object(&maker.json);
	fini_maker(&maker);
	if (fclose(file) && !err)
		err = -VS_ERR_NO_MEMORY;
	if (!err)
		err = vs_page_columns_put_part(events->columns.file, events->columns.trace,
					       "tables", text, size);
	free(text);
	return err;
}
