#include "foresight.h"

/* How far it looks: records of all threads, and of the one that got the memory. */
#define MOST_RECORDS 512
#define MOST_OF_ITS  64

struct place {
	uint64_t base;
	uint64_t size;
	uint32_t thread;
};

/* Only what has addresses can have blocks in it. */
static bool get_place(const struct vs_record *record, struct place *place)
{
	place->thread = record->thread;
	switch (record->type) {
	case VS_RECORD_ALLOC:
		place->base = record->alloc.address;
		place->size = record->alloc.size;
		return record->alloc.kind != VS_MEMORY_VMM && record->alloc.kind != VS_MEMORY_ARRAY;
	case VS_RECORD_RESERVE:
		place->base = record->reserve.address;
		place->size = record->reserve.size;
		return true;
	default:
		return false;
	}
}

/* The pool that places a block there, or VS_NO_ID. */
static uint32_t get_pool(const struct vs_record *record, const struct place *place)
{
	uint64_t address = 0;
	uint32_t pool = VS_NO_ID;

	if (record->type == VS_RECORD_BLOCK_ALLOC) {
		address = record->block_alloc.address;
		pool = record->block_alloc.pool;
	} else if (record->type == VS_RECORD_ADOPTED) {
		address = record->adopted.address;
		pool = record->adopted.pool;
	}
	return address - place->base < place->size ? pool : VS_NO_ID;
}

/* Another call for memory: a pool that wanted this would have said so by now. */
static bool is_later(const struct vs_record *record, const struct vs_record *own)
{
	return own->type == VS_RECORD_ALLOC && record->thread == own->thread &&
	       (record->type == VS_RECORD_ALLOC || record->type == VS_RECORD_FREE);
}

void vs_foresight_look(struct vs_replay *replay, struct vs_read_ahead *ahead,
		       const struct vs_batch *batch, uint32_t i)
{
	const struct vs_record *own = &batch->records[i], *record;
	uint32_t nr, nr_of_its = 0, pool = VS_NO_ID;
	struct place place;

	replay->foreseen = NULL;
	if (!get_place(own, &place) || !replay->nr_dividing_pools)
		return;
	for (nr = 0; nr < MOST_RECORDS && nr_of_its < MOST_OF_ITS && pool == VS_NO_ID; nr++) {
		if (++i >= batch->nr) {
			batch = batch->status > 0 ? vs_read_ahead_get(ahead, 1) : NULL;
			i = 0;
			if (!batch || !batch->nr)
				return;
		}
		record = &batch->records[i];
		if (is_later(record, own))
			return;
		nr_of_its += record->thread == own->thread;
		pool = get_pool(record, &place);
	}
	if (pool != VS_NO_ID)
		replay->foreseen = vs_replay_get_pool(replay, pool);
}

bool vs_foresight_was_right(const struct vs_replay *replay)
{
	return !replay->is_misled && replay->expected->nr_keys == replay->adopting->nr_keys;
}
