#include "arena.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Addresses are reserved this much at a time; 47 bits of them are there. */
#define STRETCH_SIZE ((uint64_t)256 << 30)
#define ALIGNMENT    SG_ARENA_CHUNK
#define HOST_PAGE    4096

/* One mapping. The region word of the chunks in it. */
struct stretch {
	struct sg_node node;
	uint64_t offset; /* in the file */
};

void sg_arena_init(struct sg_arena *arena, const char *label)
{
	*arena = (struct sg_arena){.label = label, .fd = -1};
}

static bool may_grow_file(uint64_t size)
{
	struct rlimit limit;

	/* Beyond the limit the kernel sends SIGXFSZ, which would end the program. */
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

static void open_file(struct sg_arena *arena)
{
	arena->is_open = true;
	if (may_grow_file(STRETCH_SIZE * 64))
		arena->fd = memfd_create(arena->label, MFD_CLOEXEC);
	if (arena->fd >= 0) {
		int high = fcntl(arena->fd, F_DUPFD_CLOEXEC, 512);

		if (high >= 0) {
			close(arena->fd);
			arena->fd = high;
		}
	}
}

/* Map `size` bytes of the file, or of nothing, at an aligned address. */
static void *map_aligned(struct sg_arena *arena, uint64_t size)
{
	const int prot = PROT_READ | PROT_WRITE;
	char *base = mmap(NULL, size + ALIGNMENT, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *aligned;
	void *mapped;

	if (base == MAP_FAILED)
		return NULL;
	aligned = (char *)(((uintptr_t)base + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
	if (aligned > base)
		munmap(base, (size_t)(aligned - base));
	munmap(aligned + size, ALIGNMENT - (size_t)(aligned - base));
	if (arena->fd >= 0)
		mapped = mmap(aligned, size, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
			      arena->fd, (off_t)arena->file_size);
	else
		mapped = mmap(aligned, size, prot,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED) {
		munmap(aligned, size);
		return NULL;
	}
	/* A core file of a program should not hold a graphics card. */
	madvise(mapped, size, MADV_DONTDUMP);
	return mapped;
}

static bool add_stretch(struct sg_arena *arena, uint64_t size)
{
	struct stretch *stretch = malloc(sizeof(*stretch));
	void *base;

	if (!stretch)
		return false;
	if (!arena->is_open)
		open_file(arena);
	if (arena->fd >= 0 && ftruncate(arena->fd, (off_t)(arena->file_size + size)) < 0)
		goto free_stretch;
	base = map_aligned(arena, size);
	if (!base)
		goto free_stretch;
	*stretch = (struct stretch){.node = {.base = (uintptr_t)base, .size = size},
				    .offset = arena->file_size};
	if (!sg_extents_add(&arena->chunks, stretch->node.base, size, stretch))
		goto unmap;
	sg_tree_insert(&arena->stretches, &stretch->node);
	arena->file_size += size;
	return true;
unmap:
	munmap(base, size);
free_stretch:
	free(stretch);
	return false;
}

/* From what is mapped, or NULL. */
static struct sg_extent *take_chunk(struct sg_arena *arena, uint64_t size)
{
	const struct sg_node *lowest;

	if (!arena->is_packed)
		return sg_extents_take_high(&arena->chunks, size);
	/* What is free are whole mappings; the lowest that fits is the lowest of its size. */
	lowest = sg_tree_first_fit(&arena->chunks.free, size);
	return lowest ? sg_extents_take_low(&arena->chunks, lowest->size) : NULL;
}

struct sg_extent *sg_arena_take(struct sg_arena *arena, uint64_t size)
{
	struct sg_extent *chunk;
	uint64_t stretch = STRETCH_SIZE;

	if (size > ((uint64_t)1 << 46))
		return NULL;
	size = (size + SG_ARENA_CHUNK - 1) & ~(SG_ARENA_CHUNK - 1);
	chunk = take_chunk(arena, size);
	if (chunk)
		return chunk;
	/* Less than usual where address space is limited (ulimit -v). */
	while (stretch > size && !add_stretch(arena, stretch))
		stretch /= 2;
	if (stretch <= size && !add_stretch(arena, size))
		return NULL;
	return take_chunk(arena, size);
}

void sg_arena_give(struct sg_arena *arena, struct sg_extent *chunk)
{
	/* Stretches are kept: addresses cost nothing, mapping them again would. */
	sg_extents_put(&arena->chunks, chunk);
}

bool sg_arena_holds(const struct sg_arena *arena, uint64_t address)
{
	return sg_tree_find(&arena->stretches, address) != NULL;
}

struct sg_arena_place sg_arena_locate(const struct sg_arena *arena, const struct sg_extent *chunk,
				      uint64_t address)
{
	const struct stretch *stretch = chunk->region;

	return (struct sg_arena_place){.fd = arena->fd,
				       .offset = stretch->offset + (address - stretch->node.base)};
}

/* Map bytes of a file (fd -1: of nothing) where something is mapped already. */
static bool map_over(uint64_t address, uint64_t size, struct sg_arena_place place)
{
	int flags = place.fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *mapped = mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE,
			    flags | MAP_FIXED | MAP_NORESERVE, place.fd,
			    place.fd < 0 ? 0 : (off_t)place.offset);

	if (mapped == MAP_FAILED)
		return false;
	madvise(mapped, size, MADV_DONTDUMP);
	return true;
}

bool sg_arena_cover(uint64_t address, uint64_t size, struct sg_arena_place place)
{
	return map_over(address, size, place);
}

bool sg_arena_uncover(const struct sg_arena *arena, const struct sg_extent *chunk, uint64_t address,
		      uint64_t size)
{
	return map_over(address, size, sg_arena_locate(arena, chunk, address));
}

void sg_arena_discard(struct sg_arena_place place, uint64_t address, uint64_t size)
{
	uint64_t first = (address + HOST_PAGE - 1) & ~(uint64_t)(HOST_PAGE - 1);
	uint64_t last = (address + size) & ~(uint64_t)(HOST_PAGE - 1);
	char *bytes = (char *)(uintptr_t)address;

	if (first >= last) {
		memset(bytes, 0, size);
		return;
	}
	memset(bytes, 0, first - address);
	memset(bytes + (last - address), 0, address + size - last);
	if (place.fd < 0)
		madvise(bytes + (first - address), last - first, MADV_DONTNEED);
	else if (fallocate(place.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   (off_t)(place.offset + (first - address)), (off_t)(last - first)) < 0)
		memset(bytes + (first - address), 0, last - first);
}
