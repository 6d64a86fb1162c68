#include "tool.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti_records.h"

/*
 * Records of memory, made from the driver's calls. Of an allocation everything is asked when the
 * call returns; of a release before it runs, and kept in the call.
 */
struct block {
	uint64_t address;
	uint64_t size;
	uint64_t pool; /* handle; 0: not from a pool */
	uint32_t kind; /* CUpti_ActivityMemoryKind; 0: no memory of CUDA's */
	uint32_t device;
};

struct pool {
	uint64_t address; /* its handle */
	uint64_t size, used, threshold;
	uint32_t device;
	CUpti_ActivityMemoryPoolType type;
};

union space {
	struct block block;
	struct pool pool;
};
_Static_assert(sizeof(union space) <= sizeof(((struct sg_call *)0)->space), "room in the call");

/* Memory that is alive, for CUPTI_ACTIVITY_KIND_MEMORY, whose records have both ends. */
struct living {
	uint64_t address;
	uint64_t start_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree; /* of struct living, by tsearch */

static int compare(const void *left, const void *right)
{
	uint64_t a = ((const struct living *)left)->address;
	uint64_t b = ((const struct living *)right)->address;

	return a < b ? -1 : a > b;
}

static void note_alive(uint64_t address, uint64_t start_ns)
{
	struct living *entry = malloc(sizeof(*entry)), **found;

	if (!entry)
		return;
	*entry = (struct living){address, start_ns};
	pthread_mutex_lock(&lock);
	found = tsearch(entry, &tree, compare);
	if (found && *found != entry) {
		(*found)->start_ns = start_ns; /* its end was not seen */
		free(entry);
	} else if (!found) {
		free(entry);
	}
	pthread_mutex_unlock(&lock);
}

/* When it was allocated, 0 if that was not seen. */
static uint64_t note_gone(uint64_t address)
{
	struct living key = {address, 0}, *entry = NULL, **found;
	uint64_t start_ns = 0;

	pthread_mutex_lock(&lock);
	found = tfind(&key, &tree, compare);
	if (found) {
		entry = *found;
		start_ns = entry->start_ns;
		tdelete(&key, &tree, compare);
	}
	pthread_mutex_unlock(&lock);
	free(entry);
	return start_ns;
}

void sg_tool_memory_forget(void)
{
	pthread_mutex_lock(&lock);
	tdestroy(tree, free);
	tree = NULL;
	pthread_mutex_unlock(&lock);
}

static bool get_attribute(void *value, CUpointer_attribute attribute, uint64_t address)
{
	return sg_tool_link_get_driver()->get_pointer_attribute(value, attribute, address) ==
	       CUDA_SUCCESS;
}

static void describe_block(struct block *block, uint64_t address)
{
	CUmemorytype type = CU_MEMORYTYPE_DEVICE;
	CUmemoryPool pool = NULL;
	unsigned is_managed = 0;
	size_t size = 0;
	int device = 0;

	memset(block, 0, sizeof(*block));
	block->address = address;
	if (!get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ||
	    !get_attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address))
		return;
	(void)get_attribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
	(void)get_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address);
	if (get_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address))
		block->device = (uint32_t)device;
	block->size = size;
	block->pool = (uintptr_t)pool;
	if (is_managed)
		block->kind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
	else if (type == CU_MEMORYTYPE_HOST)
		block->kind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	else
		block->kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
}

static void describe_pool(struct pool *pool, CUmemoryPool handle)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	bool is_imported;
	cuuint64_t value;
	int device;

	memset(pool, 0, sizeof(*pool));
	pool->address = (uintptr_t)handle;
	if (!handle)
		return;
	device = driver->get_pool_device(handle, &is_imported);
	pool->device = device < 0 ? 0 : (uint32_t)device;
	pool->type = is_imported ? CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED
				 : CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
	if (driver->get_pool_attribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value) ==
	    CUDA_SUCCESS)
		pool->size = value;
	if (driver->get_pool_attribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value) ==
	    CUDA_SUCCESS)
		pool->used = value;
	if (driver->get_pool_attribute(handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) ==
	    CUDA_SUCCESS)
		pool->threshold = value;
}

static bool is_wanted(void)
{
	return sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY) ||
	       sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY2) ||
	       sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
}

void sg_tool_memory_enter(struct sg_call *call, enum sg_tool_action action)
{
	union space *space = (union space *)call->space;

	if (!is_wanted())
		return;
	switch (action) {
	case SG_TOOL_FREE:
	case SG_TOOL_FREE_ASYNC:
		describe_block(&space->block, *(const uint64_t *)call->params);
		break;
	case SG_TOOL_POOL_DESTROY:
		describe_pool(&space->pool, *(const CUmemoryPool *)call->params);
		break;
	default:
		break;
	}
}

static void push_memory(const struct block *block, CUcontext context, bool is_release)
{
	SG_CUPTI_RECORD_MEMORY record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY,
		.memoryKind = (CUpti_ActivityMemoryKind)block->kind,
		.address = block->address,
		.bytes = block->size,
		.processId = (uint32_t)getpid(),
		.deviceId = block->device,
	};
	uint64_t now = sg_tool_query_time();

	if (!is_release) {
		note_alive(block->address, now);
		return;
	}
	record.start = note_gone(block->address);
	record.end = now;
	record.contextId = sg_tool_query_context_id(context);
	sg_tool_activity_push(&record, sizeof(record));
}

/* stream NULL with is_async: the default one. */
static void push_memory2(const struct block *block, CUcontext context, bool is_release,
			 bool is_async, CUstream stream)
{
	SG_CUPTI_RECORD_MEMORY2 record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
		.memoryOperationType = is_release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
						  : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
		.memoryKind = (CUpti_ActivityMemoryKind)block->kind,
		.correlationId = sg_tool_calls_get_id(),
		.address = block->address,
		.bytes = block->size,
		.timestamp = sg_tool_query_time(),
		.processId = (uint32_t)getpid(),
		.deviceId = block->device,
		.contextId = sg_tool_query_context_id(context),
		.streamId = is_async ? sg_tool_query_stream_id(context, stream)
				     : CUPTI_INVALID_STREAM_ID,
		.isAsync = is_async,
	};
	struct pool pool;

	if (block->pool) {
		describe_pool(&pool, (CUmemoryPool)(uintptr_t)block->pool);
		record.memoryPoolConfig.memoryPoolType = pool.type;
		record.memoryPoolConfig.address = pool.address;
		record.memoryPoolConfig.releaseThreshold = pool.threshold;
		record.memoryPoolConfig.pool.size = pool.size;
		record.memoryPoolConfig.utilizedSize = pool.used;
	}
	sg_tool_activity_push(&record, sizeof(record));
}

static void push_block(const struct block *block, bool is_release, bool is_async, CUstream stream)
{
	CUcontext context = NULL;

	if (!block->kind || !block->address)
		return;
	(void)sg_tool_link_get_driver()->get_current(&context);
	if (sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY))
		push_memory(block, context, is_release);
	if (sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY2))
		push_memory2(block, context, is_release, is_async, stream);
}

static void push_allocated(const struct sg_call *call, bool is_async, CUstream stream)
{
	const uint64_t *address = *(const uint64_t *const *)call->params;
	struct block block;

	describe_block(&block, *address);
	push_block(&block, false, is_async, stream);
}

static void push_pool(const struct pool *pool, CUpti_ActivityMemoryPoolOperationType operation,
		      size_t to_keep)
{
	SG_CUPTI_RECORD_POOL record = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
		.memoryPoolOperationType = operation,
		.memoryPoolType = pool->type,
		.correlationId = sg_tool_calls_get_id(),
		.processId = (uint32_t)getpid(),
		.deviceId = pool->device,
		.minBytesToKeep = to_keep,
		.address = pool->address,
		.size = pool->size,
		.releaseThreshold = pool->threshold,
		.timestamp = sg_tool_query_time(),
		.utilizedSize = pool->used,
	};

	sg_tool_activity_push(&record, sizeof(record));
}

static void push_pool_call(const struct sg_call *call, enum sg_tool_action action)
{
	const union space *space = (const union space *)call->space;
	const cuMemPoolTrimTo_params *trim = call->params;
	struct pool pool;

	if (action == SG_TOOL_POOL_CREATE) {
		describe_pool(&pool, **(CUmemoryPool *const *)call->params);
		push_pool(&pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0);
	} else if (action == SG_TOOL_POOL_TRIM) {
		describe_pool(&pool, trim->pool);
		push_pool(&pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
			  trim->minBytesToKeep);
	} else if (space->pool.address) {
		push_pool(&space->pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, 0);
	}
}

void sg_tool_memory_exit(struct sg_call *call, enum sg_tool_action action)
{
	const union space *space = (const union space *)call->space;

	if (!is_wanted())
		return;
	switch (action) {
	case SG_TOOL_ALLOC:
		push_allocated(call, false, NULL);
		break;
	case SG_TOOL_ALLOC_ASYNC:
		push_allocated(call, true, ((const cuMemAllocAsync_params *)call->params)->hStream);
		break;
	case SG_TOOL_ALLOC_FROM_POOL:
		push_allocated(call, true,
			       ((const cuMemAllocFromPoolAsync_params *)call->params)->hStream);
		break;
	case SG_TOOL_FREE:
		push_block(&space->block, true, false, NULL);
		break;
	case SG_TOOL_FREE_ASYNC:
		push_block(&space->block, true, true,
			   ((const cuMemFreeAsync_params *)call->params)->hStream);
		break;
	case SG_TOOL_POOL_CREATE:
	case SG_TOOL_POOL_DESTROY:
	case SG_TOOL_POOL_TRIM:
		if (sg_tool_activity_is_on(CUPTI_ACTIVITY_KIND_MEMORY_POOL))
			push_pool_call(call, action);
		break;
	default:
		break;
	}
}
