#ifndef VS_CACHING_POOL_H
#define VS_CACHING_POOL_H

/*
 * An allocator as PyTorch's: segments of its own for small and for large blocks, best fit, split
 * and joined again. There is one, without memory behind it; it gives addresses that are as hard to
 * foresee as in life.
 */
#include <stdbool.h>
#include <stdint.h>

struct vs_caching_pool_block {
	uint64_t address, size;
	uint32_t index;
	bool is_small;
};

/* A segment was needed. */
typedef void (*vs_caching_pool_segment)(uint64_t address, uint64_t size);

/* Empties it. Segments begin at `address`. */
void vs_caching_pool_reset(uint64_t address, vs_caching_pool_segment on_segment);

/* A block of at least so many bytes; exits when there are too many. */
struct vs_caching_pool_block vs_caching_pool_take(uint64_t size);
void vs_caching_pool_give_back(const struct vs_caching_pool_block *block);

#endif
