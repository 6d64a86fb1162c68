#ifndef VS_DEVICE_FACTS_H
#define VS_DEVICE_FACTS_H

#include "real.h"

/* What the hooks ask the driver about devices. Any thread; all answers are "not known" on failure.
 */

struct vs_device_place {
	uint32_t device;  /* VS_NO_DEVICE without a context */
	uint32_t context; /* the recorder's number of it, 0 without one */
};

/* The current context and its device, which is defined in the trace. */
struct vs_device_place vs_device_facts_get_place(const struct vs_real *real);

/* Device of the current context, defined in the trace; VS_NO_DEVICE without a context. */
uint32_t vs_device_facts_get_current(const struct vs_real *real);

/* The recorder's number of the current context, 0 without one. */
uint32_t vs_device_facts_get_context(const struct vs_real *real);

/* Device that work on a stream runs on: its own, or the current one for the default streams. */
uint32_t vs_device_facts_get_of_stream(const struct vs_real *real, CUstream stream);

/* Lets memory_info.h know which device of NVML it is; in the trace it need not be. */
void vs_device_facts_name(const struct vs_real *real, uint32_t device);

/* Define a device in the trace at its first use. */
void vs_device_facts_define(const struct vs_real *real, uint32_t device);

/*
 * Free and total memory of a device as the driver sees them now; 0 and 0 when it is not the current
 * one, or while a stream is capturing.
 */
void vs_device_facts_get_memory(const struct vs_real *real, uint32_t device, uint64_t *free_size,
				uint64_t *total_size);

#endif
