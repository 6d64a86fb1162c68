#include "hooks.h"

#include <errno.h>
#include <stdatomic.h>

#include "captured_memory.h"
#include "captures.h"
#include "device_facts.h"
#include "driver_pools.h"
#include "hot.h"

static const char *const names[] = {
#define VS_HOOK(name, abi, symbol) #symbol,
#define VS_RUNTIME_HOOK(symbol)    #symbol,
#include "cuda_api.def"
};

/* The recorder's numbers for the names; 0: not asked yet. Threads that ask at once store the same.
 */
static _Atomic uint32_t numbers[VS_NR_HOOKS];

/* initial-exec: the general model may allocate at a thread's first use. */
static _Thread_local uint64_t nr_driver_calls __attribute__((tls_model("initial-exec")));

static VS_COLD uint32_t ask_number(enum vs_hook hook)
{
	int error_number = errno;
	uint32_t number = vs_recorder_name(names[hook]);

	atomic_store_explicit(&numbers[hook], number, memory_order_relaxed);
	errno = error_number;
	return number;
}

static inline uint32_t get_number(enum vs_hook hook)
{
	uint32_t number = atomic_load_explicit(&numbers[hook], memory_order_relaxed);

	return __builtin_expect(number != 0, 1) ? number : ask_number(hook);
}

VS_HOT struct vs_call vs_hooks_enter_driver(enum vs_hook hook, const void *frame)
{
	struct vs_call call = {.real = vs_real_get()};

	nr_driver_calls++;
	call.self = vs_guard_enter(VS_GUARD_DRIVER, get_number(hook), frame);
	call.is_recording = call.self && call.real && vs_guard_is_outermost_driver(call.self);
	return call;
}

struct vs_call vs_hooks_enter_told(enum vs_hook hook, const void *frame)
{
	struct vs_call call = {.real = vs_real_get()};

	nr_driver_calls++;
	call.self = vs_guard_enter(VS_GUARD_TOLD, get_number(hook), frame);
	call.is_recording = call.self && call.real && vs_guard_is_outermost_driver(call.self);
	return call;
}

void vs_hooks_leave_told(struct vs_call *call)
{
	if (call->self)
		vs_guard_leave(call->self, VS_GUARD_TOLD);
}

bool vs_hooks_is_in_runtime(const struct vs_thread *self)
{
	static const enum vs_hook hooks[] = {
#define VS_RUNTIME_HOOK(symbol) VS_HOOK_##symbol,
#include "cuda_api.def"
	};

	for (size_t i = 0; self->depth > 1 && i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (atomic_load_explicit(&numbers[hooks[i]], memory_order_relaxed) == self->api)
			return true;
	return false;
}

VS_HOT CUresult vs_hooks_leave_driver(struct vs_call *call, CUresult result)
{
	if (call->self)
		vs_guard_leave(call->self, VS_GUARD_DRIVER);
	return result;
}

static VS_COLD void note_failure(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
				 uint32_t device, uint64_t size, uint32_t pool)
{
	uint64_t free_size, total_size;

	vs_device_facts_get_memory(call->real, device, &free_size, &total_size);
	vs_recorder_add_failure(call->self, kind, device, size, result, free_size, total_size,
				pool);
}

VS_HOT void vs_hooks_note_alloc(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
				uint64_t address, uint64_t size)
{
	int error_number = errno;
	struct vs_device_place place;

	if (!call->is_recording)
		return;
	place = vs_device_facts_get_place(call->real);
	/* Before the allocation: it may have taken what a pool had let go. */
	if (vs_driver_pools_has_default())
		vs_driver_pools_sample_default(call, place.device);
	if (result == CUDA_SUCCESS && kind == VS_MEMORY_DEVICE)
		vs_captured_memory_add(address, size);
	if (result == CUDA_SUCCESS)
		vs_recorder_add_alloc(call->self, kind, place.device, address, size, VS_NO_ID,
				      place.context);
	else
		note_failure(call, result, kind, place.device, size, VS_NO_ID);
	errno = error_number;
}

void vs_hooks_note_alloc_on(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
			    uint32_t device, uint64_t address, uint64_t size, uint64_t pool)
{
	int error_number = errno;
	uint32_t number = VS_NO_ID;

	if (!call->is_recording)
		return;
	vs_device_facts_define(call->real, device);
	if (pool)
		number = vs_recorder_driver_pool(pool, device);
	/* Whoever judges the failure wants to know what pools held just then. After any other one
	 * the pool need not even be there. */
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		vs_driver_pools_sample(call, pool, device);
	if (result != CUDA_SUCCESS || !pool)
		vs_driver_pools_sample_default(call, device);
	if (result == CUDA_SUCCESS)
		vs_recorder_add_alloc(call->self, kind, device, address, size, number, 0);
	else
		note_failure(call, result, kind, device, size, number);
	errno = error_number;
}

VS_HOT void vs_hooks_note_free(struct vs_call *call, enum vs_memory_kind kind, uint64_t address)
{
	int error_number = errno;

	if (call->is_recording && address) {
		vs_captured_memory_remove(address);
		vs_recorder_add_free(call->self, kind, address);
	}
	errno = error_number;
}

VS_COLD void vs_hooks_note_failed_free(struct vs_call *call, CUresult result,
				       enum vs_memory_kind kind, uint64_t address)
{
	int error_number = errno;

	if (call->is_recording && address)
		vs_recorder_take_back_free(call->self, kind, address, result);
	errno = error_number;
}

struct vs_runtime_call vs_hooks_enter_runtime(enum vs_hook hook, const void *frame,
					      const void *return_address)
{
	int error_number = errno;
	struct vs_runtime_call call = {.runtime = vs_runtimes_get(return_address)};

	call.self = vs_guard_enter(VS_GUARD_RUNTIME, get_number(hook), frame);
	call.nr_driver_calls = nr_driver_calls;
	errno = error_number;
	return call;
}

cudaError_t vs_hooks_leave_runtime(struct vs_runtime_call *call, cudaError_t error)
{
	int error_number = errno;

	if (call->self)
		vs_guard_leave(call->self, VS_GUARD_RUNTIME);
	errno = error_number;
	return error;
}

/* Only the outermost of runtime calls that nest, as the driver's do. */
static bool is_unseen(const struct vs_runtime_call *call, cudaError_t error)
{
	return call->self && error == cudaSuccess && call->nr_driver_calls == nr_driver_calls &&
	       call->self->depth == 1;
}

void vs_hooks_note_runtime_alloc(struct vs_runtime_call *call, cudaError_t error,
				 enum vs_memory_kind kind, const void *address, uint64_t size)
{
	int error_number = errno;
	const struct vs_real *real;
	uint32_t device = VS_NO_DEVICE;

	if (!is_unseen(call, error) || !address)
		return;
	real = vs_real_get();
	if (real)
		device = vs_device_facts_get_current(real);
	vs_recorder_add_alloc(call->self, kind, device, (uintptr_t)address, size, VS_NO_ID,
			      real ? vs_device_facts_get_context(real) : 0);
	errno = error_number;
}

void vs_hooks_note_runtime_free(struct vs_runtime_call *call, cudaError_t error,
				enum vs_memory_kind kind, const void *address)
{
	int error_number = errno;

	if (is_unseen(call, error) && address)
		vs_recorder_add_free(call->self, kind, (uintptr_t)address);
	errno = error_number;
}
