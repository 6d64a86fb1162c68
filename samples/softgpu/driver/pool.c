#include "pool.h"

#include <stdatomic.h>
#include <string.h>

#include "capture.h"
#include "object.h"
#include "sharing.h"
#include "stream.h"

#define POOL_UNIT  512                  /* alignment of blocks */
#define POOL_PIECE ((uint64_t)32 << 20) /* what a pool asks the device for, where it can */

struct sg_pool {
	CUmemPoolProps props;
	CUdevice device; /* -1: host memory */
	bool is_default;
	bool is_destroyed; /* the program is done with it; gone with its last block */
	bool is_imported;  /* of another process */
	struct sg_share_key key;
	uint64_t nr_blocks;
	struct sg_extents extents; /* regions are runs */
	uint64_t threshold;
	uint64_t used, used_high;
	uint64_t reserved, reserved_high;
	int reuse_follow_events, reuse_opportunistic, reuse_internal;
	unsigned char access[SG_MAX_DEVICES];
};

/* Guarded by the memory lock. */
static struct sg_pool *default_pools[SG_MAX_DEVICES];
static struct sg_pool *current_pools[SG_MAX_DEVICES];
/* Set when a pool got a wholly free piece, cleared when all were looked through. */
static _Atomic bool is_releasable[SG_MAX_DEVICES];

static struct sg_pool *get_pool(CUmemoryPool handle)
{
	struct sg_pool *pool = sg_object_get(SG_OBJECT_POOL, handle);

	return pool && !pool->is_destroyed ? pool : NULL;
}

struct sg_pool *sg_pool_get(CUmemoryPool handle)
{
	return get_pool(handle);
}

CUmemoryPool sg_pool_get_handle(const struct sg_pool *pool)
{
	return (CUmemoryPool)(uintptr_t)pool;
}

unsigned sg_pool_get_handle_types(const struct sg_pool *pool)
{
	return (unsigned)pool->props.handleTypes;
}

unsigned sg_pool_get_access(const struct sg_pool *pool, CUdevice device)
{
	/* Memory of the host can be reached by everybody. */
	return pool->device < 0 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : pool->access[device];
}

static void set_defaults(struct sg_pool *pool)
{
	pool->threshold = 0;
	pool->reuse_follow_events = 1;
	pool->reuse_opportunistic = 1;
	pool->reuse_internal = 1;
	memset(pool->access, 0, sizeof(pool->access));
	if (pool->device >= 0)
		pool->access[pool->device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static struct sg_pool *create_pool(const CUmemPoolProps *props, CUdevice device)
{
	struct sg_pool *pool = sg_object_create(SG_OBJECT_POOL, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->props = *props;
	pool->device = device;
	set_defaults(pool);
	return pool;
}

struct sg_pool *sg_pool_import(const struct sg_share_key *key, CUdevice device)
{
	const CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
	struct sg_pool *pool = create_pool(&props, device);

	if (!pool)
		return NULL;
	pool->is_imported = true;
	pool->key = *key;
	return pool;
}

bool sg_pool_is_imported(const struct sg_pool *pool)
{
	return pool->is_imported;
}

struct sg_share_key *sg_pool_get_key(struct sg_pool *pool)
{
	return &pool->key;
}

CUdevice sg_pool_get_device(const struct sg_pool *pool)
{
	return pool->device;
}

static struct sg_pool *get_default_pool(CUdevice device)
{
	if (!default_pools[device]) {
		const CUmemPoolProps props = {
			.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
		};

		default_pools[device] = create_pool(&props, device);
		if (default_pools[device])
			default_pools[device]->is_default = true;
	}
	return default_pools[device];
}

static struct sg_pool *get_current_pool(CUdevice device)
{
	return current_pools[device] ? current_pools[device] : get_default_pool(device);
}

/* Give back free pieces, as long as the pool keeps at least `keep` bytes. */
static void trim_pool(struct sg_pool *pool, uint64_t keep)
{
	struct sg_node *node = sg_tree_find_from(&pool->extents.free, 0);

	while (node) {
		struct sg_extent *piece = (struct sg_extent *)(void *)node;
		uint64_t end = node->base + node->size;

		if (!piece->neighbour[0] && !piece->neighbour[1] &&
		    pool->reserved - node->size >= keep) {
			pool->reserved -= node->size;
			sg_space_give_run(piece->region);
			sg_extents_drop(&pool->extents, piece);
		}
		node = sg_tree_find_from(&pool->extents.free, end);
	}
}

static void destroy_if_done(struct sg_pool *pool)
{
	if (!pool->is_destroyed || pool->nr_blocks)
		return;
	trim_pool(pool, 0);
	sg_extents_fini(&pool->extents);
	if (pool->key.id)
		sg_share_close(sg_init_get_card(), &pool->key);
	sg_object_destroy(SG_OBJECT_POOL, pool);
}

static bool grow_pool(struct sg_pool *pool, uint64_t size)
{
	struct sg_space *space = sg_memory_get_space(SG_MEMORY_POOL, pool->device);
	uint64_t wanted = (size + POOL_PIECE - 1) & ~(POOL_PIECE - 1);
	uint64_t most = pool->props.maxSize ? pool->props.maxSize : UINT64_MAX;
	struct sg_run *(*take)(struct sg_space * space, uint64_t size) =
		pool->props.handleTypes ? sg_sharing_take_run : sg_space_take_run;
	struct sg_run *run = NULL;

	if (size > most || wanted < size)
		return false;
	if (pool->reserved + wanted <= most)
		run = take(space, wanted);
	size = (size + SG_PAGE_SIZE - 1) & ~(SG_PAGE_SIZE - 1);
	if (!run && pool->reserved + size <= most)
		run = take(space, size);
	if (!run)
		return false;
	if (!sg_extents_add(&pool->extents, run->pages->node.base, run->pages->node.size, run)) {
		sg_space_give_run(run);
		return false;
	}
	pool->reserved += run->pages->node.size;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	/* Free pieces that the threshold has held back so far may be more than it asks for now. */
	if (pool->device >= 0)
		is_releasable[pool->device] = true;
	return true;
}

/* Locked. */
static struct sg_extent *take_piece(struct sg_pool *pool, uint64_t size)
{
	struct sg_extent *piece = sg_extents_take_low(&pool->extents, size);

	if (piece)
		return piece;
	if (!grow_pool(pool, size)) {
		/* Free pieces that are each too small may together be what is missing. */
		trim_pool(pool, 0);
		if (!grow_pool(pool, size))
			return NULL;
	}
	return sg_extents_take_low(&pool->extents, size);
}

/* A block of the pool, counted as `units` bytes. NULL: no memory. */
static struct sg_block *add_block(struct sg_pool *pool, struct sg_run *run, uint64_t base,
				  uint64_t size, uint64_t units)
{
	struct sg_block *block = sg_memory_create_block();

	if (!block)
		return NULL;
	block->node.base = base;
	block->node.size = size;
	block->kind = SG_MEMORY_POOL;
	block->device = pool->device;
	block->run = run;
	block->pool = pool;
	sg_memory_insert(block);
	pool->nr_blocks++;
	pool->used += units;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return block;
}

struct sg_block *sg_pool_open(struct sg_pool *pool, struct sg_run *run, uint64_t offset,
			      uint64_t size)
{
	return add_block(pool, run, run->pages->node.base + offset, size, size);
}

static CUresult alloc_block(struct sg_pool *pool, uint64_t size, CUdeviceptr *address)
{
	uint64_t units = (size + POOL_UNIT - 1) & ~(uint64_t)(POOL_UNIT - 1);
	struct sg_block *block;
	struct sg_extent *piece;

	/* "Imported memory pools do not support creating new allocations." */
	if (pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	if (units < size)
		return CUDA_ERROR_OUT_OF_MEMORY;
	piece = take_piece(pool, units);
	if (!piece)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block = add_block(pool, piece->region, piece->node.base, size, units);
	if (!block) {
		sg_extents_put(&pool->extents, piece);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	block->piece = piece;
	*address = block->node.base;
	return CUDA_SUCCESS;
}

void sg_pool_give(struct sg_block *block)
{
	struct sg_pool *pool = block->pool;
	struct sg_extent *whole;

	pool->nr_blocks--;
	if (pool->is_imported) {
		pool->used -= block->node.size;
		sg_space_give_run(block->run);
		destroy_if_done(pool);
		return;
	}
	pool->used -= block->piece->node.size;
	whole = sg_extents_put(&pool->extents, block->piece);
	if (!whole->neighbour[0] && !whole->neighbour[1] && pool->device >= 0)
		is_releasable[pool->device] = true;
	destroy_if_done(pool);
}

bool sg_pool_is_releasable(CUdevice device)
{
	return is_releasable[device];
}

static void release_excess(void *object, void *argument)
{
	struct sg_pool *pool = object;

	if (pool->device == *(CUdevice *)argument && pool->reserved > pool->threshold)
		trim_pool(pool, pool->threshold);
}

void sg_pool_release_excess(CUdevice device)
{
	is_releasable[device] = false;
	sg_object_for_each(SG_OBJECT_POOL, release_excess, &device);
}

static void reset_pool(void *object, void *argument)
{
	struct sg_pool *pool = object;

	if (pool->device != *(CUdevice *)argument)
		return;
	trim_pool(pool, 0);
	pool->used_high = 0;
	pool->reserved_high = 0;
	if (pool->is_default)
		set_defaults(pool);
}

void sg_pool_reset(CUdevice device)
{
	sg_object_for_each(SG_OBJECT_POOL, reset_pool, &device);
	current_pools[device] = NULL;
}

/*
 * The device of a stream-ordered call: that of the stream, or of the current context for the
 * default streams.
 */
static CUresult get_stream_device(CUstream handle, CUdevice *device)
{
	struct sg_context *context;
	struct sg_stream *stream;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	result = sg_stream_get(handle, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (stream) {
		*device = stream->context->device;
		return CUDA_SUCCESS;
	}
	result = sg_context_get_current(&context);
	if (result == CUDA_SUCCESS)
		*device = context->device;
	return result;
}

/* In a capture memory of the pool's device comes from a node, not from the pool. */
static CUresult capture_alloc(CUstream stream, CUdevice device, size_t size, CUdeviceptr *address,
			      bool *is_captured)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult result;

	params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	params.alloc.poolProps.location.id = device;
	params.alloc.bytesize = size;
	result = sg_capture_enqueue(stream, &params, is_captured);
	if (result == CUDA_SUCCESS && *is_captured)
		*address = params.alloc.dptr;
	return result;
}

SG_API CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct sg_pool *pool;
	CUdevice device;
	bool is_captured;
	CUresult result = get_stream_device(hStream, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || !bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	result = capture_alloc(hStream, device, bytesize, dptr, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	sg_memory_lock();
	pool = get_current_pool(device);
	result = pool ? alloc_block(pool, bytesize, dptr) : CUDA_ERROR_OUT_OF_MEMORY;
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
					CUstream hStream)
{
	struct sg_pool *from;
	CUdevice device;
	bool is_captured = false;
	CUresult result = get_stream_device(hStream, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || !bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	from = get_pool(pool);
	device = from ? from->device : -1;
	sg_memory_unlock();
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	result = capture_alloc(hStream, device, bytesize, dptr, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	sg_memory_lock();
	from = get_pool(pool);
	result = from ? alloc_block(from, bytesize, dptr) : CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
	CUdevice device;
	bool is_captured;
	CUresult result = get_stream_device(hStream, &device);

	if (result != CUDA_SUCCESS)
		return result;
	params.free.dptr = dptr;
	result = sg_capture_enqueue(hStream, &params, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	/* The real driver takes memory of the synchronous calls, too. */
	return sg_memory_free(dptr, SG_MEMORY_IS(SG_MEMORY_POOL) | SG_MEMORY_IS(SG_MEMORY_DEVICE) |
					    SG_MEMORY_IS(SG_MEMORY_MANAGED) |
					    SG_MEMORY_IS(SG_MEMORY_GRAPH));
}

/* The device a pool's memory is on (-1: host), or why there is none. */
static CUresult check_location(const CUmemPoolProps *props, CUdevice *device)
{
	switch (props->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*device = props->location.id;
		return sg_init_check_device(*device) == CUDA_SUCCESS ? CUDA_SUCCESS
								     : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*device = -1;
		return props->handleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS
								     : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	const unsigned shareable = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	struct sg_pool *created;
	CUdevice device;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (poolProps->handleTypes & ~shareable)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = check_location(poolProps, &device);
	if (result != CUDA_SUCCESS)
		return result;
	/* A pool is seen by those that go through all pools as soon as it is there. */
	sg_memory_lock();
	created = create_pool(poolProps, device);
	sg_memory_unlock();
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pool = sg_pool_get_handle(created);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct sg_pool *gone;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	gone = get_pool(pool);
	if (!gone || gone->is_default) {
		result = CUDA_ERROR_INVALID_VALUE;
		goto unlock;
	}
	for (CUdevice d = 0; d < SG_MAX_DEVICES; d++)
		if (current_pools[d] == gone)
			current_pools[d] = NULL;
	gone->is_destroyed = true;
	destroy_if_done(gone);
unlock:
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	struct sg_pool *trimmed;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	trimmed = get_pool(pool);
	if (trimmed)
		trim_pool(trimmed, minBytesToKeep);
	sg_memory_unlock();
	return trimmed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_attribute(struct sg_pool *pool, CUmemPool_attribute attr, const void *value)
{
	cuuint64_t number = 0;
	int flag = 0;

	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		memcpy(&flag, value, sizeof(flag));
		break;
	default:
		memcpy(&number, value, sizeof(number));
	}
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		pool->reuse_follow_events = flag != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		pool->reuse_opportunistic = flag != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse_internal = flag != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->threshold = number;
		/* A lower threshold may let go of pieces that were free before. */
		if (pool->device >= 0)
			is_releasable[pool->device] = true;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		if (number)
			return CUDA_ERROR_INVALID_VALUE;
		pool->reserved_high = pool->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (number)
			return CUDA_ERROR_INVALID_VALUE;
		pool->used_high = pool->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sg_pool *changed;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	changed = get_pool(pool);
	result = changed && value ? set_attribute(changed, attr, value) : CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

static CUresult get_attribute(const struct sg_pool *pool, CUmemPool_attribute attr, void *value)
{
	cuuint64_t number;
	int flag;

	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		flag = pool->reuse_follow_events;
		goto give_flag;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		flag = pool->reuse_opportunistic;
		goto give_flag;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		flag = pool->reuse_internal;
		goto give_flag;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		number = pool->threshold;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		number = pool->reserved;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		number = pool->reserved_high;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		number = pool->used;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		number = pool->used_high;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	memcpy(value, &number, sizeof(number));
	return CUDA_SUCCESS;
give_flag:
	memcpy(value, &flag, sizeof(flag));
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sg_pool *asked;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	asked = get_pool(pool);
	result = asked && value ? get_attribute(asked, attr, value) : CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}

static CUresult set_access(struct sg_pool *pool, const CUmemAccessDesc *map, size_t count)
{
	/* All or nothing: look before anything is changed. */
	for (size_t i = 0; i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    sg_init_check_device(map[i].location.id) != CUDA_SUCCESS ||
		    (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		     map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return CUDA_ERROR_INVALID_VALUE;
		/* The device a pool lives on cannot lose it. */
		if (map[i].location.id == pool->device &&
		    map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < count; i++)
		pool->access[map[i].location.id] = (unsigned char)map[i].flags;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	struct sg_pool *changed;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	changed = get_pool(pool);
	if (!changed || (!map && count))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		result = set_access(changed, map, count);
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
				   CUmemLocation *location)
{
	struct sg_pool *asked;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	asked = get_pool(memPool);
	if (!flags || !asked || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (sg_init_check_device(location->id) != CUDA_SUCCESS)
		result = CUDA_ERROR_INVALID_DEVICE;
	else
		*flags = (CUmemAccess_flags)asked->access[location->id];
	sg_memory_unlock();
	return result;
}

/* Answer with a pool of the device, made if need be. */
static CUresult answer_pool(CUmemoryPool *pool_out, CUdevice dev,
			    struct sg_pool *(*get)(CUdevice device))
{
	struct sg_pool *pool;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pool_out)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	pool = get(dev);
	sg_memory_unlock();
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pool_out = sg_pool_get_handle(pool);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	return answer_pool(pool_out, dev, get_default_pool);
}

SG_API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return answer_pool(pool, dev, get_current_pool);
}

SG_API CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	struct sg_pool *chosen;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	chosen = get_pool(pool);
	/* "The memory pool must be local to the specified device." */
	if (chosen && chosen->device == dev && !chosen->is_imported)
		current_pools[dev] = chosen;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}
