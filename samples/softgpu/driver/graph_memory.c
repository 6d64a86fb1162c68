#include "graph_memory.h"

#include <stdlib.h>
#include <string.h>

#define UNIT 512 /* alignment of allocations */

struct sg_graph_region {
	struct sg_node node; /* its addresses; in the index of regions */
	struct sg_graph_memory *memory;
	struct sg_run *run;
	CUdevice device;
	unsigned nr_users; /* launches that go on, allocations that live */
	struct sg_graph_region *next;
};

/* Addresses of a region that no allocation has, or that are free again behind a node. */
struct gap {
	struct sg_graph_region *region;
	uint64_t base, size;
	const struct sg_graph_node *freed_by; /* NULL: never used */
};

struct sg_graph_memory {
	unsigned nr_owners; /* graphs, executable graphs, live allocations */
	bool is_claimed;
	struct sg_graph_region *regions;
	struct sg_graph_allocation *allocations; /* newest first */
	struct sg_tree unfreed;                  /* those no node of the graph frees */
	struct gap *gaps;                        /* by address, as far as a region goes */
	size_t nr_gaps, gap_capacity;
};

/* The pages of a device that graphs share. held: those of regions in use. */
struct graph_pool {
	uint64_t reserved, reserved_high;
	uint64_t held, held_high;
};

static struct graph_pool pools[SG_MAX_DEVICES];
static struct sg_tree region_index;

struct sg_graph_memory *sg_graph_memory_create(void)
{
	struct sg_graph_memory *memory = calloc(1, sizeof(*memory));

	if (memory)
		memory->nr_owners = 1;
	return memory;
}

void sg_graph_memory_retain(struct sg_graph_memory *memory)
{
	sg_memory_lock();
	memory->nr_owners++;
	sg_memory_unlock();
}

static void destroy(struct sg_graph_memory *memory)
{
	while (memory->regions) {
		struct sg_graph_region *region = memory->regions;

		memory->regions = region->next;
		sg_tree_remove(&region_index, &region->node);
		sg_space_give_run(region->run);
		free(region);
	}
	while (memory->allocations) {
		struct sg_graph_allocation *allocation = memory->allocations;

		memory->allocations = allocation->next;
		free(allocation);
	}
	free(memory->gaps);
	free(memory);
}

/* Locked. */
static void release(struct sg_graph_memory *memory)
{
	if (--memory->nr_owners == 0)
		destroy(memory);
}

void sg_graph_memory_release(struct sg_graph_memory *memory)
{
	if (!memory)
		return;
	sg_memory_lock();
	release(memory);
	sg_memory_unlock();
}

/* Room for one more gap. */
static bool grow_gaps(struct sg_graph_memory *memory)
{
	size_t capacity = memory->gap_capacity ? 2 * memory->gap_capacity : 8;
	struct gap *gaps;

	if (memory->nr_gaps < memory->gap_capacity)
		return true;
	gaps = realloc(memory->gaps, capacity * sizeof(*gaps));
	if (!gaps)
		return false;
	memory->gaps = gaps;
	memory->gap_capacity = capacity;
	return true;
}

/* There must be room. Gaps of a region stay in order of address. */
static void insert_gap(struct sg_graph_memory *memory, struct gap gap)
{
	size_t place = memory->nr_gaps;

	while (place && memory->gaps[place - 1].base > gap.base)
		place--;
	memmove(&memory->gaps[place + 1], &memory->gaps[place],
		(memory->nr_gaps - place) * sizeof(gap));
	memory->gaps[place] = gap;
	memory->nr_gaps++;
}

static bool is_usable(const struct gap *gap, CUdevice device, uint64_t mark)
{
	return gap->region->device == device &&
	       (!gap->freed_by || gap->freed_by->memory_mark == mark);
}

/*
 * Take addresses from gaps that follow each other, each free before the new node; the rest of
 * the last one stays.
 */
static bool take_from_gaps(struct sg_graph_memory *memory, CUdevice device, uint64_t size,
			   uint64_t mark, struct gap *taken)
{
	for (size_t first = 0; first < memory->nr_gaps; first++) {
		uint64_t found = 0;
		size_t next = first;

		while (next < memory->nr_gaps && found < size &&
		       is_usable(&memory->gaps[next], device, mark) &&
		       memory->gaps[next].region == memory->gaps[first].region &&
		       memory->gaps[next].base == memory->gaps[first].base + found)
			found += memory->gaps[next++].size;
		if (found < size)
			continue;
		*taken = memory->gaps[first];
		taken->size = size;
		if (found > size) { /* what is left of the last one */
			next--;
			memory->gaps[next].base += memory->gaps[next].size - (found - size);
			memory->gaps[next].size = found - size;
		}
		memmove(&memory->gaps[first], &memory->gaps[next],
			(memory->nr_gaps - next) * sizeof(*taken));
		memory->nr_gaps -= next - first;
		return true;
	}
	return false;
}

/* Addresses of whole pages, wholly a gap. There is room for it. */
static bool add_region(struct sg_graph_memory *memory, CUdevice device, uint64_t size)
{
	struct sg_graph_region *region = calloc(1, sizeof(*region));

	if (!region)
		return false;
	region->run = sg_space_take_run(sg_memory_get_space(SG_MEMORY_GRAPH, device), size);
	if (!region->run) {
		free(region);
		return false;
	}
	region->node.base = region->run->pages->node.base;
	region->node.size = region->run->pages->node.size;
	region->memory = memory;
	region->device = device;
	region->next = memory->regions;
	memory->regions = region;
	sg_tree_insert(&region_index, &region->node);
	insert_gap(memory, (struct gap){region, region->node.base, region->node.size, NULL});
	return true;
}

CUresult sg_graph_memory_add(struct sg_graph_memory *memory, CUdevice device, uint64_t size,
			     uint64_t mark, struct sg_graph_allocation **allocation)
{
	uint64_t units = (size + UNIT - 1) & ~(uint64_t)(UNIT - 1);
	struct sg_graph_allocation *made;
	bool is_found = false;
	struct gap taken;

	if (units < size)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made = calloc(1, sizeof(*made));
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sg_memory_lock();
	if (grow_gaps(memory))
		is_found = take_from_gaps(memory, device, units, mark, &taken) ||
			   (add_region(memory, device, units) &&
			    take_from_gaps(memory, device, units, mark, &taken));
	if (!is_found) {
		sg_memory_unlock();
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*made = (struct sg_graph_allocation){.node = {.base = taken.base, .size = units},
					     .address = taken.base,
					     .size = size,
					     .memory = memory,
					     .region = taken.region,
					     .next = memory->allocations};
	memory->allocations = made;
	sg_tree_insert(&memory->unfreed, &made->node);
	*allocation = made;
	sg_memory_unlock();
	return CUDA_SUCCESS;
}

static void put_gap(struct sg_graph_allocation *allocation, const struct sg_graph_node *freed_by)
{
	struct sg_graph_memory *memory = allocation->memory;
	uint64_t units = (allocation->size + UNIT - 1) & ~(uint64_t)(UNIT - 1);

	/* Without room the addresses are not used again, that is all. */
	if (grow_gaps(memory))
		insert_gap(memory,
			   (struct gap){allocation->region, allocation->address, units, freed_by});
}

/* Locked. The allocation at an address that no node of its graph frees, or NULL. */
static struct sg_graph_allocation *find_unfreed(uint64_t address)
{
	const struct sg_graph_region *region =
		(const struct sg_graph_region *)(const void *)sg_tree_find(&region_index, address);

	if (!region)
		return NULL;
	/* node is the first member */
	return (struct sg_graph_allocation *)(void *)sg_tree_find(&region->memory->unfreed,
								  address);
}

CUresult sg_graph_memory_find(struct sg_graph_memory *memory, uint64_t address,
			      struct sg_graph_allocation **allocation)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct sg_graph_allocation *found;

	sg_memory_lock();
	found = find_unfreed(address);
	/* Inside or outside, not both; inside only once. */
	if (found && found->address == address &&
	    !(found->memory == memory && found->is_freed_outside)) {
		*allocation = found;
		result = CUDA_SUCCESS;
	}
	sg_memory_unlock();
	return result;
}

void sg_graph_memory_note_free(struct sg_graph_memory *memory,
			       struct sg_graph_allocation *allocation,
			       const struct sg_graph_node *node)
{
	sg_memory_lock();
	if (allocation->memory == memory) {
		allocation->is_freed_inside = true;
		sg_tree_remove(&memory->unfreed, &allocation->node);
		put_gap(allocation, node);
	} else {
		allocation->is_freed_outside = true;
		allocation->memory->nr_owners++;
	}
	sg_memory_unlock();
}

bool sg_graph_memory_claim(struct sg_graph_memory *memory)
{
	bool was_claimed;

	sg_memory_lock();
	was_claimed = memory->is_claimed;
	memory->is_claimed = true;
	sg_memory_unlock();
	return !was_claimed;
}

void sg_graph_memory_unclaim(struct sg_graph_memory *memory)
{
	sg_memory_lock();
	memory->is_claimed = false;
	sg_memory_unlock();
}

/* Locked. */
static void use_region(struct sg_graph_region *region)
{
	struct graph_pool *pool = &pools[region->device];

	if (region->nr_users++)
		return;
	pool->held += region->node.size;
	if (pool->held > pool->held_high)
		pool->held_high = pool->held;
}

static void unuse_region(struct sg_graph_region *region)
{
	if (--region->nr_users == 0)
		pools[region->device].held -= region->node.size;
}

/* Locked. Pages for what a pool holds. */
static bool back_pool(CUdevice device)
{
	struct graph_pool *pool = &pools[device];
	uint64_t missing = pool->held > pool->reserved ? pool->held - pool->reserved : 0;

	if (missing && !sg_space_charge(device, missing))
		return false;
	pool->reserved += missing;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	return true;
}

/* Locked. */
static void end(struct sg_graph_memory *memory)
{
	for (struct sg_graph_region *r = memory->regions; r; r = r->next)
		unuse_region(r);
}

static CUresult begin(struct sg_graph_memory *memory)
{
	uint64_t high[SG_MAX_DEVICES];
	bool is_backed = true;

	for (CUdevice d = 0; d < SG_MAX_DEVICES; d++)
		high[d] = pools[d].held_high;
	for (struct sg_graph_region *r = memory->regions; r; r = r->next)
		use_region(r);
	for (struct sg_graph_region *r = memory->regions; r && is_backed; r = r->next)
		is_backed = back_pool(r->device);
	if (is_backed)
		return CUDA_SUCCESS;
	/* Nothing was used after all. */
	end(memory);
	for (CUdevice d = 0; d < SG_MAX_DEVICES; d++)
		pools[d].held_high = high[d];
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Locked. The memory stays, whoever holds it besides. */
static CUresult free_live(struct sg_graph_memory *memory, bool is_auto_free)
{
	for (struct sg_graph_allocation *a = memory->allocations; a; a = a->next) {
		struct sg_block *block = a->is_live ? sg_memory_find(a->address) : NULL;

		if (!block)
			continue;
		if (!is_auto_free)
			return CUDA_ERROR_INVALID_VALUE;
		sg_graph_memory_give(block);
		sg_memory_remove(block);
	}
	return CUDA_SUCCESS;
}

CUresult sg_graph_memory_begin(struct sg_graph_memory *memory, bool is_auto_free)
{
	CUresult result;

	sg_memory_lock();
	result = free_live(memory, is_auto_free);
	if (result == CUDA_SUCCESS)
		result = begin(memory);
	sg_memory_unlock();
	return result;
}

void sg_graph_memory_end(struct sg_graph_memory *memory)
{
	sg_memory_lock();
	end(memory);
	sg_memory_unlock();
}

CUresult sg_graph_memory_upload(struct sg_graph_memory *memory)
{
	CUresult result;

	sg_memory_lock();
	result = begin(memory);
	if (result == CUDA_SUCCESS)
		end(memory);
	sg_memory_unlock();
	return result;
}

CUresult sg_graph_memory_allocate(struct sg_graph_allocation *allocation)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct sg_block *block = NULL, *next;

	sg_memory_lock();
	next = sg_memory_find_from(allocation->address);
	/* Two launches of one graph at once, if anything, can meet here. */
	if (allocation->is_live ||
	    (next && next->node.base < allocation->address + allocation->size))
		goto unlock;
	result = CUDA_ERROR_OUT_OF_MEMORY;
	block = sg_memory_create_block();
	if (!block)
		goto unlock;
	block->node.base = allocation->address;
	block->node.size = allocation->size;
	block->kind = SG_MEMORY_GRAPH;
	block->device = allocation->region->device;
	block->run = allocation->region->run;
	block->allocation = allocation;
	sg_memory_insert(block);
	allocation->is_live = true;
	allocation->memory->nr_owners++;
	use_region(allocation->region);
	result = CUDA_SUCCESS;
unlock:
	sg_memory_unlock();
	return result;
}

CUresult sg_graph_memory_free(struct sg_graph_allocation *allocation)
{
	struct sg_block *block;

	sg_memory_lock();
	block = allocation->is_live ? sg_memory_find(allocation->address) : NULL;
	if (block) {
		sg_graph_memory_give(block);
		sg_memory_remove(block);
	}
	sg_memory_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool sg_graph_memory_is_live(const struct sg_graph_allocation *allocation)
{
	bool is_live;

	sg_memory_lock();
	is_live = allocation->is_live;
	sg_memory_unlock();
	return is_live;
}

void sg_graph_memory_give(struct sg_block *block)
{
	struct sg_graph_allocation *allocation = block->allocation;

	allocation->is_live = false;
	unuse_region(allocation->region);
	release(allocation->memory);
}

bool sg_graph_memory_describe(uint64_t address, struct sg_block *block)
{
	const struct sg_graph_allocation *found = find_unfreed(address);

	if (!found || address - found->address >= found->size)
		return false;
	*block = (struct sg_block){.node = {.base = found->address, .size = found->size},
				   .kind = SG_MEMORY_GRAPH,
				   .device = found->region->device,
				   .run = found->region->run};
	return true;
}

/* Locked. Pages of regions nobody uses go, and with them what was written there. */
static void trim(CUdevice device)
{
	struct graph_pool *pool = &pools[device];
	struct sg_node *node = sg_tree_find_from(&region_index, 0);

	for (; node; node = sg_tree_find_from(&region_index, node->base + node->size)) {
		const struct sg_graph_region *region = (const void *)node;
		struct sg_run *run = region->run;

		if (region->device != device || region->nr_users || !run->is_written)
			continue;
		sg_arena_discard(sg_space_locate(run, node->base), node->base, node->size);
		run->is_written = false;
	}
	sg_space_uncharge(device, pool->reserved - pool->held);
	pool->reserved = pool->held;
}

void sg_graph_memory_reset(CUdevice device)
{
	trim(device);
	pools[device].held_high = pools[device].held;
	pools[device].reserved_high = pools[device].reserved;
}

SG_API CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	CUresult result = sg_init_check_device(device);

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	trim(device);
	sg_memory_unlock();
	return CUDA_SUCCESS;
}

/* The figure an attribute stands for, NULL if it is none. */
static uint64_t *find_figure(CUdevice device, CUgraphMem_attribute attr)
{
	switch (attr) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		return &pools[device].held;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		return &pools[device].held_high;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		return &pools[device].reserved;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		return &pools[device].reserved_high;
	default:
		return NULL;
	}
}

SG_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
					     void *value)
{
	const uint64_t *figure;
	CUresult result = sg_init_check_device(device);

	if (result != CUDA_SUCCESS)
		return result;
	figure = find_figure(device, attr);
	if (!figure || !value)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	memcpy(value, figure, sizeof(*figure));
	sg_memory_unlock();
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
					     void *value)
{
	cuuint64_t number;
	CUresult result = sg_init_check_device(device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value || (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
		       attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&number, value, sizeof(number));
	/* "High watermark can only be reset to zero": it is what there is now. */
	if (number)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	if (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		pools[device].held_high = pools[device].held;
	else
		pools[device].reserved_high = pools[device].reserved;
	sg_memory_unlock();
	return CUDA_SUCCESS;
}
