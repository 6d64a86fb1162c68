#include "thread_calls.h"

#include "delegation.h"
#include "hot.h"
#include "lifecycle.h"
#include "stack.h"
#include "stack_number.h"
#include "torch_engine.h"

/*
 * Calls that have been left since, by an exception: they lie below this frame, or are more than so
 * many.
 */
static void end_calls_left(struct vs_thread_scratch *scratch, const void *frame,
			   uint32_t nr_running)
{
	while (scratch->nr_calls && (scratch->nr_calls > nr_running ||
				     scratch->calls[scratch->nr_calls - 1].frame <= frame))
		vs_delegation_end(scratch->calls[--scratch->nr_calls].call);
}

/* How many calls of PyTorch's engine are in the stack, at most. *is_nested: it is a worker's. */
static VS_COLD uint32_t count_running(struct vs_thread_state *self, bool *is_nested)
{
	struct vs_stack stack;

	vs_stack_capture(self, &stack);
	*is_nested = stack.nr_frames && vs_torch_engine_is_worker(stack.frames, stack.nr_frames);
	return stack.is_cut || stack.is_deep
		       ? UINT32_MAX
		       : vs_torch_engine_count_calls(stack.frames, stack.nr_frames);
}

static VS_COLD const struct vs_delegation_call *look_up(struct vs_thread_state *self,
							enum vs_frame_link link,
							const struct vs_unwind_path *path,
							uint32_t era)
{
	const struct vs_delegation_call *caller;
	bool is_deep;
	uint32_t nr_frames = vs_stack_number_get_python(self, &is_deep);

	if (self->is_short)
		return vs_delegation_keep(link, NULL, 0); /* frames that nobody can resolve */
	caller = vs_delegation_keep(link, self->scratch->python.words, nr_frames);
	if (atomic_load_explicit(&vs_python_is_ready, memory_order_relaxed))
		vs_call_memo_add(&self->scratch->call_frames, path, era, caller);
	return caller;
}

/* The frames of Python that make the call. Fills in where *call is made, too. */
VS_HOT static const struct vs_delegation_call *get_caller(struct vs_thread_state *self,
							  enum vs_frame_link link,
							  struct vs_thread_call *call)
{
	uint32_t era = vs_lifecycle_recording() << 8 | (uint32_t)link;
	struct vs_thread_scratch *scratch = self->scratch;
	const struct vs_delegation_call *caller = NULL;

	if (!vs_python_get_place(&call->place))
		return vs_delegation_keep(link, NULL, 0);
	if (__builtin_expect(!scratch->is_careful, 1)) {
		call->python = vs_python_recall(&call->place);
		caller = vs_call_memo_find(&scratch->call_frames, &call->python, era);
	}
	if (__builtin_expect(!caller, 0)) {
		call->python = vs_stack_number_recall_python(scratch, &call->place);
		caller = vs_call_memo_find(&scratch->call_frames, &call->python, era);
	}
	return __builtin_expect(caller != NULL, 1) ? caller
						   : look_up(self, link, &call->python, era);
}

/* The place for the next call; VS_DELEGATION_NONE: there is none. */
static vs_delegation get_place(struct vs_thread_scratch *scratch)
{
	vs_delegation place;

	if (__builtin_expect(scratch->nr_calls < scratch->nr_call_places, 1))
		return scratch->call_places[scratch->nr_calls];
	/* A place for a call inside of others, which have theirs. */
	place = scratch->nr_calls == scratch->nr_call_places ? vs_delegation_take()
							     : VS_DELEGATION_NONE;
	if (place != VS_DELEGATION_NONE)
		scratch->call_places[scratch->nr_call_places++] = place;
	return place;
}

/* What was under way in another recording, the parent's of a fork, is not here. */
static void forget_others(struct vs_thread_scratch *scratch)
{
	if (__builtin_expect(scratch->call_places_in == vs_lifecycle_recording(), 1))
		return;
	scratch->call_places_in = vs_lifecycle_recording();
	scratch->nr_call_places = 0;
	scratch->nr_calls = 0;
}

static bool is_python_ready(void)
{
	if (__builtin_expect(atomic_load_explicit(&vs_python_is_ready, memory_order_acquire), 1))
		return true;
	vs_python_check();
	return atomic_load_explicit(&vs_python_is_ready, memory_order_acquire);
}

VS_HOT uint32_t vs_thread_calls_begin(struct vs_thread_state *self, enum vs_frame_link link,
				      const void *frame)
{
	struct vs_thread_scratch *scratch = self->scratch;
	const struct vs_delegation_call *caller;
	struct vs_thread_call *call;
	uint32_t nr_running = UINT32_MAX;
	bool is_nested = false;

	if (!is_python_ready())
		return VS_DELEGATION_NONE;
	forget_others(scratch);
	/* Calls of TensorFlow are many, and not nested. */
	if (link == VS_LINK_BACKWARD)
		nr_running = count_running(self, &is_nested);
	end_calls_left(scratch, frame, nr_running);
	if (scratch->nr_calls == VS_THREAD_MAX_CALLS)
		return VS_DELEGATION_NONE;
	call = &scratch->calls[scratch->nr_calls];
	caller = get_caller(self, link, call);
	/* An exception may pass through, and this would not be heard of at once: who looks at the
	 * place then must not take it for that of another call. Nothing passes through those of C.
	 */
	if (link != VS_LINK_EXECUTE)
		call->place.frame = 0;
	call->frame = frame;
	call->call = get_place(scratch);
	vs_delegation_begin(call->call, caller, is_nested);
	scratch->nr_calls++;
	return call->call;
}

VS_HOT void vs_thread_calls_end(struct vs_thread_state *self, uint32_t call)
{
	struct vs_thread_scratch *scratch = self->scratch;
	uint32_t nr = 0;

	/* A child that was forked inside of it has none of its parent's calls. */
	if (scratch && scratch->call_places_in == vs_lifecycle_recording())
		nr = scratch->nr_calls;
	while (nr && scratch->calls[nr - 1].call != call)
		nr--;
	if (!nr)
		return;
	/* Those inside of it that are still there were left by an exception. */
	while (scratch->nr_calls >= nr)
		vs_delegation_end(scratch->calls[--scratch->nr_calls].call);
}
