#include "stack_number.h"

#include <string.h>

#include "delegation.h"
#include "hot.h"
#include "lifecycle.h"
#include "modules.h"
#include "python_merge.h"
#include "recorder_define.h"
#include "stack.h"
#include "stack_table.h"
#include "torch_engine.h"

/* ---- What a stack refers to ----------------------------------------------------------------- */

static void define_modules(struct vs_thread_state *self, const struct vs_stack *stack)
{
	struct vs_record record = {.type = VS_RECORD_MODULE};
	struct vs_modules_span span = {0};

	for (uint32_t i = 0; i < stack->nr_frames && !self->is_short; i++) {
		/* A return address may be the first one behind its function's module. */
		if (vs_frame_is_special(stack->frames[i]) ||
		    vs_modules_is_known(stack->frames[i] - 1, &span))
			continue;
		if (!vs_modules_describe(stack->frames[i] - 1, &record.module, self->scratch->path,
					 sizeof(self->scratch->path)))
			continue;
		if (vs_recorder_define(self, &record))
			vs_modules_add(&record.module);
		else
			vs_modules_give_back(&record.module);
	}
}

static __attribute__((noinline)) uint32_t define_stack(struct vs_thread_state *self,
						       const struct vs_stack_table_key *key,
						       const struct vs_stack *stack)
{
	struct vs_record record = {.type = VS_RECORD_STACK, .stack = *stack};

	record.stack.id = self->spare_stack ? self->spare_stack : vs_stack_table_new_number();
	if (record.stack.id == VS_NO_ID)
		return VS_NO_ID;
	self->spare_stack = record.stack.id;
	define_modules(self, stack);
	if (self->is_short || !vs_recorder_define(self, &record))
		return VS_NO_ID;
	self->spare_stack = VS_NO_ID;
	vs_stack_table_add(key, &record.stack);
	return record.stack.id;
}

/* ---- Python --------------------------------------------------------------------------------- */

static bool define_lines(struct vs_thread_state *self, uint32_t number,
			 const struct vs_python_code *code)
{
	struct vs_record record = {.type = VS_RECORD_CODE_LINES, .code_lines.id = number};
	uint32_t size = code->record.lines_size;

	for (uint32_t offset = 0; offset < size; offset += VS_PYTHON_LINES_PART) {
		uint32_t rest = size - offset;

		record.code_lines.offset = offset;
		record.code_lines.bytes.bytes = code->lines + offset;
		record.code_lines.bytes.size =
			rest < VS_PYTHON_LINES_PART ? rest : VS_PYTHON_LINES_PART;
		if (!vs_recorder_define(self, &record))
			return false;
	}
	return true;
}

/* The number of a code object that is executed by this thread, or 0. */
static uint32_t use_code(struct vs_thread_state *self, uintptr_t address)
{
	struct vs_python_code_memo *memo = &self->scratch->python.codes;
	struct vs_python_code *code = &self->scratch->python.code;
	struct vs_record record = {.type = VS_RECORD_CODE};
	uint32_t era = vs_lifecycle_recording();
	uint32_t number = vs_python_code_recall(memo, address, era);

	if (number != VS_NO_ID)
		return number;
	if (!vs_python_code_read(code, address)) {
		vs_python_give_up("a frame has no code that makes sense");
		return VS_NO_ID;
	}
	number = vs_python_code_find(code);
	if (number == VS_NO_ID) {
		number = vs_python_code_new_number();
		record.code = code->record;
		record.code.id = number;
		if (number == VS_NO_ID || !vs_recorder_define(self, &record) ||
		    !define_lines(self, number, code))
			return VS_NO_ID;
		vs_python_code_add(code, number);
	}
	vs_python_code_remember(memo, address, era, number);
	return number;
}

/* As vs_python_merge wants them: a word of 0 is a call of the evaluator without a frame. */
static uint32_t get_python(struct vs_thread_state *self, bool *is_deep)
{
	struct vs_thread_python *python = &self->scratch->python;
	/* By default that is VS_PYTHON_MAX_FRAMES. */
	uint32_t depth = 2 * vs_lifecycle_settings()->stack_depth;
	uint32_t nr = vs_python_walk(python->frames,
				     depth < VS_PYTHON_MAX_FRAMES ? depth : VS_PYTHON_MAX_FRAMES,
				     is_deep);

	for (uint32_t i = 0; i < nr; i++) {
		uintptr_t code = python->frames[i].code;

		python->words[i] = code ? vs_frame_make_python(use_code(self, code),
							       python->frames[i].instruction)
					: 0;
		python->ends_call[i] = python->frames[i].ends_call;
	}
	return nr;
}

uint32_t vs_stack_number_get_python(struct vs_thread_state *self, bool *is_deep)
{
	uint64_t *words = self->scratch->python.words;
	uint32_t nr_all = get_python(self, is_deep), nr = 0;

	for (uint32_t i = 0; i < nr_all; i++)
		if (words[i])
			words[nr++] = words[i];
	return nr;
}

/* Puts the frames of Python into the stack, if there are any. */
static uint32_t add_python(struct vs_thread_state *self, struct vs_stack *stack)
{
	struct vs_thread_python *python = &self->scratch->python;
	struct vs_python_merge merge = {
		.native = stack->frames,
		.is_evaluator = python->is_evaluator,
		.nr_native = stack->nr_frames,
		.is_whole = !stack->is_cut && !stack->is_deep,
		.python = python->words,
		.ends_call = python->ends_call,
	};
	bool is_deep;

	merge.nr_python = get_python(self, &is_deep);
	if (!merge.nr_python)
		return 0;
	merge.is_whole_python = !is_deep;
	for (uint32_t i = 0; i < merge.nr_native; i++)
		python->is_evaluator[i] = vs_python_is_evaluator(stack->frames[i]);
	stack->nr_frames = vs_python_merge(&merge, python->merged, VS_STACK_MAX);
	stack->frames = python->merged;
	stack->is_deep = stack->is_deep || is_deep || stack->nr_frames > VS_STACK_MAX;
	stack->is_cut = stack->is_cut && !stack->is_deep;
	if (stack->nr_frames > VS_STACK_MAX)
		stack->nr_frames = VS_STACK_MAX;
	return merge.nr_python;
}

/* Threads of TensorFlow say what they do; those of PyTorch are known by their stacks. */
static bool is_worker(const struct vs_thread_state *self, const struct vs_stack *stack,
		      uint32_t nr_python)
{
	if (self->base.label)
		return nr_python == 0;
	return !stack->is_cut && !stack->is_deep &&
	       vs_torch_engine_is_worker(stack->frames, stack->nr_frames);
}

/*
 * Puts the frames of the call under it that this thread works for, if it does. False: these are not
 * the calls that were under way before.
 */
static bool add_link(struct vs_thread_state *self, struct vs_stack *stack, uint32_t nr_python,
		     uint64_t calls_before)
{
	uint64_t *merged = self->scratch->python.merged;
	uint64_t calls = 0;

	if (!calls_before && !vs_delegation_is_any())
		return true;
	if (!is_worker(self, stack, nr_python))
		return true;
	if (stack->frames != merged)
		memcpy(merged, stack->frames, stack->nr_frames * sizeof(*merged));
	stack->frames = merged;
	stack->nr_frames += vs_delegation_get(merged + stack->nr_frames,
					      VS_STACK_MAX - stack->nr_frames, &calls);
	return calls == calls_before;
}

/* Puts what a framework says it is doing in front of it. */
static void add_label(struct vs_thread_state *self, struct vs_stack *stack)
{
	uint64_t *merged = self->scratch->python.merged;
	uint32_t nr = stack->nr_frames < VS_STACK_MAX ? stack->nr_frames : VS_STACK_MAX - 1;

	if (!self->base.label)
		return;
	vs_recorder_define_name(self, vs_frame_get_op(self->base.label));
	vs_recorder_define_name(self, vs_frame_get_region(self->base.label));
	memmove(merged + 1, stack->frames, nr * sizeof(*merged));
	merged[0] = self->base.label;
	stack->is_deep = stack->is_deep || nr < stack->nr_frames;
	stack->frames = merged;
	stack->nr_frames = nr + 1;
}

/* ---- Numbers -------------------------------------------------------------------------------- */

/* In which a stack's number means the stack. */
static uint64_t get_era(uint32_t epoch)
{
	return (uint64_t)vs_lifecycle_recording() << 32 | epoch;
}

/*
 * The number of a stack with these frames; *epoch: the one it is valid in. is_learned: it is going
 * to be known by another path, and need not be by that of its frames.
 */
static uint32_t look_up(struct vs_thread_state *self, const struct vs_stack *stack, bool is_learned,
			uint32_t *epoch)
{
	struct vs_stack_memo *memo = &self->scratch->stacks;
	struct vs_stack_table_key key;
	struct vs_unwind_path path;
	uint32_t number;

	*epoch = vs_stack_table_get_epoch();
	vs_stack_memo_get_path(stack, &path);
	number = vs_stack_memo_find(memo, &path, get_era(*epoch));
	if (number != VS_NO_ID)
		return number;
	number = vs_stack_table_find(&key, stack);
	*epoch = key.epoch;
	if (number == VS_NO_ID)
		number = define_stack(self, &key, stack);
	if (number != VS_NO_ID && !is_learned)
		vs_stack_memo_add(memo, &path, get_era(key.epoch), number);
	return number;
}

/*
 * The number of the stack, by its frames. *epoch: the one it is valid in. calls: what were under
 * way when its fingerprint was taken, if it is learned. *is_same: it is the stack of that
 * fingerprint.
 */
static uint32_t get_stack(struct vs_thread_state *self, bool is_learned, uint64_t calls,
			  uint32_t *epoch, bool *is_same)
{
	struct vs_stack stack;
	uint32_t nr_python;

	vs_stack_capture(self, &stack);
	if (stack.nr_frames == 0)
		return VS_NO_ID;
	vs_python_check();
	if (atomic_load_explicit(&vs_python_is_ready, memory_order_acquire)) {
		nr_python = add_python(self, &stack);
		*is_same = add_link(self, &stack, nr_python, calls);
	}
	add_label(self, &stack);
	return look_up(self, &stack, is_learned && *is_same, epoch);
}

VS_COLD struct vs_unwind_path vs_stack_number_recall_python(struct vs_thread_scratch *scratch,
							    const struct vs_python_place *place)
{
	bool is_passing;
	struct vs_unwind_path path = vs_python_recall_carefully(place, &is_passing);

	/* For good: to find out each time takes longer than to be careful without need. */
	scratch->is_careful |= is_passing;
	return path;
}

/* Mixes the frames of Python of this thread, if it has any, into *path. is_new: it may become
 * known by that path. */
VS_HOT static __attribute__((noinline)) void recall_python(const struct vs_thread_state *self,
							   bool is_new, struct vs_unwind_path *path)
{
	struct vs_thread_scratch *scratch = self->scratch;
	const struct vs_thread_call *call =
		scratch->nr_calls ? &scratch->calls[scratch->nr_calls - 1] : NULL;
	struct vs_python_place place;
	struct vs_unwind_path python;

	if (!vs_python_get_place(&place))
		return;
	if (call && vs_python_is_same_place(&call->place, &place))
		python = call->python;
	else if (__builtin_expect(is_new || scratch->is_careful, 0))
		python = vs_stack_number_recall_python(scratch, &place);
	else
		python = vs_python_recall(&place);
	path->a = (path->a ^ python.a) * UINT64_C(0x9e3779b97f4a7c15);
	path->b = (path->b ^ python.b) * UINT64_C(0xd6e8feb86659fd93);
}

/*
 * Mixes what a framework is doing, the frames of Python and *calls that are under way into the path
 * of the native stack. is_new: it may be kept, otherwise it may not (vs_python_recall).
 */
static inline __attribute__((always_inline)) void add_circumstances(struct vs_thread_state *self,
								    bool has_python, bool is_new,
								    struct vs_unwind_path *path,
								    uint64_t *calls)
{
	uint64_t label = self->base.label;

	if (label) {
		/* Operations of a framework lie between two of these. */
		vs_stack_keep(self, path);
		path->a = (path->a ^ label) * UINT64_C(0xd6e8feb86659fd93);
		path->b = (path->b ^ label << 7) * UINT64_C(0x9e3779b97f4a7c15);
	}
	if (has_python) {
		recall_python(self, is_new, path);
		*calls = vs_delegation_recall(path);
	}
}

/* The number of a stack that is not known by its path. */
static uint32_t learn_stack(struct vs_thread_state *self)
{
	struct vs_stack_memo *memo = &self->scratch->stacks;
	/* Before the walk: what is unloaded during it makes the number one of the past. */
	uint32_t epoch = vs_stack_table_get_epoch();
	uint64_t era = get_era(epoch), calls = 0;
	bool has_python = atomic_load_explicit(&vs_python_is_ready, memory_order_acquire);
	bool is_learned, is_same = true;
	uint32_t number, found_epoch = 0;
	struct vs_unwind_path path;

	is_learned = vs_stack_learn(self) && vs_stack_recall(self, &path);
	if (is_learned)
		add_circumstances(self, has_python, true, &path, &calls);
	/* It may have been known all the time, but for a part that was forgotten. */
	number = is_learned ? vs_stack_memo_find(memo, &path, era) : VS_NO_ID;
	if (number != VS_NO_ID)
		return number;
	number = get_stack(self, is_learned, calls, &found_epoch, &is_same);
	/* What became ready, or was given up, meanwhile: the path is not that of the stack. */
	if (has_python != atomic_load_explicit(&vs_python_is_ready, memory_order_relaxed))
		return number;
	if (is_learned && is_same && number != VS_NO_ID && found_epoch == epoch)
		vs_stack_memo_add(memo, &path, era, number);
	return number;
}

/* The stack is known already, or the event has none: that of one that is lost would only use up a
 * number. */
static inline bool is_settled(const struct vs_thread_state *self)
{
	return self->base.stack != VS_NO_ID || vs_lifecycle_settings()->no_stacks || self->is_short;
}

/*
 * By its path. In a program with Python in it, or with operations of a framework, the same native
 * stacks come in many orders, and so much lies between two events that a stack's words have left
 * the cache: what is kept of places takes less room. So only plain stacks are kept word by word.
 */
VS_FLAT static __attribute__((noinline)) bool recall_path(struct vs_thread_state *self,
							  bool has_python, uint64_t era)
{
	struct vs_unwind_path path;
	struct vs_unwind_echo *echo;
	uint64_t calls;

	if (!vs_stack_recall(self, &path))
		return false;
	add_circumstances(self, has_python, false, &path, &calls);
	self->base.stack = vs_stack_memo_find(&self->scratch->stacks, &path, era);
	if (self->base.stack == VS_NO_ID)
		return false;
	echo = has_python || self->base.label ? NULL : vs_stack_confirm(self, &path);
	if (echo) {
		echo->number = self->base.stack;
		echo->era = era;
	}
	return true;
}

VS_FLAT __attribute__((noinline)) bool vs_stack_number_recall(struct vs_thread *thread)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	const struct vs_unwind_echo *echo;
	bool has_python;
	uint64_t era;

	if (is_settled(self))
		return true;
	/* Before the walk: what is unloaded during it makes the number one of the past. */
	era = get_era(vs_stack_table_get_epoch());
	has_python = atomic_load_explicit(&vs_python_is_ready, memory_order_acquire);
	if (has_python || thread->label)
		return recall_path(self, has_python, era);
	echo = vs_stack_hear(self);
	if (__builtin_expect(!echo || echo->era != era, 0))
		return recall_path(self, has_python, era);
	thread->stack = echo->number;
	return true;
}

VS_COLD void vs_stack_number_learn(struct vs_thread *thread)
{
	thread->stack = learn_stack((struct vs_thread_state *)thread);
}

uint32_t vs_stack_number_get(struct vs_thread *thread)
{
	if (!vs_stack_number_recall(thread))
		vs_stack_number_learn(thread);
	return thread->stack;
}
