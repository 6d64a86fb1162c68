#include "heatmap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

void vs_heatmap_init(struct vs_heatmap *heatmap, uint64_t from_ns, uint64_t to_ns)
{
	*heatmap = (struct vs_heatmap){
		.from_ns = from_ns,
		.to_ns = to_ns > from_ns ? to_ns : from_ns + 1,
		.now_ns = from_ns,
	};
}

void vs_heatmap_fini(struct vs_heatmap *heatmap)
{
	for (size_t i = 0; i < heatmap->nr_groups; i++) {
		free(heatmap->groups[i]);
		free(heatmap->group_names[i]);
	}
	for (size_t i = 0; i < heatmap->nr_phases; i++)
		free(heatmap->phases[i].name);
	free(heatmap->phases);
	free(heatmap->steps);
	free(heatmap->failures);
	free(heatmap->levels);
	free(heatmap->live);
	free(heatmap->held);
	free(heatmap->ranges);
	free(heatmap->program);
	free(heatmap->device_name);
	free(heatmap->part);
	*heatmap = (struct vs_heatmap){0};
}

/* ---- Folded addresses ----------------------------------------------------------------------- */

static uint64_t range_end(const struct vs_heatmap_range *range)
{
	return range->address + range->size;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct vs_heatmap_range *a = left;
	const struct vs_heatmap_range *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Sorts; ranges that overlap or touch become one. */
static void merge_ranges(struct vs_heatmap *heatmap)
{
	struct vs_heatmap_range *ranges = heatmap->ranges;
	size_t nr = 0;

	if (!heatmap->nr_ranges)
		return;
	qsort(ranges, heatmap->nr_ranges, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < heatmap->nr_ranges; i++) {
		if (ranges[i].address > range_end(&ranges[nr]))
			ranges[++nr] = ranges[i];
		else if (range_end(&ranges[i]) > range_end(&ranges[nr]))
			ranges[nr].size = range_end(&ranges[i]) - ranges[nr].address;
	}
	heatmap->nr_ranges = nr + 1;
}

int vs_heatmap_add_range(struct vs_heatmap *heatmap, uint64_t address, uint64_t size)
{
	int err;

	if (!size)
		return 0;
	if (heatmap->nr_ranges == heatmap->ranges_capacity) {
		/* The same addresses come again and again: fold before the array grows. */
		merge_ranges(heatmap);
		err = VS_GROW(heatmap->ranges, heatmap->ranges_capacity,
			      2 * heatmap->nr_ranges + 1);
		if (err)
			return err;
	}
	if (size > UINT64_MAX - address)
		size = UINT64_MAX - address;
	heatmap->ranges[heatmap->nr_ranges++] =
		(struct vs_heatmap_range){.address = address, .size = size};
	return 0;
}

/* The first range that ends behind the address, or nr_ranges. Most are where the last one was. */
static size_t find_range(struct vs_heatmap *heatmap, uint64_t address)
{
	const struct vs_heatmap_range *last;
	size_t low = 0;
	size_t high = heatmap->nr_ranges;

	if (!high)
		return 0;
	last = &heatmap->ranges[heatmap->last_range];
	if (address - last->address < last->size)
		return heatmap->last_range;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range_end(&heatmap->ranges[middle]) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < heatmap->nr_ranges)
		heatmap->last_range = low;
	return low;
}

uint64_t vs_heatmap_unfold(const struct vs_heatmap *heatmap, uint64_t offset)
{
	size_t low = 0;
	size_t high = heatmap->nr_ranges;

	if (!high)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (heatmap->ranges[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return heatmap->ranges[low].address + (offset - heatmap->ranges[low].offset);
}

/* ---- Cells ---------------------------------------------------------------------------------- */

static uint64_t divide_up(uint64_t value, uint64_t by)
{
	return value / by + (value % by != 0);
}

/* Chooses a tick so that no cell's area leaves 63 bits. */
static void choose_columns(struct vs_heatmap *heatmap, size_t max_columns)
{
	uint64_t window_ns = heatmap->to_ns - heatmap->from_ns;
	uint64_t row_bytes = heatmap->row_bytes ? heatmap->row_bytes : 1;

	heatmap->tick_shift = 0;
	for (;;) {
		heatmap->nr_ticks = ((window_ns - 1) >> heatmap->tick_shift) + 1;
		heatmap->column_ticks = divide_up(heatmap->nr_ticks, max_columns);
		if (heatmap->column_ticks <= (UINT64_MAX >> 1) / row_bytes)
			break;
		heatmap->tick_shift++;
	}
	heatmap->nr_columns = divide_up(heatmap->nr_ticks, heatmap->column_ticks);
}

int vs_heatmap_add_group(struct vs_heatmap *heatmap, const char *name)
{
	char *copy = strdup(name);

	assert(heatmap->nr_groups < VS_HEATMAP_GROUPS);
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	heatmap->group_names[heatmap->nr_groups++] = copy;
	return 0;
}

int vs_heatmap_make_cells(struct vs_heatmap *heatmap, size_t max_columns, size_t max_rows)
{
	uint64_t offset = 0;

	merge_ranges(heatmap);
	for (size_t i = 0; i < heatmap->nr_ranges; i++) {
		heatmap->ranges[i].offset = offset;
		offset += heatmap->ranges[i].size;
	}
	heatmap->total_bytes = offset;
	heatmap->row_bytes = divide_up(offset, max_rows);
	heatmap->nr_rows = offset ? divide_up(offset, heatmap->row_bytes) : 0;
	choose_columns(heatmap, max_columns);

	heatmap->levels = calloc(heatmap->nr_columns, sizeof(*heatmap->levels));
	heatmap->held = calloc(heatmap->nr_columns * heatmap->nr_rows + 1, sizeof(*heatmap->held));
	heatmap->live = calloc(heatmap->nr_columns * heatmap->nr_rows + 1, sizeof(*heatmap->live));
	if (!heatmap->levels || !heatmap->held || !heatmap->live)
		return -VS_ERR_NO_MEMORY;
	for (size_t i = 0; i < heatmap->nr_groups; i++) {
		heatmap->groups[i] =
			calloc(heatmap->nr_columns * heatmap->nr_rows + 1, sizeof(uint64_t));
		if (!heatmap->groups[i])
			return -VS_ERR_NO_MEMORY;
	}
	return 0;
}

/*
 * What [start, end) covers of cells of one size, as differences: adding them up from the left gives
 * the length covered in each. A half-line from `start` on covers a part of its own cell and all of
 * every later one: two differences; minus the half-line from `end` on: four. They wrap, the sums do
 * not. Within one cell, as most lifetimes are, two are left of them; those behind the last cell are
 * none.
 */
struct edges {
	size_t cells[4];
	uint64_t lengths[4];
	int nr;
};

static void add_edge(struct edges *edges, uint64_t cell, uint64_t length, size_t nr_cells)
{
	if (cell >= nr_cells)
		return;
	edges->cells[edges->nr] = (size_t)cell;
	edges->lengths[edges->nr++] = length;
}

static void make_edges(struct edges *edges, uint64_t start, uint64_t end, uint64_t cell_size,
		       size_t nr_cells)
{
	uint64_t first = start / cell_size;
	uint64_t into_start = start - first * cell_size;
	uint64_t last, into_end;

	edges->nr = 0;
	if (end - start <= cell_size - into_start) {
		add_edge(edges, first, end - start, nr_cells);
		add_edge(edges, first + 1, start - end, nr_cells);
		return;
	}
	last = end / cell_size;
	into_end = end - last * cell_size;
	add_edge(edges, first, cell_size - into_start, nr_cells);
	add_edge(edges, first + 1, into_start, nr_cells);
	add_edge(edges, last, 0 - (cell_size - into_end), nr_cells);
	add_edge(edges, last + 1, 0 - into_end, nr_cells);
}

/* Adds a rectangle to a layer of differences, which finish() sums up in both directions. */
static void add_rectangle(const struct vs_heatmap *heatmap, uint64_t *layer,
			  const struct edges *columns, const struct edges *rows)
{
	for (int y = 0; y < rows->nr; y++) {
		uint64_t *row = layer + rows->cells[y] * heatmap->nr_columns;

		for (int x = 0; x < columns->nr; x++)
			row[columns->cells[x]] += columns->lengths[x] * rows->lengths[y];
	}
}

static uint64_t to_tick(const struct vs_heatmap *heatmap, uint64_t time_ns)
{
	if (time_ns <= heatmap->from_ns)
		return 0;
	if (time_ns >= heatmap->to_ns)
		return heatmap->nr_ticks;
	return (time_ns - heatmap->from_ns) >> heatmap->tick_shift;
}

static size_t get_layer(const struct vs_heatmap *heatmap, const struct vs_lifetime *lifetime)
{
	return lifetime->group < heatmap->nr_groups ? lifetime->group : heatmap->nr_groups - 1;
}

void vs_heatmap_add_lifetime(struct vs_heatmap *heatmap, const struct vs_lifetime *lifetime)
{
	uint64_t start = to_tick(heatmap, lifetime->start_ns);
	uint64_t end = to_tick(heatmap, lifetime->end_ns);
	uint64_t low = lifetime->address;
	uint64_t high = lifetime->size > UINT64_MAX - low ? UINT64_MAX : low + lifetime->size;
	struct edges columns;
	struct edges rows;

	if (start >= end || !(lifetime->is_held || lifetime->is_live))
		return;
	make_edges(&columns, start, end, heatmap->column_ticks, heatmap->nr_columns);
	for (size_t i = find_range(heatmap, low); i < heatmap->nr_ranges; i++) {
		const struct vs_heatmap_range *range = &heatmap->ranges[i];
		uint64_t from = low > range->address ? low : range->address;
		uint64_t to = high < range_end(range) ? high : range_end(range);

		if (from >= to)
			break;
		make_edges(&rows, range->offset + (from - range->address),
			   range->offset + (to - range->address), heatmap->row_bytes,
			   heatmap->nr_rows);
		if (lifetime->is_held)
			add_rectangle(heatmap, heatmap->held, &columns, &rows);
		if (lifetime->is_live)
			add_rectangle(heatmap, heatmap->live, &columns, &rows);
		if (lifetime->is_live && heatmap->nr_groups)
			add_rectangle(heatmap, heatmap->groups[get_layer(heatmap, lifetime)],
				      &columns, &rows);
	}
}

static void sum_up(const struct vs_heatmap *heatmap, uint64_t *layer)
{
	size_t nr_columns = heatmap->nr_columns;

	for (size_t row = 0; row < heatmap->nr_rows; row++)
		for (size_t i = 1; i < nr_columns; i++)
			layer[row * nr_columns + i] += layer[row * nr_columns + i - 1];
	for (size_t i = nr_columns; i < nr_columns * heatmap->nr_rows; i++)
		layer[i] += layer[i - nr_columns];
}

size_t vs_heatmap_get_group(const struct vs_heatmap *heatmap, size_t cell)
{
	size_t most = heatmap->nr_groups;

	for (size_t i = 0; i < heatmap->nr_groups; i++)
		if (heatmap->groups[i][cell] &&
		    (most == heatmap->nr_groups ||
		     heatmap->groups[i][cell] > heatmap->groups[most][cell]))
			most = i;
	return most;
}

uint64_t vs_heatmap_get_area(const struct vs_heatmap *heatmap, size_t column, size_t row)
{
	uint64_t ticks = heatmap->column_ticks;
	uint64_t bytes = heatmap->row_bytes;

	if (column + 1 == heatmap->nr_columns)
		ticks = heatmap->nr_ticks - column * ticks;
	if (row + 1 == heatmap->nr_rows)
		bytes = heatmap->total_bytes - row * bytes;
	return ticks * bytes;
}

/* ---- Levels and marks ----------------------------------------------------------------------- */

static void raise_level(struct vs_heatmap *heatmap, size_t column)
{
	struct vs_heatmap_level *level = &heatmap->levels[column];

	if (heatmap->now.live > level->live)
		level->live = heatmap->now.live;
	if (heatmap->now.reserved > level->reserved)
		level->reserved = heatmap->now.reserved;
	if (heatmap->now.fragmentation > level->fragmentation)
		level->fragmentation = heatmap->now.fragmentation;
}

static void raise_peak(struct vs_heatmap *heatmap)
{
	if (heatmap->now.live > heatmap->peak_live) {
		heatmap->peak_live = heatmap->now.live;
		heatmap->peak_ns = heatmap->now_ns;
	}
	if (heatmap->now.reserved > heatmap->peak_reserved)
		heatmap->peak_reserved = heatmap->now.reserved;
}

/* The value of now holds up to the time; the columns at both ends see it. */
static void hold_level(struct vs_heatmap *heatmap, uint64_t until_ns)
{
	uint64_t first = to_tick(heatmap, heatmap->now_ns) / heatmap->column_ticks;
	uint64_t last = to_tick(heatmap, until_ns) / heatmap->column_ticks;

	for (uint64_t i = first; i <= last && i < heatmap->nr_columns; i++)
		raise_level(heatmap, i);
	raise_peak(heatmap);
}

/* Which column now_ns, in the window, is in; and where that ends. */
static void find_column(struct vs_heatmap *heatmap)
{
	uint64_t next = to_tick(heatmap, heatmap->now_ns) / heatmap->column_ticks + 1;

	heatmap->now_column = next - 1;
	heatmap->column_until =
		next < heatmap->nr_columns
			? heatmap->from_ns + (next * heatmap->column_ticks << heatmap->tick_shift)
			: heatmap->to_ns;
}

void vs_heatmap_add_level(struct vs_heatmap *heatmap, uint64_t time_ns, uint64_t live,
			  uint64_t reserved)
{
	struct vs_heatmap_level level = {live, reserved, heatmap->next_fragmentation};

	if (heatmap->now_ns >= heatmap->to_ns)
		return;
	/* Up to the last instant before: a change on a column's edge belongs to the next one. The
	 * column that it was first seen in knows it. */
	if (time_ns >= heatmap->column_until && time_ns > heatmap->now_ns)
		hold_level(heatmap, time_ns - 1);
	if (time_ns > heatmap->now_ns)
		heatmap->now_ns = time_ns;
	heatmap->now = level;
	/* Seen even if it does not last: the peak of a nanosecond is a peak. */
	if (time_ns < heatmap->from_ns || time_ns >= heatmap->to_ns)
		return;
	if (time_ns >= heatmap->column_until)
		find_column(heatmap);
	raise_level(heatmap, heatmap->now_column);
	raise_peak(heatmap);
}

void vs_heatmap_set_fragmentation(struct vs_heatmap *heatmap, double share)
{
	heatmap->next_fragmentation = share;
}

int vs_heatmap_add_failure(struct vs_heatmap *heatmap, const struct vs_heatmap_failure *failure)
{
	int err = VS_GROW(heatmap->failures, heatmap->failures_capacity, heatmap->nr_failures + 1);

	if (err)
		return err;
	heatmap->failures[heatmap->nr_failures++] = *failure;
	return 0;
}

int vs_heatmap_add_step(struct vs_heatmap *heatmap, uint64_t time_ns, uint64_t number)
{
	int err = VS_GROW(heatmap->steps, heatmap->steps_capacity, heatmap->nr_steps + 1);

	if (err)
		return err;
	heatmap->steps[heatmap->nr_steps++] =
		(struct vs_heatmap_step){.time_ns = time_ns, .number = number};
	return 0;
}

int vs_heatmap_add_phase(struct vs_heatmap *heatmap, uint64_t start_ns, uint64_t end_ns,
			 const char *name)
{
	char *copy;
	int err = VS_GROW(heatmap->phases, heatmap->phases_capacity, heatmap->nr_phases + 1);

	if (err)
		return err;
	copy = strdup(name);
	if (!copy)
		return -VS_ERR_NO_MEMORY;
	heatmap->phases[heatmap->nr_phases++] =
		(struct vs_heatmap_phase){.start_ns = start_ns, .end_ns = end_ns, .name = copy};
	return 0;
}

void vs_heatmap_finish(struct vs_heatmap *heatmap)
{
	if (heatmap->now_ns < heatmap->to_ns)
		hold_level(heatmap, heatmap->to_ns - 1);
	sum_up(heatmap, heatmap->held);
	sum_up(heatmap, heatmap->live);
	for (size_t i = 0; i < heatmap->nr_groups; i++)
		sum_up(heatmap, heatmap->groups[i]);
}
