#ifndef VS_CONTEXTS_H
#define VS_CONTEXTS_H

#include "hooks.h"

/* Contexts that come and go: what is in one goes with it. Any thread; errno is kept. */

/*
 * Before the call: a context will be created on a device, or its primary one retained. What that
 * costs is measured, see memory_info.h; a retained one is measured if we do not know of it.
 */
void vs_contexts_note_creating(struct vs_call *call, CUdevice device);
void vs_contexts_note_retaining(struct vs_call *call, CUdevice device);

/* One was created, or a device's primary one was retained (which creates it if it was not there).
 */
void vs_contexts_note_create(struct vs_call *call, CUresult result, CUcontext context,
			     CUdevice device);
void vs_contexts_note_retain(struct vs_call *call, CUresult result, CUcontext context,
			     CUdevice device);

/*
 * One is there that no call made of which we know: told_calls.h. Once: what is known already is not
 * new. And whether one came this way, and is still there.
 */
void vs_contexts_note_found(struct vs_call *call, CUcontext context, CUdevice device);
bool vs_contexts_is_found(CUcontext context);

/*
 * Before the call: a context will be destroyed, or a device reset. Nothing is said about what the
 * call is sure to refuse, because it could not be taken back.
 */
void vs_contexts_note_destroy(struct vs_call *call, CUcontext context);
void vs_contexts_note_reset(struct vs_call *call, CUdevice device);

/*
 * After the call: a primary context was released. Only then does the driver know whether it was the
 * last reference.
 */
void vs_contexts_note_release(struct vs_call *call, CUresult result, CUdevice device);

#endif
