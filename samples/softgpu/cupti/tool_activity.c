#include "tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_records.h"

/*
 * Records are kept until they are asked for (a flush) or have piled up, and are then written into
 * buffers that the program hands out, each of which goes back at once. The first buffer is asked
 * for as soon as there is a record: Kineto flushes only if somebody wanted a buffer. Two locks: one
 * guards what is kept and is never held while the program's functions run; the other is held by
 * the one thread that runs them, and only that.
 */
#define DELIVER_SIZE (64 * 1024)
#define MAX_KEPT     (64 * 1024 * 1024)
#define MAX_IDS      2048

struct heap {
	unsigned char *bytes;
	size_t used, room;
};

/* What the program gave us to fill. */
struct buffer {
	uint8_t *bytes; /* NULL: nothing */
	size_t size, max_records;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct heap kept;
static struct buffer spare; /* asked for and not filled yet */
static size_t nr_dropped;
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static unsigned nr_wanted; /* kinds, and calls one by one */

static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_delivering;
static _Atomic bool has_work; /* for sg_tool_activity_poll */

/* Written under the lock, read by every call. */
static _Atomic bool is_on[CUPTI_ACTIVITY_KIND_COUNT];
static _Atomic unsigned char wanted_calls[2][MAX_IDS]; /* driver, runtime */
static _Atomic int thread_id_type;

bool sg_tool_activity_is_on(CUpti_ActivityKind kind)
{
	return atomic_load_explicit(&is_on[kind], memory_order_relaxed);
}

bool sg_tool_activity_wants_call(CUpti_ActivityKind kind, uint32_t cbid)
{
	return cbid &&
	       atomic_load_explicit(&wanted_calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME][cbid],
				    memory_order_relaxed);
}

static bool is_call(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME;
}

/* Lock held. Say so to the driver when the first thing is wanted or none is any more. */
static CUptiResult count_wanted(bool is_wanted)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (is_wanted && !nr_wanted)
		result = sg_tool_link_set(SG_TOOL_ACTIVITY, true);
	if (result != CUPTI_SUCCESS)
		return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
			       ? CUPTI_ERROR_NOT_COMPATIBLE
			       : result;
	nr_wanted += is_wanted ? 1u : -1u;
	if (!nr_wanted)
		(void)sg_tool_link_set(SG_TOOL_ACTIVITY, false);
	return CUPTI_SUCCESS;
}

/* Lock held. */
static CUptiResult set_call(CUpti_ActivityKind kind, uint32_t cbid, bool is_wanted)
{
	_Atomic unsigned char *at = &wanted_calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME][cbid];
	CUptiResult result = CUPTI_SUCCESS;

	if (atomic_load(at) != is_wanted)
		result = count_wanted(is_wanted);
	if (result == CUPTI_SUCCESS)
		atomic_store(at, is_wanted);
	return result;
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool is_wanted)
{
	CUptiResult result = CUPTI_SUCCESS;
	uint32_t nr_ids = 0;

	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (is_call(kind))
		nr_ids = sg_tool_table_get_size(kind == CUPTI_ACTIVITY_KIND_DRIVER
							? CUPTI_CB_DOMAIN_DRIVER_API
							: CUPTI_CB_DOMAIN_RUNTIME_API);
	pthread_mutex_lock(&lock);
	if (atomic_load(&is_on[kind]) != is_wanted)
		result = count_wanted(is_wanted);
	if (result == CUPTI_SUCCESS)
		atomic_store(&is_on[kind], is_wanted);
	for (uint32_t cbid = 1; cbid < nr_ids && result == CUPTI_SUCCESS; cbid++)
		result = set_call(kind, cbid, is_wanted);
	pthread_mutex_unlock(&lock);
	if (kind == CUPTI_ACTIVITY_KIND_MEMORY && !is_wanted)
		sg_tool_memory_forget();
	return result;
}

SG_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return sg_tool_link_return(set_kind(kind, true));
}

/* There are no records of what was before: nothing to dump. */
SG_API CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return sg_tool_link_return(set_kind(kind, true));
}

SG_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return sg_tool_link_return(set_kind(kind, false));
}

/* Kinds that can be had of one context are those of what kernels do: none has records. */
SG_API CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)kind;
	return sg_tool_link_return(context ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

SG_API CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return cuptiActivityEnableContext(context, kind);
}

static CUptiResult enable_call(CUpti_ActivityKind kind, CUpti_CallbackDomain domain, uint32_t cbid,
			       uint8_t is_wanted)
{
	CUptiResult result;

	if (cbid == 0 || cbid >= sg_tool_table_get_size(domain))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	result = set_call(kind, cbid, is_wanted != 0);
	pthread_mutex_unlock(&lock);
	return sg_tool_link_return(result);
}

/* In later releases only; exported only there. */
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable);
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable);

SG_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
}

SG_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
}

void sg_tool_activity_push(const void *record, size_t size)
{
	pthread_mutex_lock(&lock);
	if (kept.used + size > kept.room && kept.room < MAX_KEPT) {
		size_t room = kept.room ? kept.room * 2 : DELIVER_SIZE * 2;
		unsigned char *bytes = realloc(kept.bytes, room);

		if (bytes) {
			kept.bytes = bytes;
			kept.room = room;
		}
	}
	if (kept.used + size <= kept.room) {
		memcpy(kept.bytes + kept.used, record, size);
		kept.used += size;
	} else {
		nr_dropped++;
	}
	if (request_buffer && (kept.used >= DELIVER_SIZE || !spare.bytes))
		atomic_store_explicit(&has_work, true, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

static size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(SG_CUPTI_RECORD_API);
	case CUPTI_ACTIVITY_KIND_MEMORY:
		return sizeof(SG_CUPTI_RECORD_MEMORY);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(SG_CUPTI_RECORD_MEMORY2);
	case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
		return sizeof(SG_CUPTI_RECORD_POOL);
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(SG_CUPTI_RECORD_EXTERNAL);
	default:
		return 0;
	}
}

static size_t size_at(const unsigned char *bytes)
{
	return size_of(((const CUpti_Activity *)(const void *)bytes)->kind);
}

/* Fill one buffer from the start of what there is; how much went in. */
static size_t fill_buffer(const struct heap *heap, size_t from, const struct buffer *buffer)
{
	size_t used = 0, max = buffer->max_records ? buffer->max_records : SIZE_MAX;

	for (size_t nr = 0; from + used < heap->used && nr < max; nr++) {
		size_t next = size_at(heap->bytes + from + used);

		if (used + next > buffer->size)
			break;
		memcpy(buffer->bytes + used, heap->bytes + from + used, next);
		used += next;
	}
	return used;
}

static size_t count_records(const struct heap *heap, size_t from)
{
	size_t nr = 0;

	for (; from < heap->used; from += size_at(heap->bytes + from))
		nr++;
	return nr;
}

/* Delivery lock held. The first buffer may be there already; what finds no room is dropped. */
static void deliver(const struct heap *heap, struct buffer buffer,
		    CUpti_BuffersCallbackRequestFunc request,
		    CUpti_BuffersCallbackCompleteFunc complete)
{
	size_t done = 0;

	while (done < heap->used) {
		size_t used;

		if (!buffer.bytes)
			request(&buffer.bytes, &buffer.size, &buffer.max_records);
		if (!buffer.bytes)
			break;
		used = fill_buffer(heap, done, &buffer);
		complete(NULL, 0, buffer.bytes, buffer.size, used);
		buffer = (struct buffer){NULL, 0, 0};
		if (!used)
			break;
		done += used;
	}
	if (done == heap->used)
		return;
	pthread_mutex_lock(&lock);
	nr_dropped += count_records(heap, done);
	pthread_mutex_unlock(&lock);
}

/* Delivery lock held. */
static void deliver_kept(void)
{
	CUpti_BuffersCallbackCompleteFunc complete;
	CUpti_BuffersCallbackRequestFunc request;
	struct heap heap = {NULL, 0, 0};
	struct buffer buffer = {NULL, 0, 0};

	pthread_mutex_lock(&lock);
	request = request_buffer;
	complete = complete_buffer;
	if (request && kept.used) {
		heap = kept;
		kept = (struct heap){NULL, 0, 0};
		buffer = spare;
		spare = (struct buffer){NULL, 0, 0};
	}
	pthread_mutex_unlock(&lock);
	if (heap.used)
		deliver(&heap, buffer, request, complete);
	free(heap.bytes);
}

/* Delivery lock held. */
static void ask_for_spare(void)
{
	CUpti_BuffersCallbackRequestFunc request;
	struct buffer buffer = {NULL, 0, 0};

	pthread_mutex_lock(&lock);
	request = spare.bytes ? NULL : request_buffer;
	pthread_mutex_unlock(&lock);
	if (!request)
		return;
	request(&buffer.bytes, &buffer.size, &buffer.max_records);
	pthread_mutex_lock(&lock);
	spare = buffer;
	pthread_mutex_unlock(&lock);
}

/* Delivery lock held. Nobody will fill it. */
static void return_spare(void)
{
	CUpti_BuffersCallbackCompleteFunc complete;
	struct buffer buffer;

	pthread_mutex_lock(&lock);
	complete = complete_buffer;
	buffer = spare;
	spare = (struct buffer){NULL, 0, 0};
	pthread_mutex_unlock(&lock);
	if (buffer.bytes && complete)
		complete(NULL, 0, buffer.bytes, buffer.size, 0);
}

static bool is_much(void)
{
	bool much;

	pthread_mutex_lock(&lock);
	much = kept.used >= DELIVER_SIZE;
	pthread_mutex_unlock(&lock);
	return much;
}

void sg_tool_activity_poll(void)
{
	/* The program's functions may call CUDA; another thread's turn will come. */
	if (!atomic_load_explicit(&has_work, memory_order_relaxed) || is_delivering ||
	    pthread_mutex_trylock(&delivery) != 0)
		return;
	atomic_store_explicit(&has_work, false, memory_order_relaxed);
	is_delivering = true;
	if (is_much())
		deliver_kept();
	else
		ask_for_spare();
	is_delivering = false;
	pthread_mutex_unlock(&delivery);
}

static CUptiResult flush(uint32_t flag)
{
	bool is_registered;

	pthread_mutex_lock(&lock);
	is_registered = request_buffer && complete_buffer;
	pthread_mutex_unlock(&lock);
	if (!is_registered)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (is_delivering)
		return CUPTI_SUCCESS; /* from inside the program's function: it is being done */
	pthread_mutex_lock(&delivery);
	is_delivering = true;
	deliver_kept();
	if (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
		return_spare();
	is_delivering = false;
	pthread_mutex_unlock(&delivery);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
	(void)context;
	(void)streamId;
	return sg_tool_link_return(flush(flag));
}

SG_API CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	return sg_tool_link_return(flush(flag));
}

SG_API CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
			       CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	if (!funcBufferRequested || !funcBufferCompleted)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	request_buffer = funcBufferRequested;
	complete_buffer = funcBufferCompleted;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
						     size_t *dropped)
{
	(void)context;
	(void)streamId;
	if (!dropped)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	*dropped = nr_dropped;
	nr_dropped = 0;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
					      CUpti_Activity **record)
{
	size_t at = 0, size;

	if (!buffer || !record)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (*record) {
		at = (size_t)((uint8_t *)*record - buffer);
		if (at >= validBufferSizeBytes)
			return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
		at += size_at(buffer + at);
	}
	if (at + sizeof(CUpti_Activity) > validBufferSizeBytes)
		return sg_tool_link_return(CUPTI_ERROR_MAX_LIMIT_REACHED);
	size = size_at(buffer + at);
	if (!size || at + size > validBufferSizeBytes)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_KIND);
	*record = (CUpti_Activity *)(void *)(buffer + at);
	return CUPTI_SUCCESS;
}

void sg_tool_activity_drop(void)
{
	for (int kind = CUPTI_ACTIVITY_KIND_INVALID + 1; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
		(void)set_kind((CUpti_ActivityKind)kind, false);
	if (!is_delivering) {
		pthread_mutex_lock(&delivery);
		is_delivering = true;
		return_spare();
		is_delivering = false;
		pthread_mutex_unlock(&delivery);
	}
	pthread_mutex_lock(&lock);
	request_buffer = NULL;
	complete_buffer = NULL;
	free(kept.bytes);
	kept = (struct heap){NULL, 0, 0};
	nr_dropped = 0;
	pthread_mutex_unlock(&lock);
}

uint32_t sg_tool_activity_get_thread(void)
{
	if (atomic_load_explicit(&thread_id_type, memory_order_relaxed) ==
	    CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)syscall(SYS_gettid);
	return (uint32_t)(uintptr_t)pthread_self();
}

SG_API CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
	    type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return sg_tool_link_return(CUPTI_ERROR_NOT_SUPPORTED);
	atomic_store(&thread_id_type, (int)type);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
	return CUPTI_SUCCESS;
}
