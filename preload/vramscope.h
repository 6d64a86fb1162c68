/*
 * vramscope.h: tell vramscope about your own memory pool and the phases of your program.
 *
 * Header only, C and C++, nothing to link (glibc before 2.34: -ldl). In a program that is not
 * profiled every call is a load and a branch. All calls are safe from any thread, never fail, and
 * leave errno alone.
 *
 *	#include <vramscope.h>
 *
 *	vs_pool pool = vs_pool_create("my pool", 0, 0);	   device 0, no limit
 *
 *	void *p = my_pool_take(size);			   a piece of one of the pool's cudaMallocs
 *	if (p)
 *		vs_pool_alloc(pool, p, size);		   after it was taken
 *	else
 *		vs_pool_oom(pool, size);		   the pool itself ran out
 *	...
 *	vs_pool_free(pool, p);				   before it can be taken again
 *	my_pool_give_back(p);
 *
 *	for (step = 0; step < nr_steps; step++) {
 *		vs_step(step);
 *		vs_phase_push("forward");
 *		forward();
 *		vs_phase_pop();
 *	}
 *
 * Blocks are matched with the CUDA memory they lie in by their addresses. Phases nest, each thread
 * has its own. Names are copied. Phases, steps and marks alone make no trace; what is open when the
 * first memory is taken is in it.
 */
#ifndef VRAMSCOPE_H
#define VRAMSCOPE_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool by number; 0 is none, and everything said about it is ignored. */
typedef uint32_t vs_pool;

/*
 * What the profiler exports as `vramscope_api`. Only ever appended to; size tells how much there
 * is. The functions are exported by their names as well (vramscope_phase_push, ...), for programs
 * that cannot include this.
 */
struct vramscope_api {
	uint32_t size;
	uint32_t (*pool_create)(const char *name, int32_t device, uint64_t limit_size);
	void (*pool_destroy)(uint32_t pool);
	void (*pool_alloc)(uint32_t pool, const void *address, uint64_t size);
	void (*pool_free)(uint32_t pool, const void *address);
	void (*pool_oom)(uint32_t pool, uint64_t size);
	void (*phase_push)(const char *name);
	void (*phase_pop)(void);
	void (*step)(uint64_t number);
	void (*mark)(const char *name);
};

/* One for the program or library that includes this: NULL until somebody looked. */
__attribute__((weak, visibility("hidden"))) const struct vramscope_api *vramscope_api_found;

/* The profiler's, or NULL. */
static inline const struct vramscope_api *vramscope_find_api(void)
{
	static const struct vramscope_api none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	const struct vramscope_api *api = __atomic_load_n(&vramscope_api_found, __ATOMIC_ACQUIRE);

	if (!api) {
		/* NULL is RTLD_DEFAULT, which dlfcn.h has only for _GNU_SOURCE. */
		api = (const struct vramscope_api *)dlsym((void *)0, "vramscope_api");
		if (!api || api->size < sizeof(*api))
			api = &none;
		__atomic_store_n(&vramscope_api_found, api, __ATOMIC_RELEASE);
	}
	return api->size ? api : (const struct vramscope_api *)0;
}

/* device: ordinal of its GPU, -1 for none. limit_size: the most it may hold, 0 for no limit. */
static inline vs_pool vs_pool_create(const char *name, int32_t device, uint64_t limit_size)
{
	const struct vramscope_api *api = vramscope_find_api();

	return api ? api->pool_create(name, device, limit_size) : 0;
}

/* The pool is gone, with every block still in it. */
static inline void vs_pool_destroy(vs_pool pool)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->pool_destroy(pool);
}

/* The pool gave out a block. Say it after it was taken. */
static inline void vs_pool_alloc(vs_pool pool, const void *address, uint64_t size)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->pool_alloc(pool, address, size);
}

/* A block goes back. Say it before somebody else can get it. */
static inline void vs_pool_free(vs_pool pool, const void *address)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->pool_free(pool, address);
}

/* The pool could not serve a request, for good: an out-of-memory. */
static inline void vs_pool_oom(vs_pool pool, uint64_t size)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->pool_oom(pool, size);
}

/* The calling thread enters a phase, and leaves the one it entered last. */
static inline void vs_phase_push(const char *name)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->phase_push(name);
}

static inline void vs_phase_pop(void)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->phase_pop();
}

/* A step of training, or whatever the program does over and over, begins. */
static inline void vs_step(uint64_t number)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->step(number);
}

/* Something worth finding again happened. */
static inline void vs_mark(const char *name)
{
	const struct vramscope_api *api = vramscope_find_api();

	if (api)
		api->mark(name);
}

#ifdef __cplusplus
}
#endif

#endif
