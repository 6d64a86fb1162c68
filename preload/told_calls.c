#include "told_calls.h"

#include <errno.h>
#include <string.h>

#include "contexts.h"
#include "driver_pools.h"
#include "hooks.h"
#include "lifecycle.h"
#include "message.h"
#include "resolve.h"
#include "stack.h"
#include "thread.h"

/* Bits of the state that is kept between beginning and end; above them, events of the thread. A
 * call that was not told when it began may have anything there. */
enum told {
	TOLD_CAPTURING = 1,
	TOLD_BORROWED = 2,
	TOLD_OPEN = 0x76530000,
	TOLD_OPEN_MASK = 0x7fff0000,
};
#define COUNT_SHIFT 32

static const struct function {
	const char *name;
	const struct vs_hook_halves *halves;
} functions[VS_NR_HOOKS] = {
#define VS_HOOK(name, abi, symbol) [VS_HOOK_##symbol] = {#symbol, &vs_hooks_halves_##symbol},
#include "cuda_api.def"
};

/* What CUPTI calls otherwise than the driver exports it. */
static const struct {
	const char *name;
	enum vs_hook hook;
} other_names[] = {
	{"cuMemHostAlloc_v2", VS_HOOK_cuMemHostAlloc},
};

bool vs_told_calls_is_wanted(void)
{
	if (!vs_lifecycle_is_begun())
		vs_lifecycle_begin();
	return vs_lifecycle_is_recording();
}

bool vs_told_calls_is_alone(void)
{
	return vs_lifecycle_settings()->no_hooks;
}

uint32_t vs_told_calls_find(const char *name)
{
	for (uint32_t i = 0; i < VS_NR_HOOKS; i++)
		if (functions[i].name && !strcmp(functions[i].name, name))
			return functions[i].halves->before || functions[i].halves->after
				       ? i
				       : VS_TOLD_CALLS_NONE;
	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (!strcmp(other_names[i].name, name))
			return other_names[i].hook;
	return VS_TOLD_CALLS_NONE;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Events of the driver that a thread has recorded. */
static uint32_t count_events(const struct vs_thread *self)
{
	return (uint32_t)(self->nr_events - self->nr_states);
}

/* Whether a hook, or a call that was told, is around what happens at this frame. */
static bool is_matched(const struct vs_thread *self, const void *frame)
{
	return self->nr_driver > 0 && (uintptr_t)frame < (uintptr_t)self->frame;
}

static __attribute__((noinline)) void begin(uint32_t function, const void *args, const void *frame,
					    uint64_t *state)
{
	struct vs_call call = vs_hooks_enter_told((enum vs_hook)function, frame);
	const struct vs_hook_halves *halves = functions[function].halves;
	uint32_t nr_events;

	if (!call.is_recording) {
		vs_hooks_leave_told(&call);
		return;
	}
	nr_events = count_events(call.self);
	if (halves->before)
		halves->before(&call, args);
	*state = TOLD_OPEN | (call.is_capturing ? TOLD_CAPTURING : 0) |
		 (call.is_borrowed ? TOLD_BORROWED : 0) | (uint64_t)nr_events << COUNT_SHIFT;
}

void vs_told_calls_enter(uint32_t function, const void *args, const void *frame, uint64_t *state)
{
	int error_number = errno;

	*state = 0;
	if (function < VS_NR_HOOKS && functions[function].halves &&
	    !is_matched(&vs_thread_self()->base, frame))
		begin(function, args, frame, state);
	errno = error_number;
}

static void add_source(struct vs_thread *self, uint32_t nr_events_before)
{
	if (!vs_lifecycle_settings()->no_hooks && !vs_hooks_is_in_runtime(self))
		vs_recorder_add_seen_by(self, VS_SEEN_BY_CUPTI,
					(uint32_t)(count_events(self) - nr_events_before));
}

static __attribute__((noinline)) void end(uint32_t function, const void *args, uint32_t result,
					  const void *frame, uint64_t state)
{
	struct vs_thread *self = &vs_thread_self()->base;
	struct vs_call call = {
		.self = self,
		.real = vs_real_get(),
		.is_capturing = state & TOLD_CAPTURING,
		.is_borrowed = state & TOLD_BORROWED,
	};

	/* Somebody has cleared the books meanwhile, or the driver is gone. */
	if (!self->nr_driver || !vs_lifecycle_is_begun())
		return;
	call.is_recording = call.real && vs_guard_is_outermost_driver(self);
	/* The one it began in has returned. */
	if (self->depth == 1)
		self->frame = frame;
	if (functions[function].halves->after)
		functions[function].halves->after(&call, (CUresult)result, args);
	if (call.is_recording)
		add_source(self, (uint32_t)(state >> COUNT_SHIFT));
	vs_hooks_leave_told(&call);
}

void vs_told_calls_leave(uint32_t function, const void *args, uint32_t result, const void *frame,
			 uint64_t *state)
{
	int error_number = errno;

	if ((*state & TOLD_OPEN_MASK) == TOLD_OPEN)
		end(function, args, result, frame, *state);
	*state = 0;
	errno = error_number;
}

/* ---- What is no call ------------------------------------------------------------------------- */

/* Inside the recorder's door, as a call of the hook; false: there is nothing to say. */
static bool open_door(struct vs_call *call, enum vs_hook hook, const void *frame)
{
	if (is_matched(&vs_thread_self()->base, frame))
		return false;
	*call = vs_hooks_enter_told(hook, frame);
	if (!call->is_recording)
		vs_hooks_leave_told(call);
	return call->is_recording;
}

void vs_told_calls_add_context(void *context, uint32_t device, const void *frame)
{
	int error_number = errno;
	struct vs_call call;
	uint32_t nr_events;

	if (context && open_door(&call, VS_HOOK_cuCtxCreate_v2, frame)) {
		nr_events = count_events(call.self);
		vs_contexts_note_found(&call, context, (CUdevice)device);
		add_source(call.self, nr_events);
		vs_hooks_leave_told(&call);
	}
	errno = error_number;
}

void vs_told_calls_end_context(void *context, const void *frame)
{
	int error_number = errno;
	struct vs_call call;
	uint32_t nr_events;

	if (context && vs_contexts_is_found(context) &&
	    open_door(&call, VS_HOOK_cuCtxDestroy_v2, frame)) {
		nr_events = count_events(call.self);
		vs_contexts_note_destroy(&call, context);
		add_source(call.self, nr_events);
		vs_hooks_leave_told(&call);
	}
	errno = error_number;
}

void vs_told_calls_note_pool(uint64_t handle, uint32_t device, uint64_t reserved_size,
			     uint64_t used_size)
{
	int error_number = errno;
	struct vs_call call;

	if (handle && open_door(&call, VS_HOOK_cuMemPoolTrimTo, __builtin_frame_address(0))) {
		vs_driver_pools_note(&call, handle, device, reserved_size, used_size);
		vs_hooks_leave_told(&call);
	}
	errno = error_number;
}

/* ---- Services -------------------------------------------------------------------------------- */

void vs_told_calls_hide(const void *address)
{
	struct vs_loaded_object object;

	if (vs_loaded_object_at(address, &object))
		vs_stack_hide(&object);
}

void vs_told_calls_replace(const char *name, void *ours, void *_Atomic *behind)
{
	vs_resolve_replace(name, ours, behind);
}

void *vs_told_calls_look_up(void *handle, const char *name)
{
	return vs_resolve_look_up(handle, name);
}

void vs_told_calls_say(const char *text, const char *detail)
{
	int error_number = errno;

	vs_message_print(text, detail, NULL);
	errno = error_number;
}

void vs_told_calls_add_fact(const char *key, const char *value)
{
	int error_number = errno;

	vs_recorder_add_fact(key, value);
	errno = error_number;
}
