#ifndef VS_LIVE_FORMAT_H
#define VS_LIVE_FORMAT_H

/*
 * The log TRACE.live, version 1: docs/trace-format.md, section 6. Mapped by the recorder, and read
 * by the reader after a kill or while the program runs. Little endian, as every machine is that we
 * build for.
 *
 *   header page | slots: one for each thread that records | chunks
 *
 * A thread's records are its ring: one after the other, numbered from 0 on (their sequence), in
 * chunks that belong to it. Only that thread writes them, only the drain takes them out. A chunk
 * that is full is followed by another one out of the common stock.
 *
 * Writing a record, by the thread that owns the ring:
 *
 *   1. Mark: slot->mark becomes odd, before the clock is read.
 *   2. Read the clock, write the record behind the chunk's end.
 *   3. Publish: chunk->end moves over it (release).
 *   4. slot->mark becomes even again (release): one more than before.
 *
 * What lies below `end` is whole at every instant, so a kill loses only what no hook had returned
 * from.
 *
 * Order: records of all rings are merged by their ticks; of equal ticks, the lower ring number
 * comes first. The drain reads the clock (T), makes every thread pass a barrier (membarrier), and
 * then looks at the slots: one with an odd mark may still publish a record from before T, so it
 * looks again until the mark has changed; then everything at or before T is there. Definitions have
 * ticks, too, and are published before the events that use them: they sort before them.
 *
 * Records that are in the trace are there with ring and sequence, so that reading both files gives
 * nothing twice. A chunk goes back into the stock when all its records are in the trace and its
 * owner has left it: ring becomes 0.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_LIVE_MAGIC       "VSLIVE\r\n" /* 8 bytes, without the terminator */
#define VS_LIVE_VERSION     1
#define VS_LIVE_SUFFIX      ".live"
#define VS_LIVE_HEADER_SIZE 4096
#define VS_LIVE_NR_SLOTS    4096u
#define VS_LIVE_SLOT_SIZE   64u
#define VS_LIVE_CHUNK_SIZE  (32u << 10)
#define VS_LIVE_ID_SIZE     16
#define VS_LIVE_PATH_MAX    3072

/* clock of the header */
enum vs_live_clock {
	VS_LIVE_CLOCK_MONOTONIC = 0, /* a tick is a nanosecond of CLOCK_MONOTONIC */
	VS_LIVE_CLOCK_TSC = 1,       /* a tick is one of the processor's time stamp counter */
};

/* One instant on both clocks. */
struct vs_live_anchor {
	uint64_t ticks;
	uint64_t ns; /* since the start of the trace */
};

/*
 * The header page. The recorder fills in everything else before it stores the magic (vs_live_seal),
 * so a half-made log is no log.
 *
 * Time of a record: through anchors[0], at the start, and the one of anchors[1] and [2] that
 * `newest` names goes a straight line. The drain writes the one that is not named, then names it.
 */
struct vs_live_header {
	char magic[8];
	uint32_t version;
	uint32_t pid;
	uint8_t identity[VS_LIVE_ID_SIZE]; /* random; INFO has it as 32 hexadecimal digits */
	uint64_t slots_offset;             /* in the file */
	uint64_t chunks_offset;
	uint32_t nr_slots;
	uint32_t chunk_size;
	uint64_t start_ticks;   /* field 22 of /proc/self/stat: pid and this name a process */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
	uint32_t clock;         /* enum vs_live_clock */
	_Atomic uint32_t newest;
	struct vs_live_anchor anchors[3];
	_Alignas(64) _Atomic uint32_t nr_chunks; /* allocated in the file; the drain adds more */
	_Alignas(64) _Atomic uint64_t stock;     /* free chunks; the recorder's business alone */
	_Atomic uint32_t nr_used;                /* chunks from here on were never used */
	_Atomic uint32_t nr_taken;               /* chunks that some ring has */
	_Atomic uint32_t slots_end;              /* slots from here on were never used */
	_Alignas(64) _Atomic uint64_t nr_lost;   /* all events lost so far */
	_Alignas(512) char trace_path[VS_LIVE_PATH_MAX]; /* of the trace, absolute, terminated */
};

_Static_assert(offsetof(struct vs_live_header, identity) == 16, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, slots_offset) == 32, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, nr_slots) == 48, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, start_ticks) == 56, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, clock) == 72, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, anchors) == 80, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, nr_chunks) == 128, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, nr_lost) == 256, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, trace_path) == 512, "docs/trace-format.md, 6.1");
_Static_assert(sizeof(struct vs_live_header) <= VS_LIVE_HEADER_SIZE, "docs/trace-format.md, 6.1");

enum vs_live_slot_state {
	VS_LIVE_SLOT_FREE,
	VS_LIVE_SLOT_OWNED,
	VS_LIVE_SLOT_CLOSED, /* its thread has ended; the drain frees it when all is taken out */
};

/* A thread's place. Readers need `mark` alone. */
struct vs_live_slot {
	_Atomic uint32_t state; /* enum vs_live_slot_state */
	_Atomic uint32_t ring;
	_Atomic uint32_t mark;        /* odd: a record is being made whose ticks nobody knows yet */
	_Atomic uint32_t first_chunk; /* index + 1 of the ring's first chunk; 0: none yet */
	uint8_t rest[VS_LIVE_SLOT_SIZE - 16];
};

_Static_assert(sizeof(struct vs_live_slot) == VS_LIVE_SLOT_SIZE, "docs/trace-format.md, 6.2");

/* The head of a chunk; records follow. */
struct vs_live_chunk {
	_Atomic uint32_t ring; /* number of the thread (THREAD record); 0: free. Stored last. */
	uint32_t number;       /* of the chunk in its ring, from 0 on */
	uint64_t first;        /* sequence of its first record */
	_Atomic uint32_t end;  /* bytes of the chunk in use, this head included */
	_Atomic uint32_t next; /* index + 1 of the ring's next chunk; 0: this is the newest */
	uint8_t rest[40];
};

#define VS_LIVE_CHUNK_HEAD 64u
_Static_assert(sizeof(struct vs_live_chunk) == VS_LIVE_CHUNK_HEAD, "docs/trace-format.md, 6.3");

/*
 * The head of a record; `size` bytes in all, a multiple of 8. Then, for an event, its struct of
 * record.h as it is in memory (struct vs_alloc for ALLOC, ...: numbers in natural alignment), and
 * for a definition (VS_LIVE_ENCODED) the record as vs_codec_put_record makes it, padded.
 */
struct vs_live_record {
	uint8_t type; /* enum vs_record_type */
	uint8_t flags;
	uint16_t size;
	uint32_t zero;
	uint64_t ticks;
};

#define VS_LIVE_RECORD_HEAD 16u
#define VS_LIVE_ENCODED     1u /* flags */
_Static_assert(sizeof(struct vs_live_record) == VS_LIVE_RECORD_HEAD, "docs/trace-format.md, 6.4");

/* The header is complete: makes a log of it. */
static inline void vs_live_seal(struct vs_live_header *header)
{
	uint64_t magic;

	__builtin_memcpy(&magic, VS_LIVE_MAGIC, sizeof(magic));
	/* One store: it must come last. */
	__atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

/* Products of two times. */
__extension__ typedef __int128 vs_live_wide;

/* Time of a record by a line through two anchors. Before the first one: 0. */
static inline uint64_t vs_live_time_ns(const struct vs_live_anchor *first,
				       const struct vs_live_anchor *second, uint64_t ticks)
{
	uint64_t d_ticks = second->ticks - first->ticks;
	uint64_t d_ns = second->ns - first->ns;
	vs_live_wide offset = (int64_t)(ticks - first->ticks);
	vs_live_wide ns = first->ns;

	ns += d_ticks ? offset * (vs_live_wide)d_ns / (vs_live_wide)d_ticks : offset;
	return ns < 0 ? 0 : (uint64_t)ns;
}

#endif
