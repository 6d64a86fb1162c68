#include "tensorflow_op.h"

#include <string.h>

#include "behind.h"
#include "hot.h"
#include "record.h"
#include "recorder.h"
#include "thread.h"

/* Up to 2.19: pointers to text that ends with a NUL. */
struct annotation_old {
	const char *op;
	int64_t step;
	const char *region;
	int32_t type;
};

/* Since 2.20: std::string_view of libstdc++. */
struct annotation_new {
	size_t op_size;
	const char *op;
	int64_t step;
	size_t region_size;
	const char *region;
	int32_t type;
};

#define TEXT_MAX 200

/* No text is so long, and no address so low. */
#define LEAST_ADDRESS 65536u

static __attribute__((noinline)) uint32_t look_up(struct vs_text_memo *memo, const char *text,
						  size_t size)
{
	char copy[TEXT_MAX + 1];
	uint32_t number;

	memcpy(copy, text, size);
	copy[size] = '\0';
	number = vs_recorder_keep_name(copy);
	if (memo && number != VS_NO_ID)
		vs_text_memo_add(memo, text, size, number);
	return number;
}

VS_HOT static uint32_t get_number(struct vs_text_memo *memo, const char *text, size_t size)
{
	uint32_t number;

	if (!text || !size)
		return VS_NO_ID;
	if (size > TEXT_MAX)
		size = TEXT_MAX;
	number = memo ? vs_text_memo_find(memo, text, size) : VS_NO_ID;
	return __builtin_expect(number != VS_NO_ID, 1) ? number : look_up(memo, text, size);
}

/* Where it is for this thread: a variable of the thread's, always the same. */
static VS_COLD const void *find_annotation(void)
{
	static struct vs_behind behind = {
		.library = "libtensorflow_framework.so",
		.name = "_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv"};
	const void *(*get)(void) = (const void *(*)(void))vs_behind_get(&behind);

	return get ? get() : NULL;
}

VS_HOT uint64_t vs_tensorflow_op_get(struct vs_thread *thread, uint64_t *run)
{
	struct vs_thread_state *self = (struct vs_thread_state *)thread;
	union {
		struct annotation_old old;
		struct annotation_new new;
		size_t first;
	} annotation;
	/* None at its first event. */
	struct vs_text_memo *memo = self->scratch ? &self->scratch->texts : NULL;
	uint32_t op, region;

	*run = 0;
	if (__builtin_expect(!self->annotation, 0))
		self->annotation = find_annotation();
	if (!self->annotation)
		return 0;
	/* Both are there in full in either case: a function object follows. */
	memcpy(&annotation, self->annotation, sizeof(annotation));
	if (!annotation.first)
		return 0;
	if (annotation.first < LEAST_ADDRESS) {
		*run = (uint64_t)annotation.new.step;
		op = get_number(memo, annotation.new.op, annotation.new.op_size);
		region = get_number(memo, annotation.new.region, annotation.new.region_size);
		return op ? vs_frame_make_op(op, region, (uint32_t)annotation.new.type) : 0;
	}
	*run = (uint64_t)annotation.old.step;
	op = get_number(memo, annotation.old.op, strnlen(annotation.old.op, TEXT_MAX));
	region = annotation.old.region ? get_number(memo, annotation.old.region,
						    strnlen(annotation.old.region, TEXT_MAX))
				       : VS_NO_ID;
	return op ? vs_frame_make_op(op, region, (uint32_t)annotation.old.type) : 0;
}
