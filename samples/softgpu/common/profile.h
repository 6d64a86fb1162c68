#ifndef SG_PROFILE_H
#define SG_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* What a card is. Filled from profile.def, then from the environment (config.c). */
struct sg_profile {
	const char *key;
	const char *name;
	int cc; /* compute capability, 90 for 9.0 */
	int nr_multiprocessors;
	int threads_per_multiprocessor;
	int blocks_per_multiprocessor;
	int shared_per_multiprocessor; /* bytes */
	int shared_per_block_optin;    /* bytes */
	int l2_size;                   /* bytes */
	int clock_khz;
	int memory_clock_khz;
	int bus_width; /* bits */
	uint64_t memory_size;
	uint64_t context_size;
	bool has_oversubscription; /* managed memory may exceed the device */
};

/* The row of that key, or NULL. */
const struct sg_profile *sg_profile_find(const char *key);

#endif
