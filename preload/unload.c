/*
 * dlclose is hooked because an address means something else after it: the loader has no counter
 * that could be read without its lock, and looking only when a new stack appears would take a
 * reloaded plugin's stacks for the old one's. The loader's lock is taken here once, right after
 * dlclose itself held it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lifecycle.h"
#include "real.h"
#include "recorder.h"

typedef int (*dlclose_function)(void *handle);

static _Atomic(dlclose_function) real_dlclose;
static _Atomic unsigned long long nr_unloaded; /* objects, as the loader counts them */

static dlclose_function find_real(void)
{
	dlclose_function real = atomic_load_explicit(&real_dlclose, memory_order_relaxed);

	if (!real) {
		*(void **)(void *)&real = dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&real_dlclose, real, memory_order_relaxed);
	}
	return real;
}

static int read_count(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	*(unsigned long long *)count = info->dlpi_subs;
	return 1; /* the same in every object: the first is enough */
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
	dlclose_function real = find_real();
	unsigned long long count = 0;
	int result;

	if (!real)
		return 0; /* no loader without one: the handle just stays open */
	result = real(handle);
	vs_real_check();
	/* Mostly dlclose only counts down. */
	if (vs_lifecycle_is_begun() && vs_lifecycle_peek_log()) {
		dl_iterate_phdr(read_count, &count);
		if (atomic_exchange_explicit(&nr_unloaded, count, memory_order_relaxed) != count)
			vs_recorder_check_modules();
	}
	return result;
}
