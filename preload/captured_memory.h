#ifndef VS_CAPTURED_MEMORY_H
#define VS_CAPTURED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory and addresses that were taken from the driver while some stream was capturing. A framework
 * that keeps a pool of its own for graphs (PyTorch does) takes them for that pool: blocks that lie
 * here are of it. Derived, not known: another thread may have asked meanwhile, for another pool.
 *
 * Lock-free, any thread. Holds VS_CAPTURED_MEMORY_MAX ranges; what comes later is not noticed.
 */
#define VS_CAPTURED_MEMORY_MAX 256u

/* Memory came; nothing happens unless there is a capture. And: the memory at the address goes. */
void vs_captured_memory_add(uint64_t address, uint64_t size);
void vs_captured_memory_remove(uint64_t address);

bool vs_captured_memory_has(uint64_t address);

#endif
