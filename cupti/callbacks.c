#include "callbacks.h"

#include <stdatomic.h>
#include <string.h>

#include "callback_numbers.h"
#include "told_calls.h"

/* By number of the callback: number of the function + 1 (told_calls.h); 0: not asked for. Written
 * before there is a subscriber. */
static uint16_t functions[VS_CALLBACKS_MAX];

static _Atomic uint64_t nr_modules;
static _Atomic uint64_t modules_size;

void vs_callbacks_get_modules(uint64_t *nr, uint64_t *size)
{
	*nr = atomic_load_explicit(&nr_modules, memory_order_relaxed);
	*size = atomic_load_explicit(&modules_size, memory_order_relaxed);
}

static const struct {
	const char *name;
	uint16_t cbid;
} header_table[] = {
#define VS_HOOK(name, abi, symbol) {#symbol, CUPTI_DRIVER_TRACE_CBID_##symbol},
#include "cuda_api.def"
	{"cuMemHostAlloc_v2", CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2},
};

static unsigned add(uint32_t cbid, const char *name)
{
	uint32_t function = vs_told_calls_find(name);

	if (function == VS_TOLD_CALLS_NONE)
		return 0;
	functions[cbid] = (uint16_t)(function + 1);
	return 1;
}

/* Whether the library is of a release that has a function, as far as its release can be told. */
static bool is_of_its_time(const struct vs_cupti_library *library, const char *name)
{
#define NEWER(symbol, companion)    \
	if (!strcmp(name, #symbol)) \
		return vs_told_calls_look_up(library->handle, #companion) != NULL;
	VS_CALLBACK_NUMBERS_NEWER(NEWER)
#undef NEWER
	return true;
}

static unsigned learn_from_headers(const struct vs_cupti_library *library)
{
	unsigned nr_found = 0;

	for (size_t i = 0; i < sizeof(header_table) / sizeof(header_table[0]); i++)
		if (is_of_its_time(library, header_table[i].name))
			nr_found += add(header_table[i].cbid, header_table[i].name);
	return nr_found;
}

uint32_t vs_callbacks_get_function(uint32_t cbid)
{
	return cbid < VS_CALLBACKS_MAX && functions[cbid] ? functions[cbid] - 1u
							  : VS_TOLD_CALLS_NONE;
}

unsigned vs_callbacks_learn(const struct vs_cupti_library *library)
{
	unsigned nr_found = 0;

	for (uint32_t cbid = 1; cbid < VS_CALLBACKS_MAX; cbid++) {
		const char *name = NULL;

		functions[cbid] = 0;
		if (library->get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) ==
			    CUPTI_SUCCESS &&
		    name)
			nr_found += add(cbid, name);
	}
	return nr_found ? nr_found : learn_from_headers(library);
}

CUptiResult vs_callbacks_enable(const struct vs_cupti_library *library,
				CUpti_SubscriberHandle subscriber)
{
	static const uint32_t resources[] = {
		CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_MODULE_LOADED,
	};
	CUptiResult first = CUPTI_SUCCESS, result;
	unsigned nr_enabled = 0;

	for (uint32_t cbid = 1; cbid < VS_CALLBACKS_MAX; cbid++) {
		if (!functions[cbid])
			continue;
		result = library->enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		nr_enabled += result == CUPTI_SUCCESS;
		if (first == CUPTI_SUCCESS)
			first = result;
	}
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		(void)library->enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
					       resources[i]);
	return nr_enabled ? CUPTI_SUCCESS : first;
}

static void add_context(const struct vs_cupti_library *library, CUcontext context,
			const void *frame)
{
	uint32_t device;

	if (library->get_device(context, &device) == CUPTI_SUCCESS)
		vs_told_calls_add_context(context, device, frame);
}

static void tell_resource(const struct vs_cupti_library *library, CUpti_CallbackId cbid,
			  const CUpti_ResourceData *resource, const void *frame)
{
	const CUpti_ModuleResourceData *module = resource->resourceDescriptor;

	switch (cbid) {
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		add_context(library, resource->context, frame);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		vs_told_calls_end_context(resource->context, frame);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		atomic_fetch_add_explicit(&nr_modules, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&modules_size, module ? module->cubinSize : 0,
					  memory_order_relaxed);
		break;
	default:
		break;
	}
}

void CUPTIAPI vs_callbacks_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data)
{
	const void *frame = __builtin_frame_address(0);
	const CUpti_CallbackData *call = data;
	uint32_t function;

	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		tell_resource(userdata, cbid, data, frame);
		return;
	}
	function = vs_callbacks_get_function(cbid);
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || function == VS_TOLD_CALLS_NONE)
		return;
	if (call->callbackSite == CUPTI_API_ENTER)
		vs_told_calls_enter(function, call->functionParams, frame, call->correlationData);
	else
		vs_told_calls_leave(function, call->functionParams,
				    *(const uint32_t *)call->functionReturnValue, frame,
				    call->correlationData);
}
