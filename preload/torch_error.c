#include "torch_error.h"

#include <stdatomic.h>
#include <string.h>

#include "guard.h"
#include "pool_torch.h"
#include "recorder.h"
#include "torch_library.h"

/* A program that runs out again and again must not use up the numbers of names. */
#define MAX_TEXTS 256

static const struct {
	const char *name;
	bool is_shared;
} rows[] = {
#define VS_TORCH_ERROR(number, name, is_shared) [number] = {#name, is_shared},
#include "torch_error.def"
#undef VS_TORCH_ERROR
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static _Atomic(void *) reals[NR_ROWS];
static _Atomic unsigned nr_texts;

/* std::string of libstdc++, as far as it is the same for short and long texts. */
struct text {
	const char *bytes;
	size_t size; /* not there if is_shared: it stands before the bytes */
};

/* In front of the bytes: length, capacity, references. */
static size_t get_shared_size(const char *bytes)
{
	size_t size;

	memcpy(&size, bytes - 3 * sizeof(size), sizeof(size));
	return size;
}

static void quote(uint32_t pool, const char *bytes, size_t size)
{
	static const char start[] = "CUDA out of memory";
	struct vs_thread *self;

	if (size < sizeof(start) - 1 || memcmp(bytes, start, sizeof(start) - 1) != 0 ||
	    atomic_fetch_add_explicit(&nr_texts, 1, memory_order_relaxed) >= MAX_TEXTS)
		return;
	self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0));
	if (!self)
		return;
	vs_recorder_quote_failure(self, pool, bytes, size);
	vs_guard_leave(self, VS_GUARD_POOL);
}

void *vs_torch_error_note(unsigned number, const void *text, const void *caller)
{
	void *real = atomic_load_explicit(&reals[number], memory_order_relaxed);
	const struct text *string = text;
	uint32_t pool = vs_pool_torch_take_failed();

	if (pool != VS_NO_ID)
		quote(pool, string->bytes,
		      rows[number].is_shared ? get_shared_size(string->bytes) : string->size);
	if (!real) {
		real = vs_torch_library_find(rows[number].name, caller);
		atomic_store_explicit(&reals[number], real, memory_order_relaxed);
	}
	return real;
}
