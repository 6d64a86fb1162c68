#ifndef SG_TOOL_H
#define SG_TOOL_H

/*
 * What the files of the CUPTI stand-ins share. One set of sources, compiled once for each release
 * (11.8, 12, 13) against that release's own headers; what differs between them is taken from there,
 * and tables are generated (gen/cupti_tables.py).
 *
 *   link        the driver under us (common/calls.h), and being its one tool while we are needed
 *   table       numbers of functions; which number a call has
 *   calls       what the driver tells us, made into callbacks and records
 *   subscriber  the one subscriber, and what it wants to be told
 *   activity    records: which are wanted, and how they get to the program's buffers
 *   memory      records of memory and pools
 *   external    the numbers a program pushes to find its own work in the records
 *   attribute   settings that are kept and have no other effect
 *   query       versions, names, times, ids
 *
 * Any thread may call any function at any time. No lock is held while the program's functions run,
 * but for one that keeps two threads from delivering records at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "../common/calls.h"

#define SG_API       __attribute__((visibility("default")))
#define SG_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* ---- link ---- */

/* Functions of the driver that tell nobody: what we ask ourselves is no call of the program. */
struct sg_tool_driver {
	CUresult (*get_current)(CUcontext *context);
	CUresult (*push_current)(CUcontext context);
	CUresult (*pop_current)(CUcontext *context);
	CUresult (*get_context_id)(CUcontext context, unsigned long long *id);
	CUresult (*get_device)(CUdevice *device); /* of the current context */
	CUresult (*get_stream_id)(CUstream stream, unsigned long long *id);
	CUresult (*get_stream_context)(CUstream stream, CUcontext *context);
	CUresult (*get_pointer_attribute)(void *value, CUpointer_attribute attribute,
					  CUdeviceptr address);
	CUresult (*get_pool_attribute)(CUmemoryPool pool, CUmemPool_attribute attribute,
				       void *value);
	CUresult (*count_devices)(int *count);
	int (*get_pool_device)(void *pool, bool *is_imported); /* -1: none */
};

/* NULL: there is no driver, or it is not softgpu. */
const struct sg_tool_driver *sg_tool_link_get_driver(void);

enum sg_tool_reason {
	SG_TOOL_SUBSCRIBER,
	SG_TOOL_ACTIVITY,
};

/*
 * Say that there is, or is no longer, a reason to be told of calls. CUPTI_SUCCESS,
 * CUPTI_ERROR_NOT_INITIALIZED (no driver), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (another
 * CUPTI of this process is).
 */
CUptiResult sg_tool_link_set(enum sg_tool_reason reason, bool is_needed);

/* Returns its argument, and remembers a failure for cuptiGetLastError. */
CUptiResult sg_tool_link_return(CUptiResult result);

/* What generated functions answer; says the name the first time (SOFTGPU_LOG). */
int sg_tool_link_refuse(const char *name, int answer, _Atomic int *said);

/* ---- table ---- */

/* What a call of the driver means to us, besides being one. */
enum sg_tool_action {
	SG_TOOL_NO_ACTION,
	SG_TOOL_ALLOC,           /* parameters begin with where to put the address */
	SG_TOOL_ALLOC_ASYNC,     /* (address, size, stream) */
	SG_TOOL_ALLOC_FROM_POOL, /* (address, size, pool, stream) */
	SG_TOOL_FREE,            /* parameters begin with the address */
	SG_TOOL_FREE_ASYNC,      /* (address, stream) */
	SG_TOOL_POOL_CREATE,
	SG_TOOL_POOL_DESTROY,
	SG_TOOL_POOL_TRIM,
	SG_TOOL_SYNC_STREAM,
	SG_TOOL_SYNC_CONTEXT,
};

struct sg_tool_entry {
	uint16_t cbid; /* 0: this release has no number for it */
	uint8_t action;
};

/* Make the numbers of a domain known; called again for a known one it does nothing. */
void sg_tool_table_join(const struct sg_calls_domain *domain);
struct sg_tool_entry sg_tool_table_find(const struct sg_call *call);
/* One above the highest number of a domain; 0: there is no such domain. */
uint32_t sg_tool_table_get_size(CUpti_CallbackDomain domain);

/* ---- calls ---- */

extern const struct sg_calls_tool sg_tool_calls;

/* Of the outermost call that is under way in this thread: what records of its work refer to. */
uint32_t sg_tool_calls_get_id(void);

/* ---- subscriber ---- */

/*
 * Tell the subscriber, if there is one that wants to be told this. *period says which subscriber
 * was told: on the way in 0, or the one that alone may be told. False if none was.
 */
bool sg_tool_subscriber_tell(uint32_t *period, CUpti_CallbackDomain domain, uint32_t cbid,
			     const void *data);
bool sg_tool_subscriber_wants(CUpti_CallbackDomain domain, uint32_t cbid);
/* Whether this thread is inside a callback: what it calls there is told to nobody. */
bool sg_tool_subscriber_is_inside(void);
void sg_tool_subscriber_drop(void);

/* ---- activity ---- */

bool sg_tool_activity_is_on(CUpti_ActivityKind kind);
/* Whether a record of this call is wanted; kind is that of driver or runtime. */
bool sg_tool_activity_wants_call(CUpti_ActivityKind kind, uint32_t cbid);
/* Size is a multiple of 8. */
void sg_tool_activity_push(const void *record, size_t size);
/* Deliver if much has piled up. Not while a lock is held. */
void sg_tool_activity_poll(void);
void sg_tool_activity_drop(void);
uint32_t sg_tool_activity_get_thread(void);

/* ---- memory ---- */

void sg_tool_memory_enter(struct sg_call *call, enum sg_tool_action action);
void sg_tool_memory_exit(struct sg_call *call, enum sg_tool_action action);
/* Forget the memory that is alive: nobody wants records of CUPTI_ACTIVITY_KIND_MEMORY any more. */
void sg_tool_memory_forget(void);

/* ---- external ---- */

/* Records that join a call to what this thread has pushed. */
void sg_tool_external_push_records(uint32_t correlation_id);

/* ---- query ---- */

uint64_t sg_tool_query_time(void);
/* Id of a context, 0 if it is none. */
uint32_t sg_tool_query_context_id(CUcontext context);
uint32_t sg_tool_query_device(CUcontext context);
/* Id of a stream in a context, or CUPTI_INVALID_STREAM_ID. */
uint32_t sg_tool_query_stream_id(CUcontext context, CUstream stream);

#endif
