/*
 * A library that exports what Python does, and is none that we know: MODEL_VERSION is its version,
 * and the states of its threads are garbage. Its host calls model_alloc().
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *Py_GetVersion(void);
EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT int model_alloc(size_t size);
extern EXPORT char PyCode_Type[512], PyUnicode_Type[512], PyBytes_Type[512];
extern EXPORT uint64_t _PyRuntime[256];

char PyCode_Type[512], PyUnicode_Type[512], PyBytes_Type[512];
uint64_t _PyRuntime[256] = {MODEL_COOKIE, MODEL_HEX, MODEL_FREE_THREADED};

#ifdef MODEL_DEBUG
EXPORT void _Py_NegativeRefcount(void);
void _Py_NegativeRefcount(void)
{
}
#endif

const char *Py_GetVersion(void)
{
	return MODEL_VERSION;
}

void *PyGILState_GetThisThreadState(void)
{
	/* Pointers into nowhere, into itself, and odd ones. */
	static uint64_t state[64];

	for (size_t i = 0; i < 64; i++)
		state[i] = i % 3 == 0   ? (uint64_t)(uintptr_t)state
			   : i % 3 == 1 ? UINT64_C(0x4141414141414141)
					: 9;
	return state;
}

int model_alloc(size_t size)
{
	void *pointer;

	return cudaMalloc(&pointer, size) == cudaSuccess ? 0 : 5;
}
