#include "ring.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hot.h"

VS_HOT_DATA bool vs_ring_needs_fence = true;

void vs_ring_init(void)
{
	int saved = errno;

	/* Linux 4.14; a sandbox may refuse it. */
	vs_ring_needs_fence =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
	errno = saved;
}

/* A chunk with its head filled in, or VS_LIVE_LOG_NONE. */
static uint32_t take_chunk(struct vs_live_log *log, uint32_t ring, uint32_t number, uint64_t first)
{
	uint32_t index = vs_live_log_take_chunk(log);
	struct vs_live_chunk *chunk;

	if (index == VS_LIVE_LOG_NONE)
		return index;
	chunk = vs_live_log_chunk(log, index);
	chunk->number = number;
	chunk->first = first;
	atomic_store_explicit(&chunk->end, VS_LIVE_CHUNK_HEAD, memory_order_relaxed);
	atomic_store_explicit(&chunk->next, 0, memory_order_relaxed);
	atomic_store_explicit(&chunk->ring, ring, memory_order_release);
	return index;
}

bool vs_ring_open(struct vs_ring *ring, struct vs_live_log *log, uint32_t number)
{
	struct vs_live_slot *slot = vs_live_log_take_slot(log, number);
	uint32_t index;

	if (!slot)
		return false;
	index = take_chunk(log, number, 0, 0);
	if (index == VS_LIVE_LOG_NONE) {
		atomic_store_explicit(&slot->state, VS_LIVE_SLOT_FREE, memory_order_release);
		return false;
	}
	*ring = (struct vs_ring){
		.log = log,
		.slot = slot,
		.chunk = vs_live_log_chunk(log, index),
		.end = VS_LIVE_CHUNK_HEAD,
		/* Goes on from the last owner's: a mark never has the same value twice. */
		.mark = atomic_load_explicit(&slot->mark, memory_order_relaxed) & ~1u,
	};
	atomic_store_explicit(&slot->first_chunk, index + 1, memory_order_release);
	return true;
}

bool vs_ring_close(struct vs_ring *ring)
{
	uint32_t nr_before;

	if (!ring->log)
		return false;
	vs_ring_give_up(ring);
	nr_before = atomic_fetch_add_explicit(&ring->log->nr_closed, 1, memory_order_relaxed);
	atomic_store_explicit(&ring->slot->state, VS_LIVE_SLOT_CLOSED, memory_order_release);
	vs_ring_forget(ring);
	return nr_before + 1 >= VS_RING_NR_CLOSED;
}

__attribute__((noinline)) bool vs_ring_extend(struct vs_ring *ring)
{
	struct vs_live_chunk *old = ring->chunk;
	uint32_t number = atomic_load_explicit(&old->ring, memory_order_relaxed);
	uint32_t index = take_chunk(ring->log, number, old->number + 1, ring->sequence);

	if (index == VS_LIVE_LOG_NONE)
		return false;
	ring->previous = old;
	atomic_signal_fence(memory_order_seq_cst);
	ring->end = VS_LIVE_CHUNK_HEAD;
	ring->chunk = vs_live_log_chunk(ring->log, index);
	atomic_signal_fence(memory_order_seq_cst);
	/* From here on the drain may give the old one back. */
	atomic_store_explicit(&old->next, index + 1, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	ring->previous = NULL;
	ring->has_moved = true;
	return true;
}

/* ---- After a jump ---------------------------------------------------------------------------- */

static uint32_t index_of(const struct vs_ring *ring, const struct vs_live_chunk *chunk)
{
	return (uint32_t)(((const unsigned char *)chunk - ring->log->chunks) / VS_LIVE_CHUNK_SIZE);
}

/* Links the chunk that was being left, unless that is done: then it may be anybody's by now. */
static void link_previous(struct vs_ring *ring)
{
	struct vs_live_chunk *old = ring->previous;
	uint32_t number = atomic_load_explicit(&ring->chunk->ring, memory_order_relaxed);

	ring->previous = NULL;
	if (old && old != ring->chunk &&
	    atomic_load_explicit(&old->ring, memory_order_relaxed) == number &&
	    old->number + 1 == ring->chunk->number &&
	    !atomic_load_explicit(&old->next, memory_order_relaxed))
		atomic_store_explicit(&old->next, index_of(ring, ring->chunk) + 1,
				      memory_order_release);
}

/* Sequence and end by what is published. */
static void count_again(struct vs_ring *ring)
{
	uint32_t end = atomic_load_explicit(&ring->chunk->end, memory_order_relaxed);
	const char *base = (const char *)ring->chunk;

	ring->end = end;
	ring->sequence = ring->chunk->first;
	for (uint32_t at = VS_LIVE_CHUNK_HEAD; at < end; ring->sequence++)
		at += ((const struct vs_live_record *)(const void *)(base + at))->size;
}

void vs_ring_give_up(struct vs_ring *ring)
{
	if (!ring->log)
		return;
	link_previous(ring);
	count_again(ring);
	ring->mark = atomic_load_explicit(&ring->slot->mark, memory_order_relaxed);
	if (ring->mark & 1) {
		ring->mark++;
		atomic_store_explicit(&ring->slot->mark, ring->mark, memory_order_release);
	}
}
