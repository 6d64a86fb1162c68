#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "map_bar.h"
#include "map_text.h"

#define SEGMENTS_MAX 10 /* drawn one by one; the smallest of more are put together */
#define ROWS_MAX     16 /* of bars */
#define GROUPS_MAX   4
#define WORTH_SHARE  64 /* of many segments, those below this part of the largest are small */
#define OTHER_LINES  11 /* headings, legend and totals, and the prompt behind them */

/* Segments that are told together: those with one label. */
struct group {
	const char *label;
	struct vs_map_sums sums;
	size_t nr_segments;
	bool has_owned;
};

void vs_map_init(struct vs_map_state *state)
{
	*state = (struct vs_map_state){0};
}

void vs_map_fini(struct vs_map_state *state)
{
	for (size_t i = 0; i < state->nr_segments; i++)
		free(state->segments[i].label);
	free(state->segments);
	free(state->blocks);
	*state = (struct vs_map_state){0};
}

int vs_map_add_segment(struct vs_map_state *state, uint64_t address, uint64_t size,
		       const char *label, bool is_owned)
{
	int err = VS_GROW(state->segments, state->segments_capacity, state->nr_segments + 1);
	char *copy;

	if (err)
		return err;
	copy = strdup(label);
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	state->segments[state->nr_segments++] = (struct vs_map_segment){
		.address = address,
		.size = size,
		.label = copy,
		.is_owned = is_owned,
		.first_block = state->nr_blocks,
	};
	return 0;
}

int vs_map_add_block(struct vs_map_state *state, uint64_t address, uint64_t size)
{
	int err = VS_GROW(state->blocks, state->blocks_capacity, state->nr_blocks + 1);

	if (err)
		return err;
	state->blocks[state->nr_blocks++] = (struct vs_map_block){.address = address, .size = size};
	state->segments[state->nr_segments - 1].nr_blocks++;
	return 0;
}

/* ---- Which segments get rows of their own --------------------------------------------------- */

static int compare_sizes(const void *left, const void *right)
{
	const struct vs_map_segment *a = *(const struct vs_map_segment *const *)left;
	const struct vs_map_segment *b = *(const struct vs_map_segment *const *)right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The largest ones, of equal ones the lowest: is_alone[] by segment, the caller's to free. */
static int choose_alone(const struct vs_map_state *state, size_t max, bool **is_alone)
{
	const struct vs_map_segment **by_size;
	size_t nr = state->nr_segments;

	*is_alone = calloc(nr + 1, sizeof(**is_alone));
	by_size = calloc(nr + 1, sizeof(*by_size));
	if (!*is_alone || !by_size) {
		free(*is_alone);
		free(by_size);
		return -VS_ERR_NO_MEMORY;
	}
	for (size_t i = 0; i < nr; i++)
		by_size[i] = &state->segments[i];
	qsort(by_size, nr, sizeof(*by_size), compare_sizes);
	for (size_t i = 0; i < nr && i < max; i++)
		if (nr <= max || by_size[i]->size >= by_size[0]->size / WORTH_SHARE)
			(*is_alone)[by_size[i] - state->segments] = true;
	free(by_size);
	return 0;
}

static struct group *find_group(struct group *groups, size_t nr_groups, const char *label)
{
	for (size_t i = 0; i < nr_groups; i++)
		if (strcmp(groups[i].label, label) == 0)
			return &groups[i];
	return NULL;
}

/* Fills in groups[GROUPS_MAX]; the last of them takes what no other does. */
static size_t make_groups(const struct vs_map_state *state, const bool *is_alone,
			  struct group *groups)
{
	size_t nr_groups = 0;

	for (size_t i = 0; i < state->nr_segments; i++) {
		const struct vs_map_segment *segment = &state->segments[i];
		struct group *group;

		if (is_alone[i])
			continue;
		group = find_group(groups, nr_groups, segment->label);
		if (!group && nr_groups == GROUPS_MAX) {
			group = &groups[nr_groups - 1];
			group->label = "others";
		} else if (!group) {
			group = &groups[nr_groups++];
			*group = (struct group){.label = segment->label};
		}
		vs_map_bar_add_sums(state, segment, &group->sums);
		group->nr_segments++;
		group->has_owned |= segment->is_owned;
	}
	return nr_groups;
}

/* Whether a segment is told in the group. */
static bool is_in_group(const struct group *groups, size_t nr_groups, const struct group *group,
			const struct vs_map_segment *segment)
{
	const struct group *own = find_group((struct group *)groups, nr_groups, segment->label);

	return own ? own == group : group == &groups[nr_groups - 1];
}

/* ---- Lines ---------------------------------------------------------------------------------- */

static bool has_owned(const struct vs_map_state *state, const bool *is_alone)
{
	for (size_t i = 0; i < state->nr_segments; i++)
		if (state->segments[i].is_owned && is_alone[i])
			return true;
	return false;
}

/* Rows of a segment's bar. One without pool has one: there is nothing to see in it. */
static uint64_t count_rows(const struct vs_map_segment *segment, uint64_t cell,
			   unsigned int nr_cells, bool is_for_owned)
{
	if (!segment->size || segment->is_owned != is_for_owned)
		return 1;
	return 1 + (segment->size - 1) / cell / nr_cells;
}

/* The same scale for all, so that sizes can be compared by eye, and as fine as the rows allow. */
static uint64_t choose_cell(const struct vs_map_state *state, unsigned int nr_cells,
			    const bool *is_alone, uint64_t max_rows)
{
	bool is_for_owned = has_owned(state, is_alone);
	uint64_t cell = 1;
	uint64_t nr_rows;
	uint64_t nr_segments;

	do {
		cell *= 2;
		nr_rows = nr_segments = 0;
		for (size_t i = 0; i < state->nr_segments; i++) {
			if (!is_alone[i])
				continue;
			nr_segments++;
			nr_rows += count_rows(&state->segments[i], cell, nr_cells, is_for_owned);
		}
	} while (nr_rows > nr_segments && (!is_for_owned || nr_rows > max_rows));
	return cell;
}

/* What is shown, and how fine. */
struct plan {
	bool *is_alone;
	uint64_t cell;
	struct group groups[GROUPS_MAX];
	size_t nr_groups;
};

static size_t count_lines(const struct vs_map_state *state, const struct plan *plan,
			  unsigned int nr_cells)
{
	size_t nr = 0;

	for (size_t i = 0; i < state->nr_segments; i++)
		if (plan->is_alone[i])
			nr += 1 +
			      (state->segments[i].is_owned
				       ? count_rows(&state->segments[i], plan->cell, nr_cells, true)
				       : 1);
	for (size_t i = 0; i < plan->nr_groups; i++)
		nr += plan->groups[i].has_owned ? 2 : 1;
	return nr;
}

/* The caller frees is_alone. */
static int make_plan(struct plan *plan, const struct vs_map_state *state, unsigned int nr_cells,
		     size_t max_segments, uint64_t max_rows)
{
	int err = choose_alone(state, max_segments, &plan->is_alone);

	if (err)
		return err;
	plan->cell = choose_cell(state, nr_cells, plan->is_alone, max_rows);
	plan->nr_groups = make_groups(state, plan->is_alone, plan->groups);
	return 0;
}

/* The largest one that the terminal has lines for; without any, the largest. */
static int fit_plan(struct plan *plan, const struct vs_map_state *state,
		    const struct vs_text_style *style)
{
	unsigned int nr_cells = vs_map_bar_get_cells(style);
	size_t room = state->height > OTHER_LINES ? state->height - OTHER_LINES : 1;
	uint64_t max_rows = ROWS_MAX;
	size_t max = SEGMENTS_MAX;
	int err;

	while (!(err = make_plan(plan, state, nr_cells, max, max_rows)) && state->height) {
		if (count_lines(state, plan, nr_cells) <= room || (max == 1 && max_rows == 1))
			break;
		free(plan->is_alone);
		/* Rows first: two segments side by side tell more than one in detail. */
		if (max_rows > max)
			max_rows--;
		else if (max > 1)
			max--;
		else
			max_rows = 1;
	}
	return err;
}

static void put_segment(const struct vs_map_state *state, const struct vs_text_style *style,
			const struct vs_map_segment *segment, uint64_t cell)
{
	struct vs_map_sums sums = {0};

	vs_map_bar_add_sums(state, segment, &sums);
	vs_map_text_put_segment(segment, &sums, style);
	vs_map_bar_put(state, segment, cell, style);
}

/* One row for all of a group's segments, each sign for as many of them as must be. */
static void put_group_bar(const struct vs_map_state *state, const struct vs_text_style *style,
			  const struct plan *plan, const struct group *group)
{
	unsigned int nr_cells = vs_map_bar_get_cells(style);
	size_t each = (group->nr_segments + nr_cells - 1) / nr_cells;
	struct vs_map_sums sums = {0};
	size_t nr = 0;

	vs_map_bar_begin_group(each, style);
	for (size_t i = 0; i < state->nr_segments; i++) {
		if (plan->is_alone[i] ||
		    !is_in_group(plan->groups, plan->nr_groups, group, &state->segments[i]))
			continue;
		vs_map_bar_add_sums(state, &state->segments[i], &sums);
		if (++nr % each == 0 || nr == group->nr_segments) {
			vs_map_bar_put_cell(sums.live, sums.size, style);
			sums = (struct vs_map_sums){0};
		}
	}
	vs_map_bar_end_row(false, style);
}

static void put_segments(const struct vs_map_state *state, const struct vs_text_style *style,
			 const struct plan *plan)
{
	vs_map_text_put_legend(plan->cell, style);
	for (size_t i = 0; i < state->nr_segments; i++)
		if (plan->is_alone[i])
			put_segment(state, style, &state->segments[i], plan->cell);
	for (size_t i = 0; i < plan->nr_groups; i++) {
		const struct group *group = &plan->groups[i];

		vs_map_text_put_group(group->label, group->nr_segments, &group->sums, style);
		if (group->has_owned)
			put_group_bar(state, style, plan, group);
	}
}

int vs_map_put(const struct vs_map_state *state, const struct vs_text_style *style)
{
	struct vs_map_sums sums = {0};
	struct plan plan;
	int err = fit_plan(&plan, state, style);

	if (err)
		return err;
	if (state->nr_segments)
		put_segments(state, style, &plan);
	for (size_t i = 0; i < state->nr_segments; i++)
		vs_map_bar_add_sums(state, &state->segments[i], &sums);
	vs_map_text_put_totals(state, &sums, style);
	free(plan.is_alone);
	return ferror(style->file) ? -VS_ERR_IO : 0;
}
