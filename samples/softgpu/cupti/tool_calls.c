#include "tool.h"

#include <unistd.h>

static _Atomic uint32_t nr_calls;
/* The outermost call under way in this thread that we were told of; NULL: none. */
static _Thread_local const struct sg_call *outer;

uint32_t sg_tool_calls_get_id(void)
{
	return outer ? outer->id : 0;
}

static bool is_driver(const struct sg_call *call)
{
	return call->domain->kind == SG_CALLS_DRIVER;
}

static void tell(struct sg_call *call, uint32_t cbid)
{
	CUpti_CallbackDomain domain =
		is_driver(call) ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
	CUpti_CallbackData data = {
		.callbackSite = call->result ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->domain->names[call->index],
		.functionParams = call->params,
		.functionReturnValue = call->result,
		.correlationData = &call->data,
		.correlationId = call->id,
	};

	if (!sg_tool_subscriber_wants(domain, cbid))
		return;
	if (sg_tool_link_get_driver()->get_current(&data.context) != CUDA_SUCCESS)
		data.context = NULL;
	data.contextUid = sg_tool_query_context_id(data.context);
	data.symbolName = call->domain->find_kernel_name(call);
	sg_tool_subscriber_tell(&call->period, domain, cbid, &data);
}

static CUpti_ActivityKind kind_of(const struct sg_call *call)
{
	return is_driver(call) ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

/*
 * A call of the driver inside one of the runtime is part of it. Profilers find the call of a piece
 * of work by number, some among the driver's calls and some among the runtime's: both have it.
 */
static bool is_part(const struct sg_call *call)
{
	return outer && outer != call && !is_driver(outer) && is_driver(call);
}

static uint32_t next_id(void)
{
	uint32_t id;

	do
		id = atomic_fetch_add_explicit(&nr_calls, 1, memory_order_relaxed) + 1;
	while (!id);
	return id;
}

static void enter(struct sg_call *call)
{
	struct sg_tool_entry entry;

	if (sg_tool_subscriber_is_inside()) {
		call->tool = NULL;
		return;
	}
	entry = sg_tool_table_find(call);
	call->id = is_part(call) ? outer->id : next_id();
	if (!outer)
		outer = call;
	/*
	 * Looked at once: whoever asks for records in between gets none without a beginning. What
	 * is part of a call with a record has none of its own.
	 */
	if (sg_tool_activity_wants_call(kind_of(call), entry.cbid) &&
	    !(is_part(call) && outer->start_ns))
		call->start_ns = sg_tool_query_time();
	sg_tool_memory_enter(call, entry.action);
	if (entry.cbid)
		tell(call, entry.cbid);
}

static void push_record(const struct sg_call *call, uint32_t cbid)
{
	CUpti_ActivityAPI record = {
		.kind = kind_of(call),
		.cbid = cbid,
		.start = call->start_ns,
		.end = sg_tool_query_time(),
		.processId = (uint32_t)getpid(),
		.threadId = sg_tool_activity_get_thread(),
		.correlationId = call->id,
		.returnValue = *(const uint32_t *)call->result,
	};

	sg_tool_external_push_records(call->id);
	sg_tool_activity_push(&record, sizeof(record));
}

/* Nothing is ever outstanding: a stream is synchronised when the call that does it returns. */
static void tell_synchronised(const struct sg_call *call, enum sg_tool_action action)
{
	uint32_t cbid = action == SG_TOOL_SYNC_STREAM ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
						      : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	CUpti_SynchronizeData data = {.context = NULL, .stream = NULL};
	uint32_t period = 0;

	if (!sg_tool_subscriber_wants(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid))
		return;
	if (action == SG_TOOL_SYNC_STREAM) {
		data.stream = *(const CUstream *)call->params;
		if (driver->get_stream_context(data.stream, &data.context) != CUDA_SUCCESS)
			data.context = NULL;
	} else if (call->params) {
		data.context = *(const CUcontext *)call->params;
	}
	if (!data.context && driver->get_current(&data.context) != CUDA_SUCCESS)
		data.context = NULL;
	sg_tool_subscriber_tell(&period, CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}

static void leave(struct sg_call *call)
{
	struct sg_tool_entry entry = sg_tool_table_find(call);
	bool succeeded = *(const uint32_t *)call->result == 0;

	if (succeeded &&
	    (entry.action == SG_TOOL_SYNC_STREAM || entry.action == SG_TOOL_SYNC_CONTEXT))
		tell_synchronised(call, entry.action);
	if (succeeded)
		sg_tool_memory_exit(call, (enum sg_tool_action)entry.action);
	/* Only who saw it begin sees it end. */
	if (entry.cbid && call->period)
		tell(call, entry.cbid);
	if (call->start_ns)
		push_record(call, entry.cbid);
	if (outer == call) {
		outer = NULL;
		sg_tool_activity_poll();
	}
}

static void tell_resource(enum sg_calls_resource what, void *context, void *handle)
{
	static const uint32_t cbids[] = {
		[SG_CALLS_INITIALISED] = CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
		[SG_CALLS_CONTEXT_CREATED] = CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		[SG_CALLS_CONTEXT_GOING] = CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		[SG_CALLS_STREAM_CREATED] = CUPTI_CBID_RESOURCE_STREAM_CREATED,
		[SG_CALLS_STREAM_GOING] = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
		[SG_CALLS_MODULE_LOADED] = CUPTI_CBID_RESOURCE_MODULE_LOADED,
		[SG_CALLS_MODULE_GOING] = CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
	};
	/* Kernels do not run, so there is no cubin to look into. */
	CUpti_ModuleResourceData module = {.moduleId = (uint32_t)((uintptr_t)handle >> 4)};
	CUpti_ResourceData data = {.context = context};
	uint32_t period = 0;

	if (what == SG_CALLS_STREAM_CREATED || what == SG_CALLS_STREAM_GOING)
		data.resourceHandle.stream = handle;
	if (what == SG_CALLS_MODULE_LOADED || what == SG_CALLS_MODULE_GOING)
		data.resourceDescriptor = &module;
	if (!sg_tool_subscriber_is_inside())
		sg_tool_subscriber_tell(&period, CUPTI_CB_DOMAIN_RESOURCE, cbids[what], &data);
}

const struct sg_calls_tool sg_tool_calls = {
	.join = sg_tool_table_join,
	.enter = enter,
	.exit = leave,
	.resource = tell_resource,
};
