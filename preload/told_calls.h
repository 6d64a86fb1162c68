#ifndef VS_TOLD_CALLS_H
#define VS_TOLD_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Calls of the driver that we are told of from inside of them, by CUPTI's callbacks (cupti/), and
 * the whole of what cupti/ may ask of this library.
 *
 * A call is told twice, when it begins and when it ends, on its own thread. If a driver-level hook
 * is around it, the hook says what there is to say: the call is matched, and that is all. So is one
 * inside of another that was told. What is left is a call that got past the hooks, and both halves
 * of its hook (hooks.h) are said here, with the stack of its caller. It is marked in the trace
 * (SEEN_BY), unless a hook of the runtime saw it or hooks are off altogether: a fact says that.
 *
 * Any thread. Nothing here waits, fails visibly, or changes errno.
 */

#define VS_TOLD_CALLS_API __attribute__((visibility("default")))

/* Whether anything is recorded here; and whether hooks are off (VRAMSCOPE_NO_HOOKS). */
VS_TOLD_CALLS_API bool vs_told_calls_is_wanted(void);
VS_TOLD_CALLS_API bool vs_told_calls_is_alone(void);

/* The number of a function that matters, by CUPTI's name for it, or VS_TOLD_CALLS_NONE. */
#define VS_TOLD_CALLS_NONE UINT32_MAX
VS_TOLD_CALLS_API uint32_t vs_told_calls_find(const char *name);

/*
 * A call of the function begins, ends. args: its struct of generated_cuda_meta.h. frame:
 * __builtin_frame_address(0) of the function that was told; the stack begins at its caller.
 * *state is kept by whoever tells, from the one to the other.
 */
VS_TOLD_CALLS_API void vs_told_calls_enter(uint32_t function, const void *args, const void *frame,
					   uint64_t *state);
VS_TOLD_CALLS_API void vs_told_calls_leave(uint32_t function, const void *args, uint32_t result,
					   const void *frame, uint64_t *state);

/*
 * A context of a device (ordinal) has come, or one is about to go. Inside a call that is hooked or
 * told nothing is said: the call does. Nor of the end of one whose beginning was not told here:
 * that is the driver cleaning up behind a program that ends. frame: as above.
 */
VS_TOLD_CALLS_API void vs_told_calls_add_context(void *context, uint32_t device, const void *frame);
VS_TOLD_CALLS_API void vs_told_calls_end_context(void *context, const void *frame);

/* What a driver pool holds, as CUPTI's records have it. device: its ordinal. */
VS_TOLD_CALLS_API void vs_told_calls_note_pool(uint64_t handle, uint32_t device,
					       uint64_t reserved_size, uint64_t used_size);

/*
 * The library around an address stands between the program and whoever tells: its frames at the
 * inner end of a stack are left out. At most eight; one thread at a time.
 */
VS_TOLD_CALLS_API void vs_told_calls_hide(const void *address);

/*
 * dlsym answers `ours` instead of a function of a libcupti, which goes to *behind. name is static.
 * At most eight; one thread at a time, before there are look-ups by others.
 */
VS_TOLD_CALLS_API void vs_told_calls_replace(const char *name, void *ours, void *_Atomic *behind);

/* The real dlsym, whose answers are nobody's but the loader's. */
VS_TOLD_CALLS_API void *vs_told_calls_look_up(void *handle, const char *name);

/* A line on stderr (message.h); a fact of the trace (recorder.h). */
VS_TOLD_CALLS_API void vs_told_calls_say(const char *text, const char *detail);
VS_TOLD_CALLS_API void vs_told_calls_add_fact(const char *key, const char *value);

#endif
