#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "hooks.h"
#include "python.h"
#include "real.h"
#include "runtimes.h"

void *(*vs_resolve_real_dlsym)(void *, const char *);
void *(*vs_resolve_real_dlvsym)(void *, const char *, const char *);

static _Atomic uint64_t nr_unsure;

struct row {
	const char *name;   /* for cuGetProcAddress; NULL: a runtime function */
	const char *symbol; /* for dlsym */
	int abi;
	size_t offset; /* of the real one in struct vs_real */
	void *wrapper;
};

static const struct row rows[] = {
#define VS_HOOK(name, abi, symbol) \
	{name, #symbol, abi, offsetof(struct vs_real, symbol), (void *)(uintptr_t)symbol},
#define VS_RUNTIME_HOOK(symbol) {NULL, #symbol, 0, 0, (void *)(uintptr_t)symbol},
#include "cuda_api.def"
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct {
	const char *name;
	int abi;
} other_abis[] = {
#define VS_OTHER_ABI(name, abi) {name, abi},
#include "cuda_api.def"
};

/* ---- The real dlsym ---- */

/*
 * Not by dlsym or dlvsym: those names mean ourselves in here. libc's own table has them; before
 * glibc 2.34 libdl's had. A sanitizer in the program comes by here while it looks for the functions
 * that it interposes, none of which can be called by then: so libc is found by a function that is
 * nobody else's, and not by going through all objects.
 */
static void *find_in_libc(const char *name)
{
	struct vs_loaded_object object;
	void *function = NULL;

	if (vs_loaded_object_at((const void *)(uintptr_t)gnu_get_libc_version, &object))
		function = vs_loaded_object_get_function(&object, name);
	if (!function && vs_loaded_object_find("libdl.so.2", &object))
		function = vs_loaded_object_get_function(&object, name);
	return function;
}

/* The next one behind us, which need not be libc's: others interpose, too. */
static void *find_behind(const char *name)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	void *(*libc_dlvsym)(void *, const char *, const char *) =
		(void *(*)(void *, const char *, const char *))find_in_libc("dlvsym");
	void *function = NULL;

	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]) && !function; i++)
		if (libc_dlvsym)
			function = libc_dlvsym(RTLD_NEXT, name, versions[i]);
	return function ? function : find_in_libc(name);
}

/*
 * Runs before any other constructor of ours, and again from a look-up that is earlier still.
 * Threads that do it at once store the same.
 */
__attribute__((constructor(101))) static void find_real_functions(void)
{
	if (vs_resolve_real_dlsym)
		return;
	vs_resolve_real_dlvsym =
		(void *(*)(void *, const char *, const char *))find_behind("dlvsym");
	vs_resolve_real_dlsym = (void *(*)(void *, const char *))find_behind("dlsym");
}

void *vs_resolve_find_next(const char *name)
{
	find_real_functions();
	return vs_resolve_real_dlsym(RTLD_NEXT, name);
}

void *vs_resolve_find_in_scope(const struct vs_loaded_object *object, const char *name)
{
	const char *path = object->map->l_name;
	void *handle, *function;

	find_real_functions();
	/* The program's scope is the one that everybody sees, and we are in it. */
	if (!path || !*path)
		return NULL;
	handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	function = vs_resolve_real_dlsym(handle, name);
	dlclose(handle); /* it is running: this is not the last reference */
	return function;
}

/* ---- dlsym ---- */

static const struct row *find_symbol(const char *symbol)
{
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return NULL;
	for (size_t i = 0; i < NR_ROWS; i++)
		if (strcmp(rows[i].symbol, symbol) == 0)
			return &rows[i];
	return NULL;
}

static bool is_ours(const void *address)
{
	struct vs_loaded_object object, us;

	return vs_loaded_object_at(address, &object) && vs_loaded_object_at(rows, &us) &&
	       object.map == us.map;
}

static void *replace(const struct row *row, void *answer)
{
	struct vs_loaded_object object;

	if (!answer || !vs_loaded_object_at(answer, &object))
		return answer;
	if (row->name)
		return vs_real_is_driver(&object) && vs_real_adopt(&object) ? row->wrapper : answer;
	return vs_runtimes_is_runtime(&object) && vs_runtimes_offer(&object) ? row->wrapper
									     : answer;
}

/*
 * The answer to a question that ends at our own definition, because we stand in front of all: ours,
 * if the caller would find one without us; otherwise none. Programs ask so to learn whether CUDA is
 * there.
 */
static void *answer_by_next(const struct row *row, void *ours, const void *caller)
{
	struct vs_loaded_object object;

	if (vs_loaded_object_at(caller, &object) && vs_resolve_find_in_scope(&object, row->symbol))
		return ours;
	return vs_resolve_find_next(row->symbol) ? ours : NULL; /* dlerror() tells of this one */
}

/* ---- CUPTI ---- */

#define MAX_REPLACED 8

static struct replaced {
	const char *name;
	void *ours;
	void *_Atomic *behind;
} replaced[MAX_REPLACED];
static _Atomic unsigned nr_replaced;

void vs_resolve_replace(const char *name, void *ours, void *_Atomic *behind)
{
	unsigned nr = atomic_load_explicit(&nr_replaced, memory_order_relaxed);

	if (nr == MAX_REPLACED)
		return;
	replaced[nr] = (struct replaced){name, ours, behind};
	atomic_store_explicit(&nr_replaced, nr + 1, memory_order_release);
}

void *vs_resolve_look_up(void *handle, const char *name)
{
	find_real_functions();
	return vs_resolve_real_dlsym(handle, name);
}

static const struct replaced *find_replaced(const char *name)
{
	unsigned nr = atomic_load_explicit(&nr_replaced, memory_order_acquire);

	for (unsigned i = 0; i < nr; i++)
		if (strcmp(replaced[i].name, name) == 0)
			return &replaced[i];
	return NULL;
}

/* Ours for a function of a libcupti, or what was found. */
static void *replace_found(const struct replaced *row, void *found)
{
	struct vs_loaded_object object;

	if (!found || !vs_loaded_object_at(found, &object) ||
	    strncmp(vs_loaded_object_get_soname(&object), "libcupti.so", 11) != 0)
		return found;
	atomic_store(row->behind, found);
	return row->ours;
}

struct vs_resolve_answer vs_resolve_filter(void *handle, const char *name, const char *version,
					   const void *caller)
{
	struct vs_resolve_answer answer = {0};
	struct vs_loaded_object object;
	int error_number = errno;
	const struct replaced *further;
	const struct row *row;

	find_real_functions();
	row = name ? find_symbol(name) : NULL;
	further = name && !row && handle != RTLD_NEXT && handle != RTLD_DEFAULT && !version
			  ? find_replaced(name)
			  : NULL;
	if (further) {
		answer.address = replace_found(further, vs_resolve_real_dlsym(handle, name));
		answer.is_final = 1;
		goto restore_errno;
	}
	/* A program that loads Python later on asks for its functions, and Python for modules'. */
	if (name && name[0] == 'P' && name[1] == 'y')
		vs_python_find();
	/* A driver that asks about itself must find itself (a loader in front of the real one
	 * does). */
	if (!row || handle == RTLD_NEXT ||
	    (vs_loaded_object_at(caller, &object) && vs_real_is_driver(&object)))
		goto restore_errno;
	if (handle == RTLD_DEFAULT) {
		/* A version names a library that is not us; and somebody may stand before us. */
		answer.address = vs_resolve_real_dlsym(RTLD_DEFAULT, name);
		if (version || !answer.address || !is_ours(answer.address))
			goto restore_errno;
		answer.address = answer_by_next(row, answer.address, caller);
	} else {
		answer.address = version ? vs_resolve_real_dlvsym(handle, name, version)
					 : vs_resolve_real_dlsym(handle, name);
		if (answer.address && is_ours(answer.address))
			answer.address = answer_by_next(row, answer.address, caller);
		else
			answer.address = replace(row, answer.address);
	}
	answer.is_final = 1;
restore_errno:
	errno = error_number;
	return answer;
}

/* ---- cuGetProcAddress ---- */

static void *get_real(const struct vs_real *real, const struct row *row)
{
	void *function;

	memcpy(&function, (const char *)real + row->offset, sizeof(function));
	return function;
}

static bool is_per_thread(const struct row *row)
{
	size_t size = strlen(row->symbol);

	return size > 5 && strcmp(row->symbol + size - 5, "_ptsz") == 0;
}

/* The newest form of a name that is not above the version and that this driver has. */
static const struct row *find_entry(const struct vs_real *real, const char *name, int version,
				    bool per_thread)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < NR_ROWS; i++)
		if (rows[i].name && strcmp(rows[i].name, name) == 0 &&
		    is_per_thread(&rows[i]) == per_thread && rows[i].abi <= version &&
		    get_real(real, &rows[i]) && (!best || rows[i].abi > best->abi))
			best = &rows[i];
	return best;
}

/* Whether an answer that is none of the addresses we know can be trusted to have the row's ABI. */
static bool is_sure(const struct row *row, int version)
{
	/* Versions above the headers' may have forms we have never heard of. */
	if (version > CUDA_VERSION)
		return false;
	for (size_t i = 0; i < sizeof(other_abis) / sizeof(other_abis[0]); i++)
		if (strcmp(other_abis[i].name, row->name) == 0 && version >= other_abis[i].abi)
			return false;
	return true;
}

void *vs_resolve_get_entry(const char *name, void *answer, int version, uint64_t flags)
{
	const struct vs_real *real = vs_real_get();
	const struct row *row = NULL;
	struct vs_loaded_object object;

	/* Names that are not of the driver's own (softgpuIdentify) are not ours to touch, either.
	 */
	if (!real || !vs_loaded_object_at(answer, &object) || object.map != real->object.map)
		return answer;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		row = find_entry(real, name, version, true);
	if (!row)
		row = find_entry(real, name, version, false);
	if (row && get_real(real, row) == answer)
		return row->wrapper;
	for (size_t i = 0; i < NR_ROWS; i++)
		if (rows[i].name && get_real(real, &rows[i]) == answer)
			return rows[i].wrapper;
	if (!row)
		return answer;
	if (is_sure(row, version))
		return row->wrapper;
	atomic_fetch_add_explicit(&nr_unsure, 1, memory_order_relaxed);
	return answer;
}

uint64_t vs_resolve_get_nr_unsure(void)
{
	return atomic_load_explicit(&nr_unsure, memory_order_relaxed);
}
