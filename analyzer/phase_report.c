#include "phase_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_text.h"
#include "units.h"

#define INDENT        2
#define LEAST_NAME    22
#define NUMBER_WIDTH  10
#define TIMES_WIDTH   8
#define WIDE          112 /* columns from which on there is room for one number more */
#define PATH_MAX_SIZE 1024

/* ---- Which rows ----------------------------------------------------------------------------- */

struct choice {
	const struct vs_phase_node *node;
	uint64_t weight;
};

/* What allocates most first; of equal ones the earlier. */
static int compare_choices(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->node->index > y->node->index) - (x->node->index < y->node->index);
}

/*
 * Marks the nodes of a kind that are shown: the weightiest, and what they are in. Returns how many
 * of the kind are not.
 */
static size_t choose(const struct vs_measure_phases *measure, const struct vs_replay_device *device,
		     enum vs_phase_kind kind, size_t top, struct choice *choices, bool *is_shown)
{
	const struct vs_phase_node *node;
	size_t i, nr = 0, nr_hidden = 0;

	for (i = 0; i < measure->nr_nodes; i++) {
		node = measure->nodes[i];
		if (node->kind == kind)
			choices[nr++] = (struct choice){
				node, vs_measure_phases_get(node, device)->numbers.allocated};
	}
	qsort(choices, nr, sizeof(choices[0]), compare_choices);
	for (i = 0; i < nr && i < top; i++)
		for (node = choices[i].node; node; node = node->parent)
			is_shown[node->index] = true;
	for (i = 0; i < nr; i++)
		nr_hidden += !is_shown[choices[i].node->index];
	return nr_hidden;
}

/* ---- A table -------------------------------------------------------------------------------- */

static bool is_wide(const struct vs_story *story)
{
	return story->style.width >= WIDE;
}

static size_t get_name_width(const struct vs_story *story)
{
	size_t numbers = (is_wide(story) ? 7 : 6) * NUMBER_WIDTH + TIMES_WIDTH + NUMBER_WIDTH;

	return story->style.width > numbers + LEAST_NAME ? story->style.width - numbers
							 : LEAST_NAME;
}

static void add_cell(struct vs_text_line *line, const char *text, size_t width)
{
	size_t columns = vs_text_get_width(text);

	vs_text_add(line, "%*s%s", (int)(width > columns ? width - columns : 1), "", text);
}

static void add_bytes(struct vs_text_line *line, uint64_t bytes)
{
	char text[VS_UNITS_MAX];

	add_cell(line, vs_units_put_bytes(text, bytes), NUMBER_WIDTH);
}

static void put_header(const struct vs_story *story, const char *title)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "%s", title);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, get_name_width(story));
	/* A title is shorter than the column. */
	add_cell(&line, "times", TIMES_WIDTH);
	add_cell(&line, "time", NUMBER_WIDTH);
	add_cell(&line, "peak live", NUMBER_WIDTH);
	if (is_wide(story))
		add_cell(&line, "reserved", NUMBER_WIDTH);
	add_cell(&line, "begin", NUMBER_WIDTH);
	add_cell(&line, "end", NUMBER_WIDTH);
	add_cell(&line, "allocated", NUMBER_WIDTH);
	add_cell(&line, "freed", NUMBER_WIDTH);
	add_cell(&line, "kept", NUMBER_WIDTH);
	vs_text_put(&story->style, &line);
}

/* name: with what is before it. */
static void put_row(const struct vs_story *story, struct vs_text_line *line, uint64_t nr,
		    uint64_t time_ns, const struct vs_phase_numbers *numbers,
		    const struct vs_phase_numbers *ends)
{
	char text[VS_UNITS_MAX];

	vs_text_fill(line, get_name_width(story));
	add_cell(line, vs_units_put_number(text, nr, story->options->ascii), TIMES_WIDTH);
	add_cell(line, vs_units_put_time(text, time_ns), NUMBER_WIDTH);
	add_bytes(line, numbers->peak_live);
	if (is_wide(story))
		add_bytes(line, numbers->peak_reserved);
	add_bytes(line, ends->begin_live);
	add_bytes(line, ends->end_live);
	add_bytes(line, numbers->allocated);
	add_bytes(line, numbers->freed);
	add_bytes(line, numbers->kept);
	vs_text_put(&story->style, line);
}

static size_t get_depth(const struct vs_phase_node *node)
{
	size_t depth = 0;

	while ((node = node->parent))
		depth++;
	return depth;
}

static void put_node(const struct vs_story *story, const struct vs_phase_node *node,
		     const struct vs_replay_device *device)
{
	const struct vs_phase_sum *sum = vs_measure_phases_get(node, device);
	size_t room = get_name_width(story) - INDENT, indent = INDENT * get_depth(node);
	struct vs_text_line line = {0};

	/* Of deep ones at least the name. */
	if (indent + LEAST_NAME / 2 > room)
		indent = room - LEAST_NAME / 2;
	vs_text_add(&line, "%*s", (int)(INDENT + indent), "");
	vs_text_add_name(&line, node->name, room - indent - 1);
	put_row(story, &line, node->nr_visits, node->time_ns, &sum->numbers, &sum->highest.numbers);
}

/* Below their outer ones, in order of their first visits. next: for each node its next brother. */
static void put_tree(const struct vs_story *story, const struct vs_measure_phases *measure,
		     const struct vs_replay_device *device, const bool *is_shown,
		     const uint32_t *first, const uint32_t *next, uint32_t at)
{
	for (; at != UINT32_MAX; at = next[at]) {
		if (!is_shown[at])
			continue;
		put_node(story, measure->nodes[at], device);
		put_tree(story, measure, device, is_shown, first, next, first[at]);
	}
}

/* lists: room for two numbers a node. */
static void put_kind(const struct vs_story *story, const struct vs_measure_phases *measure,
		     const struct vs_replay_device *device, enum vs_phase_kind kind,
		     const bool *is_shown, uint32_t *lists)
{
	uint32_t *first = lists, *next = lists + measure->nr_nodes, root = UINT32_MAX;
	size_t i;

	for (i = 0; i < measure->nr_nodes; i++)
		first[i] = UINT32_MAX;
	/* Backwards, so that each list is in order. A parent stands before its children. */
	for (i = measure->nr_nodes; i-- > 0;) {
		const struct vs_phase_node *node = measure->nodes[i];
		uint32_t *list = node->parent ? &first[node->parent->index] : &root;

		if (node->kind != kind)
			continue;
		next[i] = *list;
		*list = (uint32_t)i;
	}
	put_tree(story, measure, device, is_shown, first, next, root);
}

static void put_more(const struct vs_story *story, size_t nr, const char *what)
{
	struct vs_text_line line = {0};

	if (!nr)
		return;
	vs_text_add(&line, "  and %zu more %s that allocate less", nr, what);
	vs_text_put(&story->style, &line);
}

static int put_nodes(const struct vs_story *story, const struct vs_measure_phases *measure,
		     const struct vs_replay_device *device, enum vs_phase_kind kind, size_t top)
{
	size_t nr = measure->nr_nodes, i, nr_of_kind = 0, nr_hidden;
	struct choice *choices;
	uint32_t *lists;
	bool *is_shown;
	int err = -VS_ERR_NO_MEMORY;

	for (i = 0; i < nr; i++)
		nr_of_kind += measure->nodes[i]->kind == kind;
	if (!nr_of_kind)
		return 0;
	choices = calloc(nr, sizeof(*choices));
	lists = calloc(nr, 2 * sizeof(*lists));
	is_shown = calloc(nr, sizeof(*is_shown));
	if (choices && lists && is_shown) {
		nr_hidden = choose(measure, device, kind, top, choices, is_shown);
		put_header(story, kind == VS_PHASE_STACK ? "PHASES" : "RANGES");
		put_kind(story, measure, device, kind, is_shown, lists);
		put_more(story, nr_hidden, kind == VS_PHASE_STACK ? "phases" : "ranges");
		err = 0;
	}
	free(choices);
	free(lists);
	free(is_shown);
	return err;
}

/* ---- Steps and epochs ----------------------------------------------------------------------- */

static const struct vs_phase_node *find_kind(const struct vs_measure_phases *measure,
					     enum vs_phase_kind kind)
{
	size_t i;

	for (i = 0; i < measure->nr_nodes; i++)
		if (measure->nodes[i]->kind == kind)
			return measure->nodes[i];
	return NULL;
}

/* The first two, the last two, and of the others those with the highest peaks. */
static void choose_rows(const struct vs_phase_node *node, const struct vs_replay_device *device,
			size_t top, bool is_shown[VS_PHASES_ROWS])
{
	size_t nr = node->nr_rows, i, best;

	for (i = 0; i < nr; i++)
		is_shown[i] = nr <= top || i < 2 || i + 2 >= nr;
	for (top = top > 4 ? top - 4 : 0; nr > 4 && top; top--) {
		for (best = nr, i = 0; i < nr; i++)
			if (!is_shown[i] &&
			    (best == nr ||
			     vs_measure_phases_get_row(&node->rows[i], device)->peak_live >
				     vs_measure_phases_get_row(&node->rows[best], device)
					     ->peak_live))
				best = i;
		if (best == nr)
			return;
		is_shown[best] = true;
	}
}

static void put_counted_row(const struct vs_story *story, const struct vs_phase_node *node,
			    const struct vs_phase_row *row, const struct vs_replay_device *device,
			    bool is_highest)
{
	const struct vs_phase_numbers *numbers = vs_measure_phases_get_row(row, device);
	struct vs_text_line line = {0};

	vs_text_add(&line, "  %s %" PRIu64, node->name, row->first);
	if (row->nr > 1)
		vs_text_add(&line, " to %" PRIu64, row->last);
	if (is_highest)
		vs_text_add(&line, " *");
	put_row(story, &line, row->nr, row->end_ns - row->begin_ns, numbers, numbers);
}

static void put_counted(const struct vs_story *story, const struct vs_measure_phases *measure,
			const struct vs_replay_device *device, enum vs_phase_kind kind, size_t top)
{
	const struct vs_phase_node *node = find_kind(measure, kind);
	bool is_shown[VS_PHASES_ROWS];
	struct vs_text_line line = {0};
	size_t i, highest = 0, nr_hidden = 0;

	if (!node)
		return;
	put_header(story, kind == VS_PHASE_STEP ? "STEPS" : "EPOCHS");
	choose_rows(node, device, top, is_shown);
	for (i = 1; i < node->nr_rows; i++)
		if (vs_measure_phases_get_row(&node->rows[i], device)->peak_live >
		    vs_measure_phases_get_row(&node->rows[highest], device)->peak_live)
			highest = i;
	for (i = 0; i < node->nr_rows; i++) {
		if (is_shown[i])
			put_counted_row(story, node, &node->rows[i], device,
					i == highest && node->nr_rows > 1);
		else
			nr_hidden += node->rows[i].nr;
	}
	if (!nr_hidden)
		return;
	vs_text_add(&line, "  and %zu more %ss; * has the highest peak", nr_hidden, node->name);
	vs_text_put(&story->style, &line);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void put_failures(const struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_failures *failures = &story->analysis.failures;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	struct vs_text_line line = {0};
	size_t i;

	for (i = 0; i < failures->nr_groups; i++) {
		const struct vs_failure_group *group = failures->groups[i];

		if (group->device != device || !group->nr_ooms)
			continue;
		vs_text_add(&line, "OUT OF MEMORY");
		vs_text_mark(&line, VS_TEXT_ALARM);
		vs_story_add_instant(&line, &group->last_oom.at);
		vs_text_add(&line, ": %s asked", vs_units_put_bytes(a, group->last_oom.size));
		if (group->nr_ooms > 1) {
			vs_text_add(&line, "; %s times, first",
				    vs_units_put_number(b, group->nr_ooms, story->options->ascii));
			vs_story_add_instant(&line, &group->first_oom.at);
		}
		vs_text_put_whole(&story->style, &line, INDENT);
	}
}

/* ---- Text ----------------------------------------------------------------------------------- */

int vs_phase_report_put_text(struct vs_story *story, const struct vs_measure_phases *measure,
			     const struct vs_replay_device *device, size_t top)
{
	struct vs_text_line line = {0};
	int err;

	put_failures(story, device);
	if (!measure->nr_nodes) {
		vs_text_add(&line, "no phases, steps or epochs were marked: NVTX ranges, "
				   "vramscope.py and vramscope.h mark them");
		vs_text_put_whole(&story->style, &line, INDENT);
		return 0;
	}
	err = put_nodes(story, measure, device, VS_PHASE_STACK, top);
	if (!err)
		err = put_nodes(story, measure, device, VS_PHASE_RANGE, top);
	if (err)
		return err;
	put_counted(story, measure, device, VS_PHASE_STEP, top);
	put_counted(story, measure, device, VS_PHASE_EPOCH, top);
	if (measure->has_too_many) {
		vs_text_add(&line, "  note: more than %u paths; the rest is in 'other phases'",
			    VS_PHASES_NODES);
		vs_text_put(&story->style, &line);
	}
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_numbers(struct vs_json *json, const struct vs_phase_numbers *numbers)
{
	vs_json_put_number(json, "peak_live_bytes", numbers->peak_live);
	vs_json_put_number(json, "peak_reserved_bytes", numbers->peak_reserved);
	vs_json_put_number(json, "allocated_bytes", numbers->allocated);
	vs_json_put_number(json, "derived_bytes", numbers->derived);
	vs_json_put_number(json, "freed_bytes", numbers->freed);
	vs_json_put_number(json, "kept_bytes", numbers->kept);
}

static void put_ends(struct vs_json *json, const struct vs_phase_numbers *numbers)
{
	vs_json_put_number(json, "live_at_begin_bytes", numbers->begin_live);
	vs_json_put_number(json, "live_at_end_bytes", numbers->end_live);
}

static void put_visit(struct vs_json *json, const char *key, const struct vs_phase_visit *visit)
{
	vs_json_begin_object(json, key);
	vs_json_put_number(json, "begin_ns", visit->begin_ns);
	vs_json_put_number(json, "end_ns", visit->end_ns);
	if (visit->has_number)
		vs_json_put_number(json, "step", visit->number);
	else
		vs_json_put_null(json, "step");
	put_ends(json, &visit->numbers);
	put_numbers(json, &visit->numbers);
	vs_json_end_object(json);
}

/* What phases, ranges, steps and epochs have in common. */
static void put_sum(struct vs_json *json, const struct vs_phase_node *node,
		    const struct vs_phase_sum *sum)
{
	vs_json_put_number(json, "visits", node->nr_visits);
	vs_json_put_number(json, "open", node->nr_open);
	vs_json_put_number(json, "time_ns", node->time_ns);
	vs_json_put_number(json, "longest_ns", node->longest_ns);
	vs_json_put_number(json, "failed_requests", node->nr_failed);
	put_numbers(json, &sum->numbers);
	/* Of ranges that overlap it is not known which of them a thing was born in. */
	if (node->kind == VS_PHASE_RANGE)
		vs_json_put_null(json, "alive_at_end_bytes");
	else
		vs_json_put_number(json, "alive_at_end_bytes", sum->numbers.alive);
}

static void put_json_nodes(struct vs_json *json, const struct vs_measure_phases *measure,
			   const struct vs_replay_device *device, enum vs_phase_kind kind)
{
	char path[PATH_MAX_SIZE];
	size_t i;

	vs_json_begin_array(json, kind == VS_PHASE_STACK ? "phases" : "ranges");
	for (i = 0; i < measure->nr_nodes; i++) {
		const struct vs_phase_node *node = measure->nodes[i];
		const struct vs_phase_sum *sum = vs_measure_phases_get(node, device);

		if (node->kind != kind)
			continue;
		vs_measure_phases_put_path(node, path, sizeof(path));
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "path", path);
		vs_json_put_text(json, "name", node->name);
		vs_json_put_number(json, "depth", get_depth(node));
		put_sum(json, node, sum);
		put_visit(json, "first", &sum->first);
		put_visit(json, "last", &sum->last);
		put_visit(json, "highest", &sum->highest);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static void put_json_counted(struct vs_json *json, const struct vs_measure_phases *measure,
			     const struct vs_replay_device *device, enum vs_phase_kind kind)
{
	const struct vs_phase_node *node = find_kind(measure, kind);
	const char *key = kind == VS_PHASE_STEP ? "steps" : "epochs";
	size_t i;

	if (!node) {
		vs_json_put_null(json, key);
		return;
	}
	vs_json_begin_object(json, key);
	put_sum(json, node, vs_measure_phases_get(node, device));
	vs_json_put_number(json, "together", node->rows_stride);
	vs_json_begin_array(json, "rows");
	for (i = 0; i < node->nr_rows; i++) {
		const struct vs_phase_row *row = &node->rows[i];
		const struct vs_phase_numbers *numbers = vs_measure_phases_get_row(row, device);

		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "first", row->first);
		vs_json_put_number(json, "last", row->last);
		vs_json_put_number(json, "count", row->nr);
		vs_json_put_number(json, "begin_ns", row->begin_ns);
		vs_json_put_number(json, "end_ns", row->end_ns);
		put_ends(json, numbers);
		put_numbers(json, numbers);
		vs_json_put_number(json, "alive_at_end_bytes", numbers->alive);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
	vs_json_end_object(json);
}

static void put_json_failures(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_failures *failures = &story->analysis.failures;
	struct vs_json *json = story->json;
	size_t i;

	vs_json_begin_array(json, "failures");
	for (i = 0; i < failures->nr_groups; i++) {
		const struct vs_failure_group *group = failures->groups[i];

		if (group->device != device)
			continue;
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "pool", group->pool ? group->pool->name : NULL);
		vs_json_put_number(json, "failed", group->nr_failed);
		vs_json_put_number(json, "recovered", group->nr_recovered);
		vs_json_put_number(json, "ooms", group->nr_ooms);
		if (group->nr_ooms) {
			vs_story_put_json_instant(story, "first_oom_at", &group->first_oom.at);
			vs_story_put_json_instant(story, "last_oom_at", &group->last_oom.at);
			vs_json_put_number(json, "last_requested_bytes", group->last_oom.size);
		} else {
			vs_json_put_null(json, "first_oom_at");
			vs_json_put_null(json, "last_oom_at");
			vs_json_put_null(json, "last_requested_bytes");
		}
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

void vs_phase_report_put_json(struct vs_story *story, const struct vs_measure_phases *measure,
			      const struct vs_replay_device *device)
{
	put_json_nodes(story->json, measure, device, VS_PHASE_STACK);
	put_json_nodes(story->json, measure, device, VS_PHASE_RANGE);
	put_json_counted(story->json, measure, device, VS_PHASE_STEP);
	put_json_counted(story->json, measure, device, VS_PHASE_EPOCH);
	put_json_failures(story, device);
}

/* ---- What is open at an instant -------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b)
{
	const struct vs_replay_thread *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static void put_name(char path[PATH_MAX_SIZE], const struct vs_replay *then, uint32_t number)
{
	const char *name = vs_definitions_get_name(&then->definitions, number);
	size_t used = strlen(path);

	snprintf(path + used, PATH_MAX_SIZE - used, "%s%s", used ? " > " : "",
		 name ? name : "unnamed");
}

/* thread: 0 is a range, which belongs to none. */
static void put_open(struct vs_story *story, const struct vs_replay *then, uint32_t thread,
		     const char *path)
{
	const struct vs_definition_thread *named =
		vs_definitions_get_thread(&then->definitions, thread);
	struct vs_text_line line = {0};

	if (story->json) {
		vs_json_begin_object(story->json, NULL);
		if (thread)
			vs_json_put_number(story->json, "thread", thread);
		else
			vs_json_put_null(story->json, "thread");
		vs_json_put_text(story->json, "thread_name", named ? named->name : NULL);
		vs_json_put_text(story->json, "path", path);
		vs_json_end_object(story->json);
		return;
	}
	if (thread)
		vs_text_add(&line, "  thread %" PRIu32 " ", thread);
	else
		vs_text_add(&line, "  range ");
	if (named && named->name) {
		vs_text_add_name(&line, named->name, VS_TEXT_NAME_COLUMNS);
		vs_text_add(&line, " ");
	}
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN + 14);
	vs_text_add(&line, "%s", path);
	vs_text_put(&story->style, &line);
}

static void put_all_open(struct vs_story *story, const struct vs_replay *then,
			 const struct vs_replay_thread **threads)
{
	char path[PATH_MAX_SIZE];
	size_t i, k;

	for (i = 0; i < then->nr_in_phases; i++) {
		path[0] = '\0';
		for (k = 0; k < threads[i]->nr_phases; k++)
			put_name(path, then, threads[i]->phases[k]);
		put_open(story, then, threads[i]->id, path);
	}
	for (i = 0; i < then->nr_ranges; i++) {
		path[0] = '\0';
		put_name(path, then, then->ranges[i].name);
		put_open(story, then, 0, path);
	}
}

int vs_phase_report_put_open(struct vs_story *story, const struct vs_replay *then,
			     const struct vs_replay_device *device, const struct vs_instant *at)
{
	const struct vs_replay_device *known = vs_replay_get_device(then, device->ordinal);
	const struct vs_replay_thread **threads = calloc(then->nr_in_phases + 1, sizeof(*threads));
	uint64_t live = known ? known->live_bytes : 0;
	uint64_t reserved = known ? vs_replay_get_reserved(known) : 0;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	struct vs_text_line line = {0};

	if (!threads)
		return -VS_ERR_NO_MEMORY;
	if (then->nr_in_phases)
		memcpy(threads, then->in_phases, then->nr_in_phases * sizeof(*threads));
	qsort(threads, then->nr_in_phases, sizeof(*threads), compare_threads);
	if (story->json) {
		vs_story_put_json_instant(story, "at", at);
		vs_json_put_number(story->json, "live_bytes", live);
		vs_json_put_number(story->json, "reserved_bytes", reserved);
		vs_json_begin_array(story->json, "open");
	} else {
		vs_text_add(&line, "OPEN");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
		vs_text_add(&line, "%s live in %s reserved", vs_units_put_bytes(a, live),
			    vs_units_put_bytes(b, reserved));
		vs_story_add_instant(&line, at);
		vs_text_put(&story->style, &line);
	}
	put_all_open(story, then, threads);
	if (story->json)
		vs_json_end_array(story->json);
	free(threads);
	return 0;
}
