#include "call_tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "memory.h"
#include "module.h"
#include "object.h"
#include "pool.h"
#include "stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All domains, the driver's last. */
static struct sg_calls_domain *domains = &sg_call_tool_driver;
static unsigned nr_joined = 1;
static const struct sg_calls_tool *attached;

static const struct sg_calls_tool *get_tool(void)
{
	return atomic_load_explicit(&sg_call_tool_driver.tool, memory_order_acquire);
}

/* Lock held. The tool knows of a domain before any of its calls gets there. */
static void set_tool(struct sg_calls_domain *domain)
{
	if (attached)
		attached->join(domain);
	atomic_store_explicit(&domain->tool, attached, memory_order_release);
}

static void join(struct sg_calls_domain *domain)
{
	pthread_mutex_lock(&lock);
	domain->number = nr_joined++;
	domain->next = domains;
	domains = domain;
	set_tool(domain);
	pthread_mutex_unlock(&lock);
}

static void leave(struct sg_calls_domain *domain)
{
	struct sg_calls_domain **at = &domains;

	pthread_mutex_lock(&lock);
	while (*at && *at != domain)
		at = &(*at)->next;
	if (*at)
		*at = domain->next;
	atomic_store_explicit(&domain->tool, NULL, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

/* Lock held. */
static void set_all(const struct sg_calls_tool *tool)
{
	attached = tool;
	for (struct sg_calls_domain *each = domains; each; each = each->next)
		set_tool(each);
}

static bool attach(const struct sg_calls_tool *tool)
{
	bool is_free;

	pthread_mutex_lock(&lock);
	is_free = !attached || attached == tool;
	if (!attached)
		set_all(tool);
	pthread_mutex_unlock(&lock);
	return is_free;
}

static void detach(const struct sg_calls_tool *tool)
{
	pthread_mutex_lock(&lock);
	if (attached == tool)
		set_all(NULL);
	pthread_mutex_unlock(&lock);
}

static int compare(const void *name, const void *member)
{
	return strcmp(name, *(const char *const *)member);
}

static void *find_plain(const char *name)
{
	const char *const *names = sg_call_tool_driver.names;
	const char *const *found =
		bsearch(name, names, sg_call_tool_driver.nr_names, sizeof(*names), compare);

	return found ? (void *)(uintptr_t)sg_call_tool_functions[found - names] : NULL;
}

static int get_pool_device(void *handle, bool *is_imported)
{
	const struct sg_pool *pool;
	int device = -1;

	sg_memory_lock();
	pool = sg_pool_get(handle);
	if (pool)
		device = sg_pool_get_device(pool);
	*is_imported = pool && sg_pool_is_imported(pool);
	sg_memory_unlock();
	return device;
}

const struct sg_calls_api *sg_call_tool_get_api(void)
{
	static const struct sg_calls_api api = {
		.join = join,
		.leave = leave,
		.attach = attach,
		.detach = detach,
		.find_plain = find_plain,
		.get_pool_device = get_pool_device,
	};

	return &api;
}

/* The parameters of every launch begin with the function, but of this one. */
struct launch_ex {
	const CUlaunchConfig *config;
	CUfunction function;
};

const char *sg_call_tool_find_kernel_name(const struct sg_call *call)
{
	const char *name = call->domain->names[call->index], *kernel_name;
	CUfunction function;

	if (strncmp(name, "cuLaunch", strlen("cuLaunch")) != 0 || strstr(name, "HostFunc") ||
	    strstr(name, "MultiDevice") || !call->params)
		return NULL;
	if (!strncmp(name, "cuLaunchKernelEx", strlen("cuLaunchKernelEx")))
		function = ((const struct launch_ex *)call->params)->function;
	else
		function = *(const CUfunction *)call->params;
	return cuFuncGetName(&kernel_name, function) == CUDA_SUCCESS ? kernel_name : NULL;
}

void sg_call_tool_report(enum sg_calls_resource what, struct sg_context *context, void *handle)
{
	const struct sg_calls_tool *tool = get_tool();

	if (tool)
		tool->resource(what, context, handle);
}

/* Objects of a context, collected: their table may not be changed while it is walked. */
struct going {
	struct sg_context *context;
	enum sg_object_type type;
	void **handles;
	size_t nr_handles, room;
};

static void collect(void *object, void *argument)
{
	struct going *going = argument;
	const struct sg_context *context = going->type == SG_OBJECT_STREAM
						   ? ((struct sg_stream *)object)->context
						   : ((struct sg_module *)object)->context;

	if (context != going->context)
		return;
	if (going->nr_handles == going->room) {
		size_t room = going->room ? going->room * 2 : 64;
		void **handles = realloc(going->handles, room * sizeof(*handles));

		if (!handles)
			return;
		going->handles = handles;
		going->room = room;
	}
	going->handles[going->nr_handles++] = object;
}

static void report_all(struct sg_context *context, enum sg_object_type type,
		       enum sg_calls_resource what)
{
	struct going going = {.context = context, .type = type};

	sg_object_for_each(type, collect, &going);
	for (size_t i = 0; i < going.nr_handles; i++)
		sg_call_tool_report(what, context, going.handles[i]);
	free(going.handles);
}

void sg_call_tool_report_going(struct sg_context *context)
{
	if (!get_tool())
		return;
	report_all(context, SG_OBJECT_MODULE, SG_CALLS_MODULE_GOING);
	report_all(context, SG_OBJECT_STREAM, SG_CALLS_STREAM_GOING);
	sg_call_tool_report(SG_CALLS_CONTEXT_GOING, context, NULL);
}
