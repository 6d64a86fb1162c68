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
	char path[PATH_MAX];
#define VS_CUPTI(member, symbol)          __typeof__(&symbol) member;
#define VS_CUPTI_OPTIONAL(member, symbol) __typeof__(&symbol) member;
#include "cupti_api.def"
};

/*
 * Opens it for good: the one that VRAMSCOPE_CUPTI_LIBRARY names and no other; else one that is
 * loaded; else the one of the driver's release or an older one, found as the program would find it,
 * beside its CUDA runtime, or in a toolkit. None of its functions is called. False: there is none;
 * why says so, in at most why_size bytes. One thread.
 *
 * That of CUDA 13.2 is passed over unless it is named: where it cannot start it calls itself
 * without end, and the program dies of it.
 */
bool vs_cupti_library_open(struct vs_cupti_library *library, char *why, size_t why_size);

/* A function of some libcupti that is loaded, or NULL. Any thread. */
void *vs_cupti_library_find_loaded(const char *symbol);

#endif
