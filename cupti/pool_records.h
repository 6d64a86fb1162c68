#ifndef VS_POOL_RECORDS_H
#define VS_POOL_RECORDS_H

#include "cupti_library.h"

/*
 * CUPTI's own records of memory from pools (CUPTI_ACTIVITY_KIND_MEMORY2) and of pools
 * (MEMORY_POOL): how much pools hold of which no call tells us. They come late, in buffers, on a
 * thread of CUPTI's, and are states that were sampled, no events: of a pool that calls tell of,
 * nothing is taken from them. Off unless VRAMSCOPE_CUPTI_POOLS=1: a process has one consumer of
 * records, and that may be the program itself.
 */
void vs_pool_records_begin(const struct vs_cupti_library *library);
void vs_pool_records_end(const struct vs_cupti_library *library);

/* The program takes records itself from now on. */
void vs_pool_records_yield(void);

#endif
