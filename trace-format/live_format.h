#ifndef VS_LIVE_FORMAT_H
#define VS_LIVE_FORMAT_H

/*
 * The log TRACE.live: docs/trace-format.md, section 6. A header page and one ring of bytes, mapped
 * by the recorder and read by the reader after a kill or while the program runs. Little endian, as
 * every machine is that we build for.
 *
 * Positions count bytes since the start of the trace and never wrap; the byte of position p stands
 * at ring_offset + p % ring_size.
 *
 *   tail <= head <= tail + ring_size        all three multiples of VS_LIVE_ALIGN
 *
 * A record takes vs_live_stride(size) bytes from its position on: a word of 8 bytes, the encoded
 * record, padding. It may wrap around the end of the ring; the word never does. Producers:
 *
 *   1. Reserve: move head on by the stride, by compare-and-exchange (acquire), only if it then is
 *      at most tail + ring_size; otherwise the event is lost: add to nr_lost.
 *   2. Copy the record behind the word's place.
 *   3. Publish: store vs_live_word(position, size) (release).
 *
 * The word holds its own position, so whatever an earlier round left in the ring is no record of
 * this one, nothing has to be cleared, and behind a reservation that was never published (its
 * thread died in step 2) the next record can be found.
 *
 * The drain moves tail (release) only over what the trace file holds: vs_writer_get_end(). Reading
 * from the log therefore starts at the end of the last block, or at tail if that is higher.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_LIVE_MAGIC       "VSLIVE\r\n" /* 8 bytes, without the terminator */
#define VS_LIVE_VERSION     0
#define VS_LIVE_SUFFIX      ".live"
#define VS_LIVE_HEADER_SIZE 4096 /* also ring_offset of version 0 */
#define VS_LIVE_RING_SIZE                                                       \
	(32u << 20) /* what the recorder takes; a power of two, at least 64 KiB \
		     */
#define VS_LIVE_ALIGN     8
#define VS_LIVE_WORD_SIZE 8
#define VS_LIVE_ID_SIZE   16
#define VS_LIVE_PATH_MAX  3072

/*
 * The header page. The recorder fills in everything else before it stores the magic (vs_live_seal),
 * so a half-made log is no log.
 */
struct vs_live_header {
	char magic[8];
	uint32_t version;
	uint32_t pid;
	uint8_t identity[VS_LIVE_ID_SIZE]; /* random; INFO has it as 32 hexadecimal digits */
	uint64_t ring_offset;
	uint64_t ring_size;
	uint64_t start_ticks;   /* field 22 of /proc/self/stat: pid and this name a process */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
	_Alignas(64) _Atomic uint64_t head; /* producers, compare-and-exchange */
	_Alignas(64) _Atomic uint64_t tail; /* drain stores (release), producers load (acquire) */
	_Alignas(64) _Atomic uint64_t nr_lost; /* producers add (relaxed): all events lost so far */
	_Alignas(256) char trace_path[VS_LIVE_PATH_MAX]; /* of the trace, absolute, terminated */
};

_Static_assert(offsetof(struct vs_live_header, identity) == 16, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, ring_offset) == 32, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, start_ticks) == 48, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, head) == 64, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, tail) == 128, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, nr_lost) == 192, "docs/trace-format.md, 6.1");
_Static_assert(offsetof(struct vs_live_header, trace_path) == 256, "docs/trace-format.md, 6.1");
_Static_assert(sizeof(struct vs_live_header) <= VS_LIVE_HEADER_SIZE, "docs/trace-format.md, 6.1");

/* How far a record of `size` encoded bytes moves the position. Blocks count in it, too. */
static inline uint64_t vs_live_stride(uint64_t size)
{
	return VS_LIVE_WORD_SIZE + ((size + VS_LIVE_ALIGN - 1) & ~(uint64_t)(VS_LIVE_ALIGN - 1));
}

/* The word of a published record: bits 0-13 size, 14 published, 15 zero, 16-63 position / 8. */
#define VS_LIVE_SIZE_MASK 0x3fffu
#define VS_LIVE_PUBLISHED 0x4000u

static inline uint64_t vs_live_word(uint64_t position, uint32_t size)
{
	return position / VS_LIVE_ALIGN << 16 | VS_LIVE_PUBLISHED | size;
}

/* Size of the record published at a position, or 0 if the word says nothing about it. */
static inline uint32_t vs_live_size(uint64_t word, uint64_t position)
{
	uint32_t size = (uint32_t)(word & VS_LIVE_SIZE_MASK);

	return word == vs_live_word(position, size) ? size : 0;
}

/* The word in the ring, for producers and the drain: store with release, load with acquire. */
static inline _Atomic uint64_t *vs_live_slot(unsigned char *ring, uint64_t ring_size,
					     uint64_t position)
{
	return (_Atomic uint64_t *)(void *)(ring + (position & (ring_size - 1)));
}

/* The header is complete: makes a log of it. */
static inline void vs_live_seal(struct vs_live_header *header)
{
	uint64_t magic;

	__builtin_memcpy(&magic, VS_LIVE_MAGIC, sizeof(magic));
	/* One store: it must come last. */
	__atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

#endif
