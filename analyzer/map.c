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
static int choose_alone(const struct vs_map_state *state, bool **is_alone)
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
	for (size_t i = 0; i < nr && i < SEGMENTS_MAX; i++)
		if (nr <= SEGMENTS_MAX || by_size[i]->size >= by_size[0]->size / WORTH_SHARE)
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

/*
 * The same scale for all, so that sizes can be compared by eye, and as fine as the rows allow.
 * Segments without pool get no more than a row each: there is nothing to see in them.
 */
static uint64_t choose_cell(const struct vs_map_state *state, unsigned int nr_cells,
			    const bool *is_alone)
{
	bool is_for_owned = has_owned(state, is_alone);
	uint64_t cell = 1;
	uint64_t nr_rows;
	uint64_t nr_segments;

	do {
		cell *= 2;
		nr_rows = nr_segments = 0;
		for (size_t i = 0; i < state->nr_segments; i++) {
			const struct vs_map_segment *segment = &state->segments[i];

			if (!is_alone[i])
				continue;
			nr_segments++;
			nr_rows++;
			if (segment->size && segment->is_owned == is_for_owned)
				nr_rows += (segment->size - 1) / cell / nr_cells;
		}
	} while (nr_rows > (is_for_owned ? ROWS_MAX : nr_segments));
	return cell;
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
			  const struct group *groups, size_t nr_groups, const struct group *group,
			  const bool *is_alone)
{
	unsigned int nr_cells = vs_map_bar_get_cells(style);
	size_t each = (group->nr_segments + nr_cells - 1) / nr_cells;
	struct vs_map_sums sums = {0};
	size_t nr = 0;

	vs_map_bar_begin_group(each, style);
	for (size_t i = 0; i < state->nr_segments; i++) {
		if (is_alone[i] || !is_in_group(groups, nr_groups, group, &state->segments[i]))
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
			 const bool *is_alone)
{
	uint64_t cell = choose_cell(state, vs_map_bar_get_cells(style), is_alone);
	struct group groups[GROUPS_MAX];
	size_t nr_groups = make_groups(state, is_alone, groups);

	vs_map_text_put_legend(cell, style);
	for (size_t i = 0; i < state->nr_segments; i++)
		if (is_alone[i])
			put_segment(state, style, &state->segments[i], cell);
	for (size_t i = 0; i < nr_groups; i++) {
		vs_map_text_put_group(groups[i].label, groups[i].nr_segments, &groups[i].sums,
				      style);
		if (groups[i].has_owned)
			put_group_bar(state, style, groups, nr_groups, &groups[i], is_alone);
	}
}

int vs_map_put(const struct vs_map_state *state, const struct vs_text_style *style)
{
	struct vs_map_sums sums = {0};
	bool *is_alone;
	int err = choose_alone(state, &is_alone);

	if (err)
		return err;
	if (state->nr_segments)
		put_segments(state, style, is_alone);
	for (size_t i = 0; i < state->nr_segments; i++)
		vs_map_bar_add_sums(state, &state->segments[i], &sums);
	vs_map_text_put_totals(state, &sums, style);
	free(is_alone);
	return ferror(style->file) ? -VS_ERR_IO : 0;
}
