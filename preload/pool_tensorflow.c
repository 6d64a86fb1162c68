/*
 * TensorFlow's allocators: tsl::BFCAllocator (tensorflow:: up to 2.10), which divides what it takes
 * from the driver into chunks. Its functions are exported by libtensorflow_framework and called
 * through tables of virtual functions that the loader fills in by name, so ours come first.
 *
 * A chunk is said after it was given out, and before it is taken back. The lock of the allocator is
 * held in neither case.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "behind.h"
#include "guard.h"
#include "lifecycle.h"
#include "recorder.h"
#include "tensorflow_allocators.h"
#include "tensorflow_op.h"

#define EXPORT  __attribute__((visibility("default")))
#define LIBRARY "libtensorflow_framework.so"

/* tsl::AllocationAttributes; only its beginning. */
struct attributes {
	bool retry_on_failure; /* false: whoever asks can do without */
};

/* ---- What happens to a chunk ----------------------------------------------------------------- */

static __attribute__((noinline)) void add_chunk(void *allocator, const void *address, uint64_t size,
						uint64_t nr_events_before, const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	uint32_t pool;

	if (!self)
		return;
	pool = vs_tensorflow_allocators_get_pool(self, allocator, nr_events_before);
	self->label = vs_tensorflow_op_get(self);
	if (pool != VS_NO_ID)
		vs_recorder_add_block(self, pool, (uintptr_t)address, size);
	self->label = 0;
	vs_guard_leave(self, VS_GUARD_POOL);
}

static __attribute__((noinline)) void add_failure(void *allocator, uint64_t size,
						  uint64_t nr_events_before, const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	uint32_t pool;

	if (!self)
		return;
	pool = vs_tensorflow_allocators_get_pool(self, allocator, nr_events_before);
	self->label = vs_tensorflow_op_get(self);
	if (pool != VS_NO_ID)
		vs_recorder_fail_block(self, pool, size);
	self->label = 0;
	vs_guard_leave(self, VS_GUARD_POOL);
}

static __attribute__((noinline)) void free_chunk(void *allocator, const void *address,
						 const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	uint32_t pool;

	if (!self)
		return;
	pool = vs_tensorflow_allocators_find_pool(allocator);
	if (pool != VS_NO_ID)
		vs_recorder_free_block(self, pool, (uintptr_t)address);
	vs_guard_leave(self, VS_GUARD_POOL);
}

static bool is_wanted(void)
{
	return !vs_lifecycle_settings()->no_pools;
}

/* ---- The functions of both names ------------------------------------------------------------- */

typedef void *(*allocate_function)(void *allocator, size_t alignment, size_t size,
				   const struct attributes *attributes);
typedef void (*deallocate_function)(void *allocator, void *address);
typedef size_t (*size_function)(const void *allocator, const void *address);
typedef void (*end_function)(void *allocator);

static void *allocate(struct vs_behind *behind, struct vs_behind *get_size, void *allocator,
		      size_t alignment, size_t size, const struct attributes *attributes,
		      const void *frame)
{
	allocate_function real = (allocate_function)vs_behind_get(behind);
	uint64_t nr_events = vs_guard_count_events();
	void *address;
	size_function real_size;

	if (!real)
		return NULL;
	address = real(allocator, alignment, size, attributes);
	if (!is_wanted())
		return address;
	if (!address) {
		if (size && attributes->retry_on_failure)
			add_failure(allocator, size, nr_events, frame);
		return address;
	}
	real_size = (size_function)vs_behind_get(get_size);
	add_chunk(allocator, address, real_size ? real_size(allocator, address) : size, nr_events,
		  frame);
	return address;
}

static void deallocate(struct vs_behind *behind, void *allocator, void *address, const void *frame)
{
	deallocate_function real = (deallocate_function)vs_behind_get(behind);

	if (address && is_wanted())
		free_chunk(allocator, address, frame);
	if (real)
		real(allocator, address);
}

static void end(struct vs_behind *behind, void *allocator, const void *frame)
{
	end_function real = (end_function)vs_behind_get(behind);
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);

	if (self) {
		vs_tensorflow_allocators_end(self, allocator);
		vs_guard_leave(self, VS_GUARD_POOL);
	}
	if (real)
		real(allocator);
}

#define HOOKS(ns, prefix)                                                                         \
	static struct vs_behind ns##_allocate = {.library = LIBRARY,                              \
						 .name = prefix                                   \
						 "11AllocateRawEmmRKNS_20AllocationAttributesE"}; \
	static struct vs_behind ns##_deallocate = {.library = LIBRARY,                            \
						   .name = prefix "13DeallocateRawEPv"};          \
	static struct vs_behind ns##_end = {.library = LIBRARY, .name = prefix "D2Ev"};           \
	static struct vs_behind ns##_size = {.library = LIBRARY, .name = ns##_SIZE_NAME};         \
	EXPORT void *ns##_bfc_allocate(                                                           \
		void *allocator, size_t alignment, size_t size,                                   \
		const struct attributes                                                           \
			*attributes) __asm__(prefix                                               \
					     "11AllocateRawEmmRKNS_20AllocationAttributesE");     \
	EXPORT void ns##_bfc_deallocate(void *allocator,                                          \
					void *address) __asm__(prefix "13DeallocateRawEPv");      \
	EXPORT void ns##_bfc_end(void *allocator) __asm__(prefix "D2Ev");                         \
	EXPORT void ns##_bfc_end_whole(void *allocator) __asm__(prefix "D1Ev");                   \
	void *ns##_bfc_allocate(void *allocator, size_t alignment, size_t size,                   \
				const struct attributes *attributes)                              \
	{                                                                                         \
		return allocate(&ns##_allocate, &ns##_size, allocator, alignment, size,           \
				attributes, __builtin_frame_address(0));                          \
	}                                                                                         \
	void ns##_bfc_deallocate(void *allocator, void *address)                                  \
	{                                                                                         \
		deallocate(&ns##_deallocate, allocator, address, __builtin_frame_address(0));     \
	}                                                                                         \
	void ns##_bfc_end(void *allocator)                                                        \
	{                                                                                         \
		end(&ns##_end, allocator, __builtin_frame_address(0));                            \
	}                                                                                         \
	/* Of an allocator that is no part of another object: the same. */                        \
	void ns##_bfc_end_whole(void *allocator)                                                  \
	{                                                                                         \
		end(&ns##_end, allocator, __builtin_frame_address(0));                            \
	}

#define tsl_SIZE_NAME        "_ZNK3tsl12BFCAllocator13AllocatedSizeEPKv"
#define tensorflow_SIZE_NAME "_ZNK10tensorflow12BFCAllocator13AllocatedSizeEPKv"

HOOKS(tsl, "_ZN3tsl12BFCAllocator")
HOOKS(tensorflow, "_ZN10tensorflow12BFCAllocator")

/* ---- Calls from Python ----------------------------------------------------------------------- */

/*
 * An operation, or a function of many, whose operations run on other threads: these allocate for
 * the line that made the call (delegation.h).
 */
EXPORT void TFE_Execute(void *op, void **results, int *nr_results, void *status);

void TFE_Execute(void *op, void **results, int *nr_results, void *status)
{
	static struct vs_behind behind = {.library = "libtensorflow_cc.so", .name = "TFE_Execute"};
	__typeof__(&TFE_Execute) real = (__typeof__(real))vs_behind_get(&behind);
	/* No event, and no reason to begin a trace. */
	struct vs_thread *self =
		vs_lifecycle_peek_log()
			? vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0))
			: NULL;
	uint32_t call = 0;

	if (self) {
		call = vs_recorder_begin_call(self, VS_LINK_EXECUTE, __builtin_frame_address(0));
		vs_guard_leave(self, VS_GUARD_POOL);
	}
	if (real)
		real(op, results, nr_results, status);
	if (self)
		vs_recorder_end_call(self, call);
}
