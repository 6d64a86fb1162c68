#ifndef VS_REPLAY_H
#define VS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adoption.h"
#include "definitions.h"
#include "error.h"
#include "id_map.h"
#include "memory_sample.h"
#include "range_tree.h"
#include "record.h"

/*
 * Replays the records of a trace and holds what is true after the last one: segments, handles,
 * blocks, pools, contexts, phases. Measures and pictures are observers. Memory grows with what is
 * alive and with sites, never with events. One thread at a time.
 *
 * Repair: when something new overlaps something older (an event was lost), the older one is closed
 * at that moment and counted in nr_overlaps.
 */

/* ---- What is alive -------------------------------------------------------------------------- */

enum vs_item_class {
	VS_ITEM_SEGMENT, /* taken from the driver: device, managed, pinned, registered, array, ipc,
			    vmm */
	VS_ITEM_BLOCK,   /* of a driver pool (async, graph), or placed in a segment by a pool */
	VS_ITEM_HANDLE,  /* physical VMM memory; has no address */
};

/* Whose memory it is. Only VS_DOMAIN_DEVICE counts in totals of devices. */
enum vs_domain {
	VS_DOMAIN_DEVICE,
	VS_DOMAIN_HOST, /* pinned, registered */
	VS_DOMAIN_PEER, /* ipc: memory of another process */
	VS_NR_DOMAINS
};

struct vs_replay_device {
	uint32_t index; /* from 0, in order of their appearance */
	uint32_t ordinal;
	uint32_t compute_capability;
	bool is_defined; /* by a record; otherwise only mentioned */
	bool is_simulated;
	uint8_t uuid[16];
	char *name;
	uint64_t total_size;
	uint32_t nr_driver_pools; /* ever */

	/* Now. VS_DOMAIN_DEVICE only; docs/analyses.md, "Live and reserved". */
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t segment_bytes; /* segments but VMM, and blocks outside any known segment */
	uint64_t handle_bytes;
	uint64_t driver_pool_bytes; /* sampled, but never less than the blocks in them */

	/* As the driver told at the latest failure; 0: never. */
	uint64_t known_free;
	uint64_t known_total;

	struct vs_memory_sample memory; /* the latest; a record that is no event */
};

struct vs_replay_pool {
	uint32_t index; /* in replay->pools */
	uint32_t id;
	enum vs_pool_owner owner;
	struct vs_replay_device *device;
	uint64_t limit_size; /* 0: none known */
	char *name;
	bool is_ended;

	/* Now. */
	uint64_t block_bytes;
	uint64_t nr_blocks;
	uint64_t segment_bytes;    /* bytes of the items it places blocks in */
	uint64_t sampled_reserved; /* driver pools: vs_replay_get_held */
	bool is_sampled;
};

/* A site, on one device, in one domain: where live bytes are charged. */
struct vs_account {
	uint32_t index; /* from 0, without gaps */
	enum vs_domain domain;
	struct vs_replay_device *device;
	const struct vs_site *site;
	uint32_t api; /* name of the first API function seen there, or VS_NO_ID */
	uint64_t live_bytes;
	uint64_t live_count;
};

struct vs_reservation {
	struct vs_range range; /* in replay->reservations */
	uint64_t id;
	struct vs_replay_pool *owner; /* blocks are placed in it, at some time of the trace */
};

struct vs_mapping {
	struct vs_range range;  /* in replay->mappings */
	struct vs_item *handle; /* NULL: not known */
	bool is_owned;          /* mapped where a pool places blocks */
};

/*
 * Something that holds memory. `range` is in replay->regions, or in the `blocks` of its parent;
 * arrays and handles are in neither (replay->arrays, replay->handles, by range.base).
 */
struct vs_item {
	_Alignas(64) struct vs_range range; /* all that a search reads, in one cache line */

	/* What most births and deaths are about, in two. */
	uint64_t id; /* number of its birth: the same in every pass over a trace */
	uint64_t size;
	uint64_t birth_ns;
	uint64_t birth_step;         /* number of steps begun before; 0: before the first */
	struct vs_range_tree blocks; /* struct vs_item by range */
	enum vs_item_class class;
	enum vs_memory_kind kind;
	uint32_t api; /* name of the API function it came from, or VS_NO_ID */
	uint32_t context;
	bool is_released;      /* a handle that only mappings keep alive */
	bool is_charged;       /* its bytes are live, in `account` */
	bool is_noted;         /* replay->adopting knows who adopted it */
	uint8_t vacancy;       /* VS_VACANCY_...; 0 for all but the lane */
	uint32_t made_in;      /* of measure_peaks.c: its phase there + 1; 0: not charged */
	uint64_t charge_epoch; /* likewise: how often the peak had been raised before */
	struct vs_account *account;
	struct vs_replay_device *device; /* never NULL */
	struct vs_replay_pool *pool;     /* a block's own; NULL for others */
	struct vs_replay_pool *owner;    /* who places blocks in it, from birth on; NULL: nobody */
	struct vs_item *parent;          /* a nested block's segment or outer block; NULL: none */
	struct vs_reservation *reservation; /* of a VMM segment */

	uint64_t slack_size;  /* of a block: what it has more than was asked for */
	uint64_t run;         /* of a function, as its framework numbers them; 0: not said */
	uint32_t nr_mappings; /* of a handle */
	uint32_t nr_owned_mappings;
	uint64_t block_bytes; /* sum of the sizes of `blocks` */
	struct vs_item *held; /* its blocks while it is kept for a free that may have failed */
	struct vs_item *next_held;
};

/*
 * What a lane may leave undone (vs_replay_plain_told.is_lazy): memory that is given back stays in
 * regions and regions_at, vacant, because most drivers give its address out again. Nobody else gets
 * to see that: vs_replay_settle.
 */
#define VS_VACANCY_LISTED    1u /* in replay->vacant */
#define VS_VACANCY_EMPTY     2u /* it is gone, and only takes up its place */
#define VS_VACANCY_FORGOTTEN 4u /* with 2: no thread's `freed` */

struct vs_replay_thread {
	uint32_t id;
	uint32_t *phases; /* names, outermost first */
	size_t nr_phases;
	size_t phases_capacity;
	uint64_t last_push; /* replay->nr_phases after its latest one */
	struct vs_item
		*freed; /* by its latest free, which may yet turn out to have failed; owned */
	bool has_freed; /* `freed` may be NULL all the same: not known, or still mapped */
	struct vs_item *released; /* the handle of that free, if mappings keep it alive */
	uint64_t placed;          /* address of the block that it was given last, 0: of none */
	struct vs_replay_pool *placed_pool;
	enum vs_memory_kind freed_kind;
	struct vs_replay_device *freed_device;
	struct vs_replay_pool *freed_pool;
};

/* A phase that belongs to no thread. */
struct vs_replay_range {
	uint64_t id;
	uint32_t name;
};

/* ---- What changes --------------------------------------------------------------------------- */

enum vs_change_type {
	VS_CHANGE_BORN,        /* after: it is in its tree */
	VS_CHANGE_DYING,       /* before: it is still there; its blocks have died before it */
	VS_CHANGE_WILL_RESIZE, /* before: a VMM segment grows, shrinks, merges or splits */
	VS_CHANGE_RESIZED,     /* after */
	VS_CHANGE_CHARGED,     /* after: size bytes are live in its account */
	VS_CHANGE_DISCHARGED,  /* before: they still are */
	VS_CHANGE_RELEASED,    /* a handle; it dies when its last mapping goes */
	VS_CHANGE_UNMATCHED,   /* a free of something unknown; item is NULL, kind is what it claimed
				*/
	VS_CHANGE_UNFREED, /* a free had failed; RESTORED: it was seen, EVENT: it was not. No item
			    */
	VS_NR_CHANGES
};

enum vs_change_cause {
	VS_CAUSE_EVENT,    /* the program asked for it */
	VS_CAUSE_IMPLICIT, /* context destroyed, device reset, pool ended */
	VS_CAUSE_PARENT,   /* its segment went */
	VS_CAUSE_OVERLAP,  /* repaired */
	VS_CAUSE_RESTORED, /* its free had failed */
	VS_CAUSE_SHAPE,    /* two VMM segments became one, or one became two */
};

struct vs_change {
	enum vs_change_type type;
	enum vs_change_cause cause;
	struct vs_item *item;
	enum vs_memory_kind kind;
	struct vs_replay_pool *pool;     /* of the item, or of the one that a free was for; NULL:
					    of none, or it is not known */
	struct vs_replay_device *device; /* of the item; for a free without one: what is known */
};

struct vs_replay;

/*
 * Any of them may be NULL. 0, or a negative error that ends the replay. What an observer does not
 * want costs nothing: it names the changes and records that it is called for.
 */
struct vs_observer {
	uint32_t changes; /* VS_WANTS(VS_CHANGE_...) | ...; 0: all of them */
	uint64_t records; /* VS_WANTS(VS_RECORD_...) | ...; 0: all of them */
	int (*on_change)(struct vs_observer *self, const struct vs_replay *replay,
			 const struct vs_change *change);
	/* After the record was applied. Definitions, too. */
	int (*on_record)(struct vs_observer *self, const struct vs_replay *replay,
			 const struct vs_record *record);
	/*
	 * A record that did nothing but give or take back one block of a pool, or one piece of
	 * memory that no pool divides, which overlaps nothing and is charged: what most records
	 * are. Called after it, instead of on_change for BORN and CHARGED or DISCHARGED and DYING,
	 * and of on_record. What went is no longer in its tree, nor charged, but still knows where
	 * and what it was. All observers have it, or none is called for it.
	 */
	int (*on_block)(struct vs_observer *self, const struct vs_replay *replay,
			struct vs_item *block, const struct vs_record *record);
	/* Before an event is applied; now_ns is still that of the one before. */
	int (*before_record)(struct vs_observer *self, const struct vs_replay *replay,
			     const struct vs_record *record);
	/* The first instant of the window (--from); before the record that opens it. */
	int (*on_window)(struct vs_observer *self, const struct vs_replay *replay);
	int (*on_end)(struct vs_observer *self, const struct vs_replay *replay);
	struct vs_observer *next;
};

/* A bit of vs_observer.changes or .records. */
#define VS_WANTS(type) ((uint64_t)1 << (type))

#define VS_OBSERVERS_MAX 16
#define VS_NR_RECORDS    64 /* more than there are types */

/* Who is called for something, in the order they were added. */
struct vs_listeners {
	struct vs_observer *observers[VS_OBSERVERS_MAX];
	uint32_t nr;
};

struct vs_replay_counters {
	uint64_t nr_records;
	uint64_t nr_events; /* records that are neither definitions nor about other events */
	uint64_t nr_lost;
	uint64_t nr_overlaps;
	uint64_t nr_orphan_blocks; /* placed outside any known segment */
	uint64_t nr_unmatched_frees;
	uint64_t nr_driver_events; /* vs_record_is_of_driver() */
	uint64_t nr_seen_by_cupti; /* of those, by CUPTI and no hook */
};

/*
 * Where a block was that went: allocators give its address out again, and then its neighbours need
 * not be searched. They may have changed since: whoever uses this makes sure.
 */
struct vs_replay_gap {
	uint64_t base;
	struct vs_range *before;
	struct vs_range *next;
	struct vs_item *parent;
};
#define VS_REPLAY_GAPS 16384 /* a power of two */

/* So much may be vacant: a few MiB. */
#define VS_REPLAY_VACANT_MAX 16384

/*
 * Of many records in their order, those from `first` on that are plain (replay_plain.h): how many
 * they are, or a negative error. All of them, those before and behind, are one batch, in which it
 * may look ahead.
 */
typedef int (*vs_replay_lane)(struct vs_replay *replay, const struct vs_record *records,
			      uint32_t first, uint32_t nr);

/* As many as a block can have allocations, and one more. */
#define VS_REPLAY_BORN (UINT16_MAX + 1u)

/* So far ahead it is known what a free is about. */
#define VS_REPLAY_AHEAD 16 /* a power of two */

struct vs_replay {
	struct vs_definitions definitions;
	struct vs_id_map devices_by_ordinal;
	struct vs_replay_device **devices; /* by ordinal */
	size_t nr_devices;
	size_t devices_capacity;
	struct vs_id_map pools_by_id;
	struct vs_replay_pool **pools; /* in order of their definition, or of what they adopt */
	size_t nr_pools;
	size_t nr_dividing_pools; /* that are not the driver's */
	size_t pools_capacity;
	struct vs_id_map accounts_by_key; /* only the first nr_keyed of them: */
	size_t nr_keyed;
	struct vs_account **accounts;
	size_t nr_accounts;
	size_t accounts_capacity;
	/* By site: where it was charged last, or NULL. Not in the site, which others may share. */
	struct vs_account **noted;
	size_t noted_capacity;
	/* The same by the number of the stack, for low numbers. */
	struct vs_account **by_stack;
	size_t by_stack_capacity;
	struct vs_account *account_slab; /* what the first accounts are parts of */
	size_t nr_slab_accounts;

	struct vs_range_tree regions; /* struct vs_item: segments and driver-pool blocks */
	struct vs_range_tree reservations;
	struct vs_range_tree mappings;
	struct vs_id_map arrays;
	struct vs_id_map handles;
	struct vs_id_map regions_at; /* base -> struct vs_item in regions, but pools' blocks */
	struct vs_id_map blocks_at;  /* base -> struct vs_item, one of the pools' blocks there */
	struct vs_item **slabs;      /* what all items are parts of */
	size_t nr_slabs;
	size_t slabs_capacity;
	struct vs_item *spare_items; /* by next_held */
	size_t nr_reserved;          /* items, of those that are to be restored */
	struct vs_replay_gap *gaps;  /* VS_REPLAY_GAPS of them, by their bases */
	struct vs_item **vacant;     /* VS_REPLAY_VACANT_MAX: each once, in use again or not */
	uint32_t nr_vacant;
	struct vs_item *last_parent; /* in regions: where the latest block was placed, or NULL */
	struct vs_replay_pool *last_pool; /* that was asked for last, or NULL */
	vs_replay_lane lane; /* who takes plain records, for those who have many at a time */
	void *lane_context;
	struct vs_item *hints[VS_REPLAY_AHEAD]; /* of the lane: what the next frees are about */
	struct vs_item **born; /* VS_REPLAY_BORN of them, by vs_record.birth: of the lane. They may
				* have gone, and be something else by now. */
	struct vs_replay_thread *last_thread; /* of the latest event, or NULL */
	struct vs_id_map threads;             /* struct vs_replay_thread */
	uint64_t last_id;
	uint64_t last_reservation_id;

	uint64_t first_ns;    /* time of the first event */
	uint64_t now_ns;      /* time of the latest event */
	uint64_t nr_steps;    /* STEP records so far */
	uint64_t step_number; /* of the latest one */
	uint64_t nr_phases;   /* PHASE_PUSH records so far */
	uint64_t phase_epoch; /* another one: vs_replay_get_phase may say something else */
	struct vs_replay_thread **in_phases; /* threads that have phases open, in no order */
	size_t nr_in_phases;
	size_t in_phases_capacity;
	struct vs_replay_range *ranges; /* open ones, by their start */
	size_t nr_ranges;
	size_t ranges_capacity;
	bool is_in_window;
	uint64_t from_ns;
	struct vs_replay_counters counters;

	struct vs_observer *observers;
	struct vs_listeners on_change[VS_NR_CHANGES]; /* the same, by what they want to hear */
	struct vs_listeners on_record[VS_NR_RECORDS]; /* types that are not known: the last */
	struct vs_listeners before_record;
	struct vs_listeners on_block;
	bool has_no_blocks; /* an observer has no on_block, and would miss something */
	const struct vs_adoption *adopted; /* what an earlier pass found out, or an index knows */
	struct vs_adoption *adopting;      /* what this one finds out */
	struct vs_adoption *expected;      /* with `adopting`: what was foreseen (foresight.h) */
	struct vs_replay_pool *foreseen;   /* who will place blocks in what the next record gives */
	bool is_misled;                    /* something was adopted by another than was expected */
};

/* Where a stack's site was charged the last time, or NULL: that is not known. */
static inline struct vs_account *vs_replay_get_noted(const struct vs_replay *replay, uint32_t stack)
{
	return stack < replay->by_stack_capacity ? replay->by_stack[stack] : NULL;
}

/* Has the processor fetch where that stands. */
static inline void vs_replay_fetch_account(const struct vs_replay *replay, uint32_t stack)
{
	if (stack < replay->by_stack_capacity)
		__builtin_prefetch(&replay->by_stack[stack]);
}

VS_MUST_CHECK int vs_replay_create(struct vs_replay **replay);
void vs_replay_destroy(struct vs_replay *replay);

/*
 * The observer stays the caller's and outlives the replay. Called in the order they were added; at
 * most VS_OBSERVERS_MAX of them.
 */
void vs_replay_add_observer(struct vs_replay *replay, struct vs_observer *observer);

/* From now on nobody is told anything. */
void vs_replay_mute(struct vs_replay *replay);

VS_MUST_CHECK int vs_replay_add(struct vs_replay *replay, const struct vs_record *record);

/*
 * As vs_replay_lane: vs_replay_add for those that are plain, quicker. Whoever has many records at a
 * time calls this first, and vs_replay_add for the one that it stops at.
 */
VS_MUST_CHECK static inline int vs_replay_add_some(struct vs_replay *replay,
						   const struct vs_record *records, uint32_t first,
						   uint32_t nr)
{
	return replay->lane(replay, records, first, nr);
}

/*
 * After vs_replay_add_some, before anybody looks at what is there. Sums are right without it, and
 * whatever adds or ends does it.
 */
void vs_replay_settle(struct vs_replay *replay);

/* No record follows: observers get on_end. What is alive stays as it is. */
VS_MUST_CHECK int vs_replay_end(struct vs_replay *replay);

/* ---- Questions ------------------------------------------------------------------------------ */

/* Segments, handles and driver pools. */
static inline uint64_t vs_replay_get_reserved(const struct vs_replay_device *device)
{
	return device->segment_bytes + device->handle_bytes + device->driver_pool_bytes;
}

/* What a driver pool holds: its latest sample, which is older than the latest allocation and so
 * never says less than the blocks. */
uint64_t vs_replay_get_held(const struct vs_replay_pool *pool);

/* NULL when the trace does not mention it. */
struct vs_replay_device *vs_replay_get_device(const struct vs_replay *replay, uint32_t ordinal);
struct vs_replay_pool *vs_replay_get_pool(const struct vs_replay *replay, uint32_t id);

/* The driver pool that a request failed in, or NULL. */
struct vs_replay_pool *vs_replay_get_driver_pool(const struct vs_replay *replay,
						 const struct vs_alloc_failed *failed);

/*
 * The thread whose phases count for what a thread does: itself, else, of those that have any open,
 * the one that opened one last. NULL: no thread has. docs/analyses.md, "Phases".
 */
const struct vs_replay_thread *vs_replay_get_phase_thread(const struct vs_replay *replay,
							  uint32_t thread);

/* Innermost phase of that thread, else the open range that began last; NULL: nothing is open. */
const char *vs_replay_get_phase(const struct vs_replay *replay, uint32_t thread);

static inline enum vs_domain vs_replay_get_domain(enum vs_memory_kind kind)
{
	if (kind == VS_MEMORY_PINNED || kind == VS_MEMORY_REGISTERED)
		return VS_DOMAIN_HOST;
	return kind == VS_MEMORY_IPC ? VS_DOMAIN_PEER : VS_DOMAIN_DEVICE;
}

/* Whether vs_observer.on_block tells of a birth, by its record. */
static inline bool vs_replay_is_birth(const struct vs_record *record)
{
	return record->type == VS_RECORD_BLOCK_ALLOC || record->type == VS_RECORD_ALLOC;
}

/* Placed by a described or a framework's pool, not by the driver. */
static inline bool vs_replay_is_pool_block(const struct vs_item *item)
{
	return item->class == VS_ITEM_BLOCK && item->pool->owner != VS_POOL_DRIVER;
}

/* Whether a record is an event: something that the program did, not what is told about it. */
static inline bool vs_replay_is_event(const struct vs_record *record)
{
	return record->type >= VS_RECORD_ALLOC && record->type != VS_RECORD_MODULE_END &&
	       record->type != VS_RECORD_LOST && record->type != VS_RECORD_SEEN_BY &&
	       record->type != VS_RECORD_MEMORY_INFO && record->type != VS_RECORD_MEMORY_OWN &&
	       record->type != VS_RECORD_MEMORY_HOLDER;
}

#endif
