#ifndef VS_MEMORY_INFO_H
#define VS_MEMORY_INFO_H

#include "guard.h"
#include "nvml.h"

/*
 * What NVML tells of the devices that are in use, once a second while there are events, and when it
 * is asked for. A thread of its own does it, because it may be held up in there for any time; not
 * the drain, which has a table of files of its own: what NVML opens must be the program's, too, if
 * that uses NVML as well. Nobody waits for it but
 *
 *   - the call that creates a context, which takes long itself: twice, at most settings->meminfo_ms
 * each, and never again if that was too short;
 *   - exit(), if a failure or the first sample is still to be told, as long; the handler is
 *     registered behind NVML's own, so that it never finds its data gone;
 *   - fork(), as long, so that no child is born with a lock of NVML's or the loader's taken by a
 *     thread that it does not have.
 *
 * There is no thread before a context is created. It ends by itself when there is no trace.
 */
#define VS_MEMORY_INFO_TICK_MS 1000

/* A device is in use: `device` is CUDA's number. Any thread; the first one of a number counts. */
bool vs_memory_info_has_device(uint32_t device);
void vs_memory_info_add_device(uint32_t device, const struct vs_nvml_name *name);

/*
 * Bytes of the device that all processes use now. Waits, see above. False: not known. Any thread;
 * keeps errno.
 */
bool vs_memory_info_look(uint32_t device, uint64_t *used_size);

/*
 * What the contexts of the device cost that were created, by how much it grew; and: the last of
 * them is gone. Any thread.
 */
void vs_memory_info_add_context(uint32_t device, uint64_t size);
void vs_memory_info_forget_contexts(uint32_t device);

/*
 * Records what NVML said last of the device: right after vs_memory_info_look(), when nothing else
 * has happened since. The thread that looked.
 */
void vs_memory_info_tell(struct vs_thread *self, uint32_t device);

/*
 * A request failed on a device (VS_NO_DEVICE: on any): ask soon. Any thread; no system call. The
 * drain passes it on, every time it wakes up.
 */
void vs_memory_info_note_failure(uint32_t device);
void vs_memory_info_pass_on(void);

/* ---- For lifecycle.c --------------------------------------------------------------------------
 */

/*
 * There is a trace now: what is known belongs into it. Keeps nobody waiting. Asks nothing by
 * itself: the event that opened the trace is not in it yet, but what it tells of is in NVML's
 * figures. If nobody has told by vs_memory_info_tell() when the drain next wakes up, that asks.
 */
void vs_memory_info_start(void);

/* The program ends, or its first thread: lets the thread end. Waits, see above. */
void vs_memory_info_stop(void);

/* Whether there is such a thread. */
bool vs_memory_info_is_running(void);

/* In a forked child, which has no such thread. */
void vs_memory_info_forget(void);

#endif
