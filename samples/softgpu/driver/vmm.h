#ifndef SG_VMM_H
#define SG_VMM_H

#include "memory.h"

/*
 * Virtual memory: reserved addresses, physical memory, and mappings of one at the other. Physical
 * memory is a run of pages; a mapping is a block that lends its address to them. Device memory
 * is only ever reached through the driver, so mapping it is bookkeeping; memory located on the host
 * is really mapped, since programs use it directly.
 */

/* Undo a mapping whose block goes away. Memory lock held; the block is the caller's to remove. */
void sg_vmm_unmap_block(struct sg_block *block);

/* All mappings of the device are gone: release its physical memory. Memory lock held. */
void sg_vmm_reset(CUdevice device);

/* The reservation that holds the address, mapped or not: its range, or NULL. Memory lock held. */
const struct sg_node *sg_vmm_find_reservation(uint64_t address);

/*
 * For sharing. Memory lock held. The physical memory of a handle that is not released yet, or NULL;
 * its pages; and physical memory, with one reference, made of pages that were opened (the run is
 * its own then). NULL when memory is out.
 */
struct sg_physical *sg_vmm_get_physical(CUmemGenericAllocationHandle handle);
struct sg_run *sg_vmm_get_run(const struct sg_physical *physical);
struct sg_physical *sg_vmm_adopt(struct sg_run *run, CUdevice device);

/* For pointer attributes: the handle behind a mapping, and what it can be shared by. */
CUmemGenericAllocationHandle sg_vmm_get_handle(const struct sg_physical *physical);
unsigned sg_vmm_get_handle_types(const struct sg_physical *physical);

#endif
