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
#include "hot.h"
#include "lifecycle.h"
#include "pool_request.h"
#include "recorder.h"
#include "stack.h"
#include "tensorflow_allocators.h"
#include "tensorflow_dump.h"
#include "tensorflow_op.h"

#define EXPORT  __attribute__((visibility("default")))
#define LIBRARY "libtensorflow_framework.so"

/* tsl::AllocationAttributes; only its beginning. */
struct attributes {
	bool retry_on_failure; /* false: whoever asks can do without */
};

/* tsl::BFCAllocator::Options; only its beginning. */
struct options {
	bool can_grow; /* false: all that it may take is taken at once */
};

/* ---- What happens to a chunk ----------------------------------------------------------------- */

/* The device that the thread took memory from since then, VS_NO_DEVICE: from none. */
static uint32_t get_device(const struct vs_thread *self, uint64_t nr_events_before)
{
	return vs_guard_count_events() != nr_events_before ? self->last_device : VS_NO_DEVICE;
}

VS_HOT static __attribute__((noinline)) void add_chunk(void *allocator, const void *address,
						       uint64_t size, uint64_t asked,
						       uint64_t nr_events_before, const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	uint64_t run;
	uint32_t pool;

	if (!self)
		return;
	pool = vs_tensorflow_allocators_get_pool(self, allocator,
						 get_device(self, nr_events_before));
	self->label = vs_tensorflow_op_get(self, &run);
	if (pool != VS_NO_ID && (asked != size || run))
		vs_recorder_add_asked_block(self, pool, (uintptr_t)address, size, asked, run);
	else if (pool != VS_NO_ID)
		vs_recorder_add_block(self, pool, (uintptr_t)address, size);
	self->label = 0;
	vs_guard_leave(self, VS_GUARD_POOL);
}

/* What TensorFlow itself wrote down of it, if it was told to. */
static void quote_dump(struct vs_thread *self, void *allocator, uint32_t pool)
{
	const char *prefix = vs_lifecycle_settings()->tf_dump;
	char name[64], text[VS_TENSORFLOW_DUMP_TEXT_MAX];
	struct vs_tensorflow_dump dump;

	if (!*prefix)
		return;
	vs_tensorflow_allocators_get_name(allocator, name, sizeof(name));
	if (vs_tensorflow_dump_take(&dump, prefix, name))
		vs_recorder_quote_failure(self, pool, text, vs_tensorflow_dump_tell(&dump, text));
}

static VS_COLD void add_failure(void *allocator, uint64_t size, uint64_t nr_events_before,
				const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	uint64_t run;
	uint32_t pool;

	if (!self)
		return;
	pool = vs_tensorflow_allocators_get_pool(self, allocator,
						 get_device(self, nr_events_before));
	self->label = vs_tensorflow_op_get(self, &run);
	if (pool != VS_NO_ID)
		vs_recorder_fail_block(self, pool, size);
	self->label = 0;
	if (pool != VS_NO_ID)
		quote_dump(self, allocator, pool);
	vs_guard_leave(self, VS_GUARD_POOL);
}

VS_FLAT static __attribute__((noinline)) void free_chunk(void *allocator, const void *address,
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

VS_HOT static void *allocate(struct vs_behind *behind, struct vs_behind *get_size, void *allocator,
			     size_t alignment, size_t size, const struct attributes *attributes,
			     const void *frame)
{
	allocate_function real = (allocate_function)vs_behind_get(behind);
	struct vs_pool_request request = {.allocator = allocator,
					  .get_pool = vs_tensorflow_allocators_get_pool};
	uint64_t nr_events = vs_guard_count_events();
	void *address;
	size_function real_size;

	if (!real)
		return NULL;
	if (!is_wanted())
		return real(allocator, alignment, size, attributes);
	vs_stack_expect(frame);
	vs_pool_request_begin(&request);
	address = real(allocator, alignment, size, attributes);
	vs_pool_request_end(&request);
	if (!address) {
		if (size && attributes->retry_on_failure)
			add_failure(allocator, size, nr_events, frame);
		return address;
	}
	real_size = (size_function)vs_behind_get(get_size);
	add_chunk(allocator, address, real_size ? real_size(allocator, address) : size, size,
		  nr_events, frame);
	return address;
}

VS_HOT static void deallocate(struct vs_behind *behind, void *allocator, void *address,
			      const void *frame)
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

/* ---- The constructor ------------------------------------------------------------------------- */

/* The same names in 2.15 to 2.21; older releases pass other things. */
#define BEGIN                                                                              \
	"ESt10unique_ptrINS_12SubAllocatorESt14default_deleteIS2_EEmRKNSt7__cxx1112basic_" \
	"stringIcSt11char_traitsIcESaIcEEERKNS0_7OptionsE"
#define BEGIN_PART  "_ZN3tsl12BFCAllocatorC2" BEGIN
#define BEGIN_WHOLE "_ZN3tsl12BFCAllocatorC1" BEGIN

typedef void (*begin_function)(void *allocator, void *memory, size_t limit, const void *name,
			       const struct options *options);

static void begin(void *allocator, void *memory, size_t limit, const void *name,
		  const struct options *options)
{
	static struct vs_behind behind = {.library = LIBRARY, .name = BEGIN_PART};
	begin_function real = (begin_function)vs_behind_get(&behind);

	if (real)
		real(allocator, memory, limit, name, options);
	vs_tensorflow_allocators_begin(allocator, limit, options->can_grow);
}

/* Of an allocator that is a part of another object, and of one that is not: the same. */
EXPORT void tsl_bfc_begin(void *allocator, void *memory, size_t limit, const void *name,
			  const struct options *options) __asm__(BEGIN_PART);
EXPORT void tsl_bfc_begin_whole(void *allocator, void *memory, size_t limit, const void *name,
				const struct options *options) __asm__(BEGIN_WHOLE);

void tsl_bfc_begin(void *allocator, void *memory, size_t limit, const void *name,
		   const struct options *options)
{
	begin(allocator, memory, limit, name, options);
}

void tsl_bfc_begin_whole(void *allocator, void *memory, size_t limit, const void *name,
			 const struct options *options)
{
	begin(allocator, memory, limit, name, options);
}

/* ---- The functions of both names, as they are called ----------------------------------------- */

#define HOOKS(ns, prefix)                                                                     \
	VS_HOT_DATA static struct vs_behind ns##_allocate = {                                 \
		.library = LIBRARY,                                                           \
		.name = prefix "11AllocateRawEmmRKNS_20AllocationAttributesE"};               \
	VS_HOT_DATA static struct vs_behind ns##_deallocate = {                               \
		.library = LIBRARY, .name = prefix "13DeallocateRawEPv"};                     \
	static struct vs_behind ns##_end = {.library = LIBRARY, .name = prefix "D2Ev"};       \
	VS_HOT_DATA static struct vs_behind ns##_size = {.library = LIBRARY,                  \
							 .name = ns##_SIZE_NAME};             \
	EXPORT void *ns##_bfc_allocate(                                                       \
		void *allocator, size_t alignment, size_t size,                               \
		const struct attributes                                                       \
			*attributes) __asm__(prefix                                           \
					     "11AllocateRawEmmRKNS_20AllocationAttributesE"); \
	EXPORT void ns##_bfc_deallocate(void *allocator,                                      \
					void *address) __asm__(prefix "13DeallocateRawEPv");  \
	EXPORT void ns##_bfc_end(void *allocator) __asm__(prefix "D2Ev");                     \
	EXPORT void ns##_bfc_end_whole(void *allocator) __asm__(prefix "D1Ev");               \
	VS_HOT void *ns##_bfc_allocate(void *allocator, size_t alignment, size_t size,        \
				       const struct attributes *attributes)                   \
	{                                                                                     \
		return allocate(&ns##_allocate, &ns##_size, allocator, alignment, size,       \
				attributes, __builtin_frame_address(0));                      \
	}                                                                                     \
	VS_HOT void ns##_bfc_deallocate(void *allocator, void *address)                       \
	{                                                                                     \
		deallocate(&ns##_deallocate, allocator, address, __builtin_frame_address(0)); \
	}                                                                                     \
	void ns##_bfc_end(void *allocator)                                                    \
	{                                                                                     \
		end(&ns##_end, allocator, __builtin_frame_address(0));                        \
	}                                                                                     \
	/* Of an allocator that is no part of another object: the same. */                    \
	void ns##_bfc_end_whole(void *allocator)                                              \
	{                                                                                     \
		end(&ns##_end, allocator, __builtin_frame_address(0));                        \
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

/* Of chunks. A call is no event, and no reason to begin a trace. */
static bool has_stacks(void)
{
	return vs_lifecycle_is_open() && is_wanted() && !vs_lifecycle_settings()->no_stacks;
}

VS_HOT void TFE_Execute(void *op, void **results, int *nr_results, void *status)
{
	VS_HOT_DATA static struct vs_behind behind = {.library = "libtensorflow_cc.so",
						      .name = "TFE_Execute"};
	__typeof__(&TFE_Execute) real = (__typeof__(real))vs_behind_get(&behind);
	struct vs_thread *self =
		has_stacks() ? vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, __builtin_frame_address(0))
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
