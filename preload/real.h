#ifndef VS_REAL_H
#define VS_REAL_H

#include "cuda_headers.h"
#include "loaded_object.h"

/* The driver behind the hooks: its own functions, never ours. NULL: this driver has no such one. */
struct vs_real {
	struct vs_loaded_object object;
#define VS_HOOK(name, abi, symbol) __typeof__(&symbol) symbol;
#define VS_DRIVER_CALL(symbol)     __typeof__(&symbol) symbol;
#include "cuda_api.def"
};

/*
 * The driver of this process: the one somebody looked a function up in, else the libcuda.so.1 that
 * is loaded; NULL without one. What it points to never changes and is never freed. Any thread;
 * errno is kept.
 */
const struct vs_real *vs_real_get(void);

/*
 * Somebody was given a function of this object, a libcuda.so.1: from now on it is the driver. NULL
 * when another driver is in use and still loaded; what belongs to this one must not be hooked then.
 */
const struct vs_real *vs_real_adopt(const struct vs_loaded_object *object);

/*
 * Some library was unloaded. If it was the driver, it is not called any more: a plugin that was
 * linked with it calls our wrappers without looking anything up, and the next one may lie
 * elsewhere. Any thread; errno is kept.
 */
void vs_real_check(void);

/* Whether an object is a driver: soname libcuda.so.1. */
bool vs_real_is_driver(const struct vs_loaded_object *object);

/*
 * What a wrapper returns that has nothing to call: CUDA_ERROR_NO_DEVICE without a driver, as when
 * none is installed; CUDA_ERROR_NOT_FOUND when the driver is older than the function.
 */
CUresult vs_real_get_error(const struct vs_real *real);

#endif
