#ifndef SG_CALLS_H
#define SG_CALLS_H

/*
 * How driver and runtimes tell a tool (the CUPTI stand-in) what the program calls.
 *
 * An API name is exported by a generated function (gen/calls.py); the code that a developer writes
 * under that name gets the symbol sg_do_NAME at compile time, and calls inside a library lead
 * there. So each call of the program, and each call of a runtime into the driver, passes exactly
 * one generated function. With no tool that costs one relaxed load and a jump. With one it is
 * told before and after, with the arguments as a struct in their order: the shape that CUPTI's
 * generated_*_meta.h headers give them.
 *
 *   domain  one library with API names: the driver, and each runtime that is in the process.
 *           Static data of that library. The driver keeps the list.
 *   tool    at most one per process. Static data of a library that is never unloaded.
 *
 * A runtime and a tool reach the driver's side (struct sg_calls_api) by asking cuGetProcAddress for
 * SG_CALLS_NAME. Any thread may call anything here at any time; no lock of the driver is held when
 * a tool is told something, so it may call the driver.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SG_CALLS_NAME "softgpuCalls"

struct sg_call;

enum sg_calls_kind {
	SG_CALLS_DRIVER,
	SG_CALLS_RUNTIME,
};

/* Things that come and go. Told after they have come and before they go. */
enum sg_calls_resource {
	SG_CALLS_INITIALISED, /* cuInit: neither context nor handle */
	SG_CALLS_CONTEXT_CREATED,
	SG_CALLS_CONTEXT_GOING,
	SG_CALLS_STREAM_CREATED,
	SG_CALLS_STREAM_GOING,
	SG_CALLS_MODULE_LOADED,
	SG_CALLS_MODULE_GOING,
};

struct sg_calls_domain {
	enum sg_calls_kind kind;
	int version;     /* CUDA release of the headers it was built with: 13000 */
	unsigned number; /* given by the driver when it joins, never given again; the driver's is 0
			  */
	unsigned nr_names;
	const char *const *names;
	/* Name of the kernel that a call launches; NULL: it launches none, or an unknown one. */
	const char *(*find_kernel_name)(const struct sg_call *call);
	/* Written by the driver's side, read by every call. */
	_Atomic(const struct sg_calls_tool *) tool;
	struct sg_calls_domain *next; /* the driver's list */
};

/* One call of an API function, on the stack of the generated function. */
struct sg_call {
	const struct sg_calls_domain *domain;
	unsigned index;     /* of its name in the domain */
	const void *params; /* struct of the arguments; NULL: it takes none */
	void *result;       /* its CUresult or cudaError_t; NULL before it ran */
	/* Who was told that it begins, and so is told that it ends. NULL: nobody. */
	const struct sg_calls_tool *tool;
	/* The tool's, kept from beginning to end. */
	uint64_t data;
	uint64_t start_ns;
	uint64_t space[8];
	uint32_t id;
	uint32_t period;
};

struct sg_calls_tool {
	/* A domain is there: before any of its calls is told. One at a time. */
	void (*join)(const struct sg_calls_domain *domain);
	void (*enter)(struct sg_call *call);
	void (*exit)(struct sg_call *call);
	/* context and handle are CUcontext, CUstream or CUmodule. */
	void (*resource)(enum sg_calls_resource what, void *context, void *handle);
};

struct sg_calls_api {
	/* A runtime comes; leave before its data goes. */
	void (*join)(struct sg_calls_domain *domain);
	void (*leave)(struct sg_calls_domain *domain);
	/* False if there is another tool. Calls that are under way are not told. */
	bool (*attach)(const struct sg_calls_tool *tool);
	/* Calls that it saw begin may still be told to it when they end. */
	void (*detach)(const struct sg_calls_tool *tool);
	/* A driver function by its exported name that tells nobody, or NULL. */
	void *(*find_plain)(const char *name);
	/*
	 * The device of a CUmemoryPool, -1 for none, and whether it is another process's: no
	 * function of the API tells them.
	 */
	int (*get_pool_device)(void *pool, bool *is_imported);
};

static inline void sg_call_enter(struct sg_call *call)
{
	call->tool = atomic_load_explicit(&call->domain->tool, memory_order_acquire);
	if (call->tool)
		call->tool->enter(call);
}

static inline void sg_call_exit(struct sg_call *call, void *result)
{
	call->result = result;
	if (call->tool)
		call->tool->exit(call);
}

#endif
