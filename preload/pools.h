#ifndef VS_POOLS_H
#define VS_POOLS_H

#include "record.h"

/*
 * What is known of each pool, by number, so that every recording of the process (a forked child has
 * its own) can define it before its first use. Lock-free, any thread. Holds VS_POOLS_MAX pools; a
 * later one has the number 0. Names are cut to VS_POOLS_NAME_MAX bytes.
 */
#define VS_POOLS_MAX      4096u
#define VS_POOLS_NAME_MAX 100u

/* A number for a new pool; `pool` is copied, its id is not looked at. */
uint32_t vs_pools_add(const struct vs_pool *pool);

/* Fills in *pool; false if there is no such number. */
bool vs_pools_get(uint32_t number, struct vs_pool *pool);

/* The number of a driver pool by its handle, a new one if need be. */
uint32_t vs_pools_get_driver(uint64_t handle, uint32_t device);

/* The same of one that was made just now. limit_size: the most it may hold, 0: not known. */
uint32_t vs_pools_create_driver(uint64_t handle, uint32_t device, uint64_t limit_size);

/* The driver pool is gone; the same handle will be another one. Returns the number it had, or 0. */
uint32_t vs_pools_forget_driver(uint64_t handle);

bool vs_pools_is_defined(uint32_t number, uint32_t recording);
void vs_pools_set_defined(uint32_t number, uint32_t recording);

#endif
