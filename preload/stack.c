#include "stack.h"

#include <stdatomic.h>

#include "private_library.h"

/* Number of the instruction pointer in libunwind. */
#if defined(__x86_64__)
#define REGISTER_IP 16
#elif defined(__aarch64__)
#define REGISTER_IP 32
#endif

static const struct vs_private_library_unwind *unwind;
static uintptr_t own_start;
static uintptr_t own_end;
static atomic_bool is_outdated; /* some code that was unwound is gone */
static uint32_t max_depth = VS_STACK_MAX;

void vs_stack_init(uintptr_t start, uintptr_t end, uint32_t depth)
{
	unwind = vs_private_library_unwind();
	own_start = start;
	own_end = end;
	max_depth = depth < VS_STACK_MAX ? depth : VS_STACK_MAX;
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
static int walk(struct vs_thread_scratch *scratch)
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

void vs_stack_capture(struct vs_thread_state *self, struct vs_stack *stack)
{
	uint64_t *frames = self->scratch->frames;
	uint32_t nr_frames = 0, first;
	int found;

	_Static_assert(sizeof(void *) == sizeof(uint64_t), "frames are taken as they come");
	*stack = (struct vs_stack){.frames = frames};
	if (!unwind)
		return;
	if (atomic_load_explicit(&is_outdated, memory_order_relaxed))
		found = walk(self->scratch);
	else
		found = unwind->backtrace((void **)(void *)frames, VS_THREAD_NR_FRAMES);
	if (found > 0)
		nr_frames = (uint32_t)found;
	first = find_first(frames, nr_frames, self->base.frame);
	stack->frames = frames + first;
	stack->nr_frames = nr_frames - first;
	stack->is_cut = nr_frames == VS_THREAD_NR_FRAMES;
	if (stack->nr_frames > max_depth) {
		stack->nr_frames = max_depth;
		stack->is_cut = true;
	}
}

void vs_stack_begin_in_child(void)
{
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
	unwind = NULL;
}

void vs_stack_forget_code(void)
{
	atomic_store_explicit(&is_outdated, true, memory_order_relaxed);
	if (unwind && unwind->flush && unwind->space)
		unwind->flush(*unwind->space, 0, 0); /* 0, 0: all addresses */
}
