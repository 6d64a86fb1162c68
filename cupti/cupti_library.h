#ifndef VS_CUPTI_LIBRARY_H
#define VS_CUPTI_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <cupti.h>

/*
 * The libcupti of the program, of any release from 11.0 on. It is opened, never linked: what is not
 * there costs nothing, and the one that the program itself uses is ours, too.
 */
struct vs_cupti_library {
	void *handle;
	uint32_t version; /* CUPTI_API_VERSION of the library: 18 for 12.0, 130000 for 13.0, ... */
	char path[PATH_MAX];
#define VS_CUPTI(member, symbol)          __typeof__(&symbol) member;
#define VS_CUPTI_OPTIONAL(member, symbol) __typeof__(&symbol) member;
#include "cupti_api.def"
};

/*
 * Opens it for good: the one that VRAMSCOPE_CUPTI_LIBRARY names and no other; else one that is
 * loaded; else the one of the driver's release, an older or a newer one, found as the program would
 * find it, beside its CUDA runtime, or in a toolkit. False: there is none; why says so, in at most
 * why_size bytes. One thread.
 */
bool vs_cupti_library_open(struct vs_cupti_library *library, char *why, size_t why_size);

/* A function of some libcupti that is loaded, or NULL. Any thread. */
void *vs_cupti_library_find_loaded(const char *symbol);

#endif
