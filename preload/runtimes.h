#ifndef VS_RUNTIMES_H
#define VS_RUNTIMES_H

#include "cuda_headers.h"
#include "loaded_object.h"

/*
 * The CUDA runtimes of the process. There may be several (each framework brings one), and a call
 * must reach the one its caller was linked with, wherever ours stands in the search order.
 */
struct vs_runtime {
	struct vs_loaded_object object;
#define VS_RUNTIME_HOOK(symbol) __typeof__(&symbol) symbol;
#include "cuda_api.def"
};

/*
 * The runtime that a call from this return address means, or NULL: the one among the libraries the
 * calling object was linked with; else the one whose functions were looked up by dlsym; else the
 * one everybody sees. Remembered for each calling object. Any thread; the first call of an object
 * takes the loader's lock, as that runtime's own first call does.
 */
const struct vs_runtime *vs_runtimes_get(const void *return_address);

/*
 * dlsym found a function of the runtime `object`. Says whether the caller may be given our wrapper
 * instead: only while it is the one runtime of the process, because a wrapper reached through a
 * pointer cannot tell whose it is.
 */
bool vs_runtimes_offer(const struct vs_loaded_object *object);

/* Whether an object is a runtime: soname libcudart.*, or libcudart-HASH.* as wheels rename it. */
bool vs_runtimes_is_runtime(const struct vs_loaded_object *object);

#endif
