#include "pool_torch.h"

#include <stdatomic.h>
#include <stddef.h>

#include "captured_memory.h"
#include "guard.h"
#include "hot.h"
#include "lifecycle.h"
#include "recorder.h"
#include "torch_library.h"

#define EXPORT __attribute__((visibility("default")))

/* c10::Device: two bytes, passed in a register by value. */
struct device {
	int8_t type; /* c10::DeviceType */
	int8_t index;
};

#define CUDA_DEVICE 1
#define NR_DEVICES  64

/* Events that may go by without totals: those after a free rest on the size of the block. */
#define MAX_SILENT 1024

/* What the allocator says it holds, over all its pools on the device. */
struct totals {
	uint64_t allocated;
	uint64_t reserved;
};

/* ---- Pools ----------------------------------------------------------------------------------- */

enum kind {
	COMMON,
	CAPTURED, /* private pools of graphs, by captured_memory.h */
	NR_KINDS
};

static const char *const names[NR_KINDS] = {
	[COMMON] = "PyTorch",
	[CAPTURED] = "PyTorch, private pools of graphs (derived)",
};

/*
 * What is known of a device. Its events come one at a time, under the allocator's mutex for it;
 * atomic all the same, so that a caller who knows nothing of that does no harm.
 */
static struct pools {
	_Atomic uint32_t numbers[NR_KINDS]; /* VS_NO_ID: not yet */
	_Atomic uint32_t told_in;           /* recording that has totals to count on from */
	_Atomic uint64_t allocated;         /* as they follow from the trace */
	_Atomic uint64_t reserved;
	_Atomic uint32_t nr_silent; /* events since they were last said */
} devices[NR_DEVICES];

static _Thread_local uint32_t failed_pool __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) uint32_t create_pool(struct vs_thread *self, unsigned device,
						      enum kind kind)
{
	uint32_t none = VS_NO_ID, number;

	number = vs_recorder_create_pool(self, VS_POOL_FRAMEWORK, names[kind], device, 0);
	if (!atomic_compare_exchange_strong(&devices[device].numbers[kind], &none, number))
		number = none;
	return number;
}

static uint32_t get_pool(struct vs_thread *self, unsigned device, enum kind kind)
{
	uint32_t number =
		atomic_load_explicit(&devices[device].numbers[kind], memory_order_relaxed);

	return __builtin_expect(number != VS_NO_ID, 1) ? number : create_pool(self, device, kind);
}

/* The pool of a block. The memory that it lies in does not change sides while it is there. */
static uint32_t get_pool_of(struct vs_thread *self, unsigned device, const void *address)
{
	return get_pool(self, device,
			vs_captured_memory_has((uintptr_t)address) ? CAPTURED : COMMON);
}

/* Whether they follow from the totals before, by which whoever reads the trace goes. */
static inline bool are_expected(const struct pools *pools, int64_t change,
				const struct totals *totals)
{
	uint64_t allocated = atomic_load_explicit(&pools->allocated, memory_order_relaxed);

	return allocated + (uint64_t)change == totals->allocated &&
	       atomic_load_explicit(&pools->reserved, memory_order_relaxed) == totals->reserved &&
	       atomic_load_explicit(&pools->told_in, memory_order_relaxed) ==
		       vs_lifecycle_recording();
}

static VS_COLD void tell_totals(struct vs_thread *self, struct pools *pools,
				const struct totals *totals)
{
	atomic_store_explicit(&pools->reserved, totals->reserved, memory_order_relaxed);
	atomic_store_explicit(&pools->told_in, vs_lifecycle_recording(), memory_order_relaxed);
	vs_recorder_add_pool_state(self, get_pool(self, (unsigned)(pools - devices), COMMON),
				   totals->reserved, totals->allocated);
}

/* The event changed what is allocated by so much; a state is written where that is not all. */
static void follow_totals(struct vs_thread *self, struct pools *pools, int64_t change,
			  const struct totals *totals)
{
	uint32_t nr_silent = atomic_load_explicit(&pools->nr_silent, memory_order_relaxed) + 1;
	bool is_silent = are_expected(pools, change, totals) && nr_silent < MAX_SILENT;

	atomic_store_explicit(&pools->allocated, totals->allocated, memory_order_relaxed);
	atomic_store_explicit(&pools->nr_silent, is_silent ? nr_silent : 0, memory_order_relaxed);
	if (__builtin_expect(!is_silent, 0))
		tell_totals(self, pools, totals);
}

/* ---- What is reported ------------------------------------------------------------------------ */

/* A block was given out, or taken back (size below 0). totals: NULL if it does not say. */
VS_FLAT static __attribute__((noinline)) void add_change(const void *address, int64_t size,
							 const struct totals *totals,
							 struct device device, const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	unsigned index = (unsigned)device.index;
	uint32_t pool;

	if (!self)
		return;
	failed_pool = VS_NO_ID;
	pool = get_pool_of(self, index, address);
	if (size < 0)
		vs_recorder_free_block(self, pool, (uintptr_t)address);
	else
		vs_recorder_add_block(self, pool, (uintptr_t)address, (uint64_t)size);
	if (totals)
		follow_totals(self, &devices[index], size, totals);
	vs_guard_leave(self, VS_GUARD_POOL);
}

static VS_COLD void add_failure(int64_t size, const struct totals *totals, struct device device,
				const void *frame)
{
	struct vs_thread *self = vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
	unsigned index = (unsigned)device.index;

	if (!self)
		return;
	failed_pool = get_pool(self, index, COMMON);
	vs_recorder_fail_block(self, failed_pool, size > 0 ? (uint64_t)size : 0);
	follow_totals(self, &devices[index], 0, totals);
	vs_guard_leave(self, VS_GUARD_POOL);
}

uint32_t vs_pool_torch_take_failed(void)
{
	uint32_t pool = failed_pool;

	failed_pool = VS_NO_ID;
	return pool;
}

/* ---- The functions that PyTorch calls -------------------------------------------------------- */

/* Names as g++ and clang++ make them. */
#define USAGE_2_0  _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define USAGE_1_10 _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
#define USAGE_1_6  _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE
#define OUT_2_0    _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define OUT_1_13   _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE

#define TYPES_2_0  "void*, int64, size_t, size_t, Device"
#define TYPES_1_10 "void*, int64, int64, int64, Device"
#define TYPES_1_6  "void*, int64, Device"

#define TEXT_OF(symbol)       TEXT_AS_IT_IS(symbol)
#define TEXT_AS_IT_IS(symbol) #symbol

EXPORT void USAGE_2_0(void *address, int64_t size, size_t allocated, size_t reserved,
		      struct device device);
EXPORT void USAGE_1_10(void *address, int64_t size, int64_t allocated, int64_t reserved,
		       struct device device);
EXPORT void USAGE_1_6(void *address, int64_t size, struct device device);
EXPORT void OUT_2_0(int64_t size, size_t allocated, size_t reserved, struct device device);
EXPORT void OUT_1_13(int64_t size, int64_t allocated, int64_t reserved, struct device device);

/*
 * A function that ours stands in front of. As a rule the first call is about memory of the host,
 * while PyTorch is imported and nobody holds anything: then the release is found out, too.
 */
struct behind {
	_Atomic(void *) function;
	const char *name;
	const char *types;
};

static __attribute__((noinline)) void *look_up(struct behind *behind, const void *caller)
{
	void *function = vs_torch_library_find(behind->name, caller);

	atomic_store_explicit(&behind->function, function, memory_order_relaxed);
	vs_torch_library_learn(behind->types);
	return function;
}

static inline void *get_real(struct behind *behind, const void *caller)
{
	void *function = atomic_load_explicit(&behind->function, memory_order_relaxed);

	return __builtin_expect(function != NULL, 1) ? function : look_up(behind, caller);
}

/* Memory of the host comes this way, too, and far more often. */
static inline bool is_wanted(struct device device)
{
	return __builtin_expect(device.type == CUDA_DEVICE, 0) &&
	       (unsigned)device.index < NR_DEVICES && vs_torch_library_is_wanted();
}

#define GET_REAL(behind) get_real(&(behind), __builtin_return_address(0))

void USAGE_2_0(void *address, int64_t size, size_t allocated, size_t reserved, struct device device)
{
	static struct behind behind = {.name = TEXT_OF(USAGE_2_0), .types = TYPES_2_0};
	__typeof__(&USAGE_2_0) real = (__typeof__(real))GET_REAL(behind);
	struct totals totals = {allocated, reserved};

	if (is_wanted(device))
		add_change(address, size, &totals, device, __builtin_frame_address(0));
	if (real)
		real(address, size, allocated, reserved, device);
}

void USAGE_1_10(void *address, int64_t size, int64_t allocated, int64_t reserved,
		struct device device)
{
	static struct behind behind = {.name = TEXT_OF(USAGE_1_10), .types = TYPES_1_10};
	__typeof__(&USAGE_1_10) real = (__typeof__(real))GET_REAL(behind);
	struct totals totals = {(uint64_t)allocated, (uint64_t)reserved};

	if (is_wanted(device))
		add_change(address, size, &totals, device, __builtin_frame_address(0));
	if (real)
		real(address, size, allocated, reserved, device);
}

void USAGE_1_6(void *address, int64_t size, struct device device)
{
	static struct behind behind = {.name = TEXT_OF(USAGE_1_6), .types = TYPES_1_6};
	__typeof__(&USAGE_1_6) real = (__typeof__(real))GET_REAL(behind);

	if (is_wanted(device))
		add_change(address, size, NULL, device, __builtin_frame_address(0));
	if (real)
		real(address, size, device);
}

void OUT_2_0(int64_t size, size_t allocated, size_t reserved, struct device device)
{
	static struct behind behind = {.name = TEXT_OF(OUT_2_0), .types = TYPES_2_0};
	__typeof__(&OUT_2_0) real = (__typeof__(real))GET_REAL(behind);
	struct totals totals = {allocated, reserved};

	if (is_wanted(device))
		add_failure(size, &totals, device, __builtin_frame_address(0));
	if (real)
		real(size, allocated, reserved, device);
}

void OUT_1_13(int64_t size, int64_t allocated, int64_t reserved, struct device device)
{
	static struct behind behind = {.name = TEXT_OF(OUT_1_13), .types = TYPES_1_10};
	__typeof__(&OUT_1_13) real = (__typeof__(real))GET_REAL(behind);
	struct totals totals = {(uint64_t)allocated, (uint64_t)reserved};

	if (is_wanted(device))
		add_failure(size, &totals, device, __builtin_frame_address(0));
	if (real)
		real(size, allocated, reserved, device);
}
