#include "paper_cupti.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "told_calls.h"

struct paper paper;

static char lines[1 << 16];
static size_t lines_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;
	int size;

	pthread_mutex_lock(&lock);
	va_start(arguments, format);
	size = vsnprintf(lines + lines_size, sizeof(lines) - lines_size, format, arguments);
	va_end(arguments);
	if (size > 0 && lines_size + (size_t)size < sizeof(lines))
		lines_size += (size_t)size;
	pthread_mutex_unlock(&lock);
}

const char *paper_get_lines(void)
{
	return lines;
}

/* ---- CUPTI ---- */

/* Its numbers are its own: nobody may know them but by asking. */
static const char *const names[] = {
	"INVALID",      "cuInit",   "cuMemAlloc_v2",     "cuLaunchKernel",
	"cuMemFree_v2", "cuMemcpy", "cuMemHostAlloc_v2",
};

static CUptiResult get_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	if (paper.is_silent)
		return CUPTI_ERROR_UNKNOWN;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid >= sizeof(names) / sizeof(names[0]))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = names[cbid];
	return CUPTI_SUCCESS;
}

static CUptiResult get_version(uint32_t *version)
{
	*version = paper.version;
	return paper.version ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata)
{
	paper.nr_subscribes++;
	if (paper.subscribe_result != CUPTI_SUCCESS)
		return paper.subscribe_result;
	*subscriber = (CUpti_SubscriberHandle)&paper;
	paper.callback = callback;
	paper.userdata = userdata;
	return CUPTI_SUCCESS;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber)
{
	if (subscriber != (CUpti_SubscriberHandle)&paper)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_fetch_add(&paper.nr_unsubscribes, 1, __ATOMIC_RELAXED);
	paper.callback = NULL;
	return CUPTI_SUCCESS;
}

static CUptiResult enable(uint32_t is_on, CUpti_SubscriberHandle subscriber,
			  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	(void)is_on;
	(void)subscriber;
	if (paper.enable_result != CUPTI_SUCCESS)
		return paper.enable_result;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		paper.enabled[paper.nr_enabled++] = cbid;
	else
		paper.nr_resources++;
	return CUPTI_SUCCESS;
}

static CUptiResult get_device(CUcontext context, uint32_t *device)
{
	if (!context)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*device = 3;
	return CUPTI_SUCCESS;
}

static CUptiResult get_text(CUptiResult result, const char **text)
{
	*text = result == CUPTI_ERROR_NOT_INITIALIZED ? "CUPTI_ERROR_NOT_INITIALIZED" : NULL;
	return CUPTI_SUCCESS;
}

static CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc give,
				    CUpti_BuffersCallbackCompleteFunc take)
{
	paper.give_buffer = give;
	paper.take_buffer = take;
	return CUPTI_SUCCESS;
}

static CUptiResult enable_activity(CUpti_ActivityKind kind)
{
	(void)kind;
	paper.nr_activities++;
	return CUPTI_SUCCESS;
}

static CUptiResult disable_activity(CUpti_ActivityKind kind)
{
	(void)kind;
	paper.nr_activities--;
	return CUPTI_SUCCESS;
}

/* Records lie behind each other in the buffer: pools, all of one size. */
static CUptiResult next_record(uint8_t *buffer, size_t valid_size, CUpti_Activity **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityMemoryPool2) : buffer;

	if (at + sizeof(CUpti_ActivityMemoryPool2) > buffer + valid_size)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)at;
	return CUPTI_SUCCESS;
}

void paper_begin(uint32_t version)
{
	memset(&paper, 0, sizeof(paper));
	lines_size = 0;
	lines[0] = '\0';
	paper.version = version;
	paper.library = (struct vs_cupti_library){
		.get_version = get_version,
		.path = "/paper/libcupti.so",
		.subscribe = subscribe,
		.unsubscribe = unsubscribe,
		.enable_callback = enable,
		.get_callback_name = get_name,
		.get_device = get_device,
		.get_result_text = get_text,
		.register_buffers = register_buffers,
		.enable_activity = enable_activity,
		.disable_activity = disable_activity,
		.next_record = next_record,
	};
}

void paper_tell(uint32_t cbid, const void *args, const CUresult *result, uint64_t *data)
{
	CUpti_CallbackData call = {
		.callbackSite = result ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionParams = args,
		.functionReturnValue = (void *)(uintptr_t)result,
		.correlationData = data,
	};

	paper.callback(paper.userdata, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &call);
}

/* ---- The recorder ---- */

bool vs_told_calls_is_wanted(void)
{
	return true;
}

bool vs_told_calls_is_alone(void)
{
	return paper.is_alone;
}

uint32_t vs_told_calls_find(const char *name)
{
	if (!strcmp(name, "cuMemAlloc_v2"))
		return 70;
	if (!strcmp(name, "cuMemFree_v2"))
		return 0;
	if (!strcmp(name, "cuGraphAddNode_v3"))
		return 9;
	return !strcmp(name, "cuMemHostAlloc_v2") ? 5 : VS_TOLD_CALLS_NONE;
}

void *vs_told_calls_look_up(void *handle, const char *name)
{
	return handle == paper.library.handle && paper.is_new &&
			       !strcmp(name, "cuptiGetCudaEventId")
		       ? &paper
		       : NULL;
}

void vs_told_calls_enter(uint32_t function, const void *args, const void *frame, uint64_t *state)
{
	(void)args;
	*state = 77;
	say("enter %u%s\n", function, frame ? "" : " without a frame");
}

void vs_told_calls_leave(uint32_t function, const void *args, uint32_t result, const void *frame,
			 uint64_t *state)
{
	(void)args;
	say("leave %u result %u state %u%s\n", function, result, (unsigned)*state,
	    frame ? "" : " without a frame");
}

void vs_told_calls_add_context(void *context, uint32_t device, const void *frame)
{
	(void)frame;
	say("context %u on %u\n", (unsigned)(uintptr_t)context, device);
}

void vs_told_calls_end_context(void *context, const void *frame)
{
	(void)frame;
	say("end of context %u\n", (unsigned)(uintptr_t)context);
}

void vs_told_calls_note_pool(uint64_t handle, uint32_t device, uint64_t reserved_size,
			     uint64_t used_size)
{
	say("pool %u on %u holds %u, %u in use\n", (unsigned)handle, device,
	    (unsigned)reserved_size, (unsigned)used_size);
}

void vs_told_calls_say(const char *text, const char *detail)
{
	say("said: %s%s\n", text, detail);
}

void vs_told_calls_add_fact(const char *key, const char *value)
{
	say("%s: %s\n", key, value);
}
