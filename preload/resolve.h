#ifndef VS_RESOLVE_H
#define VS_RESOLVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "loaded_object.h"

/*
 * What dlsym, dlvsym and cuGetProcAddress answer. The real one is always asked, with the caller's
 * own arguments; its answer is replaced only if it is a function of a driver or a runtime that has
 * a row in cuda_api.def. All other names, and RTLD_NEXT, are passed on by a jump (resolve_entry.S),
 * so that the loader sees the caller and not us.
 */

/* dlsym and dlvsym of whoever comes behind us; resolve_entry.S jumps there. */
extern void *(*vs_resolve_real_dlsym)(void *handle, const char *name);
extern void *(*vs_resolve_real_dlvsym)(void *handle, const char *name, const char *version);

struct vs_resolve_answer {
	uintptr_t is_final; /* 0: jump to the real function */
	void *address;
};

/* Called by resolve_entry.S. version is NULL for dlsym. */
struct vs_resolve_answer vs_resolve_filter(void *handle, const char *name, const char *version,
					   const void *caller);

/*
 * Our wrapper for what cuGetProcAddress answered, or the answer itself. The address tells the ABI
 * where it is one that the driver exports; otherwise name, version and flags do, if there can be no
 * doubt.
 */
void *vs_resolve_get_entry(const char *name, void *answer, int version, uint64_t flags);

/* Answers for names in the table that were passed on because their ABI was in doubt. */
uint64_t vs_resolve_get_nr_unsure(void);

/*
 * A further name, of CUPTI (told_calls.h): functions of a libcupti are answered by ours; the one
 * that was found goes to *behind. name is static; at most eight of them, said by one thread.
 */
void vs_resolve_replace(const char *name, void *ours, void *_Atomic *behind);

/* What the real dlsym answers. */
void *vs_resolve_look_up(void *handle, const char *name);

/* What an object finds by itself and the libraries it was linked with; NULL for the program itself.
 */
void *vs_resolve_find_in_scope(const struct vs_loaded_object *object, const char *name);

/* The next definition behind ours in the scope that everybody sees. */
void *vs_resolve_find_next(const char *name);

#endif
