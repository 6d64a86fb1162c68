#include "real.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "hot.h"

#define DRIVER_SONAME "libcuda.so.1"

/* A driver that is closed and opened again is another one; who does that more often than this gets
 * its calls passed through. */
#define MAX_DRIVERS 8

static struct vs_real drivers[MAX_DRIVERS];
static _Atomic unsigned nr_drivers;
/* Stored (release) once all of it is filled in. */
VS_HOT_DATA static const struct vs_real *_Atomic current;

struct slot {
	const char *name;
	size_t offset;
};

static const struct slot slots[] = {
#define VS_HOOK(name, abi, symbol) {#symbol, offsetof(struct vs_real, symbol)},
#define VS_DRIVER_CALL(symbol)     {#symbol, offsetof(struct vs_real, symbol)},
#include "cuda_api.def"
};

bool vs_real_is_driver(const struct vs_loaded_object *object)
{
	return strcmp(vs_loaded_object_get_soname(object), DRIVER_SONAME) == 0;
}

static bool is_same(const struct vs_real *real, const struct vs_loaded_object *object)
{
	return real->object.map == object->map && real->object.start == object->start;
}

const struct vs_real *vs_real_adopt(const struct vs_loaded_object *object)
{
	const struct vs_real *before = atomic_load_explicit(&current, memory_order_acquire);
	struct vs_real *real;
	unsigned index;

	if (before && is_same(before, object))
		return before;
	if (before && vs_loaded_object_is_alive(&before->object))
		return NULL;
	index = atomic_fetch_add_explicit(&nr_drivers, 1, memory_order_relaxed);
	if (index >= MAX_DRIVERS) {
		atomic_fetch_sub_explicit(&nr_drivers, 1, memory_order_relaxed);
		return NULL;
	}
	real = &drivers[index];
	real->object = *object;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		void *function = vs_loaded_object_get_function(object, slots[i].name);

		memcpy((char *)real + slots[i].offset, &function, sizeof(function));
	}
	/* Another thread may have been first; then both have the same in hand. */
	if (atomic_compare_exchange_strong(&current, &before, real))
		return real;
	return is_same(before, object) ? before : NULL;
}

static __attribute__((noinline)) const struct vs_real *find_driver(void)
{
	const struct vs_real *real = NULL;
	struct vs_loaded_object object;
	int error_number = errno;

	if (vs_loaded_object_find(DRIVER_SONAME, &object) && vs_real_is_driver(&object))
		real = vs_real_adopt(&object);
	errno = error_number;
	return real;
}

const struct vs_real *vs_real_get(void)
{
	const struct vs_real *real = atomic_load_explicit(&current, memory_order_acquire);

	return __builtin_expect(real != NULL, 1) ? real : find_driver();
}

void vs_real_check(void)
{
	const struct vs_real *real = atomic_load_explicit(&current, memory_order_acquire);

	if (real && !vs_loaded_object_is_alive(&real->object))
		(void)atomic_compare_exchange_strong(&current, &real, NULL);
}

CUresult vs_real_get_error(const struct vs_real *real)
{
	return real ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
}
