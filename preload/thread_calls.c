#include "thread_calls.h"

#include "delegation.h"
#include "lifecycle.h"
#include "stack.h"
#include "stack_number.h"
#include "torch_engine.h"

/*
 * Calls that have been left since, by an exception: they lie below this frame, or there are fewer
 * calls of the engine in the stack.
 */
static void end_calls_left(struct vs_thread_scratch *scratch, const void *frame,
			   const struct vs_stack *stack)
{
	uint32_t nr_running = UINT32_MAX;

	if (!stack->is_cut && !stack->is_deep)
		nr_running = vs_torch_engine_count_calls(stack->frames, stack->nr_frames);
	while (scratch->nr_calls && (scratch->nr_calls > nr_running ||
				     scratch->calls[scratch->nr_calls - 1].frame <= frame))
		vs_delegation_end(scratch->calls[--scratch->nr_calls].call);
}

/* The frames of Python that make the call. */
struct caller {
	const uint64_t *frames;
	uint32_t nr_frames;
	uint64_t hash;
};

static struct caller look_up(struct vs_thread_state *self, const struct vs_unwind_path *path,
			     uint32_t era)
{
	struct vs_thread_scratch *scratch = self->scratch;
	struct caller caller = {.frames = scratch->python.words};
	bool is_deep;

	caller.nr_frames = vs_stack_number_get_python(self, &is_deep);
	if (self->is_short)
		caller.nr_frames = 0; /* frames that nobody can resolve */
	caller.hash = vs_delegation_hash(caller.frames, caller.nr_frames);
	if (!self->is_short && atomic_load_explicit(&vs_python_is_ready, memory_order_relaxed))
		vs_call_memo_add(&scratch->call_frames, path, era, caller.frames, caller.nr_frames,
				 caller.hash);
	return caller;
}

static struct caller get_caller(struct vs_thread_state *self)
{
	uint32_t era = vs_lifecycle_recording();
	struct vs_unwind_path path = {0};
	const struct vs_call_memo_entry *known;

	if (!vs_python_recall(&path))
		return (struct caller){.hash = vs_delegation_hash(NULL, 0)};
	known = vs_call_memo_find(&self->scratch->call_frames, &path, era);
	if (__builtin_expect(!known, 0))
		return look_up(self, &path, era);
	return (struct caller){known->frames, known->nr_frames, known->hash};
}

uint32_t vs_thread_calls_begin(struct vs_thread_state *self, enum vs_frame_link link,
			       const void *frame)
{
	struct vs_thread_scratch *scratch = self->scratch;
	struct vs_stack stack;
	struct caller caller;
	uint32_t call;

	vs_python_check();
	if (!atomic_load_explicit(&vs_python_is_ready, memory_order_acquire))
		return VS_DELEGATION_NONE;
	/* Calls of TensorFlow are many, and not nested. */
	stack = (struct vs_stack){.is_cut = true};
	if (link == VS_LINK_BACKWARD)
		vs_stack_capture(self, &stack);
	end_calls_left(scratch, frame, &stack);
	if (scratch->nr_calls == VS_THREAD_MAX_CALLS)
		return VS_DELEGATION_NONE;
	caller = get_caller(self);
	call = vs_delegation_begin(link, caller.frames, caller.nr_frames, caller.hash,
				   vs_torch_engine_is_worker(stack.frames, stack.nr_frames));
	scratch->calls[scratch->nr_calls++] = (struct vs_thread_call){frame, call};
	return call;
}

void vs_thread_calls_end(struct vs_thread_state *self, uint32_t call)
{
	struct vs_thread_scratch *scratch = self->scratch;
	uint32_t nr = scratch ? scratch->nr_calls : 0;

	while (nr && scratch->calls[nr - 1].call != call)
		nr--;
	if (!nr)
		return;
	/* Those inside of it that are still there were left by an exception. */
	while (scratch->nr_calls >= nr)
		vs_delegation_end(scratch->calls[--scratch->nr_calls].call);
}
