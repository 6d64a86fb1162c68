#include "merge.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "codec.h"
#include "ring.h"

/* A thread in the middle of a record mostly needs nanoseconds more. */
#define NR_SPINS 200

/*
 * So far ahead of the record that is taken: more than a run is long. Records are taken faster than
 * another processor lets go of them, but between two runs there is time.
 */
#define PREFETCH_SIZE 2048

/* How far a slot's ring was read. */
struct cursor {
	bool is_active;
	uint32_t ring;
	uint32_t chunk; /* index; offset and sequence of the next record */
	uint32_t offset;
	/* Of the chunk, when it was last looked at: its thread writes it with every record, and to
	 * ask for it as often would slow both down. */
	uint32_t end;
	uint64_t sequence;
	uint32_t saved_chunk; /* the oldest that was not given back */
	uint64_t ticks;       /* of the next record, while it is in the heap */
	uint64_t last_ticks;  /* of the last one taken */
	uint32_t stuck_mark;  /* odd: seen since stuck_ns */
	uint64_t stuck_ns;
};

struct vs_merge {
	struct vs_live_log *log;
	uint64_t horizon; /* ticks; records up to here may be taken */
	bool is_certain;  /* no mark kept us from looking up to now */
	uint64_t last_ns; /* of the record taken last */
	struct vs_live_anchor anchor;
	int64_t pace; /* nanoseconds in 2^32 ticks */
	uint32_t nr_cursors;
	uint32_t nr_heap;
	uint16_t heap[VS_LIVE_NR_SLOTS]; /* cursors with a record; the earliest first */
	struct cursor cursors[VS_LIVE_NR_SLOTS];
	uint64_t frames[VS_STACK_MAX];
};

int vs_merge_create(struct vs_merge **merge, struct vs_live_log *log)
{
	struct vs_merge *new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return -VS_ERR_NO_MEMORY;
	new->log = log;
	*merge = new;
	return 0;
}

void vs_merge_destroy(struct vs_merge *merge)
{
	munmap(merge, sizeof(*merge));
}

/* ---- The heap -------------------------------------------------------------------------------- */

static bool is_before(const struct vs_merge *merge, uint16_t a, uint16_t b)
{
	const struct cursor *first = &merge->cursors[a];
	const struct cursor *second = &merge->cursors[b];

	if (first->ticks != second->ticks)
		return first->ticks < second->ticks;
	return first->ring < second->ring;
}

static void sift_down(struct vs_merge *merge, uint32_t at)
{
	uint16_t moving = merge->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= merge->nr_heap)
			break;
		if (child + 1 < merge->nr_heap &&
		    is_before(merge, merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!is_before(merge, merge->heap[child], moving))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = moving;
}

/* ---- Cursors --------------------------------------------------------------------------------- */

static const struct vs_live_record *record_at(const struct vs_merge *merge,
					      const struct cursor *cursor)
{
	const char *chunk = (const char *)vs_live_log_chunk(merge->log, cursor->chunk);

	return (const struct vs_live_record *)(const void *)(chunk + cursor->offset);
}

/* Whether a record can be what its head says: the program may have written there by mistake. */
static inline bool is_sound(const struct vs_live_record *record, uint32_t offset, uint32_t end)
{
	uint32_t room = end - offset;

	/* One comparison: a size below that of the head becomes a large number. */
	return room >= VS_LIVE_RECORD_HEAD &&
	       record->size - VS_LIVE_RECORD_HEAD <= room - VS_LIVE_RECORD_HEAD &&
	       record->size % 8 == 0;
}

/* Whether the cursor is at a record that is known to be published. */
static inline bool is_at_record(const struct vs_merge *merge, struct cursor *cursor)
{
	const struct vs_live_record *record = record_at(merge, cursor);

	if (cursor->offset >= cursor->end || !is_sound(record, cursor->offset, cursor->end))
		return false;
	cursor->ticks = record->ticks;
	return true;
}

/* Moves on to the next published record, if there is one. */
static __attribute__((noinline)) bool find_record(struct vs_merge *merge, struct cursor *cursor)
{
	for (;;) {
		struct vs_live_chunk *chunk;
		uint32_t next, end;

		if (is_at_record(merge, cursor))
			return true;
		chunk = vs_live_log_chunk(merge->log, cursor->chunk);
		/* In this order: once there is a next one, the end stays. */
		next = atomic_load_explicit(&chunk->next, memory_order_acquire);
		end = atomic_load_explicit(&chunk->end, memory_order_acquire);
		if (end > VS_LIVE_CHUNK_SIZE)
			return false;
		if (end != cursor->end) {
			cursor->end = end;
			continue;
		}
		if (!next || next > vs_live_log_get_nr_chunks(merge->log))
			return false;
		cursor->chunk = next - 1;
		cursor->offset = VS_LIVE_CHUNK_HEAD;
		cursor->end = 0;
	}
}

static void start_cursor(struct cursor *cursor, const struct vs_live_slot *slot)
{
	uint32_t first = atomic_load_explicit(&slot->first_chunk, memory_order_acquire);

	if (cursor->is_active || !first)
		return;
	*cursor = (struct cursor){
		.is_active = true,
		.ring = atomic_load_explicit(&slot->ring, memory_order_acquire),
		.chunk = first - 1,
		.saved_chunk = first - 1,
		.offset = VS_LIVE_CHUNK_HEAD,
	};
}

/* ---- How far the order is certain ------------------------------------------------------------ */

static void pass_barrier(void)
{
	if (vs_ring_needs_fence)
		__sync_synchronize(); /* a fence that ThreadSanitizer lets pass */
	else
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Whether the slot's thread is still in the middle of the record it was in before. */
static bool is_in_flight(const struct vs_live_slot *slot)
{
	uint32_t mark = atomic_load_explicit(&slot->mark, memory_order_acquire);

	if (!(mark & 1))
		return false;
	for (int i = 0; i < NR_SPINS; i++) {
		if (atomic_load_explicit(&slot->mark, memory_order_acquire) != mark)
			return false;
		sched_yield();
	}
	return true;
}

/* A thread that has been in one record for a second will not put it between others any more. */
static bool is_stuck(struct cursor *cursor, const struct vs_live_slot *slot, uint64_t now)
{
	uint32_t mark = atomic_load_explicit(&slot->mark, memory_order_relaxed);

	if (cursor->stuck_mark != mark) {
		cursor->stuck_mark = mark;
		cursor->stuck_ns = now;
	}
	return now - cursor->stuck_ns >= VS_MERGE_STUCK_NS;
}

/* The ticks that the record in flight cannot be below of. */
static uint64_t get_bound(struct vs_merge *merge, const struct cursor *cursor, uint64_t old_horizon)
{
	uint64_t bound = cursor->last_ticks;
	struct cursor ahead = *cursor;

	while (cursor->is_active && find_record(merge, &ahead)) {
		bound = ahead.ticks;
		ahead.offset += record_at(merge, &ahead)->size;
	}
	return bound > old_horizon ? bound : old_horizon;
}

/* The line through the log's anchors, for the records to come. */
static void set_line(struct vs_merge *merge)
{
	const struct vs_live_header *header = merge->log->header;
	uint32_t newest = atomic_load_explicit(&header->newest, memory_order_relaxed);
	uint64_t ticks = header->anchors[newest].ticks - header->anchors[0].ticks;
	uint64_t ns = header->anchors[newest].ns - header->anchors[0].ns;

	merge->anchor = header->anchors[newest];
	merge->pace = (int64_t)1 << 32;
	if (ticks && vs_clock_is_tsc)
		merge->pace = (int64_t)(((vs_live_wide)ns << 32) / (vs_live_wide)ticks);
}

static void fill_heap(struct vs_merge *merge)
{
	merge->nr_heap = 0;
	for (uint32_t i = 0; i < merge->nr_cursors; i++)
		if (merge->cursors[i].is_active && find_record(merge, &merge->cursors[i]))
			merge->heap[merge->nr_heap++] = (uint16_t)i;
	for (uint32_t i = merge->nr_heap / 2; i > 0; i--)
		sift_down(merge, i - 1);
}

void vs_merge_look(struct vs_merge *merge, uint64_t now_ns)
{
	uint64_t old_horizon = merge->horizon;
	uint64_t horizon = vs_clock_ticks();

	set_line(merge);
	pass_barrier();
	merge->nr_cursors =
		atomic_load_explicit(&merge->log->header->slots_end, memory_order_acquire);
	merge->is_certain = true;
	for (uint32_t i = 0; i < merge->nr_cursors; i++) {
		const struct vs_live_slot *slot = &merge->log->slots[i];
		struct cursor *cursor = &merge->cursors[i];

		if (atomic_load_explicit(&slot->state, memory_order_acquire) == VS_LIVE_SLOT_FREE)
			continue;
		start_cursor(cursor, slot);
		if (is_in_flight(slot) && !is_stuck(cursor, slot, now_ns)) {
			uint64_t bound = get_bound(merge, cursor, old_horizon);

			merge->is_certain = false;
			horizon = bound < horizon ? bound : horizon;
		}
	}
	merge->horizon = horizon;
	fill_heap(merge);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* vs_live_time_ns() without a division: the records at hand are near the newest anchor. */
static inline uint64_t time_of(struct vs_merge *merge, uint64_t ticks)
{
	/* Rounded down, also before the anchor: what comes later is never earlier. */
	vs_live_wide offset =
		(vs_live_wide)(int64_t)(ticks - merge->anchor.ticks) * merge->pace >> 32;
	int64_t ns = (int64_t)merge->anchor.ns + (int64_t)offset;

	/* The line moves a little with each new anchor. The first time is 0: never before that. */
	if (ns < (int64_t)merge->last_ns)
		ns = (int64_t)merge->last_ns;
	merge->last_ns = (uint64_t)ns;
	return (uint64_t)ns;
}

/* Most are of a few sizes, and copies of known size are no calls. False: too large for a record. */
static inline bool copy_body(struct vs_record *record, const uint8_t *from, size_t size)
{
	char *to = (char *)record + offsetof(struct vs_record, alloc);

	switch (size) {
	case 24:
		memcpy(to, from, 24);
		break;
	case 32:
		memcpy(to, from, 32);
		break;
	case 40:
		memcpy(to, from, 40);
		break;
	default:
		if (size > sizeof(*record) - offsetof(struct vs_record, alloc))
			return false;
		memcpy(to, from, size);
	}
	return true;
}

/* What a hook wrote; only damage from outside can make it fail. */
static inline bool decode(struct vs_merge *merge, const struct vs_live_record *from, uint32_t ring,
			  struct vs_record *record)
{
	const uint8_t *body = (const uint8_t *)(from + 1);
	size_t size = from->size - VS_LIVE_RECORD_HEAD;

	if (from->flags & VS_LIVE_ENCODED)
		return vs_codec_get_record(body, size, record, merge->frames) > 0;
	record->type = from->type;
	record->thread = ring;
	record->time_ns = time_of(merge, from->ticks);
	return copy_body(record, body, size);
}

/* Up to these ticks the ring at the top of the heap has its turn, whatever the others have. */
static uint64_t get_turn(const struct vs_merge *merge)
{
	uint64_t turn = merge->horizon;

	for (uint32_t i = 1; i < 3 && i < merge->nr_heap; i++) {
		uint64_t ticks = merge->cursors[merge->heap[i]].ticks;

		/* Who comes first at the same ticks is for the heap to say. */
		if (ticks <= turn)
			turn = ticks ? ticks - 1 : 0;
	}
	return turn;
}

/*
 * Records of the chunk that the cursor is at, from the one it is at to the first definition, while
 * their turn lasts; max at most. The cursor is behind them then, and maybe at no record.
 */
static uint32_t take_in_chunk(struct vs_merge *merge, struct cursor *cursor, uint64_t turn,
			      struct vs_record *records, uint32_t max)
{
	const char *chunk = (const char *)vs_live_log_chunk(merge->log, cursor->chunk);
	uint32_t offset = cursor->offset, end = cursor->end, ring = cursor->ring;
	const struct vs_live_record *from = (const void *)(chunk + offset);
	struct vs_record *record = records, *last = records + max - 1;

	for (;; record++) {
		cursor->last_ticks = from->ticks;
		/* Another processor has it, and takes its time to let go. */
		__builtin_prefetch((const char *)from + PREFETCH_SIZE);
		if (__builtin_expect(!decode(merge, from, ring, record), 0))
			*record = (struct vs_record){.type = VS_RECORD_LOST, .lost.nr_events = 1};
		offset += from->size;
		from = (const void *)(chunk + offset);
		if (record == last || !is_sound(from, offset, end) || from->ticks > turn ||
		    !vs_record_is_event(record->type))
			break;
	}
	cursor->offset = offset;
	cursor->sequence += (uint64_t)(record - records) + 1;
	return (uint32_t)(record - records) + 1;
}

bool vs_merge_next_run(struct vs_merge *merge, struct vs_record *records, uint32_t max,
		       struct vs_merge_run *run)
{
	struct cursor *cursor;
	bool has_more;
	uint64_t turn;

	if (!merge->nr_heap || !max)
		return false;
	cursor = &merge->cursors[merge->heap[0]];
	if (cursor->ticks > merge->horizon)
		return false;
	turn = get_turn(merge);
	*run = (struct vs_merge_run){.ring = cursor->ring, .sequence = cursor->sequence};
	do {
		run->nr += take_in_chunk(merge, cursor, turn, records + run->nr, max - run->nr);
		has_more = is_at_record(merge, cursor) || find_record(merge, cursor);
	} while (has_more && cursor->ticks <= turn && run->nr < max &&
		 vs_record_is_event(records[run->nr - 1].type));
	if (!has_more)
		merge->heap[0] = merge->heap[--merge->nr_heap];
	if (merge->nr_heap > 1)
		sift_down(merge, 0);
	return true;
}

bool vs_merge_next(struct vs_merge *merge, struct vs_record *record, uint32_t *ring,
		   uint64_t *sequence)
{
	struct vs_merge_run run;

	if (!vs_merge_next_run(merge, record, 1, &run))
		return false;
	*ring = run.ring;
	*sequence = run.sequence;
	return true;
}

/* ---- Giving back ----------------------------------------------------------------------------- */

/* The thread is gone and all it left is taken: its last chunk and its slot are free. */
static void end_cursor(struct vs_merge *merge, uint32_t index)
{
	struct cursor *cursor = &merge->cursors[index];
	struct vs_live_slot *slot = &merge->log->slots[index];

	if (atomic_load_explicit(&slot->state, memory_order_acquire) != VS_LIVE_SLOT_CLOSED ||
	    find_record(merge, cursor))
		return;
	vs_live_log_give_chunk(merge->log, cursor->saved_chunk);
	cursor->is_active = false;
	atomic_fetch_sub_explicit(&merge->log->nr_closed, 1, memory_order_relaxed);
	atomic_store_explicit(&slot->first_chunk, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->state, VS_LIVE_SLOT_FREE, memory_order_release);
}

void vs_merge_release(struct vs_merge *merge)
{
	for (uint32_t i = 0; i < merge->nr_cursors; i++) {
		struct cursor *cursor = &merge->cursors[i];

		if (!cursor->is_active)
			continue;
		while (cursor->saved_chunk != cursor->chunk) {
			uint32_t next = atomic_load_explicit(
				&vs_live_log_chunk(merge->log, cursor->saved_chunk)->next,
				memory_order_acquire);

			vs_live_log_give_chunk(merge->log, cursor->saved_chunk);
			cursor->saved_chunk = next - 1;
		}
		end_cursor(merge, i);
	}
}

void vs_merge_visit_rings(const struct vs_merge *merge,
			  void (*visit)(void *context, uint32_t ring, uint64_t end), void *context)
{
	for (uint32_t i = 0; i < merge->nr_cursors; i++)
		if (merge->cursors[i].is_active)
			visit(context, merge->cursors[i].ring, merge->cursors[i].sequence);
}

bool vs_merge_is_empty(const struct vs_merge *merge)
{
	return merge->is_certain && !merge->nr_heap;
}
