/*
 * The call that backward() makes into PyTorch's engine, torch::autograd::Engine::execute, which
 * libtorch_cpu exports and libtorch_python calls by its name. It returns when the workers are done;
 * meanwhile they allocate for the line that called it (delegation.h).
 *
 * C that is called as if it were C++: the list that it returns is an object in memory that the
 * caller has room for, as a struct of that size is. An exception passes through without stopping:
 * then the call is taken for over when its thread comes by again.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "guard.h"
#include "lifecycle.h"
#include "loaded_object.h"
#include "recorder.h"
#include "torch_engine.h"

#define LIBRARY "libtorch_cpu.so"
#define EXECUTE                                                                                    \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_" \
	"EEbbbS7_"
#define WORKER_MAIN "_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrINS0_9GraphTaskEE"

struct list {
	void *words[3];
};

typedef struct list (*execute_function)(void *engine, const void *roots, const void *inputs,
					_Bool keep_graph, _Bool create_graph, _Bool accumulate_grad,
					const void *outputs);

__attribute__((visibility("default"))) struct list torch_engine_execute(
	void *engine, const void *roots, const void *inputs, _Bool keep_graph, _Bool create_graph,
	_Bool accumulate_grad, const void *outputs) __asm__(EXECUTE);

static _Atomic(execute_function) real;

static execute_function find_real(void)
{
	execute_function found = atomic_load_explicit(&real, memory_order_acquire);
	struct vs_loaded_object object;
	size_t call_size = 0, worker_size = 0;
	void *handle, *worker;

	if (found)
		return found;
	if (vs_loaded_object_find(LIBRARY, &object)) {
		found = (execute_function)vs_loaded_object_get_symbol(&object, EXECUTE, &call_size);
		worker = vs_loaded_object_get_symbol(&object, WORKER_MAIN, &worker_size);
		if (found && worker)
			vs_torch_engine_set((uintptr_t)found, call_size, (uintptr_t)worker,
					    worker_size);
	}
	if (!found) {
		/* Another name, or one file for all: whoever comes behind us. */
		handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
		found = (execute_function)dlsym(handle ? handle : RTLD_NEXT, EXECUTE);
	}
	atomic_store_explicit(&real, found, memory_order_release);
	return found;
}

/* No event, and no reason to begin a trace: one that is begun learns of it. */
static struct vs_thread *enter(const void *frame)
{
	if (!vs_lifecycle_peek_log())
		return NULL;
	return vs_guard_enter(VS_GUARD_POOL, VS_NO_ID, frame);
}

struct list torch_engine_execute(void *engine, const void *roots, const void *inputs,
				 _Bool keep_graph, _Bool create_graph, _Bool accumulate_grad,
				 const void *outputs)
{
	execute_function execute = find_real();
	struct vs_thread *self = enter(__builtin_frame_address(0));
	struct list result;
	uint32_t call;

	if (!self)
		return execute(engine, roots, inputs, keep_graph, create_graph, accumulate_grad,
			       outputs);
	call = vs_recorder_begin_call(self, VS_LINK_BACKWARD, __builtin_frame_address(0));
	vs_guard_leave(self, VS_GUARD_POOL);
	result = execute(engine, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
	vs_recorder_end_call(self, call);
	return result;
}
