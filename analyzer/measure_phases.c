#include "measure_phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "phase_name.h"
#include "phase_visits.h"

#define OUT_OF_MEMORY 2u /* CUDA_ERROR_OUT_OF_MEMORY */

/* A thread's phases. */
struct thread {
	struct vs_visit *top;
	uint64_t depth;
};

/* What something that is alive was born in. */
struct birth {
	struct vs_visit *visit; /* NULL: in no phase */
	uint64_t serial;
	uint64_t ordinals[VS_NR_PHASE_KINDS]; /* of the step and the epoch; 0: in none */
};

/* Names that differ only by a number: the first of them stands for all. */
struct group {
	char *text;
	uint32_t name;
};

struct phase_books {
	struct vs_visits visits;
	struct vs_id_map threads;
	struct vs_id_map births; /* by item->id */
	struct vs_id_map nodes_by_key;
	struct group *groups;
	size_t nr_groups;
	size_t groups_capacity;
	struct vs_visit **ranges; /* open ones */
	size_t nr_ranges;
	size_t ranges_capacity;
	struct vs_visit *counted[VS_NR_PHASE_KINDS]; /* the step and the epoch that are open */
	uint64_t ordinals[VS_NR_PHASE_KINDS];        /* how many there were */
	uint64_t serial;                             /* allocations so far */
	uint32_t thread;                             /* of the event that is replayed */
	uint64_t epoch;                              /* number of the latest one, if has_epoch */
	bool has_epoch;
};

static struct vs_measure_phases *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_phases *)(void *)observer; /* its first member */
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static int add_node(struct vs_measure_phases *measure, struct vs_phase_node *parent,
		    enum vs_phase_kind kind, const char *name, struct vs_phase_node **out)
{
	int err = VS_GROW(measure->nodes, measure->nodes_capacity, measure->nr_nodes + 1);
	struct vs_phase_node *node = err ? NULL : calloc(1, sizeof(*node));

	if (!node)
		return -VS_ERR_NO_MEMORY;
	node->name = strdup(name);
	if (!node->name) {
		free(node);
		return -VS_ERR_NO_MEMORY;
	}
	node->index = (uint32_t)measure->nr_nodes;
	node->parent = parent;
	node->kind = kind;
	node->rows_stride = 1;
	measure->nodes[measure->nr_nodes++] = node;
	*out = node;
	return 0;
}

/* The name that stands for this one, and its text. */
static int find_group(struct phase_books *books, uint32_t *name, const char **text)
{
	char grouped[VS_PHASE_NAME_MAX];
	struct group *group;
	size_t i;
	int err;

	if (!vs_phase_name_group(*text, grouped))
		return 0;
	for (i = 0; i < books->nr_groups && strcmp(books->groups[i].text, grouped) != 0; i++)
		;
	if (i == books->nr_groups) {
		err = VS_GROW(books->groups, books->groups_capacity, i + 1);
		if (err)
			return err;
		group = &books->groups[i];
		group->text = strdup(grouped);
		if (!group->text)
			return -VS_ERR_NO_MEMORY;
		group->name = *name;
		books->nr_groups++;
	}
	*name = books->groups[i].name;
	*text = books->groups[i].text;
	return 0;
}

static int get_node(struct vs_measure_phases *measure, const struct vs_replay *replay,
		    struct vs_phase_node *parent, enum vs_phase_kind kind, uint32_t name,
		    struct vs_phase_node **node)
{
	const char *text = vs_definitions_get_name(&replay->definitions, name);
	struct phase_books *books = measure->books;
	uint64_t key;
	int err;

	if (!text)
		text = "unnamed";
	err = find_group(books, &name, &text);
	if (err)
		return err;
	key = (uint64_t)(parent ? parent->index + 1 : 0) << 34 | (uint64_t)kind << 32 | name;
	*node = vs_id_map_get(&books->nodes_by_key, key);
	if (*node)
		return 0;
	if (measure->nr_nodes >= VS_PHASES_NODES) {
		measure->has_too_many = true;
		parent = NULL;
		kind = VS_PHASE_STACK;
		text = "other phases";
		key = UINT64_MAX;
		*node = vs_id_map_get(&books->nodes_by_key, key);
		if (*node)
			return 0;
	}
	err = add_node(measure, parent, kind, text, node);
	return err ? err : vs_id_map_put(&books->nodes_by_key, key, *node);
}

/* The one node of all steps, or of all epochs. */
static int get_counted_node(struct vs_measure_phases *measure, enum vs_phase_kind kind,
			    struct vs_phase_node **node)
{
	struct phase_books *books = measure->books;
	uint64_t key = (uint64_t)kind << 32;
	int err;

	*node = vs_id_map_get(&books->nodes_by_key, key);
	if (*node)
		return 0;
	err = add_node(measure, NULL, kind, kind == VS_PHASE_STEP ? "step" : "epoch", node);
	if (!err)
		err = vs_id_map_put(&books->nodes_by_key, key, *node);
	if (err)
		return err;
	(*node)->rows = calloc(VS_PHASES_ROWS, sizeof((*node)->rows[0]));
	return (*node)->rows ? 0 : -VS_ERR_NO_MEMORY;
}

static int get_sum(struct vs_phase_node *node, uint32_t device, struct vs_phase_sum **sum)
{
	int err = VS_GROW(node->sums, node->sums_capacity, device + 1);

	if (!err)
		*sum = &node->sums[device];
	return err;
}

/* ---- Rows of steps and epochs ---------------------------------------------------------------- */

static void add_numbers(struct vs_phase_numbers *sum, const struct vs_phase_numbers *more)
{
	if (more->peak_live > sum->peak_live)
		sum->peak_live = more->peak_live;
	if (more->peak_reserved > sum->peak_reserved)
		sum->peak_reserved = more->peak_reserved;
	sum->allocated += more->allocated;
	sum->derived += more->derived;
	sum->freed += more->freed;
	sum->kept += more->kept;
	sum->alive += more->alive;
}

/* A later row becomes part of the one before it. */
static int join_rows(struct vs_phase_row *row, struct vs_phase_row *later)
{
	size_t i;
	int err = VS_GROW(row->devices, row->devices_capacity, later->devices_capacity);

	if (err)
		return err;
	for (i = 0; i < later->devices_capacity; i++) {
		add_numbers(&row->devices[i], &later->devices[i]);
		row->devices[i].end_live = later->devices[i].end_live;
	}
	row->last = later->last;
	row->nr += later->nr;
	row->end_ns = later->end_ns;
	free(later->devices);
	return 0;
}

static int thin_rows(struct vs_phase_node *node)
{
	size_t i;
	int err = 0;

	for (i = 0; i < node->nr_rows / 2 && !err; i++) {
		struct vs_phase_row *row = &node->rows[i];

		if (i)
			*row = node->rows[2 * i];
		err = join_rows(row, &node->rows[2 * i + 1]);
	}
	/* What is left over was joined, or has moved. */
	node->nr_rows = i;
	memset(&node->rows[i], 0, (VS_PHASES_ROWS - i) * sizeof(node->rows[0]));
	node->rows_stride *= 2;
	return err;
}

/* The row of a step, by how many there were before it and itself. */
static struct vs_phase_row *get_row(const struct vs_phase_node *node, uint64_t ordinal)
{
	return &node->rows[(ordinal - 1) / node->rows_stride];
}

static int begin_row(struct vs_phase_node *node, uint64_t ordinal, const struct vs_visit *visit)
{
	struct vs_phase_row *row;
	int err = 0;

	if (ordinal - 1 >= VS_PHASES_ROWS * node->rows_stride)
		err = thin_rows(node);
	if (err)
		return err;
	row = get_row(node, ordinal);
	if (!row->nr) {
		node->nr_rows++;
		row->first = visit->number;
		row->begin_ns = visit->begin_ns;
	}
	row->last = visit->number;
	row->nr++;
	return 0;
}

static int end_row(struct vs_phase_row *row, uint64_t now_ns,
		   const struct vs_phase_numbers *numbers, uint32_t device)
{
	int err = VS_GROW(row->devices, row->devices_capacity, device + 1);

	if (err)
		return err;
	if (row->nr == 1)
		row->devices[device].begin_live = numbers->begin_live;
	row->end_ns = now_ns;
	row->devices[device].end_live = numbers->end_live;
	add_numbers(&row->devices[device], numbers);
	return 0;
}

/* ---- Visits --------------------------------------------------------------------------------- */

static int begin_visit(struct vs_measure_phases *measure, const struct vs_replay *replay,
		       struct vs_visit *start, struct vs_visit **visit)
{
	struct phase_books *books = measure->books;

	start->serial = books->serial;
	start->begin_ns = replay->now_ns > replay->from_ns ? replay->now_ns : replay->from_ns;
	if (!start->has_number && replay->nr_steps) {
		start->has_number = true;
		start->number = replay->step_number;
	}
	start->node->nr_visits++;
	return vs_phase_visits_begin(&books->visits, replay, start, visit);
}

static int sum_visit(struct vs_measure_phases *measure, const struct vs_replay *replay,
		     const struct vs_visit *visit, const struct vs_replay_device *device)
{
	struct vs_phase_node *node = visit->node;
	struct vs_phase_visit told = {visit->begin_ns, replay->now_ns, visit->number,
				      visit->has_number, vs_phase_visits_get(visit, device)};
	struct vs_phase_sum *sum;
	int err = get_sum(node, device->index, &sum);

	if (err)
		return err;
	/* The end of one that ended before is not 0: time 0 is when the program begins. */
	if (!sum->first.end_ns)
		sum->first = told;
	if (!sum->last.end_ns || told.numbers.peak_live > sum->highest.numbers.peak_live)
		sum->highest = told;
	sum->last = told;
	add_numbers(&sum->numbers, &told.numbers);
	if (!node->rows)
		return 0;
	return end_row(get_row(node, measure->books->ordinals[node->kind]), replay->now_ns,
		       &told.numbers, device->index);
}

static int end_visit(struct vs_measure_phases *measure, const struct vs_replay *replay,
		     struct vs_visit *visit)
{
	struct vs_phase_node *node = visit->node;
	uint64_t time_ns = replay->now_ns > visit->begin_ns ? replay->now_ns - visit->begin_ns : 0;
	size_t i;
	int ended, err = 0;

	for (i = 0; i < replay->nr_devices && !err; i++)
		err = sum_visit(measure, replay, visit, replay->devices[i]);
	node->time_ns += time_ns;
	if (time_ns > node->longest_ns)
		node->longest_ns = time_ns;
	ended = vs_phase_visits_end(&measure->books->visits, visit);
	return err ? err : ended;
}

/* ---- What begins and ends -------------------------------------------------------------------- */

static int get_thread(struct phase_books *books, uint32_t id, struct thread **thread)
{
	int err;

	*thread = vs_id_map_get(&books->threads, id);
	if (*thread)
		return 0;
	*thread = calloc(1, sizeof(**thread));
	if (!*thread)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&books->threads, id, *thread);
	if (err)
		free(*thread);
	return err;
}

static int push(struct vs_measure_phases *measure, const struct vs_replay *replay, uint32_t id,
		uint32_t name)
{
	struct vs_visit start = {0};
	struct thread *thread;
	int err = get_thread(measure->books, id, &thread);

	if (err)
		return err;
	if (thread->depth++ >= VS_PHASES_DEPTH)
		return 0;
	start.parent = thread->top;
	err = get_node(measure, replay, start.parent ? start.parent->node : NULL, VS_PHASE_STACK,
		       name, &start.node);
	return err ? err : begin_visit(measure, replay, &start, &thread->top);
}

static int pop(struct vs_measure_phases *measure, const struct vs_replay *replay, uint32_t id)
{
	struct thread *thread = vs_id_map_get(&measure->books->threads, id);
	struct vs_visit *visit;

	if (!thread || !thread->depth || --thread->depth >= VS_PHASES_DEPTH)
		return 0;
	visit = thread->top;
	thread->top = visit->parent;
	return end_visit(measure, replay, visit);
}

static int start_range(struct vs_measure_phases *measure, const struct vs_replay *replay,
		       uint64_t id, uint32_t name)
{
	struct phase_books *books = measure->books;
	struct vs_visit start = {.id = id};
	int err = VS_GROW(books->ranges, books->ranges_capacity, books->nr_ranges + 1);

	if (!err)
		err = get_node(measure, replay, NULL, VS_PHASE_RANGE, name, &start.node);
	if (!err)
		err = begin_visit(measure, replay, &start, &books->ranges[books->nr_ranges]);
	books->nr_ranges += !err;
	return err;
}

static int end_range(struct vs_measure_phases *measure, const struct vs_replay *replay, uint64_t id)
{
	struct phase_books *books = measure->books;
	struct vs_visit *visit;
	size_t i = 0;

	while (i < books->nr_ranges && books->ranges[i]->id != id)
		i++;
	if (i == books->nr_ranges)
		return 0;
	visit = books->ranges[i];
	books->ranges[i] = books->ranges[--books->nr_ranges];
	return end_visit(measure, replay, visit);
}

/* The next step or epoch begins, and the one before it is over. */
static int count(struct vs_measure_phases *measure, const struct vs_replay *replay,
		 enum vs_phase_kind kind, uint64_t number)
{
	struct phase_books *books = measure->books;
	struct vs_visit start = {.number = number, .has_number = true};
	int err = 0;

	if (books->counted[kind])
		err = end_visit(measure, replay, books->counted[kind]);
	books->counted[kind] = NULL;
	if (!err)
		err = get_counted_node(measure, kind, &start.node);
	if (!err)
		err = begin_visit(measure, replay, &start, &books->counted[kind]);
	if (!err)
		err = begin_row(start.node, ++books->ordinals[kind], books->counted[kind]);
	return err;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* The phase that something counts to; NULL: none. */
static struct vs_visit *find_visit(const struct vs_measure_phases *measure,
				   const struct vs_replay *replay, bool *is_derived)
{
	const struct phase_books *books = measure->books;
	const struct vs_replay_thread *owner = vs_replay_get_phase_thread(replay, books->thread);
	const struct thread *thread = owner ? vs_id_map_get(&books->threads, owner->id) : NULL;

	*is_derived = owner && owner->id != books->thread;
	return thread ? thread->top : NULL;
}

enum doing {
	ALLOCATED,
	TAKEN_BACK,
	FREED
};

static int count_bytes(struct vs_visit *visit, const struct vs_item *item, enum doing doing,
		       bool is_derived)
{
	struct vs_visit_part *part;
	int err = vs_phase_visits_get_part(visit, item->account->device->index, &part);

	if (err)
		return err;
	if (doing == FREED) {
		part->freed += item->size;
	} else if (doing == TAKEN_BACK) {
		part->freed -= part->freed < item->size ? part->freed : item->size;
	} else {
		part->allocated += item->size;
		part->own_live += item->size;
		part->derived += is_derived ? item->size : 0;
	}
	return 0;
}

/* To all visits that it happens in. */
static int count_everywhere(struct vs_measure_phases *measure, const struct vs_replay *replay,
			    const struct vs_item *item, enum doing doing)
{
	struct phase_books *books = measure->books;
	bool is_derived;
	struct vs_visit *visit = find_visit(measure, replay, &is_derived);
	size_t i;
	int err = 0;

	for (; visit && !err; visit = visit->parent)
		err = count_bytes(visit, item, doing, is_derived);
	for (i = 0; i < VS_NR_PHASE_KINDS && !err; i++)
		if (books->counted[i])
			err = count_bytes(books->counted[i], item, doing, false);
	for (i = 0; i < books->nr_ranges && !err; i++)
		err = count_bytes(books->ranges[i], item, doing, false);
	return err;
}

/* Adds to what is alive of those it was born in: its size, or, as a difference, less it. */
static int change_alive(struct vs_measure_phases *measure, const struct birth *birth,
			uint32_t device, uint64_t difference)
{
	const struct phase_books *books = measure->books;
	const struct vs_visit *visit;
	struct vs_phase_sum *sum;
	int kind, err = 0;

	for (visit = birth->visit; visit && !err; visit = visit->parent) {
		err = get_sum(visit->node, device, &sum);
		if (!err)
			sum->numbers.alive += difference;
	}
	for (kind = 0; kind < VS_NR_PHASE_KINDS && !err; kind++) {
		struct vs_phase_node *node =
			vs_id_map_get(&books->nodes_by_key, (uint64_t)kind << 32);
		struct vs_phase_row *row;

		if (!birth->ordinals[kind] || !node)
			continue;
		row = get_row(node, birth->ordinals[kind]);
		err = get_sum(node, device, &sum);
		if (!err)
			err = VS_GROW(row->devices, row->devices_capacity, device + 1);
		if (!err) {
			sum->numbers.alive += difference;
			row->devices[device].alive += difference;
		}
	}
	return err;
}

static int on_charged(struct vs_measure_phases *measure, const struct vs_replay *replay,
		      const struct vs_item *item)
{
	struct phase_books *books = measure->books;
	struct birth *birth = calloc(1, sizeof(*birth));
	bool is_derived;
	int kind, err;

	if (!birth)
		return -VS_ERR_NO_MEMORY;
	err = vs_id_map_put(&books->births, item->id, birth);
	if (err) {
		free(birth);
		return err;
	}
	birth->serial = ++books->serial;
	birth->visit = find_visit(measure, replay, &is_derived);
	if (birth->visit)
		birth->visit->nr_users++;
	for (kind = 0; kind < VS_NR_PHASE_KINDS; kind++)
		birth->ordinals[kind] = books->counted[kind] ? books->ordinals[kind] : 0;
	err = count_everywhere(measure, replay, item, ALLOCATED);
	return err ? err : change_alive(measure, birth, item->account->device->index, item->size);
}

/* What was born in a visit and dies is not kept by it. */
static void forget_birth(struct phase_books *books, const struct birth *birth,
			 const struct vs_item *item)
{
	uint32_t device = item->account->device->index;
	struct vs_visit *visit;
	size_t i;

	for (visit = birth->visit; visit; visit = visit->parent)
		visit->parts[device].own_live -= item->size;
	for (i = 0; i < VS_NR_PHASE_KINDS; i++)
		if (books->counted[i] && birth->ordinals[i] == books->ordinals[i])
			books->counted[i]->parts[device].own_live -= item->size;
	for (i = 0; i < books->nr_ranges; i++)
		if (birth->serial > books->ranges[i]->serial)
			books->ranges[i]->parts[device].own_live -= item->size;
}

static int on_discharged(struct vs_measure_phases *measure, const struct vs_replay *replay,
			 const struct vs_item *item)
{
	struct phase_books *books = measure->books;
	struct birth *birth = vs_id_map_remove(&books->births, item->id);
	int err = count_everywhere(measure, replay, item, FREED);

	if (!birth)
		return err; /* it was there before the window */
	if (!err)
		err = change_alive(measure, birth, item->account->device->index, -item->size);
	forget_birth(books, birth, item);
	vs_phase_visits_release(birth->visit);
	free(birth);
	return err;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_phases *measure = measure_of(observer);
	bool is_charge = change->type == VS_CHANGE_CHARGED;

	if (!replay->is_in_window || (!is_charge && change->type != VS_CHANGE_DISCHARGED) ||
	    change->item->account->domain != VS_DOMAIN_DEVICE)
		return 0;
	if (!is_charge)
		return on_discharged(measure, replay, change->item);
	/* A free that failed: it had been counted. Whose it was is not known any more. */
	if (change->cause == VS_CAUSE_RESTORED)
		return count_everywhere(measure, replay, change->item, TAKEN_BACK);
	return on_charged(measure, replay, change->item);
}

/* ---- Events --------------------------------------------------------------------------------- */

static bool is_failure(const struct vs_record *record)
{
	if (record->type == VS_RECORD_BLOCK_FAILED)
		return true;
	return record->type == VS_RECORD_ALLOC_FAILED &&
	       record->alloc_failed.error == OUT_OF_MEMORY &&
	       vs_replay_get_domain(record->alloc_failed.kind) == VS_DOMAIN_DEVICE;
}

static void count_failure(struct vs_measure_phases *measure, const struct vs_replay *replay)
{
	struct phase_books *books = measure->books;
	bool is_derived;
	const struct vs_visit *visit = find_visit(measure, replay, &is_derived);
	size_t i;

	for (; visit; visit = visit->parent)
		visit->node->nr_failed++;
	for (i = 0; i < VS_NR_PHASE_KINDS; i++)
		if (books->counted[i])
			books->counted[i]->node->nr_failed++;
	for (i = 0; i < books->nr_ranges; i++)
		books->ranges[i]->node->nr_failed++;
}

/* A mark that begins an epoch; before the window it is only remembered. */
static int on_mark(struct vs_measure_phases *measure, const struct vs_replay *replay,
		   const struct vs_mark *mark)
{
	const char *name = vs_definitions_get_name(&replay->definitions, mark->name);
	struct phase_books *books = measure->books;

	if (!name || !vs_phase_name_is_epoch(name, &books->epoch))
		return 0;
	books->has_epoch = true;
	return replay->is_in_window ? count(measure, replay, VS_PHASE_EPOCH, books->epoch) : 0;
}

static int follow(struct vs_measure_phases *measure, const struct vs_replay *replay,
		  const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_PHASE_PUSH:
		return push(measure, replay, record->thread, record->phase_push.name);
	case VS_RECORD_PHASE_POP:
		return pop(measure, replay, record->thread);
	case VS_RECORD_RANGE_START:
		return start_range(measure, replay, record->range_start.id,
				   record->range_start.name);
	case VS_RECORD_RANGE_END:
		return end_range(measure, replay, record->range_end.id);
	case VS_RECORD_STEP:
		return count(measure, replay, VS_PHASE_STEP, record->step.number);
	default:
		if (is_failure(record))
			count_failure(measure, replay);
		return 0;
	}
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)replay;
	measure_of(observer)->books->thread = record->thread;
	return 0;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_phases *measure = measure_of(observer);
	int err;

	if (!vs_replay_is_event(record))
		return 0;
	if (record->type == VS_RECORD_MARK)
		return on_mark(measure, replay, &record->mark);
	if (!replay->is_in_window)
		return 0;
	err = vs_phase_visits_raise(&measure->books->visits, replay);
	return err ? err : follow(measure, replay, record);
}

/* What is open when the window opens begins there. */
static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_phases *measure = measure_of(observer);
	struct phase_books *books = measure->books;
	size_t i, k;
	int err = 0;

	if (books->has_epoch)
		err = count(measure, replay, VS_PHASE_EPOCH, books->epoch);
	if (!err && replay->nr_steps)
		err = count(measure, replay, VS_PHASE_STEP, replay->step_number);
	for (i = 0; i < replay->nr_ranges && !err; i++)
		err = start_range(measure, replay, replay->ranges[i].id, replay->ranges[i].name);
	for (i = 0; i < replay->nr_in_phases && !err; i++) {
		const struct vs_replay_thread *thread = replay->in_phases[i];

		for (k = 0; k < thread->nr_phases && !err; k++)
			err = push(measure, replay, thread->id, thread->phases[k]);
	}
	return err;
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_phases *measure = measure_of(observer);
	struct vs_visit *visit;
	int err = 0;

	while ((visit = measure->books->visits.newest) && !err) {
		visit->node->nr_open++;
		err = end_visit(measure, replay, visit);
	}
	return err;
}

/* ---- Interface ------------------------------------------------------------------------------ */

int vs_measure_phases_init(struct vs_measure_phases *measure)
{
	memset(measure, 0, sizeof(*measure));
	measure->books = calloc(1, sizeof(*measure->books));
	if (!measure->books)
		return -VS_ERR_NO_MEMORY;
	measure->observer.on_change = on_change;
	measure->observer.before_record = before_record;
	measure->observer.on_record = on_record;
	measure->observer.on_window = on_window;
	measure->observer.on_end = on_end;
	return 0;
}

static void destroy_node(struct vs_phase_node *node)
{
	size_t i;

	for (i = 0; i < node->nr_rows; i++)
		free(node->rows[i].devices);
	free(node->rows);
	free(node->sums);
	free(node->name);
	free(node);
}

static void destroy_books(struct phase_books *books)
{
	struct vs_visit *visit, *older;
	struct birth *birth;
	void *thread;
	size_t slot = 0, i;

	while ((birth = vs_id_map_next(&books->births, &slot))) {
		vs_phase_visits_release(birth->visit);
		free(birth);
	}
	/* Only a replay that failed leaves any. */
	for (visit = books->visits.newest; visit; visit = older) {
		older = visit->older;
		vs_phase_visits_release(visit);
	}
	for (slot = 0; (thread = vs_id_map_next(&books->threads, &slot));)
		free(thread);
	for (i = 0; i < books->nr_groups; i++)
		free(books->groups[i].text);
	free(books->groups);
	free(books->ranges);
	vs_id_map_fini(&books->births);
	vs_id_map_fini(&books->threads);
	vs_id_map_fini(&books->nodes_by_key);
	free(books);
}

void vs_measure_phases_fini(struct vs_measure_phases *measure)
{
	size_t i;

	if (measure->books)
		destroy_books(measure->books);
	for (i = 0; i < measure->nr_nodes; i++)
		destroy_node(measure->nodes[i]);
	free(measure->nodes);
	memset(measure, 0, sizeof(*measure));
}

const struct vs_phase_sum *vs_measure_phases_get(const struct vs_phase_node *node,
						 const struct vs_replay_device *device)
{
	static const struct vs_phase_sum none;

	return device->index < node->sums_capacity ? &node->sums[device->index] : &none;
}

const struct vs_phase_numbers *vs_measure_phases_get_row(const struct vs_phase_row *row,
							 const struct vs_replay_device *device)
{
	static const struct vs_phase_numbers none;

	return device->index < row->devices_capacity ? &row->devices[device->index] : &none;
}

void vs_measure_phases_put_path(const struct vs_phase_node *node, char *out, size_t size)
{
	size_t used = 0;

	if (node->parent) {
		vs_measure_phases_put_path(node->parent, out, size);
		used = strlen(out);
		used += (size_t)snprintf(out + used, size - used, " > ");
	}
	if (used < size)
		snprintf(out + used, size - used, "%s", node->name);
}
