#include "runtimes.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "resolve.h"

#define SONAME_START "libcudart"
#define MAX_RUNTIMES 16
#define NR_CALLERS   256 /* a power of two */

enum state {
	EMPTY,
	FILLING,
	READY,
};

/* A slot is filled by the thread that took it from EMPTY and read by all once it is READY (release,
 * acquire). The same runtime in two slots, by two threads at once, does no harm. */
static struct {
	_Atomic int state;
	struct vs_runtime runtime;
} runtimes[MAX_RUNTIMES];

/*
 * A runtime that has no slot, for the call at hand. initial-exec: the general model may allocate at
 * a thread's first use.
 */
static _Thread_local struct vs_runtime spare __attribute__((tls_model("initial-exec")));

/*
 * What was found for a calling object. Each entry is written once; an object that is gone leaves
 * its entry, and a later one at the same place with other libraries is told by the check that its
 * runtime is alive. A full table means that callers are looked up each time.
 */
static struct caller {
	_Atomic uintptr_t start;                  /* 0: free */
	const struct vs_runtime *_Atomic runtime; /* NULL: not known yet */
} callers[NR_CALLERS];

/* The runtime that dlsym gave wrappers for. */
static const struct vs_runtime *_Atomic looked_up;

static const struct {
	const char *name;
	size_t offset;
} slots[] = {
#define VS_RUNTIME_HOOK(symbol) {#symbol, offsetof(struct vs_runtime, symbol)},
#include "cuda_api.def"
};

bool vs_runtimes_is_runtime(const struct vs_loaded_object *object)
{
	return strncmp(vs_loaded_object_get_soname(object), SONAME_START,
		       sizeof(SONAME_START) - 1) == 0;
}

static void fill(struct vs_runtime *runtime, const struct vs_loaded_object *object)
{
	runtime->object = *object;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		void *function = vs_loaded_object_get_function(object, slots[i].name);

		memcpy((char *)runtime + slots[i].offset, &function, sizeof(function));
	}
}

static const struct vs_runtime *get_runtime(const struct vs_loaded_object *object)
{
	for (unsigned i = 0; i < MAX_RUNTIMES; i++) {
		struct vs_runtime *runtime = &runtimes[i].runtime;
		int state = atomic_load_explicit(&runtimes[i].state, memory_order_acquire);

		if (state == READY && runtime->object.map == object->map &&
		    runtime->object.start == object->start)
			return runtime;
		if (state != EMPTY ||
		    !atomic_compare_exchange_strong(&runtimes[i].state, &state, FILLING))
			continue;
		fill(runtime, object);
		atomic_store_explicit(&runtimes[i].state, READY, memory_order_release);
		return runtime;
	}
	fill(&spare, object);
	return &spare;
}

/* The runtime that holds an address, if one does. */
static const struct vs_runtime *get_runtime_at(const void *function)
{
	struct vs_loaded_object object;

	if (!function || !vs_loaded_object_at(function, &object) ||
	    !vs_runtimes_is_runtime(&object))
		return NULL;
	return get_runtime(&object);
}

static const struct vs_runtime *find_runtime(const struct vs_loaded_object *caller)
{
	const struct vs_runtime *runtime =
		get_runtime_at(vs_resolve_find_in_scope(caller, "cudaMalloc"));
	struct vs_loaded_object any;

	if (runtime)
		return runtime;
	runtime = atomic_load_explicit(&looked_up, memory_order_acquire);
	if (runtime && vs_loaded_object_is_alive(&runtime->object))
		return runtime;
	runtime = get_runtime_at(vs_resolve_find_next("cudaMalloc"));
	if (runtime)
		return runtime;
	/* A pointer to our wrapper that travelled to an object without a runtime. */
	return vs_loaded_object_find(SONAME_START, &any) ? get_runtime(&any) : NULL;
}

static struct caller *get_caller(uintptr_t start)
{
	unsigned first = (unsigned)(start >> 12) * 2654435761u;

	for (unsigned i = 0; i < 8; i++) {
		struct caller *caller = &callers[(first + i) % NR_CALLERS];
		uintptr_t seen = atomic_load_explicit(&caller->start, memory_order_relaxed);

		if (seen == start ||
		    (!seen && atomic_compare_exchange_strong(&caller->start, &seen, start)) ||
		    seen == start)
			return caller;
	}
	return NULL;
}

const struct vs_runtime *vs_runtimes_get(const void *return_address)
{
	const struct vs_runtime *runtime = NULL;
	struct vs_loaded_object object;
	struct caller *caller;

	/* Code that belongs to no object: made at run time. */
	if (!vs_loaded_object_at(return_address, &object))
		return vs_loaded_object_find(SONAME_START, &object) ? get_runtime(&object) : NULL;
	caller = get_caller(object.start);
	if (caller)
		runtime = atomic_load_explicit(&caller->runtime, memory_order_acquire);
	if (runtime && vs_loaded_object_is_alive(&runtime->object))
		return runtime;
	runtime = find_runtime(&object);
	if (caller && runtime && runtime != &spare)
		atomic_store_explicit(&caller->runtime, runtime, memory_order_release);
	return runtime;
}

bool vs_runtimes_offer(const struct vs_loaded_object *object)
{
	const struct vs_runtime *runtime, *before;
	struct vs_loaded_object first;

	if (vs_loaded_object_find(SONAME_START, &first) != 1)
		return false;
	runtime = get_runtime(object);
	if (runtime == &spare)
		return false;
	before = atomic_load_explicit(&looked_up, memory_order_acquire);
	if (before && before != runtime && vs_loaded_object_is_alive(&before->object))
		return false;
	atomic_store_explicit(&looked_up, runtime, memory_order_release);
	return true;
}
