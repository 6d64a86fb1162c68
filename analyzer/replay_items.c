#include "replay_items.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "grow.h"

/* Items that are allocated in one go. */
#define SLAB_SIZE 64

/* Behind so many of those: items that are as large as a large page together. */
#define NR_SMALL        128
#define LARGE_SLAB_SIZE (LARGE_PAGE / sizeof(struct vs_item))

/* What is larger than some of these is taken from the system in pages of this size. */
#define LARGE_PAGE ((size_t)2 << 20)

/* ---- Memory --------------------------------------------------------------------------------- */

static int add_slab(struct vs_replay *replay, size_t nr)
{
	size_t size = nr * sizeof(struct vs_item), alignment = _Alignof(struct vs_item), i;
	struct vs_item *slab;
	int err = VS_GROW(replay->slabs, replay->slabs_capacity, replay->nr_slabs + 1);

	if (err)
		return err;
	if (size >= LARGE_PAGE) {
		alignment = LARGE_PAGE;
		size = (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	}
	slab = aligned_alloc(alignment, size);
	if (!slab)
		return -VS_ERR_NO_MEMORY;
	/* To fault in small pages one by one would take longer than what is done with them. */
	if (alignment == LARGE_PAGE)
		(void)madvise(slab, size, MADV_HUGEPAGE);
	replay->slabs[replay->nr_slabs++] = slab;
	for (i = nr; i-- > 0;) {
		slab[i].next_held = replay->spare_items;
		replay->spare_items = &slab[i];
	}
	return 0;
}

static int add_spare(struct vs_replay *replay)
{
	if (replay->spare_items)
		return 0;
	return add_slab(replay, replay->nr_slabs < NR_SMALL ? SLAB_SIZE : LARGE_SLAB_SIZE);
}

int vs_replay_items_make_room(struct vs_replay *replay, struct vs_id_map *map)
{
	int err = add_spare(replay);

	return err ? err : vs_id_map_reserve(map, 1);
}

int vs_replay_items_make(struct vs_replay *replay, struct vs_item **out)
{
	struct vs_item *item;
	int err = add_spare(replay);

	if (err)
		return err;
	item = replay->spare_items;
	replay->spare_items = item->next_held;
	memset(&item->range, 0, sizeof(item->range));
	vs_replay_items_wipe(item);
	*out = item;
	return 0;
}

int vs_replay_items_reserve(struct vs_replay *replay, size_t nr)
{
	size_t missing = nr > replay->nr_reserved ? nr - replay->nr_reserved : 0;

	if (missing <= SLAB_SIZE)
		return 0;
	replay->nr_reserved = nr;
	return add_slab(replay, missing);
}

void vs_replay_items_destroy(struct vs_replay *replay, struct vs_item *item)
{
	struct vs_item *block;

	while ((block = item->held)) {
		item->held = block->next_held;
		vs_replay_items_destroy(replay, block);
	}
	vs_replay_items_put_back(replay, item);
}

void vs_replay_items_fini(struct vs_replay *replay)
{
	size_t i;

	for (i = 0; i < replay->nr_slabs; i++)
		free(replay->slabs[i]);
	free(replay->slabs);
	free(replay->vacant);
	free(replay->born);
	free(replay->gaps);
	vs_id_map_fini(&replay->arrays);
	vs_id_map_fini(&replay->handles);
	vs_id_map_fini(&replay->regions_at);
	vs_id_map_fini(&replay->blocks_at);
}

/* ---- What things belong to ------------------------------------------------------------------ */

static int insert_device(struct vs_replay *replay, struct vs_replay_device *device)
{
	size_t at = replay->nr_devices;
	int err = VS_GROW(replay->devices, replay->devices_capacity, replay->nr_devices + 1);

	if (err)
		return err;
	err = vs_id_map_put(&replay->devices_by_ordinal, device->ordinal, device);
	if (err)
		return err;
	for (; at > 0 && replay->devices[at - 1]->ordinal > device->ordinal; at--)
		replay->devices[at] = replay->devices[at - 1];
	replay->devices[at] = device;
	replay->nr_devices++;
	return 0;
}

int vs_replay_items_get_device(struct vs_replay *replay, uint32_t ordinal,
			       struct vs_replay_device **device)
{
	int err;

	if (ordinal == VS_NO_DEVICE && replay->nr_devices) {
		*device = replay->devices[0];
		return 0;
	}
	if (ordinal == VS_NO_DEVICE)
		ordinal = 0;
	*device = vs_id_map_get(&replay->devices_by_ordinal, ordinal);
	if (*device)
		return 0;
	*device = calloc(1, sizeof(**device));
	if (!*device)
		return -VS_ERR_NO_MEMORY;
	(*device)->index = (uint32_t)replay->nr_devices;
	(*device)->ordinal = ordinal;
	err = insert_device(replay, *device);
	if (err)
		free(*device);
	return err;
}

int vs_replay_items_get_thread(struct vs_replay *replay, uint32_t id,
			       struct vs_replay_thread **thread)
{
	int err;

	*thread = replay->last_thread;
	if (*thread && (*thread)->id == id)
		return 0;
	*thread = vs_id_map_get(&replay->threads, id);
	if (*thread) {
		replay->last_thread = *thread;
		return 0;
	}
	*thread = calloc(1, sizeof(**thread));
	if (!*thread)
		return -VS_ERR_NO_MEMORY;
	(*thread)->id = id;
	err = vs_id_map_put(&replay->threads, id, *thread);
	if (err)
		free(*thread);
	else
		replay->last_thread = *thread;
	return err;
}

int vs_replay_items_reserve_accounts(struct vs_replay *replay, size_t nr)
{
	int err = VS_GROW(replay->accounts, replay->accounts_capacity, nr);

	if (err || replay->nr_accounts)
		return err;
	replay->account_slab = calloc(nr + 1, sizeof(replay->account_slab[0]));
	if (!replay->account_slab)
		return -VS_ERR_NO_MEMORY;
	replay->nr_slab_accounts = nr;
	return 0;
}

static struct vs_account *make_account(struct vs_replay *replay)
{
	if (replay->nr_accounts < replay->nr_slab_accounts)
		return &replay->account_slab[replay->nr_accounts];
	return calloc(1, sizeof(struct vs_account));
}

int vs_replay_items_add_account(struct vs_replay *replay, struct vs_replay_device *device,
				enum vs_domain domain, const struct vs_site *site,
				struct vs_account **out)
{
	struct vs_account *account;
	int err = VS_GROW(replay->accounts, replay->accounts_capacity, replay->nr_accounts + 1);

	if (err)
		return err;
	account = make_account(replay);
	if (!account)
		return -VS_ERR_NO_MEMORY;
	account->index = (uint32_t)replay->nr_accounts;
	account->site = site;
	account->device = device;
	account->domain = domain;
	replay->accounts[replay->nr_accounts++] = account;
	*out = account;
	return 0;
}

int vs_replay_items_key_accounts(struct vs_replay *replay)
{
	int err =
		vs_id_map_reserve(&replay->accounts_by_key, replay->nr_accounts - replay->nr_keyed);

	for (; replay->nr_keyed < replay->nr_accounts && !err; replay->nr_keyed++) {
		struct vs_account *account = replay->accounts[replay->nr_keyed];
		uint64_t key = vs_replay_items_get_account_key(
			account->site->index, account->device->index, account->domain);

		err = vs_id_map_put(&replay->accounts_by_key, key, account);
	}
	return err;
}

int vs_replay_items_get_account(struct vs_replay *replay, struct vs_replay_device *device,
				enum vs_domain domain, const struct vs_site *site,
				struct vs_account **account)
{
	int err = vs_replay_items_key_accounts(replay);

	if (err)
		return err;
	*account =
		vs_id_map_get(&replay->accounts_by_key,
			      vs_replay_items_get_account_key(site->index, device->index, domain));
	if (*account)
		return 0;
	return vs_replay_items_add_account(replay, device, domain, site, account);
}

static int tell(struct vs_replay *replay, const struct vs_change *change)
{
	const struct vs_listeners *listeners = &replay->on_change[change->type];
	uint32_t i;
	int err = 0;

	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->on_change(listeners->observers[i], replay, change);
	return err;
}

int vs_replay_items_tell(struct vs_replay *replay, enum vs_change_type type,
			 enum vs_change_cause cause, struct vs_item *item)
{
	return tell(replay,
		    &(struct vs_change){type, cause, item, item->kind, item->pool, item->device});
}

int vs_replay_items_tell_free(struct vs_replay *replay, enum vs_change_type type,
			      enum vs_change_cause cause, enum vs_memory_kind kind,
			      struct vs_replay_pool *pool, struct vs_replay_device *device)
{
	int err = 0;

	if (!device)
		err = vs_replay_items_get_device(replay, VS_NO_DEVICE, &device);
	if (err)
		return err;
	return tell(replay, &(struct vs_change){type, cause, NULL, kind, pool, device});
}

/* ---- Totals --------------------------------------------------------------------------------- */

void vs_replay_items_set_driver_pool(struct vs_replay_pool *pool, uint64_t block_bytes,
				     uint64_t sampled_reserved)
{
	pool->device->driver_pool_bytes -= vs_replay_get_held(pool);
	pool->block_bytes = block_bytes;
	pool->sampled_reserved = sampled_reserved;
	pool->device->driver_pool_bytes += vs_replay_get_held(pool);
}

static bool is_in_driver_pool(const struct vs_item *item)
{
	return item->class == VS_ITEM_BLOCK && item->pool->owner == VS_POOL_DRIVER;
}

/* sign: 1 at birth, -1 at death. */
static void count(struct vs_item *item, int sign)
{
	uint64_t size = sign > 0 ? item->size : 0 - item->size;
	bool is_on_device = vs_replay_get_domain(item->kind) == VS_DOMAIN_DEVICE;

	if (item->pool) {
		item->pool->nr_blocks += (uint64_t)(int64_t)sign;
		if (is_in_driver_pool(item))
			vs_replay_items_set_driver_pool(item->pool, item->pool->block_bytes + size,
							item->pool->sampled_reserved);
		else
			item->pool->block_bytes += size;
	}
	if (item->owner)
		item->owner->segment_bytes += size;
	if (item->class == VS_ITEM_HANDLE)
		item->device->handle_bytes += size;
	else if (item->parent)
		item->parent->block_bytes += size;
	else if (is_on_device && !is_in_driver_pool(item) && !item->reservation)
		item->device->segment_bytes += size;
}

static int set_charge(struct vs_replay *replay, struct vs_item *item, bool is_live,
		      enum vs_change_cause cause)
{
	struct vs_account *account = item->account;
	uint64_t size = is_live ? item->size : 0 - item->size, one = is_live ? 1 : UINT64_MAX;
	int err = 0;

	if (is_live == item->is_charged)
		return 0;
	if (!is_live)
		err = vs_replay_items_tell(replay, VS_CHANGE_DISCHARGED, cause, item);
	if (err)
		return err;
	item->is_charged = is_live;
	account->live_bytes += size;
	account->live_count += one;
	if (account->domain == VS_DOMAIN_DEVICE) {
		item->device->live_bytes += size;
		item->device->live_count += one;
	}
	if (is_live)
		err = vs_replay_items_tell(replay, VS_CHANGE_CHARGED, cause, item);
	return err;
}

static int settle(struct vs_replay *replay, struct vs_item *item, enum vs_change_cause cause)
{
	bool is_live = !item->owner && !item->reservation;

	/* Physical memory is live while it is mapped where nobody places blocks. */
	if (item->class == VS_ITEM_HANDLE)
		is_live = item->nr_mappings && !item->nr_owned_mappings;
	return set_charge(replay, item, is_live, cause);
}

int vs_replay_items_settle(struct vs_replay *replay, struct vs_item *item)
{
	return settle(replay, item, VS_CAUSE_EVENT);
}

/* ---- Birth ---------------------------------------------------------------------------------- */

static int find_owner(struct vs_replay *replay, struct vs_item *item)
{
	if (item->reservation) {
		item->owner = item->reservation->owner;
		return 0;
	}
	if (item->class == VS_ITEM_HANDLE)
		return 0;
	return vs_replay_find_adopter(replay, item->id, &item->owner);
}

static bool is_array(const struct vs_item *item)
{
	return item->kind == VS_MEMORY_ARRAY && !item->parent && item->class == VS_ITEM_SEGMENT;
}

static struct vs_range_tree *get_tree(struct vs_replay *replay, const struct vs_item *item)
{
	return item->parent ? &item->parent->blocks : &replay->regions;
}

/* Where it is found by its base, or NULL: a VMM segment, whose base may change. */
static struct vs_id_map *get_map(struct vs_replay *replay, const struct vs_item *item)
{
	if (vs_replay_is_pool_block(item))
		return &replay->blocks_at;
	return item->reservation || item->parent ? NULL : &replay->regions_at;
}

/* birth: may know what comes behind it; NULL. */
static int place(struct vs_replay *replay, struct vs_item *item, const struct vs_birth *birth)
{
	struct vs_id_map *map;
	int err = 0;

	if (item->class == VS_ITEM_HANDLE)
		return vs_id_map_put(&replay->handles, item->range.base, item);
	if (is_array(item))
		return vs_id_map_put(&replay->arrays, item->range.base, item);
	map = get_map(replay, item);
	/* Blocks of two pools, one in the other, may have the same base: the last one is there. */
	if (map)
		err = vs_id_map_put(map, item->range.base, item);
	if (err)
		return err;
	if (birth && birth->knows_next)
		vs_range_tree_insert_before(get_tree(replay, item), &item->range, birth->next);
	else
		vs_range_tree_insert(get_tree(replay, item), &item->range);
	return 0;
}

static void displace(struct vs_replay *replay, struct vs_item *item)
{
	struct vs_id_map *map;

	if (item->class == VS_ITEM_HANDLE) {
		/* A released one is no longer there, and its number may have a new owner. */
		if (!item->is_released)
			vs_id_map_remove(&replay->handles, item->range.base);
		return;
	}
	if (is_array(item)) {
		vs_id_map_remove(&replay->arrays, item->range.base);
		return;
	}
	map = get_map(replay, item);
	if (map)
		vs_id_map_remove_value(map, item->range.base, item);
	if (replay->last_parent == item)
		replay->last_parent = NULL;
	if (item->parent)
		*vs_replay_items_get_gap(replay, item->range.base) = (struct vs_replay_gap){
			item->range.base, item->range.before, item->range.next, item->parent};
	vs_range_tree_remove(get_tree(replay, item), &item->range);
}

static int announce(struct vs_replay *replay, struct vs_item *item, enum vs_change_cause cause)
{
	int err;

	count(item, 1);
	err = vs_replay_items_tell(replay, VS_CHANGE_BORN, cause, item);
	/* What comes back after a failed free is charged again, but was not allocated again. */
	return err ? err : settle(replay, item, cause);
}

/* Sizes from a damaged trace must not wrap around, and a range is never empty. */
uint64_t vs_replay_items_get_extent(uint64_t base, uint64_t size)
{
	if (!size)
		size = 1;
	return size > UINT64_MAX - base ? UINT64_MAX - base : size;
}

/* For the next time. Numbers are given one after the other: others are not worth the room. */
static int note_account(struct vs_replay *replay, uint32_t stack, struct vs_account *account)
{
	const struct vs_definitions *definitions = &replay->definitions;
	size_t nr_stacks =
		definitions->shared ? definitions->shared->nr : definitions->stacks.nr_used;
	int err;

	if (stack >= 4096 + 2 * nr_stacks)
		return 0;
	err = VS_GROW(replay->by_stack, replay->by_stack_capacity, stack + (size_t)1);
	if (!err)
		replay->by_stack[stack] = account;
	return err;
}

/* Nearly always the one that the site had the last time. */
static inline int find_account(struct vs_replay *replay, const struct vs_birth *birth,
			       struct vs_account **account)
{
	struct vs_site *site = vs_definitions_get_site(&replay->definitions, birth->stack);
	enum vs_domain domain = vs_replay_get_domain(birth->kind);
	int err;

	err = VS_GROW(replay->noted, replay->noted_capacity, site->index + (size_t)1);
	if (err)
		return err;
	*account = replay->noted[site->index];
	if (!*account || (*account)->device != birth->device || (*account)->domain != domain)
		err = vs_replay_items_get_account(replay, birth->device, domain, site, account);
	if (err)
		return err;
	replay->noted[site->index] = *account;
	return note_account(replay, birth->stack, *account);
}

int vs_replay_items_bear(struct vs_replay *replay, const struct vs_birth *birth,
			 struct vs_item **out)
{
	struct vs_item *item;
	struct vs_account *account;
	int err;

	err = find_account(replay, birth, &account);
	if (err)
		return err;
	if (account->api == VS_NO_ID)
		account->api = birth->api;
	err = vs_replay_items_make(replay, &item);
	if (err)
		return err;
	item->range.base = birth->address == UINT64_MAX ? UINT64_MAX - 1 : birth->address;
	item->range.size = vs_replay_items_get_extent(item->range.base, birth->size);
	item->id = ++replay->last_id;
	item->size = birth->size;
	item->birth_ns = replay->now_ns;
	item->birth_step = replay->nr_steps;
	item->class = birth->class;
	item->kind = birth->kind;
	item->api = birth->api;
	item->context = birth->context;
	item->account = account;
	item->device = birth->device;
	item->pool = birth->pool;
	item->parent = birth->parent;
	item->reservation = birth->reservation;
	err = find_owner(replay, item);
	if (!err)
		err = place(replay, item, birth);
	if (err) {
		vs_replay_items_destroy(replay, item);
		return err;
	}
	*out = item;
	return announce(replay, item, birth->cause);
}

int vs_replay_items_adopt(struct vs_replay *replay, struct vs_item *item,
			  struct vs_replay_pool *pool)
{
	int err;

	if (item->is_noted)
		return 0;
	if (item->reservation) {
		err = vs_replay_vmm_adopt(replay, item->reservation, pool);
		item->is_noted = item->owner && !err;
		return err;
	}
	err = vs_replay_note_adopter(replay, item->id, pool);
	item->is_noted = item->owner && !err;
	if (err || item->owner)
		return err;
	item->owner = pool;
	pool->segment_bytes += item->size;
	return vs_replay_items_settle(replay, item);
}

/* ---- Death ---------------------------------------------------------------------------------- */

static int close_blocks(struct vs_replay *replay, struct vs_item *item, bool keep)
{
	struct vs_range *range;
	struct vs_item *kept;
	int err;

	while ((range = vs_range_tree_first(&item->blocks))) {
		err = vs_replay_items_close(replay, vs_replay_items_of(range), VS_CAUSE_PARENT,
					    keep ? &kept : NULL);
		if (err)
			return err;
		if (keep) {
			kept->next_held = item->held;
			item->held = kept;
		}
	}
	return 0;
}

int vs_replay_items_close(struct vs_replay *replay, struct vs_item *item,
			  enum vs_change_cause cause, struct vs_item **keep)
{
	int err = close_blocks(replay, item, keep);

	if (!err)
		err = set_charge(replay, item, false, VS_CAUSE_EVENT);
	if (!err)
		err = vs_replay_items_tell(replay, VS_CHANGE_DYING, cause, item);
	if (err)
		return err;
	displace(replay, item);
	count(item, -1);
	if (cause == VS_CAUSE_OVERLAP)
		replay->counters.nr_overlaps++;
	if (keep)
		*keep = item;
	else
		vs_replay_items_destroy(replay, item);
	return 0;
}

int vs_replay_items_restore(struct vs_replay *replay, struct vs_item *item)
{
	struct vs_item *block;
	int err;

	err = place(replay, item, NULL);
	if (err) {
		vs_replay_items_destroy(replay, item);
		return err;
	}
	item->next_held = NULL;
	err = announce(replay, item, VS_CAUSE_RESTORED);
	while (!err && (block = item->held)) {
		item->held = block->next_held;
		err = vs_replay_items_restore(replay, block);
	}
	return err;
}

int vs_replay_items_restore_last(struct vs_replay *replay, struct vs_item *item)
{
	static const struct vs_birth behind_all = {.knows_next = true};
	int err = place(replay, item, &behind_all);

	if (err) {
		vs_replay_items_destroy(replay, item);
		return err;
	}
	return announce(replay, item, VS_CAUSE_RESTORED);
}

int vs_replay_items_clear(struct vs_replay *replay, uint64_t base, uint64_t end)
{
	struct vs_range *range;
	struct vs_item *item;
	uint64_t start;
	int err;

	while ((range = vs_range_tree_find_from(&replay->regions, base)) && range->base < end) {
		item = vs_replay_items_of(range);
		start = base > range->base ? base : range->base;
		if (item->reservation)
			err = vs_replay_vmm_unmap(replay, start, end - start, VS_CAUSE_OVERLAP);
		else
			err = vs_replay_items_close(replay, item, VS_CAUSE_OVERLAP, NULL);
		if (err)
			return err;
	}
	return 0;
}
