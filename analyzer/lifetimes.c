#include "lifetimes.h"

static struct vs_lifetimes *of_observer(struct vs_observer *observer)
{
	return (struct vs_lifetimes *)(void *)observer; /* its first member */
}

static const struct vs_item *of_range(const struct vs_range *range)
{
	return (const struct vs_item *)(const void *)range; /* its first member */
}

static bool has_address(const struct vs_item *item)
{
	return item->class != VS_ITEM_HANDLE && item->kind != VS_MEMORY_ARRAY && item->size &&
	       vs_replay_get_domain(item->kind) == VS_DOMAIN_DEVICE;
}

static uint64_t get_start(const struct vs_lifetimes *lifetimes, const struct vs_item *item)
{
	void *start = vs_id_map_get(&lifetimes->starts, item->id);

	return start ? (uint64_t)(uintptr_t)start - 1 : item->birth_ns;
}

/* From now on its stretch is another one, or it is back after a free that failed. */
static int set_start(struct vs_lifetimes *lifetimes, const struct vs_item *item, uint64_t now_ns)
{
	if (now_ns == get_start(lifetimes, item))
		return 0;
	return vs_id_map_put(&lifetimes->starts, item->id, (void *)(uintptr_t)(now_ns + 1));
}

static int tell(const struct vs_lifetimes *lifetimes, const struct vs_item *item, uint64_t end_ns)
{
	struct vs_lifetime lifetime = {
		.address = item->range.base,
		.size = item->size,
		.start_ns = get_start(lifetimes, item),
		.end_ns = end_ns,
		.is_held = !item->parent,
		.is_live = !item->owner,
	};

	if (!has_address(item) || lifetime.start_ns >= end_ns)
		return 0;
	if (lifetimes->get_group)
		lifetime.group = lifetimes->get_group(lifetimes->group_data, item);
	return lifetimes->tell(lifetimes->data, item, &lifetime);
}

/* What lies in a segment up to now; how deep is bounded by the replay. */
static int cut_tree(struct vs_lifetimes *lifetimes, const struct vs_range_tree *tree,
		    uint64_t now_ns)
{
	const struct vs_range *range;
	int err = 0;

	for (range = vs_range_tree_first(tree); range && !err;
	     range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = of_range(range);

		err = tell(lifetimes, item, now_ns);
		if (!err)
			err = set_start(lifetimes, item, now_ns);
		if (!err)
			err = cut_tree(lifetimes, &item->blocks, now_ns);
	}
	return err;
}

static int on_change(struct vs_observer *self, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_lifetimes *lifetimes = of_observer(self);
	int err;

	switch (change->type) {
	case VS_CHANGE_BORN:
	case VS_CHANGE_RESIZED:
		return set_start(lifetimes, change->item, replay->now_ns);
	case VS_CHANGE_WILL_RESIZE:
		err = tell(lifetimes, change->item, replay->now_ns);
		if (!err && lifetimes->cuts_blocks)
			err = cut_tree(lifetimes, &change->item->blocks, replay->now_ns);
		return err ? err : set_start(lifetimes, change->item, replay->now_ns);
	case VS_CHANGE_DYING:
		err = tell(lifetimes, change->item, replay->now_ns);
		vs_id_map_remove(&lifetimes->starts, change->item->id);
		return err;
	default:
		return 0;
	}
}

/* How deep blocks stand in each other is bounded by the replay. */
static int tell_tree(const struct vs_lifetimes *lifetimes, const struct vs_range_tree *tree,
		     uint64_t end_ns)
{
	const struct vs_range *range;
	int err = 0;

	for (range = vs_range_tree_first(tree); range && !err;
	     range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = of_range(range);

		err = tell(lifetimes, item, end_ns);
		if (!err)
			err = tell_tree(lifetimes, &item->blocks, end_ns);
	}
	return err;
}

/* The last event has its instant: what is alive then is seen, if only for that nanosecond. */
static int on_end(struct vs_observer *self, const struct vs_replay *replay)
{
	return tell_tree(of_observer(self), &replay->regions, replay->now_ns + 1);
}

void vs_lifetimes_init(struct vs_lifetimes *lifetimes, vs_lifetimes_fn tell_fn, void *data)
{
	*lifetimes = (struct vs_lifetimes){
		.observer = {.on_change = on_change,
			     .on_end = on_end,
			     .changes = VS_WANTS(VS_CHANGE_BORN) | VS_WANTS(VS_CHANGE_DYING) |
					VS_WANTS(VS_CHANGE_WILL_RESIZE) |
					VS_WANTS(VS_CHANGE_RESIZED)},
		.tell = tell_fn,
		.data = data,
	};
}

void vs_lifetimes_fini(struct vs_lifetimes *lifetimes)
{
	vs_id_map_fini(&lifetimes->starts);
}
