#ifndef VS_RING_H
#define VS_RING_H

#include "clock.h"
#include "live_log.h"

/*
 * A thread's own ring in the log: live_format.h has the protocol. Only its thread touches this
 * structure; nothing here waits, allocates, takes a lock or makes a system call.
 *
 *   record = vs_ring_begin(ring, size);   NULL: no chunk can be had
 *   record->type = ...; the body
 *   vs_ring_end(ring, record);            or vs_ring_cancel(ring)
 *
 * A thread that is interrupted between the two by a signal handler that never returns leaves the
 * mark odd, which would hold up the drain: vs_ring_give_up() puts it right.
 */
struct vs_ring {
	struct vs_live_log *log; /* NULL: none yet */
	struct vs_live_slot *slot;
	struct vs_live_chunk *chunk;    /* the newest */
	struct vs_live_chunk *previous; /* being left: may not be linked to `chunk` yet */
	uint32_t end;                   /* of the newest, as published */
	uint32_t mark;                  /* even */
	uint64_t sequence;              /* of the next record */
	bool has_moved;                 /* to another chunk; whoever cares clears it */
};

/* Whether the drain can make all threads pass a barrier; otherwise they do so at every record. */
extern bool vs_ring_needs_fence;

/* Asks the kernel. Once in each process, before the first record. */
void vs_ring_init(void);

/* A ring of its own for a thread, numbered `number`. False: none can be had. */
bool vs_ring_open(struct vs_ring *ring, struct vs_live_log *log, uint32_t number);

/*
 * The thread ends: the drain takes out what is there, then slot and chunks are free again. True:
 * time to wake it, many have ended.
 */
bool vs_ring_close(struct vs_ring *ring);

/* So many may wait until the trace is written for another reason: each has a whole chunk. */
#define VS_RING_NR_CLOSED 128u

/* A forked child has no part in its parent's ring. */
static inline void vs_ring_forget(struct vs_ring *ring)
{
	*ring = (struct vs_ring){0};
}

static inline void vs_ring_set_mark(struct vs_ring *ring)
{
	atomic_store_explicit(&ring->slot->mark, ring->mark + 1, memory_order_relaxed);
	if (__builtin_expect(vs_ring_needs_fence, 0))
		__sync_synchronize(); /* a fence that ThreadSanitizer lets pass */
	else
		atomic_signal_fence(memory_order_seq_cst);
}

static inline void vs_ring_clear_mark(struct vs_ring *ring)
{
	ring->mark += 2;
	atomic_store_explicit(&ring->slot->mark, ring->mark, memory_order_release);
}

/* Chains another chunk. False: there is none. */
bool vs_ring_extend(struct vs_ring *ring);

/* Whether a record of that size can be had: takes another chunk if it needs one. */
static inline bool vs_ring_has_room(struct vs_ring *ring, uint32_t size)
{
	return __builtin_expect(ring->end + size <= VS_LIVE_CHUNK_SIZE, 1) || vs_ring_extend(ring);
}

/*
 * Room for a record of `size` bytes, head included, a multiple of 8 and at most VS_RING_RECORD_MAX;
 * stamped with the time of now. NULL: no chunk can be had.
 */
#define VS_RING_RECORD_MAX 16384u
static inline struct vs_live_record *vs_ring_begin(struct vs_ring *ring, uint32_t size)
{
	struct vs_live_record *record;

	if (!vs_ring_has_room(ring, size))
		return NULL;
	vs_ring_set_mark(ring);
	record = (struct vs_live_record *)(void *)((char *)ring->chunk + ring->end);
	record->size = (uint16_t)size;
	record->zero = 0;
	record->ticks = vs_clock_ticks();
	return record;
}

/* It is not to be: whatever was written into it is nothing. */
static inline void vs_ring_cancel(struct vs_ring *ring)
{
	vs_ring_clear_mark(ring);
}

/* Makes two of it, of the same instant; the first one has so many bytes. Returns the second one. */
static inline struct vs_live_record *vs_ring_split(struct vs_live_record *record, uint32_t size)
{
	struct vs_live_record *second = (struct vs_live_record *)(void *)((char *)record + size);

	second->size = (uint16_t)(record->size - size);
	second->zero = 0;
	second->ticks = record->ticks;
	record->size = (uint16_t)size;
	return second;
}

/* All that was begun: so many records of `size` bytes in all. */
static inline void vs_ring_end_all(struct vs_ring *ring, uint32_t size, unsigned nr_records)
{
	uint32_t end = ring->end + size;

	/* A jump from here on is put right by what is published. */
	atomic_store_explicit(&ring->chunk->end, end, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	ring->end = end;
	ring->sequence += nr_records;
	vs_ring_clear_mark(ring);
}

static inline void vs_ring_end(struct vs_ring *ring, const struct vs_live_record *record)
{
	vs_ring_end_all(ring, record->size, 1);
}

/*
 * Has the lines of the cache fetched that the next record is going to be written to. For events
 * with much of the program between them: the drain made these pages, so the lines are another
 * processor's or nobody's. A store would wait for its own, and the program's next lock, which has
 * to come behind all stores, would wait for that.
 */
static inline void vs_ring_expect(const struct vs_ring *ring)
{
	uintptr_t next = (uintptr_t)ring->chunk + ring->end;

#if defined(__x86_64__)
	/* To be written, which the compiler only says of processors that it knows to have it. */
	__asm__ volatile("prefetchw 64(%0)\n\t"
			 "prefetchw 128(%0)"
			 :
			 : "r"(next));
#else
	__builtin_prefetch((const void *)(next + 64), 1);
	__builtin_prefetch((const void *)(next + 128), 1);
#endif
}

/* Puts right what a jump out of the recorder left behind. */
void vs_ring_give_up(struct vs_ring *ring);

/*
 * Time to wake the drain: a quarter of the log is taken. Early, so that its work is done beside the
 * program's and not when that has ended; and no earlier, because to wake it is a system call.
 */
static inline bool vs_ring_is_log_filling(const struct vs_ring *ring)
{
	return vs_live_log_get_nr_free(ring->log) <= vs_live_log_get_nr_chunks(ring->log) / 4 * 3;
}

#endif
