/*
 * NVTX before version 3 was a library, libnvToolsExt.so.1, which programs link (PyTorch up to 2.4):
 * its functions of the default domain are exported here in front of it, and forwarded to it. What
 * has handles (domains, strings) is not: they are the library's own, and it alone understands them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "loaded_object.h"
#include "nvtx.h"
#include "nvtx_path.h"
#include "resolve.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*function)(void);

static const char *const libraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1"};

/* Stands for "looked for, and there is none". */
static void nobody(void)
{
}

/* The library's own function. It stays loaded from here on. */
static function find_in_library(const char *name)
{
	void *handle, *found = NULL;

	for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (handle)
			found = vs_resolve_real_dlsym(handle, name);
	}
	if (!found)
		found = vs_resolve_real_dlsym(RTLD_NEXT, name);
	return (function)(uintptr_t)found;
}

/* A library may have NVTX inside, exported, and mean its own. */
static function find_in_caller(const char *name, const void *caller)
{
	struct vs_loaded_object object;

	if (!vs_loaded_object_at(caller, &object))
		return NULL;
	return (function)(uintptr_t)vs_loaded_object_get_function(&object, name);
}

static function find_real(_Atomic(function) *known, const char *name, const void *caller)
{
	function real = atomic_load_explicit(known, memory_order_acquire);
	int saved = errno;

	if (!real) {
		real = find_in_library(name);
		atomic_store_explicit(known, real ? real : nobody, memory_order_release);
	}
	if (!real || real == nobody)
		real = find_in_caller(name, caller);
	errno = saved;
	return real;
}

/*
 * Whether a call is to be recorded here: NVTX is no other tool's, and the library has not told us
 * itself meanwhile (it may load us, as version 3 does).
 */
static bool is_untold(uint64_t nr_calls)
{
	return !vs_nvtx_path_is_taken() && vs_nvtx_get_nr_calls() == nr_calls;
}

#define EXPORT_VOID(symbol, parameter, argument, recording)                    \
	EXPORT void symbol(parameter argument);                                \
	void symbol(parameter argument)                                        \
	{                                                                      \
		static _Atomic(function) known;                                \
		__typeof__(&(symbol)) real = (__typeof__(&(symbol)))find_real( \
			&known, #symbol, __builtin_return_address(0));         \
		uint64_t nr_calls = vs_nvtx_get_nr_calls();                    \
                                                                               \
		if (real)                                                      \
			real(argument);                                        \
		if (is_untold(nr_calls))                                       \
			recording;                                             \
	}

/* A level or id of the library's counts only if another tool gave it. */
#define EXPORT_VALUE(result, symbol, parameters, arguments, recording)         \
	EXPORT result symbol parameters;                                       \
	result symbol parameters                                               \
	{                                                                      \
		static _Atomic(function) known;                                \
		__typeof__(&(symbol)) real = (__typeof__(&(symbol)))find_real( \
			&known, #symbol, __builtin_return_address(0));         \
		uint64_t nr_calls = vs_nvtx_get_nr_calls();                    \
		result value = 0;                                              \
                                                                               \
		if (real)                                                      \
			value = real arguments;                                \
		return is_untold(nr_calls) ? recording : value;                \
	}

typedef const struct vs_nvtx_attributes *attributes;
typedef const char *ascii;
typedef const wchar_t *wide;

EXPORT_VOID(nvtxMarkEx, attributes, event, vs_nvtx_mark(vs_nvtx_name(NULL, event)))
EXPORT_VOID(nvtxMarkA, ascii, message, vs_nvtx_mark(vs_nvtx_name_ascii(message)))
EXPORT_VOID(nvtxMarkW, wide, message, vs_nvtx_mark(vs_nvtx_name_wide(message)))
EXPORT_VALUE(uint64_t, nvtxRangeStartEx, (attributes event), (event),
	     vs_nvtx_start(vs_nvtx_name(NULL, event)))
EXPORT_VALUE(uint64_t, nvtxRangeStartA, (ascii message), (message),
	     vs_nvtx_start(vs_nvtx_name_ascii(message)))
EXPORT_VALUE(uint64_t, nvtxRangeStartW, (wide message), (message),
	     vs_nvtx_start(vs_nvtx_name_wide(message)))
EXPORT_VOID(nvtxRangeEnd, uint64_t, id, vs_nvtx_end(id))
EXPORT_VALUE(int, nvtxRangePushEx, (attributes event), (event),
	     vs_nvtx_push(NULL, vs_nvtx_name(NULL, event)))
EXPORT_VALUE(int, nvtxRangePushA, (ascii message), (message),
	     vs_nvtx_push(NULL, vs_nvtx_name_ascii(message)))
EXPORT_VALUE(int, nvtxRangePushW, (wide message), (message),
	     vs_nvtx_push(NULL, vs_nvtx_name_wide(message)))
EXPORT_VALUE(int, nvtxRangePop, (void), (), vs_nvtx_pop(NULL))
