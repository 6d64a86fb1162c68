#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "hot.h"
#include "lifecycle.h"
#include "recorder.h"
#include "thread.h"
#include "usual.h"

/*
 * Whether a hook that is still on our books was left by longjmp or an exception: a new one lies at
 * or above its frame (stacks grow down). Not so for a signal handler on a stack of its own, which
 * may lie anywhere.
 */
static bool was_left(const void *old_frame, const void *frame)
{
	stack_t stack;
	int saved = errno;
	bool is_elsewhere;

	if ((uintptr_t)frame < (uintptr_t)old_frame)
		return false;
	is_elsewhere = sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
	errno = saved;
	return !is_elsewhere;
}

/* Puts a thread right that jumped out of a hook, maybe out of the recorder itself. */
static void clear_books(struct vs_thread_state *self)
{
	if (self->base.is_inside)
		vs_ring_give_up(&self->ring);
	self->base.is_inside = false;
	self->base.depth = 0;
	self->base.nr_driver = 0;
}

/* One bit, not two comparisons. */
static inline uint32_t is_driver(enum vs_guard_level level)
{
	_Static_assert(VS_GUARD_DRIVER % 2 && VS_GUARD_TOLD % 2 && !(VS_GUARD_RUNTIME % 2) &&
			       !(VS_GUARD_POOL % 2),
		       "the lowest bit tells the driver's");
	return (uint32_t)level & 1;
}

/* All of it in one store: a load of the whole behind stores of parts would wait until they, and all
 * stores before them, have reached the cache. */
static inline void set_door(struct vs_thread *self, uint32_t depth, uint32_t nr_driver)
{
	self->door = self->ticket | (uint64_t)depth << 32 | (uint64_t)nr_driver << 48;
}

static inline struct vs_thread *push_hook(struct vs_thread *self, enum vs_guard_level level,
					  uint32_t api, const void *frame)
{
	if (self->depth++ == 0) {
		self->api = api;
		self->frame = frame;
		self->stack = VS_NO_ID;
	}
	self->nr_driver = (uint8_t)(self->nr_driver + is_driver(level));
	return self;
}

/* Whether hooks of this level are to record anything. */
static inline bool is_wanted(enum vs_guard_level level)
{
	return vs_lifecycle_is_recording() &&
	       (level >= VS_GUARD_POOL || !vs_lifecycle_settings()->no_hooks);
}

/* All that is not a thread's outermost hook in a program that is being recorded, as usual. */
static __attribute__((noinline)) struct vs_thread *enter_otherwise(struct vs_thread_state *state,
								   enum vs_guard_level level,
								   uint32_t api, const void *frame)
{
	struct vs_thread *self = &state->base;

	/* The driver's hook in one of the runtime's, as usual. */
	if (self->ticket == vs_usual_get() && !self->is_inside &&
	    (uintptr_t)frame < (uintptr_t)self->frame)
		return push_hook(self, level, api, frame);
	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	if (!is_wanted(level))
		return NULL;
	if (self->is_inside) {
		if (!state->inside || !was_left(state->inside, frame)) {
			/* A signal handler that calls CUDA, in the middle of a record. */
			if (level != VS_GUARD_RUNTIME)
				vs_recorder_lose_event();
			return NULL;
		}
		clear_books(state);
	} else if (self->depth > 0 && was_left(self->frame, frame)) {
		clear_books(state);
	}
	return push_hook(self, level, api, frame);
}

/* inline: the linker, which sees all files, takes it as a hint where nearly all events come by. */
VS_HOT inline struct vs_thread *vs_guard_enter(enum vs_guard_level level, uint32_t api,
					       const void *frame)
{
	struct vs_thread_state *state = vs_thread_self();
	struct vs_thread *self = &state->base;

	if (__builtin_expect(self->door != vs_usual_get(), 0))
		return enter_otherwise(state, level, api, frame);
	set_door(self, 1, is_driver(level));
	self->api = api;
	self->frame = frame;
	self->stack = VS_NO_ID;
	return self;
}

static __attribute__((noinline)) void leave_otherwise(struct vs_thread *self,
						      enum vs_guard_level level)
{
	/* Not below zero: a handler on another stack may have cleared the books. */
	if (self->depth > 0)
		self->depth--;
	if (is_driver(level) && self->nr_driver > 0)
		self->nr_driver--;
}

VS_HOT inline void vs_guard_leave(struct vs_thread *self, enum vs_guard_level level)
{
	if (__builtin_expect(self->depth != 1, 0)) {
		leave_otherwise(self, level);
		return;
	}
	set_door(self, 0, 0);
}

uint64_t vs_guard_count_events(void)
{
	return vs_thread_self()->base.nr_events;
}

_Static_assert(offsetof(struct vs_thread, depth) == 4 &&
		       offsetof(struct vs_thread, nr_driver) == 6 &&
		       offsetof(struct vs_thread, is_inside) == 7,
	       "set_door() knows where they are");
