#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "external.h"
#include "graph_memory.h"
#include "ipc.h"
#include "pool.h"
#include "vmm.h"

#define DEVICE_UNIT 512  /* alignment of device memory */
#define HOST_UNIT   4096 /* of pinned memory */

static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* All guarded by the lock. */
static struct sg_tree block_index;
static struct sg_block *spare_blocks;
static unsigned long long next_id = 1;
static struct sg_space device_spaces[SG_MAX_DEVICES];
static struct sg_space managed_spaces[SG_MAX_DEVICES];
static struct sg_space physical_spaces[SG_MAX_DEVICES];
static struct sg_space array_spaces[SG_MAX_DEVICES];
static struct sg_space graph_spaces[SG_MAX_DEVICES];
static struct sg_space host_space;
static int nr_contexts[SG_MAX_DEVICES];

static void init_spaces(void)
{
	const bool is_packed = sg_config_get()->profile.addresses == SG_ADDRESSES_PACKED;

	for (CUdevice d = 0; d < SG_MAX_DEVICES; d++) {
		sg_space_init(&device_spaces[d], "softgpu-device", d, DEVICE_UNIT);
		sg_space_init(&managed_spaces[d], "softgpu-managed", d, DEVICE_UNIT);
		sg_space_init(&physical_spaces[d], "softgpu-physical", d, SG_PAGE_SIZE);
		sg_space_init(&array_spaces[d], "softgpu-array", d, DEVICE_UNIT);
		/* Addresses alone: the pages behind them are charged by graph_memory.c. */
		sg_space_init(&graph_spaces[d], "softgpu-graph", -1, DEVICE_UNIT);
		device_spaces[d].arena.is_packed = is_packed;
		managed_spaces[d].arena.is_packed = is_packed;
		managed_spaces[d].is_host_visible = true;
		managed_spaces[d].is_evictable = sg_config_get()->profile.has_oversubscription;
		sg_space_set_victim(&managed_spaces[d]);
	}
	sg_space_init(&host_space, "softgpu-host", -1, HOST_UNIT);
	host_space.is_host_visible = true;
}

void sg_memory_lock(void)
{
	pthread_once(&once, init_spaces);
	pthread_mutex_lock(&lock);
}

void sg_memory_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static struct sg_block *from_node(struct sg_node *node)
{
	/* node is the first member */
	return (struct sg_block *)(void *)node;
}

struct sg_block *sg_memory_find(uint64_t address)
{
	return from_node(sg_tree_find(&block_index, address));
}

struct sg_block *sg_memory_find_from(uint64_t address)
{
	return from_node(sg_tree_find_from(&block_index, address));
}

bool sg_memory_is_ours(uint64_t address)
{
	if (sg_arena_holds(&host_space.arena, address) || sg_vmm_find_reservation(address))
		return true;
	for (CUdevice d = 0; d < sg_init_get_nr_devices(); d++)
		if (sg_arena_holds(&device_spaces[d].arena, address) ||
		    sg_arena_holds(&managed_spaces[d].arena, address) ||
		    sg_arena_holds(&physical_spaces[d].arena, address) ||
		    sg_arena_holds(&array_spaces[d].arena, address) ||
		    sg_arena_holds(&graph_spaces[d].arena, address))
			return true;
	return false;
}

struct sg_block *sg_memory_create_block(void)
{
	struct sg_block *block = spare_blocks;

	if (block)
		spare_blocks = block->spare;
	else
		block = malloc(sizeof(*block));
	if (block)
		memset(block, 0, sizeof(*block));
	return block;
}

void sg_memory_insert(struct sg_block *block)
{
	block->id = next_id++;
	sg_tree_insert(&block_index, &block->node);
}

static void recycle(struct sg_block *block)
{
	block->spare = spare_blocks;
	spare_blocks = block;
}

void sg_memory_remove(struct sg_block *block)
{
	sg_tree_remove(&block_index, &block->node);
	recycle(block);
}

struct sg_space *sg_memory_get_space(enum sg_memory_kind kind, CUdevice device)
{
	switch (kind) {
	case SG_MEMORY_MANAGED:
		return &managed_spaces[device];
	case SG_MEMORY_MAPPED:
		return device < 0 ? &host_space : &physical_spaces[device];
	case SG_MEMORY_PINNED:
	case SG_MEMORY_REGISTERED:
		return &host_space;
	case SG_MEMORY_ARRAY:
		return &array_spaces[device];
	case SG_MEMORY_GRAPH:
		return &graph_spaces[device];
	default:
		return device < 0 ? &host_space : &device_spaces[device];
	}
}

/* Pages or a part of a page for the block. */
static bool place_block(struct sg_block *block, struct sg_space *space, uint64_t size)
{
	if (size <= sg_space_get_small_limit(space)) {
		block->piece = sg_space_take_small(space, size);
		if (!block->piece)
			return false;
		block->run = sg_space_get_run(block->piece);
		block->node.base = block->piece->node.base;
	} else {
		block->run = sg_space_take_run(space, size);
		if (!block->run)
			return false;
		block->node.base = block->run->pages->node.base;
	}
	block->node.size = size;
	return true;
}

CUresult sg_memory_alloc(enum sg_memory_kind kind, struct sg_context *context, uint64_t size,
			 unsigned flags, CUdeviceptr *address)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	struct sg_block *block;

	sg_memory_lock();
	block = sg_memory_create_block();
	if (!block)
		goto unlock;
	if (!place_block(block, sg_memory_get_space(kind, context->device), size)) {
		recycle(block);
		goto unlock;
	}
	block->kind = kind;
	block->device = context->device;
	block->flags = flags;
	block->context = context;
	sg_memory_insert(block);
	*address = block->node.base;
	result = CUDA_SUCCESS;
unlock:
	sg_memory_unlock();
	return result;
}

/* Give the block's memory back. Locked. */
static void free_block(struct sg_block *block)
{
	sg_ipc_forget(block);
	switch (block->kind) {
	case SG_MEMORY_POOL:
		sg_pool_give(block);
		break;
	case SG_MEMORY_MAPPED:
		sg_vmm_unmap_block(block);
		break;
	case SG_MEMORY_GRAPH:
		sg_graph_memory_give(block);
		break;
	case SG_MEMORY_REGISTERED:
		break;
	default:
		if (block->piece)
			sg_space_give_small(block->run->space, block->piece);
		else
			sg_space_give_run(block->run);
	}
	sg_advice_forget(block);
	sg_memory_remove(block);
}

CUresult sg_memory_free(CUdeviceptr address, unsigned kinds)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct sg_block *block;

	sg_memory_lock();
	block = sg_memory_find(address);
	if (block && block->node.base == address && (kinds & SG_MEMORY_IS(block->kind))) {
		free_block(block);
		result = CUDA_SUCCESS;
	}
	sg_memory_unlock();
	return result;
}

CUresult sg_memory_alloc_module(struct sg_context *context, size_t size, CUdeviceptr *address)
{
	return sg_memory_alloc(SG_MEMORY_MODULE, context, size ? size : 1, 0, address);
}

void sg_memory_free_module(CUdeviceptr address)
{
	/* Gone already if its context went first. */
	if (sg_memory_free(address, SG_MEMORY_IS(SG_MEMORY_MODULE)) != CUDA_SUCCESS)
		return;
}

void sg_memory_write(CUdeviceptr address, const void *bytes, size_t size)
{
	struct sg_span span;

	if (!sg_memory_get_span(address, size, true, &span) || span.size < size)
		return;
	if (span.run)
		span.run->is_written = true;
	memcpy(span.bytes, bytes, size);
}

/* Free all blocks the predicate wants. Locked. */
static void free_matching(bool (*wants)(const struct sg_block *block, const void *argument),
			  const void *argument)
{
	struct sg_block *block = sg_memory_find_from(0);

	while (block) {
		uint64_t end = block->node.base + block->node.size;

		if (wants(block, argument))
			free_block(block);
		block = sg_memory_find_from(end);
	}
}

static bool is_of_context(const struct sg_block *block, const void *context)
{
	return block->context == context;
}

static bool is_of_device(const struct sg_block *block, const void *device)
{
	return block->device == *(const CUdevice *)device && !block->context;
}

void sg_memory_free_context(struct sg_context *context)
{
	sg_memory_lock();
	free_matching(is_of_context, context);
	sg_memory_unlock();
}

void sg_memory_free_device(CUdevice device)
{
	sg_memory_lock();
	free_matching(is_of_device, &device);
	sg_pool_reset(device);
	sg_graph_memory_reset(device);
	sg_vmm_reset(device);
	sg_external_reset(device);
	sg_memory_unlock();
}

void sg_memory_synchronize(CUdevice device)
{
	if (!sg_pool_is_releasable(device))
		return;
	sg_memory_lock();
	sg_pool_release_excess(device);
	sg_memory_unlock();
}

CUresult sg_memory_charge_context(CUdevice device)
{
	uint64_t size = sg_config_get()->profile.context_size;
	CUresult result = CUDA_SUCCESS;

	sg_memory_lock();
	if (nr_contexts[device] == 0 && !sg_space_charge(device, size))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	else
		nr_contexts[device]++;
	sg_memory_unlock();
	return result;
}

void sg_memory_uncharge_context(CUdevice device)
{
	sg_memory_lock();
	if (--nr_contexts[device] == 0)
		sg_space_uncharge(device, sg_config_get()->profile.context_size);
	sg_memory_unlock();
}

/* Locked. */
static bool may_access(const struct sg_block *block, bool is_write)
{
	unsigned flags = block->host_access;

	if (block->kind != SG_MEMORY_MAPPED)
		return true;
	for (CUdevice d = 0; d < SG_MAX_DEVICES; d++)
		flags |= block->access[d];
	/* READ is 1, READWRITE is 3. */
	return is_write ? (flags & 2) != 0 : flags != 0;
}

bool sg_memory_get_span(uint64_t address, uint64_t size, bool is_write, struct sg_span *span)
{
	struct sg_block *block;
	uint64_t inside, left, bytes = address;
	bool found = false;

	sg_memory_lock();
	block = sg_memory_find(address);
	if (!block || !may_access(block, is_write))
		goto unlock;
	inside = address - block->node.base;
	left = block->node.size - inside;
	/* Mapped memory of a device has its bytes elsewhere; that of the host is where it is. */
	if (block->kind == SG_MEMORY_MAPPED && block->device >= 0)
		bytes = block->run->pages->node.base + block->offset + inside;
	*span = (struct sg_span){
		.bytes = (char *)(uintptr_t)bytes,
		.size = size < left ? size : left,
		.place = {.fd = -1},
		.run = block->run,
		.device = block->device,
		.is_host = !block->run || block->run->space->is_host_visible,
	};
	if (block->run && (block->kind != SG_MEMORY_MAPPED || block->device >= 0))
		span->place = sg_space_locate(block->run, bytes);
	found = true;
unlock:
	sg_memory_unlock();
	return found;
}
