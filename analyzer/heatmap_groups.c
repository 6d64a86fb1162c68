#include "heatmap_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site_order.h"
#include "units.h"

#define TOLD_APART 10u /* sites, or phases */
#define NR_AGES    6u

static struct vs_heatmap_groups *groups_of(struct vs_observer *observer)
{
	return (struct vs_heatmap_groups *)(void *)observer; /* its first member */
}

/* ---- Sites and phases ----------------------------------------------------------------------- */

static int choose_sites(struct vs_heatmap_groups *groups)
{
	struct vs_site_row *rows;
	size_t nr_rows;
	int err = vs_site_order_peak(groups->analysis, groups->device, &rows, &nr_rows);

	if (err)
		return err;
	for (size_t i = 0; i < nr_rows && i < TOLD_APART; i++)
		groups->sites[groups->nr_groups++] = rows[i].account->site->index;
	free(rows);
	return 0;
}

/* Bytes that were asked for in each phase, to find those with most. */
struct phase_sum {
	const char *name; /* of the replay */
	uint64_t bytes;
};

struct phase_survey {
	struct vs_observer observer; /* first */
	uint32_t device;             /* index */
	struct vs_id_map sums;       /* by where their names are */
	uint32_t thread;
};

static int survey_before(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)replay;
	((struct phase_survey *)(void *)observer)->thread = record->thread;
	return 0;
}

static int survey_change(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_change *change)
{
	struct phase_survey *survey = (struct phase_survey *)(void *)observer;
	struct phase_sum *sum;
	const char *name;
	int err = 0;

	if (change->type != VS_CHANGE_CHARGED || change->item->device->index != survey->device)
		return 0;
	name = vs_replay_get_phase(replay, survey->thread);
	if (!name)
		return 0;
	sum = vs_id_map_get(&survey->sums, (uintptr_t)name);
	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		err = sum ? vs_id_map_put(&survey->sums, (uintptr_t)name, sum) : -VS_ERR_NO_MEMORY;
		if (err) {
			free(sum);
			return err;
		}
		sum->name = name;
	}
	sum->bytes += change->item->size;
	return 0;
}

/* Takes those with most out of the sums, one by one; equal ones by name. */
static int take_phases(struct vs_heatmap_groups *groups, struct vs_id_map *sums)
{
	while (groups->nr_groups < TOLD_APART) {
		struct phase_sum *best = NULL, *sum;
		size_t slot = 0;

		while ((sum = vs_id_map_next(sums, &slot)))
			if (sum->bytes &&
			    (!best || sum->bytes > best->bytes ||
			     (sum->bytes == best->bytes && strcmp(sum->name, best->name) < 0)))
				best = sum;
		if (!best)
			return 0;
		best->bytes = 0;
		groups->phase_names[groups->nr_groups] = strdup(best->name);
		if (!groups->phase_names[groups->nr_groups])
			return -VS_ERR_NO_MEMORY;
		groups->nr_groups++;
	}
	return 0;
}

static int choose_phases(struct vs_heatmap_groups *groups)
{
	struct phase_survey survey = {
		.observer = {.on_change = survey_change, .before_record = survey_before},
		.device = groups->device->index,
	};
	struct vs_replay *replay;
	struct phase_sum *sum;
	size_t slot = 0;
	int err = vs_analysis_observe(groups->analysis, &survey.observer, &replay);

	if (!err) {
		err = take_phases(groups, &survey.sums);
		vs_replay_destroy(replay);
	}
	while ((sum = vs_id_map_next(&survey.sums, &slot)))
		free(sum);
	vs_id_map_fini(&survey.sums);
	return err;
}

/* ---- Items ---------------------------------------------------------------------------------- */

static int note_group(struct vs_heatmap_groups *groups, const struct vs_item *item, size_t group)
{
	return vs_id_map_put(&groups->of_items, item->id, (void *)(uintptr_t)(group + 1));
}

static int note_category(void *data, const struct vs_item *item, enum vs_category category)
{
	return note_group(data, item, category);
}

static int note_phase(struct vs_heatmap_groups *groups, const struct vs_replay *replay,
		      const struct vs_item *item)
{
	const char *phase = vs_replay_get_phase(replay, groups->thread);

	for (size_t i = 0; phase && i < groups->nr_groups; i++) {
		/* Compared once for each name: from then on by where it is. */
		if (phase != groups->phases[i] && strcmp(phase, groups->phase_names[i]))
			continue;
		groups->phases[i] = phase;
		return note_group(groups, item, i);
	}
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_heatmap_groups *groups = groups_of(observer);

	if (groups->by == VS_HEATMAP_BY_PHASE && change->type == VS_CHANGE_BORN)
		return note_phase(groups, replay, change->item);
	return 0;
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)replay;
	groups_of(observer)->thread = record->thread;
	return 0;
}

static uint32_t get_group(void *data, const struct vs_item *item)
{
	struct vs_heatmap_groups *groups = data;
	uintptr_t noted;

	if (groups->by == VS_HEATMAP_BY_SITE) {
		for (uint32_t i = 0; i < groups->nr_groups; i++)
			if (groups->sites[i] == item->account->site->index)
				return i;
		return UINT32_MAX;
	}
	/* Asked for once, when it is gone; a VMM segment whenever its size changes. */
	noted = (uintptr_t)(item->reservation ? vs_id_map_get(&groups->of_items, item->id)
					      : vs_id_map_remove(&groups->of_items, item->id));
	return noted ? (uint32_t)(noted - 1) : UINT32_MAX;
}

/* ---- All ------------------------------------------------------------------------------------ */

int vs_heatmap_groups_init(struct vs_heatmap_groups *groups, enum vs_heatmap_by by,
			   const struct vs_analysis *analysis, struct vs_site_names *names,
			   const struct vs_replay_device *device)
{
	int err = 0;

	memset(groups, 0, sizeof(*groups));
	groups->observer.on_change = on_change;
	groups->observer.before_record = before_record;
	groups->by = by;
	groups->analysis = analysis;
	groups->names = names;
	groups->device = device;
	if (by == VS_HEATMAP_BY_SITE)
		err = choose_sites(groups);
	else if (by == VS_HEATMAP_BY_PHASE)
		err = choose_phases(groups);
	else if (by == VS_HEATMAP_BY_CATEGORY)
		err = vs_composition_create_pass(&groups->categories, analysis, names,
						 note_category, groups);
	if (!err && by == VS_HEATMAP_BY_CATEGORY && !groups->categories)
		err = -VS_ERR_EMPTY;
	if (err)
		vs_heatmap_groups_fini(groups);
	return err;
}

void vs_heatmap_groups_fini(struct vs_heatmap_groups *groups)
{
	for (size_t i = 0; i < VS_HEATMAP_GROUPS; i++)
		free(groups->phase_names[i]);
	vs_id_map_fini(&groups->of_items);
	vs_composition_destroy_pass(groups->categories);
	memset(groups, 0, sizeof(*groups));
}

/* Tenths of the window's power of ten, and tenths of that, and so on. */
static int name_ages(struct vs_heatmap_groups *groups, struct vs_heatmap *heatmap)
{
	char text[64], from[VS_UNITS_MAX], to[VS_UNITS_MAX];
	uint64_t bound = 1;
	int err = 0;

	while (bound <= (heatmap->to_ns - heatmap->from_ns) / 10)
		bound *= 10;
	groups->nr_groups = NR_AGES;
	for (size_t i = NR_AGES - 1; i > 0; i--, bound = bound > 10 ? bound / 10 : 1)
		groups->bounds[i] = bound;
	heatmap->is_ordered = true;
	for (size_t i = 0; i < NR_AGES && !err; i++) {
		vs_units_put_time(from, groups->bounds[i]);
		if (i + 1 < NR_AGES)
			vs_units_put_time(to, groups->bounds[i + 1]);
		if (!i)
			snprintf(text, sizeof(text), "under %.24s old", to);
		else
			snprintf(text, sizeof(text), "%.24s%s%.24s", from,
				 i + 1 < NR_AGES ? " to " : " and older",
				 i + 1 < NR_AGES ? to : "");
		err = vs_heatmap_add_group(heatmap, text);
	}
	return err;
}

int vs_heatmap_groups_name(struct vs_heatmap_groups *groups, struct vs_heatmap *heatmap)
{
	const struct vs_definitions *definitions = &groups->analysis->replay->definitions;
	char text[256];
	int err = 0;

	if (groups->by == VS_HEATMAP_BY_AGE)
		return name_ages(groups, heatmap);
	if (groups->by == VS_HEATMAP_BY_CATEGORY) {
		for (int i = 0; i < VS_NR_CATEGORIES && !err; i++)
			err = vs_heatmap_add_group(heatmap,
						   vs_category_get_plural((enum vs_category)i));
		return err ? err : vs_heatmap_add_group(heatmap, "not PyTorch's");
	}
	for (size_t i = 0; i < groups->nr_groups && !err; i++) {
		if (groups->by == VS_HEATMAP_BY_SITE)
			err = vs_site_names_put_short(groups->names,
						      definitions->sites[groups->sites[i]],
						      VS_NO_ID, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "%s", groups->phase_names[i]);
		if (!err)
			err = vs_heatmap_add_group(heatmap, text);
	}
	return err ? err
		   : vs_heatmap_add_group(heatmap, groups->by == VS_HEATMAP_BY_SITE
							   ? "all others"
							   : "no phase, or another");
}

void vs_heatmap_groups_join(struct vs_heatmap_groups *groups, struct vs_replay *replay,
			    struct vs_lifetimes *lifetimes)
{
	vs_replay_add_observer(replay, &groups->observer);
	if (groups->categories)
		vs_replay_add_observer(replay, vs_composition_get_observer(groups->categories));
	lifetimes->get_group = groups->by == VS_HEATMAP_BY_AGE ? NULL : get_group;
	lifetimes->group_data = groups;
}

void vs_heatmap_groups_add_lifetime(const struct vs_heatmap_groups *groups,
				    struct vs_heatmap *heatmap, const struct vs_lifetime *lifetime)
{
	struct vs_lifetime piece = *lifetime;

	if (groups->by != VS_HEATMAP_BY_AGE || !lifetime->is_live) {
		vs_heatmap_add_lifetime(heatmap, lifetime);
		return;
	}
	for (size_t i = 0; i < groups->nr_groups; i++) {
		uint64_t age = i + 1 < groups->nr_groups ? groups->bounds[i + 1] : UINT64_MAX;
		uint64_t until = age > UINT64_MAX - lifetime->start_ns ? UINT64_MAX
								       : lifetime->start_ns + age;

		piece.group = (uint32_t)i;
		piece.end_ns = until < lifetime->end_ns ? until : lifetime->end_ns;
		if (piece.start_ns < piece.end_ns)
			vs_heatmap_add_lifetime(heatmap, &piece);
		piece.start_ns = piece.end_ns;
	}
}
