#ifndef VS_HOOKS_H
#define VS_HOOKS_H

#include "real.h"
#include "recorder.h"
#include "runtimes.h"

/*
 * What all wrappers share. A wrapper of the driver reads:
 *
 *	struct vs_call call = VS_ENTER_DRIVER(cuMemAlloc_v2);
 *	CUresult result = VS_CALL_DRIVER(&call, cuMemAlloc_v2, dptr, bytesize);
 *
 *	vs_hooks_note_alloc(&call, result, VS_MEMORY_DEVICE, ...);
 *	return vs_hooks_leave_driver(&call, result);
 *
 * Every function here leaves errno as it found it, so that the real function starts with the
 *caller's and the caller gets the one the real function left. Nothing here fails, and nothing here
 *is a call of the runtime: the program's last error stays its own. Any thread.
 */

#define VS_API __attribute__((visibility("default")))

/* Numbers of the rows of cuda_api.def that are hooked. */
enum vs_hook {
#define VS_HOOK(name, abi, symbol) VS_HOOK_##symbol,
#define VS_RUNTIME_HOOK(symbol)    VS_HOOK_##symbol,
#include "cuda_api.def"
	VS_NR_HOOKS
};

/* One call of a hooked driver function, on the wrapper's stack. */
struct vs_call {
	struct vs_thread *self;     /* NULL: only the real call is made */
	const struct vs_real *real; /* NULL: there is no driver */
	bool is_recording;          /* this is the outermost driver call */
	bool is_capturing;          /* its stream is: what it does is done at the graph's launch */
};

/* One call of a hooked runtime function. */
struct vs_runtime_call {
	struct vs_thread *self;
	const struct vs_runtime *runtime; /* NULL: the caller has none */
	uint64_t nr_driver_calls; /* of this thread, before: tells whether the driver's hooks
				     saw this call */
};

#define VS_ENTER_DRIVER(symbol) vs_hooks_enter_driver(VS_HOOK_##symbol, __builtin_frame_address(0))
#define VS_CALL_DRIVER(call, symbol, ...)                                         \
	((call)->real && (call)->real->symbol ? (call)->real->symbol(__VA_ARGS__) \
					      : vs_real_get_error((call)->real))
struct vs_call vs_hooks_enter_driver(enum vs_hook hook, const void *frame);
CUresult vs_hooks_leave_driver(struct vs_call *call, CUresult result);

#define VS_ENTER_RUNTIME(symbol)                                             \
	vs_hooks_enter_runtime(VS_HOOK_##symbol, __builtin_frame_address(0), \
			       __builtin_return_address(0))
/* Without a runtime there cannot be a driver that is new enough for it. */
#define VS_CALL_RUNTIME(call, symbol, ...)                                                 \
	((call)->runtime && (call)->runtime->symbol ? (call)->runtime->symbol(__VA_ARGS__) \
						    : cudaErrorInsufficientDriver)
struct vs_runtime_call vs_hooks_enter_runtime(enum vs_hook hook, const void *frame,
					      const void *return_address);
cudaError_t vs_hooks_leave_runtime(struct vs_runtime_call *call, cudaError_t error);

/*
 * After the real call: memory of the current context and its device was given, or the request
 * failed. The failure goes with free and total memory as the driver sees them right then.
 */
void vs_hooks_note_alloc(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
			 uint64_t address, uint64_t size);

/* The same for memory that outlives its context: device and pool (0: none) are said by the caller.
 */
void vs_hooks_note_alloc_on(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
			    uint32_t device, uint64_t address, uint64_t size, uint64_t pool);

/*
 * Before the real call, and after it. Nothing is said about address 0. The kind is a hint where
 * CUDA takes several kinds by one function (cuMemFree, cuMemFreeAsync): the address decides.
 */
void vs_hooks_note_free(struct vs_call *call, enum vs_memory_kind kind, uint64_t address);
void vs_hooks_note_failed_free(struct vs_call *call, CUresult result, enum vs_memory_kind kind,
			       uint64_t address);
static inline void vs_hooks_note_free_result(struct vs_call *call, CUresult result,
					     enum vs_memory_kind kind, uint64_t address)
{
	if (__builtin_expect(result != CUDA_SUCCESS, 0))
		vs_hooks_note_failed_free(call, result, kind, address);
}

/*
 * The runtime's own word, for calls that succeeded without reaching a hook of the driver: a runtime
 * that got its driver before we were there. A free is then said after the call; there is no better
 * moment, because only then it is known that nobody said it.
 */
void vs_hooks_note_runtime_alloc(struct vs_runtime_call *call, cudaError_t error,
				 enum vs_memory_kind kind, const void *address, uint64_t size);
void vs_hooks_note_runtime_free(struct vs_runtime_call *call, cudaError_t error,
				enum vs_memory_kind kind, const void *address);

#endif
