#ifndef VS_NVML_H
#define VS_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/*
 * NVIDIA's management library, as far as memory goes: nvml.h, without depending on it. Opened
 * privately and never closed: should the program use it too, both have the same one, which counts
 * its users, so neither can take it from the other. One thread, which may be held up in here for
 * any time: the library asks a driver.
 */

/* A device by the names that CUDA and NVML share; their numbers differ (CUDA_VISIBLE_DEVICES). */
struct vs_nvml_name {
	uint8_t uuid[16];     /* of the card */
	uint8_t mig_uuid[16]; /* of the part of it that CUDA shows; without MIG the same */
	char pci_bus_id[16];  /* "0000:3b:00.0"; empty: not known */
};

/* As nvml.h has them; device is the library's own pointer. */
struct vs_nvml_process {
	uint32_t pid;
	uint64_t size;
};

/*
 * Loads and initialises it. True: `what` is its version; false: why not. May be called again, in
 * the child of a fork or after an error.
 */
bool vs_nvml_open(char *what, size_t what_size);

/* The library's device of that name, or NULL. */
void *vs_nvml_find(const struct vs_nvml_name *name);

/* Fills in all sizes; false: it does not tell. */
bool vs_nvml_get_memory(void *device, struct vs_memory_info *info);

/*
 * The processes on the device, without those of which it does not say what they hold. The number,
 * which may be more than max; -1: it does not tell.
 */
int vs_nvml_get_processes(void *device, struct vs_nvml_process *processes, uint32_t max);

#endif
