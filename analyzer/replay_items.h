#ifndef VS_REPLAY_ITEMS_H
#define VS_REPLAY_ITEMS_H

/*
 * Inside of the replay: birth, death and accounting of items. Only replay*.[ch] include this;
 * snapshot_*.c, which put a replay back into the state it once had; and measure_lane.c, through
 * replay_plain.h.
 */
#include "replay.h"

/* Get or make. -VS_ERR_NO_MEMORY. VS_NO_DEVICE: the first one. */
VS_MUST_CHECK int vs_replay_items_get_device(struct vs_replay *replay, uint32_t ordinal,
					     struct vs_replay_device **device);
VS_MUST_CHECK int vs_replay_items_get_thread(struct vs_replay *replay, uint32_t id,
					     struct vs_replay_thread **thread);
VS_MUST_CHECK int vs_replay_items_get_account(struct vs_replay *replay,
					      struct vs_replay_device *device,
					      enum vs_domain domain, const struct vs_site *site,
					      struct vs_account **account);

/* The first so many accounts are going to be made, soon. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_replay_items_reserve_accounts(struct vs_replay *replay, size_t nr);

/* Makes one that is sure to be new. */
VS_MUST_CHECK int vs_replay_items_add_account(struct vs_replay *replay,
					      struct vs_replay_device *device,
					      enum vs_domain domain, const struct vs_site *site,
					      struct vs_account **account);

/* Makes sure that all are found by what they are of: when somebody looks for one. */
VS_MUST_CHECK int vs_replay_items_key_accounts(struct vs_replay *replay);

/* Where one is found. */
static inline uint64_t vs_replay_items_get_account_key(uint32_t site, uint32_t device,
						       enum vs_domain domain)
{
	return (uint64_t)site << 32 | device << 2 | domain;
}

/* Before a record does anything: tells who wants to know. */
static inline int vs_replay_items_tell_before(const struct vs_replay *replay,
					      const struct vs_record *record)
{
	const struct vs_listeners *listeners = &replay->before_record;
	uint32_t i;
	int err = 0;

	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->before_record(listeners->observers[i], replay,
							     record);
	return err;
}

/* Tell all observers. device: NULL is the first one. */
VS_MUST_CHECK int vs_replay_items_tell(struct vs_replay *replay, enum vs_change_type type,
				       enum vs_change_cause cause, struct vs_item *item);
VS_MUST_CHECK int vs_replay_items_tell_free(struct vs_replay *replay, enum vs_change_type type,
					    enum vs_change_cause cause, enum vs_memory_kind kind,
					    struct vs_replay_pool *pool,
					    struct vs_replay_device *device);

/* What a new item starts with. */
struct vs_birth {
	enum vs_item_class class;
	enum vs_memory_kind kind;
	struct vs_replay_device *device;
	uint64_t address;
	uint64_t size;
	uint32_t stack;
	uint32_t api;
	uint32_t context;
	struct vs_replay_pool *pool;
	struct vs_item *parent;
	struct vs_reservation *reservation;
	enum vs_change_cause cause;
	bool knows_next; /* what comes behind it in its tree is known: */
	struct vs_range *next;
};

/* A new one, all of it 0, that is nowhere yet. The replay's, to the end if nobody destroys it. */
VS_MUST_CHECK int vs_replay_items_make(struct vs_replay *replay, struct vs_item **item);
void vs_replay_items_destroy(struct vs_replay *replay, struct vs_item *item);

/* The same for one in which nothing is held. */
static inline void vs_replay_items_put_back(struct vs_replay *replay, struct vs_item *item)
{
	item->parent = NULL; /* so that nobody takes it for a neighbour */
	item->next_held = replay->spare_items;
	replay->spare_items = item;
}

/* The next event of a thread proves that its latest free went well. */
static inline void vs_replay_items_forget_freed(struct vs_replay *replay,
						struct vs_replay_thread *thread)
{
	if (thread->freed && thread->freed->vacancy)
		thread->freed->vacancy |= VS_VACANCY_FORGOTTEN;
	else if (thread->freed)
		vs_replay_items_destroy(replay, thread->freed);
	thread->freed = NULL;
	thread->released = NULL;
	thread->has_freed = false;
}

/* For one more at least, and in the map. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_replay_items_make_room(struct vs_replay *replay, struct vs_id_map *map);

/* So many are going to be made, soon: with those that were reserved before, of which none is made
 * yet. */
VS_MUST_CHECK int vs_replay_items_reserve(struct vs_replay *replay, size_t nr);

/* All of them at once, at the end of the replay. */
void vs_replay_items_fini(struct vs_replay *replay);

/* Makes it, puts it into its tree or map (where nothing overlaps it), counts it, tells. */
VS_MUST_CHECK int vs_replay_items_bear(struct vs_replay *replay, const struct vs_birth *birth,
				       struct vs_item **item);

/* All of an item but its range is 0. One store after the other: of a memset of this size compilers
 * make an instruction that is slow to begin. */
typedef uint64_t vs_replay_items_pair __attribute__((vector_size(16), may_alias));

static inline void vs_replay_items_wipe(struct vs_item *item)
{
	vs_replay_items_pair *pair = (vs_replay_items_pair *)(void *)(&item->range + 1), zero = {0};

	_Static_assert(sizeof(item->range) == 64 && sizeof(*item) == 64 + 12 * sizeof(zero),
		       "its range, and twelve pairs");
	pair[0] = pair[1] = pair[2] = pair[3] = zero;
	pair[4] = pair[5] = pair[6] = pair[7] = zero;
	pair[8] = pair[9] = pair[10] = pair[11] = zero;
}

/* The place of an address among the gaps. */
static inline struct vs_replay_gap *vs_replay_items_get_gap(const struct vs_replay *replay,
							    uint64_t base)
{
	return &replay->gaps[(base * 0x9e3779b97f4a7c15ull >> 40) & (VS_REPLAY_GAPS - 1)];
}

/* How many addresses an item takes. base: below UINT64_MAX. */
uint64_t vs_replay_items_get_extent(uint64_t base, uint64_t size);

/*
 * Takes an item out with everything in it. With `keep` it is returned there, to be restored or
 * destroyed; otherwise it is freed. Never for a VMM segment: vs_replay_vmm_unmap.
 */
VS_MUST_CHECK int vs_replay_items_close(struct vs_replay *replay, struct vs_item *item,
					enum vs_change_cause cause, struct vs_item **keep);
VS_MUST_CHECK int vs_replay_items_restore(struct vs_replay *replay, struct vs_item *item);

/* The same for one that nothing is held in, and that comes behind all others in its tree. */
VS_MUST_CHECK int vs_replay_items_restore_last(struct vs_replay *replay, struct vs_item *item);

/* Makes or ends the charge of an item according to its owner and mappings. */
VS_MUST_CHECK int vs_replay_items_settle(struct vs_replay *replay, struct vs_item *item);

/* A pool places blocks in the item, as is known only now: late, when there was no first pass. */
VS_MUST_CHECK int vs_replay_items_adopt(struct vs_replay *replay, struct vs_item *item,
					struct vs_replay_pool *pool);

/* Bytes of a driver pool in its device's total. */
void vs_replay_items_set_driver_pool(struct vs_replay_pool *pool, uint64_t block_bytes,
				     uint64_t sampled_reserved);

/* Closes what overlaps in the regions. */
VS_MUST_CHECK int vs_replay_items_clear(struct vs_replay *replay, uint64_t base, uint64_t end);

/*
 * replay.c: who places blocks in what has this key of struct vs_adoption. Found if an earlier pass
 * noted it (else *pool is NULL), even if the pool is described later: then it is there from now on.
 */
VS_MUST_CHECK int vs_replay_find_adopter(struct vs_replay *replay, uint64_t key,
					 struct vs_replay_pool **pool);
VS_MUST_CHECK int vs_replay_note_adopter(struct vs_replay *replay, uint64_t key,
					 const struct vs_replay_pool *pool);

/* replay_vmm.c */
VS_MUST_CHECK int vs_replay_vmm_reserve(struct vs_replay *replay, const struct vs_reserve *reserve);
VS_MUST_CHECK int vs_replay_vmm_unreserve(struct vs_replay *replay,
					  const struct vs_reserve *reserve);
VS_MUST_CHECK int vs_replay_vmm_map(struct vs_replay *replay, const struct vs_map *map);
VS_MUST_CHECK int vs_replay_vmm_apply_unmap(struct vs_replay *replay, const struct vs_map *unmap);
/* Whatever is mapped there, also what reaches beyond it. */
VS_MUST_CHECK int vs_replay_vmm_unmap(struct vs_replay *replay, uint64_t base, uint64_t size,
				      enum vs_change_cause cause);
VS_MUST_CHECK int vs_replay_vmm_adopt(struct vs_replay *replay, struct vs_reservation *reservation,
				      struct vs_replay_pool *pool);
/* The reservation around an address, if there is one. */
VS_MUST_CHECK int vs_replay_vmm_adopt_at(struct vs_replay *replay, uint64_t address,
					 struct vs_replay_pool *pool);
void vs_replay_vmm_fini(struct vs_replay *replay);

/*
 * replay_plain.c: BLOCK_ALLOC, BLOCK_FREE, ALLOC and FREE as they nearly always are
 * (vs_observer.on_block), quicker, and to the same end. 1: done; 0: it is another case, or another
 * record, and nothing has changed.
 */
VS_MUST_CHECK int vs_replay_plain_add(struct vs_replay *replay, const struct vs_record *record);

/* The vs_replay.lane that tells all who listen. */
VS_MUST_CHECK int vs_replay_plain_add_some(struct vs_replay *replay,
					   const struct vs_record *records, uint32_t first,
					   uint32_t nr);

/* The one for when nobody does. */
VS_MUST_CHECK int vs_replay_plain_add_unseen(struct vs_replay *replay,
					     const struct vs_record *records, uint32_t first,
					     uint32_t nr);

/* Takes out what is vacant: vs_replay_settle. */
void vs_replay_plain_settle(struct vs_replay *replay);

/* replay_blocks.c */
VS_MUST_CHECK int vs_replay_blocks_alloc(struct vs_replay *replay, struct vs_replay_thread *thread,
					 const struct vs_block_alloc *alloc);
void vs_replay_blocks_explain(struct vs_replay *replay, struct vs_replay_thread *thread,
			      const struct vs_block_asked *asked);
VS_MUST_CHECK int vs_replay_blocks_free(struct vs_replay *replay, const struct vs_block_free *free);
VS_MUST_CHECK int vs_replay_blocks_adopt(struct vs_replay *replay,
					 const struct vs_adopted *adopted);
/* All blocks of a pool go. */
VS_MUST_CHECK int vs_replay_blocks_end_pool(struct vs_replay *replay, struct vs_replay_pool *pool);

/* The first block of an item that ends behind base, or NULL. */
struct vs_range *vs_replay_blocks_find_next(const struct vs_replay *replay,
					    const struct vs_item *item, uint64_t base);

/* The first of the regions that ends behind base, or NULL. */
struct vs_range *vs_replay_blocks_find_region(const struct vs_replay *replay, uint64_t base);

/* Whether a pool's block that may be gone is the one at an address. */
static inline bool vs_replay_blocks_is_at(const struct vs_item *hint, uint32_t pool,
					  uint64_t address)
{
	/* A pool has one block at an address: if this one is alive, it is that one. */
	return hint && hint->is_charged && hint->range.base == address &&
	       vs_replay_is_pool_block(hint) && hint->pool->id == pool;
}

static inline struct vs_item *vs_replay_items_of(struct vs_range *range)
{
	return (struct vs_item *)(void *)range; /* its first member */
}

#endif
