#ifndef VS_FAILURES_H
#define VS_FAILURES_H

#include "instant.h"
#include "replay.h"

/*
 * Requests that failed, and which of them failed for good: docs/analyses.md, "Failures". Requests
 * of one thread for one kind and device are looked at in order. A failed one is recovered if the
 * next one asks for the same size and succeeds, repeated if that fails again, otherwise final: an
 * out-of-memory. A pool's own report is an out-of-memory, and driver failures under it (since the
 * thread's latest request to a pool) are part of it. A driver failure that names the pool it was
 * asked by is none by itself: recovered, if the pool reports nothing.
 */
struct vs_failure {
	struct vs_instant at;
	uint64_t size;
	uint64_t free_size;  /* as the driver told; */
	uint64_t total_size; /* 0: not known */
	uint32_t error;
	uint32_t thread;
	uint32_t text;        /* name: what the pool said, VS_NO_ID if nothing */
	uint64_t driver_size; /* a pool's: what it asked of the driver, or 0 */
	const struct vs_replay_pool *driver_pool; /* that was asked in the end; NULL: none was */
};

/* Failures from one site, for one kind of memory or pool, a driver pool included. */
struct vs_failure_group {
	const struct vs_site *site;
	const struct vs_replay_device *device;
	const struct vs_replay_pool *pool;        /* NULL: of the driver */
	const struct vs_replay_pool *driver_pool; /* that was asked; NULL: none was */
	enum vs_memory_kind kind;
	uint32_t api;
	uint64_t nr_failed;
	uint64_t nr_recovered;
	uint64_t nr_absorbed; /* are part of a pool's out-of-memory */
	uint64_t nr_ooms;
	uint64_t first_ns; /* of the failures */
	uint64_t last_ns;
	struct vs_failure first_oom;
	struct vs_failure last_oom; /* if nr_ooms */
};

struct vs_failures {
	struct vs_observer observer;
	struct vs_failure_group **groups; /* in order of their first failure */
	size_t nr_groups;
	size_t groups_capacity;
	struct vs_id_map by_key;
	struct vs_id_map threads; /* struct failure_thread */
};

void vs_failures_init(struct vs_failures *failures);
void vs_failures_fini(struct vs_failures *failures);

/* Out-of-memories of a device, or of a pool. */
uint64_t vs_failures_count_device(const struct vs_failures *failures,
				  const struct vs_replay_device *device);
uint64_t vs_failures_count_pool(const struct vs_failures *failures,
				const struct vs_replay_pool *pool);

/* Failures of a device that were served when asked again. */
uint64_t vs_failures_count_recovered(const struct vs_failures *failures,
				     const struct vs_replay_device *device);

/* The group with the latest out-of-memory of the device (NULL: any), or NULL. */
const struct vs_failure_group *vs_failures_get_last(const struct vs_failures *failures,
						    const struct vs_replay_device *device);

#endif
