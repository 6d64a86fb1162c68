#ifndef VS_HOOKS_H
#define VS_HOOKS_H

/* First: with every function under its own name. */
#include "cuda_headers.h"

#include <generated_cuda_meta.h>

#include "real.h"
#include "recorder.h"
#include "runtimes.h"

/*
 * What all wrappers share. A wrapper of the driver is what is said before the real call, what is
 * said after it, and a row that makes a function of both:
 *
 *	static inline void after_cuMemAlloc_v2(struct vs_call *call, CUresult result,
 *					       const cuMemAlloc_v2_params *args)
 *	{
 *		vs_hooks_note_alloc(call, result, VS_MEMORY_DEVICE, ...);
 *	}
 *	VS_DRIVER_HOOK_AFTER(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), dptr, bytesize)
 *
 * Both halves get the arguments in the struct that NVIDIA's generated_cuda_meta.h has for them, so
 * that whoever sees a call otherwise than by our wrapper (told_calls.h) has the same said of it.
 *
 * Every function here leaves errno as it found it, so that the real function starts with the
 *caller's and the caller gets the one the real function left. Nothing here fails, and nothing here
 *is a call of the runtime: the program's last error stays its own. Any thread.
 */

/* Of a release that is newer than the headers. */
#if CUDA_VERSION < 13040
typedef cuGraphAddNode_v2_params cuGraphAddNode_v3_params;
#endif

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
	bool is_borrowed;           /* it gives back a reference, and no memory */
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

/* The halves of a wrapper, for calls that did not come through it. NULL: there is nothing to say.
 */
struct vs_hook_halves {
	void (*before)(struct vs_call *call, const void *args);
	void (*after)(struct vs_call *call, CUresult result, const void *args);
};

/* By hook: those of the runtime, and the doors, have none. */
#define VS_HOOK(name, abi, symbol) extern const struct vs_hook_halves vs_hooks_halves_##symbol;
#include "cuda_api.def"

/* A call of a wrapper's function that is seen from inside. Leave: vs_hooks_leave_told(). */
struct vs_call vs_hooks_enter_told(enum vs_hook hook, const void *frame);
void vs_hooks_leave_told(struct vs_call *call);

/* Whether the outermost hook of the thread is one of the runtime's. */
bool vs_hooks_is_in_runtime(const struct vs_thread *self);

#define VS_DRIVER_BEFORE(symbol)                                                 \
	static void told_before_##symbol(struct vs_call *call, const void *args) \
	{                                                                        \
		before_##symbol(call, (const symbol##_params *)args);            \
	}
#define VS_DRIVER_AFTER(symbol)                                                                  \
	static void told_after_##symbol(struct vs_call *call, CUresult result, const void *args) \
	{                                                                                        \
		after_##symbol(call, result, (const symbol##_params *)args);                     \
	}
#define VS_DRIVER_HOOK_BEFORE(symbol, parameters, ...)                                           \
	VS_API CUresult CUDAAPI symbol parameters                                                \
	{                                                                                        \
		struct vs_call call = VS_ENTER_DRIVER(symbol);                                   \
                                                                                                 \
		before_##symbol(&call, &(const symbol##_params){__VA_ARGS__});                   \
		return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, symbol, __VA_ARGS__)); \
	}                                                                                        \
	VS_DRIVER_BEFORE(symbol)                                                                 \
	const struct vs_hook_halves vs_hooks_halves_##symbol = {told_before_##symbol, NULL};
#define VS_DRIVER_HOOK_AFTER(symbol, parameters, ...)                                 \
	VS_API CUresult CUDAAPI symbol parameters                                     \
	{                                                                             \
		struct vs_call call = VS_ENTER_DRIVER(symbol);                        \
		CUresult result = VS_CALL_DRIVER(&call, symbol, __VA_ARGS__);         \
                                                                                      \
		after_##symbol(&call, result, &(const symbol##_params){__VA_ARGS__}); \
		return vs_hooks_leave_driver(&call, result);                          \
	}                                                                             \
	VS_DRIVER_AFTER(symbol)                                                       \
	const struct vs_hook_halves vs_hooks_halves_##symbol = {NULL, told_after_##symbol};
#define VS_DRIVER_HOOK(symbol, parameters, ...)                                       \
	VS_API CUresult CUDAAPI symbol parameters                                     \
	{                                                                             \
		struct vs_call call = VS_ENTER_DRIVER(symbol);                        \
		const symbol##_params args = {__VA_ARGS__};                           \
		CUresult result;                                                      \
                                                                                      \
		before_##symbol(&call, &args);                                        \
		result = VS_CALL_DRIVER(&call, symbol, __VA_ARGS__);                  \
		after_##symbol(&call, result, &args);                                 \
		return vs_hooks_leave_driver(&call, result);                          \
	}                                                                             \
	VS_DRIVER_BEFORE(symbol)                                                      \
	VS_DRIVER_AFTER(symbol)                                                       \
	const struct vs_hook_halves vs_hooks_halves_##symbol = {told_before_##symbol, \
								told_after_##symbol};

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
