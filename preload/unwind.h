#ifndef VS_UNWIND_H
#define VS_UNWIND_H

#include "unwind_echo.h"
#include "unwind_memo.h"

/*
 * Walks a stack by the rules of unwind_rules.h, without a lock, memory to be had, or, on a thread's
 * own stack, a system call. What it finds is what libunwind finds, at a fraction of the price.
 */

/*
 * Rules of the frames that a thread met last, each with the frame that called it then. A walk that
 * is not remembered needs the rule of a frame to find the next one, and that one's address to find
 * its rule; the guess who the caller is makes the rules come by themselves, and the addresses only
 * have to agree with it.
 */
#define VS_UNWIND_GUIDE_BITS 10
struct vs_unwind_guide {
	struct vs_unwind_guide_entry {
		uint64_t key; /* address ^ ~seal (unwind_rules.h); 0: none yet */
		uint64_t rule;
		uint32_t caller; /* number of an entry; whichever that is */
	} entries[1u << VS_UNWIND_GUIDE_BITS];
};

/* What a thread keeps between two walks. All zero at first; only its own thread touches it. */
struct vs_unwind_thread {
	struct vs_unwind_guide guide;
	struct vs_unwind_own_stack own; /* next to the first of the memo: both are always needed */
	struct vs_unwind_memo memo;
	struct vs_unwind_echoes echoes;
};

/* How a walk ended. */
enum vs_unwind_end {
	VS_UNWIND_IS_WHOLE,   /* at the outermost frame */
	VS_UNWIND_IS_DEEP,    /* with the last frame that there was room for */
	VS_UNWIND_IS_CUT,     /* at code that nobody describes, or at a stack that makes no sense */
	VS_UNWIND_IS_FOREIGN, /* at code that takes another unwinder */
};

/*
 * The callers of the function whose __builtin_frame_address(0) this is, innermost first, max_frames
 * at most (at least 1). The function need not be the one that calls; but it must not have returned.
 *
 * Async-signal-safe, but for a walk of the same thread that it interrupts. Keeps errno.
 */
enum vs_unwind_end vs_unwind_walk(struct vs_unwind_thread *self, const void *frame,
				  uint64_t *frames, uint32_t max_frames, uint32_t *nr_frames);

/*
 * Fills in *path for the stack that vs_unwind_walk() would find, by what is remembered: that need
 * not be right for this stack. If the path is one that was recalled right after
 * vs_unwind_learn(), with the same max_frames, the stack is the one it was then: its innermost
 * max_frames, and whether there are more. Any other path means nothing.
 *
 * False: there is nothing to go by, or the stack is not the thread's own. As a walk otherwise.
 */
bool vs_unwind_recall(struct vs_unwind_thread *self, const void *frame, uint32_t max_frames,
		      struct vs_unwind_path *path);

/*
 * Makes what is remembered right for this stack, so that the path which is recalled next is one
 * that means it. False: it neither has more than max_frames frames nor is it whole, or cut by code
 * that nobody describes; it is not on the thread's own stack; or there are too many different ones.
 * nr_events: how many the thread has had so far. As a walk otherwise.
 */
bool vs_unwind_learn(struct vs_unwind_thread *self, const void *frame, uint32_t max_frames,
		     uint64_t nr_events);

/*
 * The stack, if it is the one that came next last time, with the path that was confirmed, or NULL.
 * Before vs_unwind_recall(), which need not be asked then. frame may be NULL; as a walk otherwise.
 */
static inline struct vs_unwind_echo *vs_unwind_hear(struct vs_unwind_thread *self,
						    const void *frame)
{
	return VS_UNWIND_ARCH_IS_KNOWN ? vs_unwind_echo_hear(&self->echoes, frame) : NULL;
}

/*
 * vs_unwind_hear() knew nothing, vs_unwind_recall() found this path, and that means a stack: from
 * now on it is known by its words, when it comes behind the same stack as now. Returns what is kept
 * of it, or NULL. As a walk otherwise.
 */
struct vs_unwind_echo *vs_unwind_confirm(struct vs_unwind_thread *self, const void *frame,
					 uint32_t max_frames, uint64_t nr_events,
					 const struct vs_unwind_path *path);

/*
 * For hooks between two calls of which a program does so much that nothing of ours is in the cache
 * any more. Expect: what vs_unwind_recall() of this frame is likely to need is fetched meanwhile.
 * Keep: it has just been recalled as this path, and will be expected. As a walk otherwise.
 */
void vs_unwind_expect(struct vs_unwind_thread *self, const void *frame);
void vs_unwind_keep(struct vs_unwind_thread *self, const void *frame,
		    const struct vs_unwind_path *path);

#endif
