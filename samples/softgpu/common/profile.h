#ifndef SG_PROFILE_H
#define SG_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In which order addresses of device memory are handed out; docs/softgpu.md, "Memory". */
enum sg_addresses {
	SG_ADDRESSES_CHUNKS, /* Linux: chunks of 32 MiB downwards, filled upwards */
	SG_ADDRESSES_PACKED, /* Windows and WSL: upwards, one behind the other */
};

/*
 * What a card is. Filled from profile.def, then from the environment (profile_field.h). What
 * follows from the compute capability alone is not in here: driver and NVML derive it.
 */
struct sg_profile {
	const char *key;
	const char *name;
	int cc; /* compute capability, 90 for 9.0 */
	int nr_multiprocessors;
	int threads_per_multiprocessor;
	int blocks_per_multiprocessor;
	int registers_per_multiprocessor;
	int registers_per_block;
	int shared_per_multiprocessor; /* bytes, as the next two */
	int shared_per_block;
	int shared_per_block_optin;
	int l2_size; /* bytes */
	int clock_khz;
	int memory_clock_khz;
	int bus_width;          /* bits */
	int nr_copy_engines;    /* asyncEngineCount */
	uint64_t memory_size;   /* as CUDA sees it: totalGlobalMem */
	uint64_t reserved_size; /* kept by the driver: NVML's total is memory and this */
	uint64_t context_size;  /* what a process takes by using the device at all */
	int power_limit;        /* watts */
	int pci_device_id;      /* without the vendor; 0: no product of anybody's */
	int pcie_generation;
	bool has_ecc;
	bool has_oversubscription; /* managed memory may exceed the device */
	enum sg_addresses addresses;
};

/* The row of that key, or NULL. */
const struct sg_profile *sg_profile_find(const char *key);

/* All rows, in the order of profile.def: NULL behind the last. */
const struct sg_profile *sg_profile_get(size_t index);

#endif
