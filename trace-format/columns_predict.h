#ifndef VS_COLUMNS_PREDICT_H
#define VS_COLUMNS_PREDICT_H

/*
 * What the events of a block so far say about the next one: docs/trace-format.md, section 3.5.4.
 * Encoder and decoder ask the same questions and take the same answers in the same order, so both
 * expect the same:
 *
 *   get_thread, take_thread · get_site, take_site · get_time_class, take_time ·
 *   of an allocation: get_size_..., take_size, get_..., take_alloc ·
 *   of a free: get_ranked, take_free or take_address
 *
 * All memory is in the struct; nothing of an earlier block is seen, and hardly anything is cleared
 * for that. It is kept small and asked for early, because most of the time goes into waiting for
 * it.
 */
#include <stdbool.h>
#include <string.h>

#include "columns.h"
#include "columns_fields.h"
#include "columns_layout.h"

#define VS_COLUMNS_NONE         UINT32_MAX
#define VS_COLUMNS_CONTEXT_BITS 15
#define VS_COLUMNS_PLACE_BITS   16
#define VS_COLUMNS_NR_RANKS     8    /* those in vs_columns_predict.ranked */
#define VS_COLUMNS_ALIGN        512u /* of allocations behind each other */

struct vs_columns_thread {
	uint32_t id;
	uint16_t number;
	uint16_t context; /* index: what its last sites lead to */
	uint64_t address; /* that it allocated or freed last; 0 */
	uint64_t sites;   /* of its last three events, the newest in the lowest 16 bits */
};

/* What all events have in common that come from one line of the program, more or less. */
struct vs_columns_site {
	uint32_t fields[VS_COLUMNS_FIELDS_MAX];
	uint8_t type;
	uint8_t class;
	uint8_t nr_rows;
	bool has_size;
	uint16_t size;        /* index: the last one allocated */
	uint16_t mean;        /* that of the context it was in last */
	uint16_t next_thread; /* index: of the event after the last one here */
	uint16_t class_index; /* number among the sites of its class */
};

/*
 * Lists link allocations by number + 1, and 0 for none. That the last number of a full block does
 * not fit does no harm: no event comes after it.
 */
struct vs_columns_size {
	uint64_t value;
	uint16_t freed_link; /* the newest of this size that was freed */
};

enum vs_columns_state {
	VS_COLUMNS_LIVE,
	VS_COLUMNS_FREED, /* and its address was not given out again, as far as it is known */
	VS_COLUMNS_REUSED,
};

struct vs_columns_alloc {
	uint64_t address;
	uint16_t size;       /* index */
	uint16_t freed_link; /* the one freed before it */
	uint8_t state;       /* enum vs_columns_state */
	bool is_block;
};

/* Neighbours of a live allocation. */
struct vs_columns_live {
	uint16_t older_link, newer_link;
};

/* What came after three sites of a thread. */
struct vs_columns_context {
	uint16_t generation; /* of the block it is from */
	uint16_t site;
	uint16_t mean;    /* time before the event, in sixteenths of a unit */
	uint8_t nr_times; /* in the mean; stays at 3 */
	uint8_t rank;     /* of the allocation that was freed; NR_RANKS: none */
};

/* What was allocated at a site when its thread had used a certain address before. */
struct vs_columns_place {
	uint16_t generation;
	uint16_t size;
	uint16_t alloc;
};

struct vs_columns_predict {
	uint16_t generation; /* never 0 */
	uint32_t nr_threads, nr_sites, nr_sizes, nr_allocs;
	uint32_t nr_in_class[VS_NR_SITE_CLASSES];
	uint32_t newest_site[256]; /* of each type; NONE */
	uint32_t last_site;        /* of the event before, on any thread; NONE */
	uint64_t ranked[2]; /* links of the newest live allocations, 16 bits each, the newest in the
			     * lowest of the first; 0: there are no more */
	struct vs_columns_thread threads[VS_COLUMNS_MAX];
	struct vs_columns_site sites[VS_COLUMNS_MAX];
	uint64_t rows[VS_COLUMNS_MAX][VS_COLUMNS_ROWS_MAX]; /* last ones of each site */
	struct vs_columns_size sizes[VS_COLUMNS_MAX];
	struct vs_columns_alloc allocs[VS_COLUMNS_MAX];
	struct vs_columns_live live[VS_COLUMNS_MAX + 1]; /* by link; [0]: newest and oldest */
	struct vs_columns_context contexts[1u << VS_COLUMNS_CONTEXT_BITS];
	struct vs_columns_place places[1u << VS_COLUMNS_PLACE_BITS];
};

/* The event that is being told. Not in the struct above, so that it can be in registers. */
struct vs_columns_now {
	struct vs_columns_thread *thread;
	struct vs_columns_context *context;
	struct vs_columns_site *site;
	struct vs_columns_place *place; /* of an allocation */
	uint32_t next_thread;           /* number: expected after it; NONE */
};

/* Before the first event of a block. The struct was zero before the first block. */
void vs_columns_predict_begin(struct vs_columns_predict *predict);

/* ---- New ones: they get the next number, which is returned -------------------------------- */

uint32_t vs_columns_predict_add_thread(struct vs_columns_predict *predict, uint32_t id);
uint32_t vs_columns_predict_add_size(struct vs_columns_predict *predict, uint64_t value);

/* type, fields and nr_rows are given. */
uint32_t vs_columns_predict_add_site(struct vs_columns_predict *predict,
				     const struct vs_columns_thread *thread,
				     const struct vs_columns_site *site);

/* ---- Every event -------------------------------------------------------------------------- */

static inline uint32_t vs_columns_predict_hash(uint64_t key, uint32_t bits)
{
	key ^= key >> 25;
	key *= 0xd6e8feb86659fd93;
	return (uint32_t)(key >> (64 - bits));
}

static inline uint32_t vs_columns_predict_get_thread(const struct vs_columns_predict *predict)
{
	if (predict->last_site == VS_COLUMNS_NONE)
		return VS_COLUMNS_NONE;
	return predict->sites[predict->last_site].next_thread;
}

/* What the event before the next one has left. */
static inline struct vs_columns_now vs_columns_predict_get_now(struct vs_columns_predict *predict)
{
	uint32_t thread = vs_columns_predict_get_thread(predict);

	/* Before the first event any thread will do: its number is not the one that is expected. */
	return (struct vs_columns_now){
		.thread = &predict->threads[thread == VS_COLUMNS_NONE ? 0 : thread],
		.next_thread = thread,
	};
}

static inline void vs_columns_predict_take_thread(struct vs_columns_predict *predict,
						  struct vs_columns_now *now, uint32_t thread)
{
	if (predict->last_site != VS_COLUMNS_NONE)
		predict->sites[predict->last_site].next_thread = (uint16_t)thread;
	now->thread = &predict->threads[thread];
	now->context = &predict->contexts[now->thread->context];
}

static inline uint32_t vs_columns_predict_get_site(const struct vs_columns_predict *predict,
						   const struct vs_columns_now *now)
{
	return now->context->generation == predict->generation ? now->context->site
							       : VS_COLUMNS_NONE;
}

/* The context of the thread's next event. */
static inline void vs_columns_predict_move_on(struct vs_columns_predict *predict,
					      struct vs_columns_thread *thread, uint32_t site)
{
	uint64_t key = thread->sites << 16 | site;
	uint32_t context;

	thread->sites = key & 0xffffffffffff;
	context = vs_columns_predict_hash(thread->sites, VS_COLUMNS_CONTEXT_BITS);
	thread->context = (uint16_t)context;
	__builtin_prefetch(&predict->contexts[context]);
}

/* The site is not the one that was expected here: from now on it is. */
static inline void vs_columns_predict_expect_site(const struct vs_columns_predict *predict,
						  const struct vs_columns_now *now, uint32_t site)
{
	*now->context = (struct vs_columns_context){
		.generation = predict->generation,
		.site = (uint16_t)site,
		.mean = predict->sites[site].mean,
		.nr_times = 0,
		.rank = VS_COLUMNS_NR_RANKS,
	};
}

/* The place of an allocation at a site. */
static inline void vs_columns_predict_take_place(struct vs_columns_predict *predict,
						 struct vs_columns_now *now, uint32_t site)
{
	uint64_t key = now->thread->address ^ (uint64_t)site << 48;

	now->place = &predict->places[vs_columns_predict_hash(key, VS_COLUMNS_PLACE_BITS)];
	__builtin_prefetch(now->place);
}

/* The one that is expected by now. */
static inline void vs_columns_predict_take_expected_site(struct vs_columns_predict *predict,
							 struct vs_columns_now *now, uint32_t site)
{
	now->site = &predict->sites[site];
	predict->last_site = site;
	vs_columns_predict_move_on(predict, now->thread, site);
}

/*
 * Two classes for each doubling of the time that is expected: by the exponent and the first bit
 * behind the point, which the processor is quick to find.
 */
static inline uint32_t vs_columns_predict_get_time_class(const struct vs_columns_now *now)
{
	uint32_t mean = now->context->mean + 8u;
	uint32_t below = 30 - (uint32_t)__builtin_clz(mean); /* the first bit of the two */
	uint32_t class = 2 * below + (mean >> below) - 6;

	return class < VS_NR_TIME_CLASSES ? class : VS_NR_TIME_CLASSES - 1;
}

/*
 * Units since the event before. Later times count more, and a single long one changes little. A
 * step backwards, which is a negative number, teaches nothing.
 */
static inline void vs_columns_predict_take_time(const struct vs_columns_now *now, uint64_t delta)
{
	struct vs_columns_context *context = now->context;
	uint32_t mean = context->mean, most = mean + 1024, nr = context->nr_times;
	uint32_t time = (uint32_t)(delta < 4095 ? delta : 4095) * 16;

	if (delta >> 63)
		return;
	if (time > most)
		time = most;
	if (__builtin_expect(nr == 3, 1)) {
		mean = mean - (mean >> 3) + (time >> 3);
	} else {
		mean = mean - (mean >> nr) + (time >> nr);
		context->nr_times = (uint8_t)(nr + 1);
	}
	context->mean = (uint16_t)mean;
	now->site->mean = (uint16_t)mean;
}

/* ---- Allocations -------------------------------------------------------------------------- */

static inline bool vs_columns_predict_has_place(const struct vs_columns_predict *predict,
						const struct vs_columns_now *now)
{
	return now->place->generation == predict->generation;
}

static inline uint32_t vs_columns_predict_get_size_of_place(
	const struct vs_columns_predict *predict, const struct vs_columns_now *now)
{
	return vs_columns_predict_has_place(predict, now) ? now->place->size : VS_COLUMNS_NONE;
}

static inline uint32_t vs_columns_predict_get_size_of_site(const struct vs_columns_now *now)
{
	return now->site->has_size ? now->site->size : VS_COLUMNS_NONE;
}

static inline void vs_columns_predict_take_size(const struct vs_columns_now *now, uint32_t size)
{
	now->site->size = (uint16_t)size;
	now->site->has_size = true;
}

/* The allocation whose address it has: the one allocated here after the same address before. */
static inline uint32_t vs_columns_predict_get_alloc_of_place(
	const struct vs_columns_predict *predict, const struct vs_columns_now *now)
{
	return vs_columns_predict_has_place(predict, now) ? now->place->alloc : VS_COLUMNS_NONE;
}

/* The same for the one of a size that was freed last. */
static inline uint32_t vs_columns_predict_get_freed(struct vs_columns_predict *predict,
						    uint32_t size)
{
	uint16_t link = predict->sizes[size].freed_link;

	while (link && predict->allocs[link - 1].state != VS_COLUMNS_FREED)
		link = predict->allocs[link - 1].freed_link;
	predict->sizes[size].freed_link = link;
	return link ? link - 1u : VS_COLUMNS_NONE;
}

/* First address behind the newest allocation; 0 if there is none. */
static inline uint64_t vs_columns_predict_get_behind(const struct vs_columns_predict *predict)
{
	const struct vs_columns_alloc *alloc;
	uint64_t size;

	if (!predict->nr_allocs)
		return 0;
	alloc = &predict->allocs[predict->nr_allocs - 1];
	size = predict->sizes[alloc->size].value;
	return alloc->address + ((size + VS_COLUMNS_ALIGN - 1) & ~(uint64_t)(VS_COLUMNS_ALIGN - 1));
}

/*
 * The address of an allocation was given out again. Mostly it is the first in its list, and taken
 * out at once: how many of those at the beginning are to be passed over cannot be foreseen.
 */
static inline void vs_columns_predict_reuse(struct vs_columns_predict *predict, uint32_t number)
{
	struct vs_columns_alloc *alloc = &predict->allocs[number];
	uint16_t *first = &predict->sizes[alloc->size].freed_link;

	if (alloc->state != VS_COLUMNS_FREED)
		return;
	alloc->state = VS_COLUMNS_REUSED;
	*first = *first == number + 1 ? alloc->freed_link : *first;
}

/* reused: the allocation that had the address before, as far as it was said, or NONE. */
static inline void vs_columns_predict_take_alloc_of(struct vs_columns_predict *predict,
						    const struct vs_columns_now *now, uint32_t size,
						    uint64_t address, uint32_t reused,
						    bool is_block)
{
	uint32_t number = predict->nr_allocs++;
	uint16_t link = (uint16_t)(number + 1);
	uint16_t newest = predict->live[0].older_link;

	if (reused != VS_COLUMNS_NONE)
		vs_columns_predict_reuse(predict, reused);
	predict->allocs[number] = (struct vs_columns_alloc){
		.address = address,
		.size = (uint16_t)size,
		.state = VS_COLUMNS_LIVE,
		.is_block = is_block,
	};
	predict->live[link] = (struct vs_columns_live){.older_link = newest, .newer_link = 0};
	predict->live[newest].newer_link = link;
	predict->live[0].older_link = link;
	predict->ranked[1] = predict->ranked[1] << 16 | predict->ranked[0] >> 48;
	predict->ranked[0] = predict->ranked[0] << 16 | link;
	*now->place = (struct vs_columns_place){
		.generation = predict->generation,
		.size = (uint16_t)size,
		.alloc = (uint16_t)number,
	};
	now->thread->address = address;
}

static inline void vs_columns_predict_take_alloc(struct vs_columns_predict *predict,
						 const struct vs_columns_now *now, uint32_t size,
						 uint64_t address, uint32_t reused)
{
	vs_columns_predict_take_alloc_of(predict, now, size, address, reused,
					 now->site->class == VS_SITE_BLOCK_ALLOC);
}

/* ---- Frees -------------------------------------------------------------------------------- */

/* The live allocation than which as many are newer as the last time; NONE. */
static inline uint32_t vs_columns_predict_get_ranked(const struct vs_columns_predict *predict,
						     const struct vs_columns_now *now)
{
	uint32_t rank = now->context->rank;
	uint16_t link;

	if (rank == VS_COLUMNS_NR_RANKS)
		return VS_COLUMNS_NONE;
	link = (uint16_t)(predict->ranked[rank / 4] >> 16 * (rank % 4));
	return link ? link - 1u : VS_COLUMNS_NONE;
}

/* Which of four links is this one, which is not 0; 4: none. */
static inline uint32_t vs_columns_predict_find_link(uint64_t links, uint16_t link)
{
	const uint64_t ones = 0x0001000100010001, highs = ones << 15;
	uint64_t difference = links ^ link * ones;

	/* The lowest bit that is left is that of the lowest part that is 0. */
	difference = (difference - ones) & ~difference & highs;
	return difference ? (uint32_t)__builtin_ctzll(difference) / 16 : 4;
}

/* How many live allocations are newer; NR_RANKS: so many or more. */
static inline uint8_t vs_columns_predict_get_rank(const struct vs_columns_predict *predict,
						  uint16_t link)
{
	uint32_t rank = vs_columns_predict_find_link(predict->ranked[0], link);

	if (rank == 4)
		rank += vs_columns_predict_find_link(predict->ranked[1], link);
	return (uint8_t)rank;
}

/* Takes out the one of a rank, before it is taken out of the list: those that are older move up. */
static inline void vs_columns_predict_remove_rank(struct vs_columns_predict *predict, uint32_t rank)
{
	uint64_t *ranked = predict->ranked, kept = ((uint64_t)1 << 16 * (rank % 4)) - 1;
	uint16_t last = (uint16_t)(ranked[1] >> 48);
	uint64_t next = last ? predict->live[last].older_link : 0;

	if (rank < 4) {
		ranked[0] = (ranked[0] & kept) | (ranked[0] >> 16 & ~kept) | ranked[1] << 48;
		kept = 0;
	}
	ranked[1] = (ranked[1] & kept) | (ranked[1] >> 16 & ~kept) | next << 48;
}

/* Of a live allocation of this block, and its rank: that of the context, if it is the one expected.
 */
static inline void vs_columns_predict_take_free(struct vs_columns_predict *predict,
						const struct vs_columns_now *now, uint32_t number,
						uint32_t rank)
{
	struct vs_columns_alloc *alloc = &predict->allocs[number];
	uint16_t link = (uint16_t)(number + 1);
	const struct vs_columns_live *live = &predict->live[link];

	now->context->rank = (uint8_t)rank;
	if (rank < VS_COLUMNS_NR_RANKS)
		vs_columns_predict_remove_rank(predict, rank);
	predict->live[live->older_link].newer_link = live->newer_link;
	predict->live[live->newer_link].older_link = live->older_link;
	alloc->state = VS_COLUMNS_FREED;
	alloc->freed_link = predict->sizes[alloc->size].freed_link;
	predict->sizes[alloc->size].freed_link = link;
	now->thread->address = alloc->address;
}

/* Of an address that is no live allocation of this block. */
static inline void vs_columns_predict_take_address(const struct vs_columns_now *now,
						   uint64_t address)
{
	now->thread->address = address;
}

#endif
