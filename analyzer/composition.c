#include "composition.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

#define PYTORCH "PyTorch" /* what the recorder calls its pools */

/* What is known of a site; by its index. */
struct known_site {
	bool is_read;
	struct vs_category_traits traits;
	struct vs_category_history history;
};

/* The pass. The blocks that are alive at the instant are noted there, and their ends later. */
struct gatherer {
	struct vs_observer observer; /* first */
	struct vs_composition *composition;
	struct vs_site_names *names;
	const struct vs_replay_device *device; /* of the analysis */
	struct vs_instant at;
	bool is_past; /* the instant */
	struct known_site *sites;
	size_t sites_capacity;
	struct vs_category_clock clock;
	struct vs_id_map births; /* of all blocks that are alive: packed clocks */
	uint64_t failed_ns;      /* time of the latest out-of-memory; 0: none */
	uint32_t caller;         /* the thread that was at work before the backward pass */
	bool is_in_backward;
	/* The second pass over all blocks; NULL: another one. */
	vs_composition_fn tell;
	void *data;
	struct vs_category_clock end;
};

static struct gatherer *gatherer_of(struct vs_observer *observer)
{
	return (struct gatherer *)(void *)observer; /* its first member */
}

static bool is_pytorch(const struct vs_replay_pool *pool)
{
	return pool && pool->owner == VS_POOL_FRAMEWORK && !strcmp(pool->name, PYTORCH);
}

/* ---- Sites ---------------------------------------------------------------------------------- */

int vs_composition_read_site(struct vs_site_names *names, const struct vs_site *site,
			     struct vs_category_traits *traits)
{
	struct vs_symbol frames[VS_SYMBOLS_FRAMES_MAX];
	uint32_t i;
	int k, nr;

	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames && !traits->is_settled; i++) {
		bool is_python = vs_frame_is(site->frames[i].address, VS_FRAME_PYTHON);

		/* Behind a link stands who called backward(), on another thread. */
		if (vs_frame_is_special(site->frames[i].address) && !is_python)
			break;
		nr = vs_site_names_resolve(names, &site->frames[i], frames, VS_SYMBOLS_FRAMES_MAX);
		if (nr < 0)
			return nr;
		for (k = 0; k < nr; k++)
			vs_category_read_frame(traits, &frames[k], is_python);
	}
	return 0;
}

static int get_site(struct gatherer *gatherer, const struct vs_site *site,
		    struct known_site **known)
{
	int err = VS_GROW(gatherer->sites, gatherer->sites_capacity, (size_t)site->index + 1);

	if (err)
		return err;
	*known = &gatherer->sites[site->index];
	if ((*known)->is_read)
		return 0;
	(*known)->is_read = true;
	return vs_composition_read_site(gatherer->names, site, &(*known)->traits);
}

/* ---- Backward passes ------------------------------------------------------------------------ */

static void begin_backward(struct gatherer *gatherer)
{
	gatherer->clock.half += !gatherer->is_in_backward;
	gatherer->is_in_backward = true;
}

/* Who called it sleeps meanwhile: that it does anything again is the end. */
static void note_thread(struct gatherer *gatherer, uint32_t thread)
{
	if (gatherer->is_in_backward && thread == gatherer->caller) {
		gatherer->is_in_backward = false;
		gatherer->clock.half++;
	} else if (!gatherer->is_in_backward) {
		gatherer->caller = thread;
	}
}

static int on_block_alloc(struct gatherer *gatherer, const struct vs_replay *replay,
			  const struct vs_record *record)
{
	const struct vs_site *site =
		vs_definitions_get_site(&replay->definitions, record->block_alloc.stack);
	struct known_site *known;
	int err = get_site(gatherer, site, &known);

	if (err)
		return err;
	if (known->traits.place == VS_PLACE_BACKWARD)
		begin_backward(gatherer);
	else
		note_thread(gatherer, record->thread);
	gatherer->clock.uses += known->traits.place == VS_PLACE_FORWARD;
	return 0;
}

/* ---- Lives ---------------------------------------------------------------------------------- */

/* Never NULL: halves begin with 1 here. */
static void *pack_clock(struct vs_category_clock clock)
{
	return (void *)(uintptr_t)(((uint64_t)clock.half + 1) << 32 | clock.uses);
}

static struct vs_category_clock unpack_clock(const void *packed)
{
	uint64_t bits = (uintptr_t)packed;

	/* Unknown: it was there before the trace began. */
	if (!packed)
		return (struct vs_category_clock){0, 0};
	return (struct vs_category_clock){(uint32_t)(bits >> 32) - 1, (uint32_t)bits};
}

static struct vs_composition_block *find_block(const struct vs_composition *composition,
					       uint64_t id)
{
	size_t low = 0, high = composition->nr_blocks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (composition->blocks[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < composition->nr_blocks && composition->blocks[low].id == id
		       ? &composition->blocks[low]
		       : NULL;
}

static int on_death(struct gatherer *gatherer, const struct vs_item *item)
{
	struct vs_category_life life = {
		.birth = unpack_clock(vs_id_map_remove(&gatherer->births, item->id)),
		.death = gatherer->clock,
		/* What an exception took away says nothing of how long it was meant to be. */
		.is_freed = !gatherer->failed_ns || gatherer->failed_ns < item->birth_ns,
	};
	struct vs_composition_block *block;
	struct known_site *known;
	int err = get_site(gatherer, item->account->site, &known);

	if (err)
		return err;
	if (gatherer->tell) {
		life.end = gatherer->end;
		return gatherer->tell(gatherer->data, item,
				      vs_category_decide(&known->traits, &life, &known->history));
	}
	vs_category_note_life(&known->history, &known->traits, &life);
	block = gatherer->composition ? find_block(gatherer->composition, item->id) : NULL;
	if (block) {
		block->life = life;
		block->is_gone = true;
	}
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct gatherer *gatherer = gatherer_of(observer);

	(void)replay;
	if (!change->item || !is_pytorch(change->item->pool))
		return 0;
	if (change->type == VS_CHANGE_BORN)
		return vs_id_map_put(&gatherer->births, change->item->id,
				     pack_clock(gatherer->clock));
	return change->type == VS_CHANGE_DYING ? on_death(gatherer, change->item) : 0;
}

/* ---- The instant ---------------------------------------------------------------------------- */

static int note_block(struct gatherer *gatherer, const struct vs_item *item)
{
	struct vs_composition *composition = gatherer->composition;
	struct known_site *known;
	int err = VS_GROW(composition->blocks, composition->blocks_capacity,
			  composition->nr_blocks + 1);

	if (!err)
		err = get_site(gatherer, item->account->site, &known);
	if (err)
		return err;
	composition->blocks[composition->nr_blocks++] = (struct vs_composition_block){
		.id = item->id,
		.address = item->range.base,
		.size = item->size,
		.site = item->account->site,
		.api = item->api,
		.life.birth = unpack_clock(vs_id_map_get(&gatherer->births, item->id)),
	};
	return 0;
}

/* How deep blocks stand in each other is bounded by the replay. */
static int note_tree(struct gatherer *gatherer, const struct vs_range_tree *tree)
{
	const struct vs_range *range;
	int err = 0;

	for (range = vs_range_tree_first(tree); range && !err;
	     range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;

		if (item->device->index == gatherer->device->index && item->is_charged &&
		    is_pytorch(item->pool))
			err = note_block(gatherer, item);
		if (!err)
			err = note_tree(gatherer, &item->blocks);
	}
	return err;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct vs_composition_block *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int note_instant(struct gatherer *gatherer, const struct vs_replay *replay)
{
	struct vs_composition *composition = gatherer->composition;
	int err = note_tree(gatherer, &replay->regions);

	gatherer->is_past = true;
	if (composition->nr_blocks)
		qsort(composition->blocks, composition->nr_blocks, sizeof(composition->blocks[0]),
		      compare_blocks);
	return err;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct gatherer *gatherer = gatherer_of(observer);

	(void)record;
	if (gatherer->is_past || !gatherer->at.record ||
	    replay->counters.nr_records < gatherer->at.record)
		return 0;
	return note_instant(gatherer, replay);
}

/* An instant that is named by its time lies before the first event that is later. */
static bool is_behind(const struct gatherer *gatherer, const struct vs_record *record)
{
	return !gatherer->is_past && !gatherer->at.record && vs_replay_is_event(record) &&
	       record->time_ns > gatherer->at.time_ns;
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct gatherer *gatherer = gatherer_of(observer);
	int err = is_behind(gatherer, record) ? note_instant(gatherer, replay) : 0;

	if (err)
		return err;
	if (record->type == VS_RECORD_BLOCK_ALLOC &&
	    is_pytorch(vs_replay_get_pool(replay, record->block_alloc.pool)))
		return on_block_alloc(gatherer, replay, record);
	if (record->type == VS_RECORD_BLOCK_FAILED)
		gatherer->failed_ns = record->time_ns;
	/* A free may come from any thread at any time; only the caller's says something. */
	if (record->type == VS_RECORD_BLOCK_FREE && gatherer->is_in_backward)
		note_thread(gatherer, record->thread);
	return 0;
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct gatherer *gatherer = gatherer_of(observer);

	return gatherer->is_past ? 0 : note_instant(gatherer, replay);
}

/* ---- The sums ------------------------------------------------------------------------------- */

static void decide(const struct gatherer *gatherer, const struct vs_replay *replay)
{
	struct vs_composition *composition = gatherer->composition;
	size_t i;

	for (i = 0; i < composition->nr_blocks; i++) {
		struct vs_composition_block *block = &composition->blocks[i];
		const struct known_site *known = &gatherer->sites[block->site->index];

		if (!block->is_gone)
			block->life.death = gatherer->clock;
		block->life.end = gatherer->clock;
		block->category = vs_category_decide(&known->traits, &block->life, &known->history);
		composition->bytes[block->category] += block->size;
		composition->count[block->category]++;
		block->site = replay->definitions.sites[block->site->index];
	}
}

static int gather(struct gatherer *gatherer, const struct vs_analysis *analysis)
{
	/* No further than the analysis went: the program may still be running. */
	struct vs_window window = {0, analysis->duration_ns};
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = &analysis->adoption;
	vs_replay_add_observer(replay, &gatherer->observer);
	err = vs_analysis_pass(analysis->source, &window, replay);
	if (!err)
		decide(gatherer, analysis->replay);
	vs_replay_destroy(replay);
	return err;
}

static bool has_pytorch(const struct vs_replay *replay, const struct vs_replay_device *device)
{
	size_t i;

	for (i = 0; i < replay->nr_pools; i++)
		if (replay->pools[i]->device == device && is_pytorch(replay->pools[i]))
			return true;
	return false;
}

int vs_composition_init(struct vs_composition *composition, const struct vs_analysis *analysis,
			struct vs_site_names *names, const struct vs_replay_device *device,
			const struct vs_instant *at)
{
	struct gatherer gatherer = {
		.observer = {.on_change = on_change,
			     .on_record = on_record,
			     .before_record = before_record,
			     .on_end = on_end},
		.composition = composition,
		.names = names,
		.device = device,
		.at = *at,
	};
	int err;

	memset(composition, 0, sizeof(*composition));
	composition->is_known = has_pytorch(analysis->replay, device);
	if (!composition->is_known)
		return 0;
	err = gather(&gatherer, analysis);
	free(gatherer.sites);
	vs_id_map_fini(&gatherer.births);
	if (err)
		vs_composition_fini(composition);
	return err;
}

void vs_composition_fini(struct vs_composition *composition)
{
	free(composition->blocks);
	memset(composition, 0, sizeof(*composition));
}

/* ---- All blocks ----------------------------------------------------------------------------- */

struct vs_composition_pass {
	struct gatherer gatherer;
};

/* What is still there has no end: as in decide(). */
static int tell_item(struct gatherer *gatherer, const struct vs_item *item)
{
	struct vs_category_life life = {
		.birth = unpack_clock(vs_id_map_get(&gatherer->births, item->id)),
		.death = gatherer->end,
		.end = gatherer->end,
	};
	struct known_site *known;
	int err = get_site(gatherer, item->account->site, &known);

	if (err)
		return err;
	return gatherer->tell(gatherer->data, item,
			      vs_category_decide(&known->traits, &life, &known->history));
}

static int tell_tree(struct gatherer *gatherer, const struct vs_range_tree *tree)
{
	const struct vs_range *range;
	int err = 0;

	for (range = vs_range_tree_first(tree); range && !err;
	     range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;

		if (is_pytorch(item->pool))
			err = tell_item(gatherer, item);
		if (!err)
			err = tell_tree(gatherer, &item->blocks);
	}
	return err;
}

static int on_end_of_all(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct gatherer *gatherer = gatherer_of(observer);

	return gatherer->tell ? tell_tree(gatherer, &replay->regions) : 0;
}

/* The first pass: what becomes of the blocks of each site. */
static int learn(struct gatherer *gatherer, const struct vs_analysis *analysis)
{
	struct vs_replay *replay;
	int err = vs_analysis_observe(analysis, &gatherer->observer, &replay);

	if (err)
		return err;
	vs_replay_destroy(replay);
	gatherer->end = gatherer->clock;
	gatherer->clock = (struct vs_category_clock){0, 0};
	gatherer->failed_ns = 0;
	gatherer->caller = 0;
	gatherer->is_in_backward = false;
	gatherer->observer.next = NULL;
	vs_id_map_fini(&gatherer->births);
	gatherer->births = (struct vs_id_map){0};
	return 0;
}

int vs_composition_create_pass(struct vs_composition_pass **out, const struct vs_analysis *analysis,
			       struct vs_site_names *names, vs_composition_fn tell, void *data)
{
	struct vs_composition_pass *pass;
	size_t i;
	int err;

	*out = NULL;
	for (i = 0; i < analysis->replay->nr_pools && !is_pytorch(analysis->replay->pools[i]);)
		i++;
	if (i == analysis->replay->nr_pools)
		return 0;
	pass = calloc(1, sizeof(*pass));
	if (!pass)
		return -VS_ERR_NO_MEMORY;
	pass->gatherer.observer = (struct vs_observer){
		.on_change = on_change, .before_record = before_record, .on_end = on_end_of_all};
	pass->gatherer.names = names;
	pass->gatherer.is_past = true; /* there is no instant to note */
	err = learn(&pass->gatherer, analysis);
	if (err) {
		vs_composition_destroy_pass(pass);
		return err;
	}
	pass->gatherer.tell = tell;
	pass->gatherer.data = data;
	*out = pass;
	return 0;
}

void vs_composition_destroy_pass(struct vs_composition_pass *pass)
{
	if (!pass)
		return;
	free(pass->gatherer.sites);
	vs_id_map_fini(&pass->gatherer.births);
	free(pass);
}

struct vs_observer *vs_composition_get_observer(struct vs_composition_pass *pass)
{
	return &pass->gatherer.observer;
}
