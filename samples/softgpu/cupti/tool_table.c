#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DOMAINS 256
/* The name is not in the headers of 11; there, the number is that of CUPTI_CB_DOMAIN_SIZE. */
#define STATE_DOMAIN 6

struct id {
	const char *function; /* as it is exported */
	const char *name;     /* as CUPTI calls it: of the runtime with a version */
	int version;
	uint16_t cbid;
};

/* Sorted by function, then version. */
static const struct id driver_ids[] = {
#define SG_DRIVER_ID(cbid, name) {name, name, 0, cbid},
#define SG_RUNTIME_ID(cbid, name, function, version)
#define SG_RESULT(name)
#include "cupti_tables.inc"
#undef SG_DRIVER_ID
#undef SG_RUNTIME_ID
};
static const struct id runtime_ids[] = {
#define SG_DRIVER_ID(cbid, name)
#define SG_RUNTIME_ID(cbid, name, function, version) {function, name, version, cbid},
#include "cupti_tables.inc"
#undef SG_DRIVER_ID
#undef SG_RUNTIME_ID
#undef SG_RESULT
};

static const struct {
	const char *function; /* per-thread twins alike */
	enum sg_tool_action action;
} actions[] = {
	{"cuMemAlloc_v2", SG_TOOL_ALLOC},
	{"cuMemAllocPitch_v2", SG_TOOL_ALLOC},
	{"cuMemAllocManaged", SG_TOOL_ALLOC},
	{"cuMemAllocHost_v2", SG_TOOL_ALLOC},
	{"cuMemHostAlloc", SG_TOOL_ALLOC},
	{"cuMemAllocAsync", SG_TOOL_ALLOC_ASYNC},
	{"cuMemAllocFromPoolAsync", SG_TOOL_ALLOC_FROM_POOL},
	{"cuMemFree_v2", SG_TOOL_FREE},
	{"cuMemFreeHost", SG_TOOL_FREE},
	{"cuMemFreeAsync", SG_TOOL_FREE_ASYNC},
	{"cuMemPoolCreate", SG_TOOL_POOL_CREATE},
	{"cuMemPoolDestroy", SG_TOOL_POOL_DESTROY},
	{"cuMemPoolTrimTo", SG_TOOL_POOL_TRIM},
	{"cuStreamSynchronize", SG_TOOL_SYNC_STREAM},
	{"cuCtxSynchronize", SG_TOOL_SYNC_CONTEXT},
	{"cuCtxSynchronize_v2", SG_TOOL_SYNC_CONTEXT},
};

/* By number of the domain. Made once each, while the domain's list is locked; never freed. */
static _Atomic(struct sg_tool_entry *) maps[MAX_DOMAINS];

static enum sg_tool_action find_action(const char *function)
{
	size_t length = strlen(function);

	if (length > 5 && !strcmp(function + length - 5, "_ptsz"))
		length -= 5;
	for (size_t i = 0; i < SG_LENGTH(actions); i++)
		if (strlen(actions[i].function) == length &&
		    !memcmp(actions[i].function, function, length))
			return actions[i].action;
	return SG_TOOL_NO_ACTION;
}

static int compare(const void *function, const void *id)
{
	return strcmp(function, ((const struct id *)id)->function);
}

/* The newest of a function that the library can have, 0 if there is none. */
static uint16_t find_cbid(const struct id *ids, size_t nr_ids, const char *function, int version)
{
	const struct id *found = bsearch(function, ids, nr_ids, sizeof(*ids), compare);
	uint16_t cbid = 0;

	if (!found)
		return 0;
	while (found > ids && !strcmp(found[-1].function, function))
		found--;
	for (; found < ids + nr_ids && !strcmp(found->function, function); found++)
		if (found->version <= version)
			cbid = found->cbid;
	return cbid;
}

static void fill(struct sg_tool_entry *map, const struct sg_calls_domain *domain)
{
	/* Functions keep their names when their parameters change: we know ours, not newer ones. */
	if (domain->kind == SG_CALLS_RUNTIME && domain->version / 1000 > CUDA_VERSION / 1000)
		return;
	for (unsigned i = 0; i < domain->nr_names; i++) {
		const char *name = domain->names[i];

		if (domain->kind == SG_CALLS_DRIVER) {
			map[i].cbid = find_cbid(driver_ids, SG_LENGTH(driver_ids), name, 0);
			map[i].action = (uint8_t)find_action(name);
		} else {
			map[i].cbid = find_cbid(runtime_ids, SG_LENGTH(runtime_ids), name,
						domain->version);
		}
	}
}

void sg_tool_table_join(const struct sg_calls_domain *domain)
{
	struct sg_tool_entry *map;

	if (domain->number >= MAX_DOMAINS || atomic_load(&maps[domain->number]))
		return;
	map = calloc(domain->nr_names, sizeof(*map));
	if (!map)
		return;
	fill(map, domain);
	atomic_store_explicit(&maps[domain->number], map, memory_order_release);
}

struct sg_tool_entry sg_tool_table_find(const struct sg_call *call)
{
	struct sg_tool_entry *map = NULL;

	if (call->domain->number < MAX_DOMAINS)
		map = atomic_load_explicit(&maps[call->domain->number], memory_order_acquire);
	return map ? map[call->index] : (struct sg_tool_entry){0, SG_TOOL_NO_ACTION};
}

uint32_t sg_tool_table_get_size(CUpti_CallbackDomain domain)
{
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		return CUPTI_DRIVER_TRACE_CBID_SIZE;
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		return CUPTI_RUNTIME_TRACE_CBID_SIZE;
	case CUPTI_CB_DOMAIN_RESOURCE:
		return CUPTI_CBID_RESOURCE_SIZE;
	case CUPTI_CB_DOMAIN_SYNCHRONIZE:
		return CUPTI_CBID_SYNCHRONIZE_SIZE;
	case CUPTI_CB_DOMAIN_NVTX:
		return CUPTI_CBID_NVTX_SIZE;
	default:
		/* CUPTI_CB_DOMAIN_STATE, where the release has it: three numbers. */
		return (int)domain == STATE_DOMAIN && STATE_DOMAIN < (int)CUPTI_CB_DOMAIN_SIZE ? 4
											       : 0;
	}
}

/* Only functions have names, as with the real one. */
SG_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
					const char **name)
{
	bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
	const struct id *ids = is_driver ? driver_ids : runtime_ids;
	size_t nr_ids = is_driver ? SG_LENGTH(driver_ids) : SG_LENGTH(runtime_ids);

	if (!name || (!is_driver && domain != CUPTI_CB_DOMAIN_RUNTIME_API))
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (cbid == 0) {
		*name = "INVALID";
		return CUPTI_SUCCESS;
	}
	for (size_t i = 0; i < nr_ids; i++) {
		if (ids[i].cbid == cbid) {
			*name = ids[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
}
