/* A tool that watches the runtime's calls: finding it, and what it wants to know of them. */
#define _GNU_SOURCE
#include "rt_calls.h"

#include <link.h>
#include <string.h>

static const struct sg_calls_api *api;

/*
 * By hand, and not watched: the name's end was written under the loader's lock, of which
 * ThreadSanitizer knows nothing.
 */
__attribute__((no_sanitize("thread"))) static int is_driver(struct dl_phdr_info *info, size_t size,
							    void *data)
{
	static const char driver[] = "libcuda.so.1";
	const char *name = info->dlpi_name;
	size_t length = 0;

	(void)size;
	(void)data;
	for (const char *at = name; *at; at++) {
		if (*at == '/')
			name = at + 1;
	}
	while (driver[length] && name[length] == driver[length])
		length++;
	return name[length] == driver[length];
}

/* Not by dlopen: a call that needs no driver must not load one. */
static void join_and_enter(struct sg_call *call)
{
	call->tool = NULL;
	if (!dl_iterate_phdr(is_driver, NULL))
		return;
	(void)sg_rt_load_library();
	call->tool = atomic_load_explicit(&sg_rt_calls_domain.tool, memory_order_acquire);
	/* Still this one while another thread is about to join. */
	if (call->tool == &sg_rt_calls_joiner)
		call->tool = NULL;
	if (call->tool)
		call->tool->enter(call);
}

const struct sg_calls_tool sg_rt_calls_joiner = {.enter = join_and_enter};

void sg_rt_calls_join(void)
{
	CUdriverProcAddressQueryResult status;
	void *found = NULL;

	if (sg_rt_load_symbol(SG_CALLS_NAME, &found, 0, 0, &status) != CUDA_SUCCESS || !found) {
		atomic_store_explicit(&sg_rt_calls_domain.tool, NULL, memory_order_relaxed);
		return;
	}
	api = found;
	api->join(&sg_rt_calls_domain);
}

__attribute__((destructor)) static void leave(void)
{
	if (api)
		api->leave(&sg_rt_calls_domain);
}

/* A host function, or what __cudaGetKernel made of it. */
static const char *find_name(const void *function)
{
	const struct sg_rt_entry *entry = sg_rt_registry_find(SG_RT_KERNEL, function);
	CUresult (*get_name)(const char **, CUkernel);
	const char *name = NULL;

	if (entry)
		return entry->name;
	if (!api || !function)
		return NULL;
	get_name = (CUresult(*)(const char **, CUkernel))api->find_plain("cuKernelGetName");
	if (!get_name || get_name(&name, (CUkernel)function) != CUDA_SUCCESS)
		return NULL;
	return name;
}

/* The parameters of a launch begin with the function, but of this one. */
struct launch_ex {
	const void *config;
	const void *function;
};

const char *sg_rt_calls_find_kernel_name(const struct sg_call *call)
{
	const char *name = call->domain->names[call->index];

	name += strspn(name, "_");
	if (!strncmp(name, "cudaLaunchKernelExC", strlen("cudaLaunchKernelExC")))
		return find_name(((const struct launch_ex *)call->params)->function);
	if (!strncmp(name, "cudaLaunchKernel", strlen("cudaLaunchKernel")) ||
	    !strcmp(name, "cudaLaunchCooperativeKernel") ||
	    !strcmp(name, "cudaLaunchCooperativeKernel_ptsz"))
		return find_name(*(const void *const *)call->params);
	return NULL;
}
