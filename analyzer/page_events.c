#include "page_events.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_page_events *events_of(struct vs_observer *observer)
{
	return (struct vs_page_events *)(void *)observer; /* its first member */
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* 0 for none, else its place + 1. A name's text stays where it is as long as the replay does. */
static int get_name(struct vs_page_events *events, const char *text, uint32_t *number)
{
	void *known = text ? vs_id_map_get(&events->texts, (uintptr_t)text) : NULL;
	int err;

	*number = (uint32_t)(uintptr_t)known;
	if (!text || known)
		return 0;
	err = VS_GROW(events->names, events->names_capacity, events->nr_names + 1);
	if (!err)
		err = vs_id_map_put(&events->texts, (uintptr_t)text,
				    (void *)(uintptr_t)(events->nr_names + 1));
	if (err)
		return err;
	events->names[events->nr_names++] = text;
	*number = (uint32_t)events->nr_names;
	return 0;
}

static int get_name_of(struct vs_page_events *events, const struct vs_replay *replay, uint32_t id,
		       uint32_t *number)
{
	return get_name(events, vs_definitions_get_name(&replay->definitions, id), number);
}

/* ---- Items ---------------------------------------------------------------------------------- */

static bool is_in_driver_pool(const struct vs_item *item)
{
	return item->class == VS_ITEM_BLOCK && item->pool && item->pool->owner == VS_POOL_DRIVER;
}

/* Whether its size is part of what the device has reserved: docs/analyses.md. */
static bool is_reserved(const struct vs_item *item)
{
	if (item->class == VS_ITEM_HANDLE)
		return true;
	return !item->parent && !item->reservation && !is_in_driver_pool(item) &&
	       vs_replay_get_domain(item->kind) == VS_DOMAIN_DEVICE;
}

static bool has_address(const struct vs_item *item)
{
	return item->class != VS_ITEM_HANDLE && (item->kind != VS_MEMORY_ARRAY || item->parent);
}

static uint32_t get_flags(const struct vs_item *item)
{
	uint32_t flags = 0;

	flags |= is_reserved(item) ? VS_PAGE_IS_RESERVED : 0;
	flags |= item->owner ? VS_PAGE_IS_DIVIDED : 0;
	flags |= vs_replay_get_domain(item->kind) == VS_DOMAIN_DEVICE ? VS_PAGE_IS_ON_DEVICE : 0;
	flags |= has_address(item) ? VS_PAGE_HAS_ADDRESS : 0;
	flags |= item->parent ? VS_PAGE_IS_INSIDE : 0;
	return flags;
}

static int describe(struct vs_page_events *events, const struct vs_replay *replay,
		    const struct vs_item *item, struct vs_page_birth *birth)
{
	int err;

	*birth = (struct vs_page_birth){
		.address = has_address(item) ? item->range.base : 0,
		.size = item->size,
		.flags = get_flags(item),
		.kind = item->kind,
		.device = item->device->index,
		.site = item->account->site->index,
		.pool = item->pool ? item->pool->index + 1 : 0,
		.owner = item->owner ? item->owner->index + 1 : 0,
	};
	err = get_name_of(events, replay, item->api, &birth->api);
	return err ? err
		   : get_name(events, vs_replay_get_phase(replay, events->thread), &birth->phase);
}

static int put_birth(struct vs_page_events *events, uint64_t id, uint64_t time_ns)
{
	uint64_t number;
	int err = vs_page_columns_add_birth(&events->columns, time_ns, &events->birth, &number);

	return err ? err : vs_id_map_put(&events->numbers, id, (void *)(uintptr_t)(number + 1));
}

static int put_item(struct vs_page_events *events, enum vs_page_change type, uint64_t id,
		    uint64_t time_ns)
{
	void *number = vs_id_map_get(&events->numbers, id);

	if (!number)
		return 0;
	return vs_page_columns_add_item(&events->columns, type, time_ns,
					(uint64_t)(uintptr_t)number - 1);
}

/* What was kept back goes out before anything else does. */
static int flush(struct vs_page_events *events)
{
	int err = 0;

	if (events->is_born)
		err = put_birth(events, events->pending_id, events->pending_ns);
	else if (events->is_discharged)
		err = put_item(events, VS_PAGE_DISCHARGED, events->pending_id, events->pending_ns);
	events->is_born = false;
	events->is_discharged = false;
	return err;
}

static void keep_back(struct vs_page_events *events, const struct vs_replay *replay,
		      const struct vs_item *item)
{
	events->pending_id = item->id;
	events->pending_ns = replay->now_ns;
}

static int on_born(struct vs_page_events *events, const struct vs_replay *replay,
		   const struct vs_change *change)
{
	const struct vs_item *item = change->item;
	int err = flush(events);

	if (!err)
		err = describe(events, replay, item, &events->birth);
	if (err)
		return err;
	/* Back after a free that failed, or a part of what was there: not allocated again. */
	if (change->cause == VS_CAUSE_RESTORED || change->cause == VS_CAUSE_SHAPE)
		events->birth.flags |= VS_PAGE_IS_CONTINUED;
	if (is_reserved(item))
		events->reserved[item->device->index] += item->size;
	keep_back(events, replay, item);
	events->is_born = true;
	return 0;
}

static int on_dying(struct vs_page_events *events, const struct vs_replay *replay,
		    const struct vs_item *item)
{
	int err;

	/* Its death says that it is no longer live. */
	if (events->pending_id == item->id)
		events->is_discharged = false;
	err = flush(events);
	if (!err)
		err = put_item(events, VS_PAGE_DIED, item->id, replay->now_ns);
	vs_id_map_remove(&events->numbers, item->id);
	if (is_reserved(item))
		events->reserved[item->device->index] -= item->size;
	return err;
}

static int on_resized(struct vs_page_events *events, const struct vs_replay *replay,
		      const struct vs_item *item)
{
	int err = flush(events);

	if (!err)
		err = put_item(events, VS_PAGE_DIED, item->id, replay->now_ns);
	if (!err)
		err = describe(events, replay, item, &events->birth);
	if (err)
		return err;
	events->birth.flags |= VS_PAGE_IS_CONTINUED | (item->is_charged ? VS_PAGE_IS_LIVE : 0);
	return put_birth(events, item->id, replay->now_ns);
}

static int on_charge(struct vs_page_events *events, const struct vs_replay *replay,
		     const struct vs_item *item, bool is_live)
{
	int err;

	if (item->account->domain == VS_DOMAIN_DEVICE)
		vs_page_overview_charge(&events->overviews[item->device->index],
					item->account->site->index, item->size, is_live);
	if (is_live && events->is_born && events->pending_id == item->id) {
		events->birth.flags |= VS_PAGE_IS_LIVE;
		return flush(events);
	}
	err = flush(events);
	if (err || is_live)
		return err ? err : put_item(events, VS_PAGE_CHARGED, item->id, replay->now_ns);
	keep_back(events, replay, item);
	events->is_discharged = true;
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_page_events *events = events_of(observer);

	if (!change->item || change->item->device->index >= events->nr_devices)
		return 0;
	switch (change->type) {
	case VS_CHANGE_BORN:
		return on_born(events, replay, change);
	case VS_CHANGE_DYING:
		return on_dying(events, replay, change->item);
	case VS_CHANGE_RESIZED:
		return on_resized(events, replay, change->item);
	case VS_CHANGE_CHARGED:
	case VS_CHANGE_DISCHARGED:
		return on_charge(events, replay, change->item, change->type == VS_CHANGE_CHARGED);
	default:
		return 0;
	}
}

/* ---- Records -------------------------------------------------------------------------------- */

static int put_fields(struct vs_page_events *events, const struct vs_replay *replay,
		      enum vs_page_change type, uint64_t first, uint64_t second, size_t nr)
{
	const uint64_t fields[] = {first, second};

	return vs_page_columns_add(&events->columns, type, replay->now_ns, fields, nr);
}

static int put_failed(struct vs_page_events *events, const struct vs_replay *replay,
		      const struct vs_replay_device *device, uint64_t size)
{
	if (!device)
		return 0;
	return put_fields(events, replay, VS_PAGE_FAILED, device->index, size, 2);
}

static int put_named(struct vs_page_events *events, const struct vs_replay *replay,
		     enum vs_page_change type, uint64_t first, uint32_t id)
{
	uint32_t name;
	int err = get_name_of(events, replay, id, &name);

	return err ? err : put_fields(events, replay, type, first, name, 2);
}

static int put_record(struct vs_page_events *events, const struct vs_replay *replay,
		      const struct vs_record *record)
{
	const struct vs_replay_pool *pool;

	switch (record->type) {
	case VS_RECORD_STEP:
		return put_fields(events, replay, VS_PAGE_STEP, record->step.number, 0, 1);
	case VS_RECORD_PHASE_PUSH:
		return put_named(events, replay, VS_PAGE_PUSH, record->thread,
				 record->phase_push.name);
	case VS_RECORD_PHASE_POP:
		return put_fields(events, replay, VS_PAGE_POP, record->thread, 0, 1);
	case VS_RECORD_MARK:
		return put_named(events, replay, VS_PAGE_MARK, record->thread, record->mark.name);
	case VS_RECORD_RANGE_START:
		return put_named(events, replay, VS_PAGE_RANGE_START, record->range_start.id,
				 record->range_start.name);
	case VS_RECORD_RANGE_END:
		return put_fields(events, replay, VS_PAGE_RANGE_END, record->range_end.id, 0, 1);
	case VS_RECORD_LOST:
		return put_fields(events, replay, VS_PAGE_LOST, record->lost.nr_events, 0, 1);
	case VS_RECORD_ALLOC_FAILED:
		return put_failed(events, replay,
				  vs_replay_get_device(replay, record->alloc_failed.device),
				  record->alloc_failed.size);
	case VS_RECORD_BLOCK_FAILED:
		pool = vs_replay_get_pool(replay, record->block_failed.pool);
		return put_failed(events, replay, pool ? pool->device : NULL,
				  record->block_failed.size);
	default:
		return 0;
	}
}

/* Levels after the event; where the items do not say all that is reserved, the rest. */
static int put_levels(struct vs_page_events *events, const struct vs_replay *replay)
{
	int err = 0;

	for (size_t i = 0; i < replay->nr_devices && !err; i++) {
		const struct vs_replay_device *device = replay->devices[i];
		uint64_t reserved = vs_replay_get_reserved(device);
		uint64_t *said = events->reserved + device->index;

		/* The program may still be running, and have come to another device. */
		if (device->index >= events->nr_devices)
			continue;
		if (reserved != *said) {
			err = put_fields(events, replay, VS_PAGE_RESERVED, device->index,
					 vs_page_columns_fold((int64_t)(reserved - *said)), 2);
			*said = reserved;
		}
		vs_page_overview_add(&events->overviews[device->index], replay->now_ns,
				     device->live_bytes, reserved);
	}
	return err;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_page_events *events = events_of(observer);
	int err = flush(events);

	if (!err && vs_replay_is_event(record))
		err = put_record(events, replay, record);
	if (!err)
		err = put_levels(events, replay);
	while (events->next_mark < events->nr_marks &&
	       events->marks[events->next_mark].at.record <= replay->counters.nr_records)
		events->marks[events->next_mark++].change = events->columns.nr_changes;
	return err;
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)replay;
	events_of(observer)->thread = record->thread;
	return 0;
}

/* ---- All ------------------------------------------------------------------------------------ */

int vs_page_events_init(struct vs_page_events *events, const struct vs_analysis *analysis,
			FILE *file, uint32_t trace)
{
	const struct vs_replay *replay = analysis->replay;
	int err = 0;

	memset(events, 0, sizeof(*events));
	events->observer.on_change = on_change;
	events->observer.on_record = on_record;
	events->observer.before_record = before_record;
	events->nr_devices = replay->nr_devices;
	events->overviews = calloc(replay->nr_devices + 1, sizeof(*events->overviews));
	events->reserved = calloc(replay->nr_devices + 1, sizeof(*events->reserved));
	vs_page_columns_init(&events->columns, file, trace);
	if (!events->overviews || !events->reserved)
		err = -VS_ERR_NO_MEMORY;
	for (size_t i = 0; i < replay->nr_devices && !err; i++)
		err = vs_page_overview_init(&events->overviews[replay->devices[i]->index], analysis,
					    replay->devices[i]);
	if (err)
		vs_page_events_fini(events);
	return err;
}

void vs_page_events_fini(struct vs_page_events *events)
{
	vs_page_columns_fini(&events->columns);
	vs_id_map_fini(&events->numbers);
	vs_id_map_fini(&events->texts);
	free(events->overviews);
	free(events->reserved);
	free(events->marks);
	free(events->names);
	free(events->categories);
	memset(events, 0, sizeof(*events));
}

int vs_page_events_add_mark(struct vs_page_events *events, const struct vs_page_mark *mark)
{
	int err = VS_GROW(events->marks, events->marks_capacity, events->nr_marks + 1);

	if (!err)
		events->marks[events->nr_marks++] = *mark;
	return err;
}

static int compare_marks(const void *a, const void *b)
{
	const struct vs_page_mark *x = a, *y = b;

	return (x->at.record > y->at.record) - (x->at.record < y->at.record);
}

/* Told before the item's own death is: it still has its number. */
static int note_category(void *data, const struct vs_item *item, enum vs_category category)
{
	struct vs_page_events *events = data;
	/* It may have been born by the same event. */
	int err = events->is_born ? flush(events) : 0;
	void *number = vs_id_map_get(&events->numbers, item->id);

	if (err || !number)
		return err;
	err = VS_GROW(events->categories, events->categories_capacity, (size_t)(uintptr_t)number);
	if (!err)
		events->categories[(uintptr_t)number - 1] = (uint8_t)(category + 1);
	return err;
}

static int run_pass(struct vs_page_events *events, const struct vs_analysis *analysis,
		    struct vs_composition_pass *categories, struct vs_replay **out)
{
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = &analysis->adoption;
	if (categories)
		vs_replay_add_observer(replay, vs_composition_get_observer(categories));
	vs_replay_add_observer(replay, &events->observer);
	err = vs_analysis_pass(analysis->source, &analysis->window, replay);
	if (err)
		vs_replay_destroy(replay);
	else
		*out = replay;
	return err;
}

/* One byte an item, as a part of its own: what an item is for is known when it is gone. */
static int put_categories(struct vs_page_events *events)
{
	const struct vs_page_columns *columns = &events->columns;

	if (!events->has_categories || !columns->nr_items)
		return 0;
	if (VS_GROW(events->categories, events->categories_capacity, (size_t)columns->nr_items))
		return -VS_ERR_NO_MEMORY;
	return vs_page_columns_put_part(columns->file, columns->trace, "categories",
					events->categories, (size_t)columns->nr_items);
}

int vs_page_events_gather(struct vs_page_events *events, const struct vs_analysis *analysis,
			  struct vs_site_names *names, struct vs_replay **replay)
{
	struct vs_composition_pass *categories;
	int err;

	if (events->nr_marks)
		qsort(events->marks, events->nr_marks, sizeof(events->marks[0]), compare_marks);
	err = vs_composition_create_pass(&categories, analysis, names, note_category, events);
	if (err)
		return err;
	events->has_categories = categories;
	err = run_pass(events, analysis, categories, replay);
	vs_composition_destroy_pass(categories);
	if (err)
		return err;
	err = vs_page_columns_finish(&events->columns);
	if (!err)
		err = put_categories(events);
	for (size_t i = 0; i < events->nr_devices; i++)
		vs_page_overview_finish(&events->overviews[i]);
	if (err) {
		vs_replay_destroy(*replay);
		*replay = NULL;
	}
	return err;
}
