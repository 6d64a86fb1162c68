#ifndef VS_UNWIND_OBJECT_H
#define VS_UNWIND_OBJECT_H

#include "unwind_cfi.h"

/*
 * Which library or program an address lies in, and what it says there about the call frame.
 *
 * Takes no lock of the loader's. glibc answers without one since 2.35 (_dl_find_object); before, we
 * go through its list of objects by ourselves and keep what we found until it does not do any more.
 * That list may change under our eyes, so no pointer in it is followed before the kernel was asked.
 */

/*
 * Once. has_finder: whether _dl_find_object may be used if it is there; false is for tests.
 */
void vs_unwind_object_init(bool has_finder);

enum vs_unwind_object_result {
	VS_UNWIND_OBJECT_FOUND,   /* *row is written */
	VS_UNWIND_OBJECT_BARE,    /* in an object that says nothing about this code */
	VS_UNWIND_OBJECT_LOOSE,   /* in no object */
	VS_UNWIND_OBJECT_UNKNOWN, /* it says something that we do not understand */
	VS_UNWIND_OBJECT_BUSY,    /* another thread is making the list: ask again later */
};

/* For the instruction at pc. Any thread. Async-signal-safe. */
enum vs_unwind_object_result vs_unwind_object_find(uintptr_t pc, struct vs_unwind_cfi_row *row);

/* Objects were unloaded: what is kept may not hold any more. Any thread. */
void vs_unwind_object_forget(void);

/* The child of a fork: whoever was making the list is not there. */
void vs_unwind_object_begin_in_child(void);

#endif
