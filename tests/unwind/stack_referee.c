#include "stack_referee.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "private_library.h"
#include "stack.h"

#define REGISTER_IP 16 /* in libunwind, x86-64 */
#define NR_PRINTED  5  /* captures */
#define NR_STEPS    (VS_STACK_MAX + 8)
#define NR_RECORDS  3

struct stack_referee stack_referee;

/* The stand-in for a hook has a section of its own: that is "our own" code. */
extern const char __start_referee_hook[] __attribute__((visibility("hidden")));
extern const char __stop_referee_hook[] __attribute__((visibility("hidden")));

static const struct vs_private_library_unwind *unwind;
static uintptr_t bare_code;
static size_t bare_size;
static atomic_uint nr_printed;

struct record {
	_Alignas(16) unsigned char context[VS_PRIVATE_LIBRARY_CONTEXT_SIZE];
	_Alignas(16) unsigned char cursor[VS_PRIVATE_LIBRARY_CURSOR_SIZE];
	uint64_t frames[NR_STEPS];
	uint32_t nr_frames;
	bool is_cut;
};

/*
 * Of this thread; a signal handler of it gets the next one. Mapped, and never given back: too large
 * for a library's thread-local variables.
 */
static _Thread_local struct record *records;
static _Thread_local unsigned nr_nested;

bool stack_referee_init(void)
{
	vs_thread_init();
	vs_private_library_open(true);
	unwind = vs_private_library_unwind();
	vs_stack_init((uintptr_t)__start_referee_hook, (uintptr_t)__stop_referee_hook,
		      VS_STACK_MAX);
	return unwind && unwind->get_context && unwind->init_local && unwind->step &&
	       unwind->get_register && unwind->flush;
}

void stack_referee_expect_cut(const void *code, size_t size)
{
	bare_code = (uintptr_t)code;
	bare_size = size;
}

void stack_referee_forget_code(void)
{
	vs_stack_forget_code();
	unwind->flush(*unwind->space, 0, 0);
}

/* The caller's frames; the context is the caller's of this. */
static void walk_on(struct record *record)
{
	unsigned long address;

	record->nr_frames = 0;
	record->is_cut = false;
	while (record->nr_frames < NR_STEPS && unwind->step(record->cursor) > 0 &&
	       unwind->get_register(record->cursor, REGISTER_IP, &address) == 0 && address) {
		record->frames[record->nr_frames++] = address;
		if (address - bare_code < bare_size) {
			record->is_cut = true;
			break;
		}
	}
	if (record->nr_frames > VS_STACK_MAX) {
		record->nr_frames = VS_STACK_MAX;
		record->is_cut = true;
	}
}

static struct record *get_record(void)
{
	if (!records)
		records = mmap(NULL, NR_RECORDS * sizeof(*records), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return records == MAP_FAILED || nr_nested == NR_RECORDS ? NULL : &records[nr_nested];
}

static void print_frame(const char *who, uint64_t address)
{
	Dl_info info = {0};

	dladdr((void *)(uintptr_t)(address - 1), &info);
	fprintf(stderr, "  %s %#lx %s %s+%#lx\n", who, (unsigned long)address,
		info.dli_fname ? info.dli_fname : "?", info.dli_sname ? info.dli_sname : "?",
		info.dli_saddr ? (unsigned long)(address - (uintptr_t)info.dli_saddr) : 0);
}

static void print_difference(const struct record *record, const struct vs_stack *stack)
{
	uint32_t i = 0;

	if (atomic_fetch_add(&nr_printed, 1) >= NR_PRINTED)
		return;
	while (i < stack->nr_frames && i < record->nr_frames &&
	       stack->frames[i] == record->frames[i])
		i++;
	fprintf(stderr, "different from frame %u on: %u frames (cut %d), libunwind %u (cut %d)\n",
		i, stack->nr_frames, stack->is_cut, record->nr_frames, record->is_cut);
	if (i > 0)
		print_frame("behind   ", stack->frames[i - 1]);
	if (i < stack->nr_frames)
		print_frame("ours     ", stack->frames[i]);
	if (i < record->nr_frames)
		print_frame("libunwind", record->frames[i]);
}

static void compare(const struct record *record, const struct vs_stack *stack)
{
	stack_referee.nr_captures++;
	stack_referee.nr_frames += stack->nr_frames;
	if (stack->nr_frames == record->nr_frames &&
	    (stack->is_cut || stack->is_deep) == record->is_cut &&
	    memcmp(stack->frames, record->frames, record->nr_frames * sizeof(record->frames[0])) ==
		    0)
		return;
	stack_referee.nr_different++;
	print_difference(record, stack);
}

/* Paths that this thread has seen, and libunwind's frames of each. */
#define NR_PATHS 65536u
struct path {
	struct vs_unwind_path path;
	uint64_t sum; /* 0: none */
};
static _Thread_local struct path *paths;

static uint64_t add_up(const struct record *record)
{
	/* FNV-1a, of words */
	uint64_t sum = 14695981039346656037u + record->nr_frames + (record->is_cut ? 1u << 30 : 0);

	for (uint32_t i = 0; i < record->nr_frames; i++)
		sum = (sum ^ record->frames[i]) * 1099511628211u;
	return sum | 1;
}

/*
 * A path that was learned means the frames it was learned for. is_learned: from now on it means
 * these. Returns whether it was known.
 */
static bool compare_path(const struct record *record, const struct vs_unwind_path *path,
			 bool is_learned)
{
	uint64_t sum = add_up(record);
	struct path *known;
	bool is_known;

	if (!paths)
		paths = mmap(NULL, NR_PATHS * sizeof(*paths), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (paths == MAP_FAILED)
		return false;
	known = &paths[path->a % NR_PATHS];
	is_known = known->sum && known->path.a == path->a && known->path.b == path->b;
	stack_referee.nr_recalls += is_known && !is_learned;
	if (is_known && known->sum != sum) {
		stack_referee.nr_different++;
		fprintf(stderr, "a path means two stacks\n");
	}
	if (is_learned)
		*known = (struct path){*path, sum};
	return is_known;
}

/* As the recorder does: what comes next as it did before is heard, and what is known is not learned
 * again. */
static void recall(struct vs_thread_state *self, const struct record *record)
{
	const struct vs_unwind_echo *echo = vs_stack_hear(self);
	struct vs_unwind_path path;

	if (echo) {
		stack_referee.nr_heard++;
		if (compare_path(record, &echo->path, false))
			return;
	}
	if (vs_stack_recall(self, &path) && compare_path(record, &path, false))
		vs_stack_confirm(self, &path);
	else if (vs_stack_learn(self) && vs_stack_recall(self, &path))
		compare_path(record, &path, true);
}

__attribute__((noinline, section("referee_hook"))) void stack_referee_check(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct record *record = get_record();
	uint64_t frames[VS_STACK_MAX + 1];
	struct vs_stack stack;
	uint32_t nr_frames;

	if (!vs_thread_prepare(self) || !record || unwind->get_context(record->context) < 0 ||
	    unwind->init_local(record->cursor, record->context) < 0) {
		stack_referee.nr_different++;
		return;
	}
	nr_nested++;
	walk_on(record);
	self->base.frame = __builtin_frame_address(0);
	for (int i = 0; i < STACK_REFEREE_REPEATS; i++) {
		self->base.nr_events++;
		recall(self, record);
		vs_stack_capture(self, &stack);
		compare(record, &stack);
	}
	if (vs_unwind_walk(&self->scratch->unwind, self->base.frame, frames, VS_STACK_MAX + 1,
			   &nr_frames) != VS_UNWIND_IS_FOREIGN)
		stack_referee.nr_by_rules += STACK_REFEREE_REPEATS;
	nr_nested--;
}
