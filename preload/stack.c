#include "stack.h"

#include <stdatomic.h>

#include "private_library.h"
#include "unwind_rules.h"

/* Number of the instruction pointer in libunwind. */
#if defined(__x86_64__)
#define REGISTER_IP 16
#elif defined(__aarch64__)
#define REGISTER_IP 32
#endif

static const struct vs_private_library_unwind *unwind; /* NULL: it may not be used */
static uintptr_t own_start;
static uintptr_t own_end;
static atomic_bool is_outdated; /* some code that libunwind walked is gone */
static uint32_t max_depth = VS_STACK_MAX;

void vs_stack_init(uintptr_t start, uintptr_t end, uint32_t depth)
{
	unwind = vs_private_library_unwind();
	own_start = start;
	own_end = end;
	max_depth = depth < VS_STACK_MAX ? depth : VS_STACK_MAX;
	vs_unwind_rules_init(true);
	if (unwind) {
		/*
		 * The first walk sets libunwind up, under locks. Here no other thread can be in
		 * them when a third one forks.
		 */
		void *frames[4];

		unwind->backtrace(frames, 4);
	}
}

static bool is_own(uint64_t address)
{
	return address - own_start < own_end - own_start;
}

/* ---- libunwind ------------------------------------------------------------------------------- */

/*
 * Index of the first frame that is the program's. Hooks may lie on each other (cudaMalloc calls
 * cuMemAlloc): wanted is the caller of the outermost one. Its return address stands above the saved
 * frame pointer, which is where __builtin_frame_address points. Should it not be among the frames
 * behind one of ours, our frames at the top are taken off and nothing else.
 */
static uint32_t find_first(const uint64_t *frames, uint32_t nr_frames, const void *frame)
{
	uint64_t caller = frame ? ((const uintptr_t *)frame)[1] : 0;
	uint32_t first = 0;

	for (uint32_t i = nr_frames; caller && i-- > 1;)
		if (frames[i] == caller && is_own(frames[i - 1]))
			return i;
	while (first < nr_frames && is_own(frames[first]))
		first++;
	return first;
}

/*
 * Frame by frame. Slower by far, but heeds vs_stack_forget_code(): backtrace keeps rules by address
 * for each thread, out of reach, and would follow the rules of code that is gone to anywhere.
 */
static int step_through(struct vs_thread_scratch *scratch)
{
	void *cursor = scratch->cursor;
	unsigned long address;
	int nr = 0;

	if (!unwind->get_context || !unwind->init_local || !unwind->step || !unwind->get_register)
		return 0;
	if (unwind->get_context(scratch->context) < 0 ||
	    unwind->init_local(cursor, scratch->context) < 0)
		return 0;
	while (nr < VS_THREAD_NR_FRAMES && unwind->step(cursor) > 0 &&
	       unwind->get_register(cursor, REGISTER_IP, &address) == 0)
		scratch->frames[nr++] = address;
	return nr;
}

/*
 * libunwind does not stop at code that nobody describes: it guesses its caller by the frame
 * pointer, which may be anything. Returns how many frames are no guess. VS_UNWIND_IS_FOREIGN: it
 * stopped for reasons of its own.
 */
static uint32_t drop_guesses(const uint64_t *frames, uint32_t nr_frames, enum vs_unwind_end *end)
{
	bool is_interrupted = false; /* not behind a call: unwind_rules.h */

	for (uint32_t i = 0; i < nr_frames; i++) {
		switch (vs_unwind_rule_kind(vs_unwind_rules_get(frames[i] + is_interrupted))) {
		case VS_UNWIND_BARE:
			*end = VS_UNWIND_IS_CUT;
			return i + 1;
		case VS_UNWIND_END:
			*end = VS_UNWIND_IS_WHOLE;
			return i + 1;
		case VS_UNWIND_SIGNAL:
			is_interrupted = true;
			break;
		default:
			is_interrupted = false;
			break;
		}
	}
	*end = VS_UNWIND_IS_FOREIGN;
	return nr_frames;
}

/* The program's frames among those that libunwind found. */
static enum vs_unwind_end take_frames(const struct vs_thread_state *self, int nr_found,
				      uint32_t *first, uint32_t *nr_frames)
{
	const uint64_t *frames = self->scratch->frames;
	enum vs_unwind_end end = VS_UNWIND_IS_WHOLE;

	*nr_frames = nr_found > 0 ? (uint32_t)nr_found : 0;
	*first = find_first(frames, *nr_frames, self->base.frame);
	*nr_frames -= *first;
	if (VS_UNWIND_ARCH_IS_KNOWN)
		*nr_frames = drop_guesses(frames + *first, *nr_frames, &end);
	return *nr_frames > max_depth ? VS_UNWIND_IS_DEEP : end;
}

/* The same as vs_unwind_walk(), but where the program's frames begin is a result. */
static enum vs_unwind_end walk_by_library(struct vs_thread_state *self, uint32_t *first,
					  uint32_t *nr_frames)
{
	uint64_t *frames = self->scratch->frames;
	int nr_found;

	_Static_assert(sizeof(void *) == sizeof(uint64_t), "frames are taken as they come");
	if (!atomic_load_explicit(&is_outdated, memory_order_relaxed)) {
		enum vs_unwind_end end;

		nr_found = unwind->backtrace((void **)(void *)frames, VS_THREAD_NR_FRAMES);
		end = take_frames(self, nr_found, first, nr_frames);
		/* It gives up earlier than its own steps do. */
		if (end != VS_UNWIND_IS_FOREIGN)
			return end;
	}
	nr_found = step_through(self->scratch);
	return take_frames(self, nr_found, first, nr_frames);
}

/* ---- Capture --------------------------------------------------------------------------------- */

/* Without a hook's frame: from our own on, whose functions are taken off. */
static enum vs_unwind_end walk_from_here(struct vs_thread_state *self, uint32_t *first,
					 uint32_t *nr_frames)
{
	uint64_t *frames = self->scratch->frames;
	enum vs_unwind_end end;

	end = vs_unwind_walk(&self->scratch->unwind, __builtin_frame_address(0), frames,
			     VS_THREAD_NR_FRAMES, nr_frames);
	*first = find_first(frames, *nr_frames, NULL);
	*nr_frames -= *first;
	return end;
}

static enum vs_unwind_end walk_by_rules(struct vs_thread_state *self, uint32_t *first,
					uint32_t *nr_frames)
{
	if (__builtin_expect(!self->base.frame, 0))
		return walk_from_here(self, first, nr_frames);
	*first = 0;
	/* One more than wanted: is there one? */
	return vs_unwind_walk(&self->scratch->unwind, self->base.frame, self->scratch->frames,
			      max_depth + 1, nr_frames);
}

/* Not one by one: there is hardly ever one. */
static bool has_own(const uint64_t *frames, uint32_t nr_frames)
{
	bool has_any = false;

	for (uint32_t i = 0; i < nr_frames; i++)
		has_any |= is_own(frames[i]);
	return has_any;
}

/* A hook that the program is called through (torch_backward.c) is no part of it. */
static uint32_t drop_own(uint64_t *frames, uint32_t nr_frames)
{
	uint32_t nr_kept = 0;

	if (__builtin_expect(!has_own(frames, nr_frames), 1))
		return nr_frames;

	for (uint32_t i = 0; i < nr_frames; i++)
		if (!is_own(frames[i]))
			frames[nr_kept++] = frames[i];
	return nr_kept;
}

#define MAX_HIDDEN 8

static const struct link_map *hidden[MAX_HIDDEN];
static _Atomic unsigned nr_hidden;

void vs_stack_hide(const struct vs_loaded_object *object)
{
	unsigned nr = atomic_load_explicit(&nr_hidden, memory_order_relaxed);

	for (unsigned i = 0; i < nr; i++)
		if (hidden[i] == object->map)
			return;
	if (nr == MAX_HIDDEN)
		return;
	hidden[nr] = object->map;
	atomic_store_explicit(&nr_hidden, nr + 1, memory_order_release);
}

static bool is_hidden(uint64_t address)
{
	unsigned nr = atomic_load_explicit(&nr_hidden, memory_order_acquire);
	struct vs_loaded_object object;

	if (!nr || !vs_loaded_object_at((const void *)(uintptr_t)(address - 1), &object))
		return false;
	for (unsigned i = 0; i < nr; i++)
		if (hidden[i] == object.map)
			return true;
	return false;
}

/* What lies between the program's call and whoever told us of it. */
static void drop_hidden(struct vs_stack *stack)
{
	while (stack->nr_frames && is_hidden(stack->frames[0])) {
		stack->frames++;
		stack->nr_frames--;
	}
}

void vs_stack_capture(struct vs_thread_state *self, struct vs_stack *stack)
{
	uint32_t first, nr_frames;
	enum vs_unwind_end end = walk_by_rules(self, &first, &nr_frames);

	if (__builtin_expect(end == VS_UNWIND_IS_FOREIGN, 0) && unwind) {
		uint32_t nr_before = nr_frames;

		end = walk_by_library(self, &first, &nr_frames);
		if (nr_frames < nr_before)
			end = walk_by_rules(self, &first, &nr_frames); /* it is of no use here */
	}
	stack->id = VS_NO_ID;
	stack->frames = self->scratch->frames + first;
	stack->nr_frames = nr_frames < max_depth ? nr_frames : max_depth;
	stack->is_deep = end == VS_UNWIND_IS_DEEP || nr_frames > max_depth;
	stack->nr_frames = drop_own(self->scratch->frames + first, stack->nr_frames);
	stack->is_cut = !stack->is_deep && end != VS_UNWIND_IS_WHOLE;
	drop_hidden(stack);
}

bool vs_stack_recall(struct vs_thread_state *self, struct vs_unwind_path *path)
{
	return self->base.frame &&
	       vs_unwind_recall(&self->scratch->unwind, self->base.frame, max_depth, path);
}

bool vs_stack_learn(struct vs_thread_state *self)
{
	return self->base.frame && vs_unwind_learn(&self->scratch->unwind, self->base.frame,
						   max_depth, self->base.nr_events);
}

struct vs_unwind_echo *vs_stack_confirm(struct vs_thread_state *self,
					const struct vs_unwind_path *path)
{
	return vs_unwind_confirm(&self->scratch->unwind, self->base.frame, max_depth,
				 self->base.nr_events, path);
}

void vs_stack_expect(const void *frame)
{
	struct vs_thread_state *self = vs_thread_self();

	if (VS_UNWIND_ARCH_IS_KNOWN && self->scratch)
		vs_unwind_expect(&self->scratch->unwind, frame);
}

void vs_stack_keep(struct vs_thread_state *self, const struct vs_unwind_path *path)
{
	vs_unwind_keep(&self->scratch->unwind, self->base.frame, path);
}

void vs_stack_begin_in_child(void)
{
	vs_unwind_rules_begin_in_child();
	if (!unwind)
		return;
	/* Slower, but what guards the rules may be locked for good. */
	if (unwind->set_caching_policy && unwind->space && *unwind->space)
		unwind->set_caching_policy(*unwind->space, 0);
	else
		unwind = NULL; /* no stacks are better than a program that stands still */
}

void vs_stack_do_without(void)
{
	vs_unwind_rules_begin_in_child();
	unwind = NULL;
}

void vs_stack_forget_code(void)
{
	vs_unwind_rules_forget();
	atomic_store_explicit(&is_outdated, true, memory_order_relaxed);
	if (unwind && unwind->flush && unwind->space)
		unwind->flush(*unwind->space, 0, 0); /* 0, 0: all addresses */
}
