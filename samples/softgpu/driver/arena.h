#ifndef SG_ARENA_H
#define SG_ARENA_H

#include "extents.h"

/*
 * Host memory behind simulated memory, and the addresses it has. An arena is a sparse memfd mapped
 * at as many addresses as are ever needed, so that handing out memory costs no system call and
 * untouched bytes cost nothing. Addresses go out as the real Linux driver does it: in chunks of 32
 * MiB, downwards. In a packed arena a chunk is all there is room for, so that its owner, who fills
 * chunks upwards, hands out one address behind the other, as drivers on Windows do. Addresses
 * never run out; that the memory is used up is the card's business.
 *
 * Where a memfd of that size is not allowed (RLIMIT_FSIZE), anonymous memory takes its place.
 *
 * The owner brings the lock for take, give and holds; discard needs none.
 */
#define SG_ARENA_CHUNK ((uint64_t)32 << 20)

struct sg_arena {
	const char *label;
	int fd; /* -1: anonymous memory */
	bool is_open;
	bool is_packed; /* set by the owner before the first take */
	uint64_t file_size;
	struct sg_tree stretches; /* all addresses it has ever mapped */
	struct sg_extents chunks;
};

/* Part of a chunk's file: which bytes of which descriptor are behind an address. */
struct sg_arena_place {
	int fd;
	uint64_t offset;
};

/* label names the memory in /proc/PID/maps. Opens nothing yet. */
void sg_arena_init(struct sg_arena *arena, const char *label);

/*
 * A chunk of at least that size (rounded up to 32 MiB; all of a mapping if packed), or NULL. Its
 * bytes read as zero.
 */
struct sg_extent *sg_arena_take(struct sg_arena *arena, uint64_t size);
void sg_arena_give(struct sg_arena *arena, struct sg_extent *chunk);

/* Whether the address is one of the arena's, handed out or not. */
bool sg_arena_holds(const struct sg_arena *arena, uint64_t address);

/* Where the bytes of an address in that chunk are. */
struct sg_arena_place sg_arena_locate(const struct sg_arena *arena, const struct sg_extent *chunk,
				      uint64_t address);

/*
 * Put bytes of another file at addresses of the arena that nobody uses, and take them away again.
 * The range is in whole host pages. False if the kernel will not.
 */
bool sg_arena_cover(uint64_t address, uint64_t size, struct sg_arena_place place);
bool sg_arena_uncover(const struct sg_arena *arena, const struct sg_extent *chunk, uint64_t address,
		      uint64_t size);

/*
 * Make a range read as zero again and give its host memory back. The place must be that of the
 * address. Bytes in pages that the range covers only in part are cleared.
 */
void sg_arena_discard(struct sg_arena_place place, uint64_t address, uint64_t size);

#endif
