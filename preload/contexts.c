#include "contexts.h"

#include <errno.h>
#include <stdatomic.h>

#include "device_facts.h"

#define NR_CONTEXTS 256 /* a power of two */
#define MAX_DEVICES 64

/* Device of each context that was created; the driver tells it only of the current one. */
static struct entry {
	_Atomic uint64_t context;
	_Atomic uint32_t device; /* + 1; 0: not known */
} entries[NR_CONTEXTS];

_Static_assert((uint32_t)(0 - 1) == VS_NO_DEVICE, "not known is no device");

/* Primary context of each device while we know it; 0: none. */
static _Atomic uint64_t primary[MAX_DEVICES];

static struct entry *find(uint64_t context)
{
	uint64_t first = (context >> 4) * 0x9e3779b97f4a7c15u >> 32;

	for (unsigned i = 0; i < NR_CONTEXTS; i++) {
		struct entry *entry = &entries[(first + i) % NR_CONTEXTS];
		uint64_t seen = atomic_load(&entry->context);

		if (seen == context ||
		    (!seen && atomic_compare_exchange_strong(&entry->context, &seen, context)) ||
		    seen == context)
			return entry;
	}
	return NULL;
}

static void note_new(struct vs_call *call, uint64_t context, CUdevice device)
{
	struct entry *entry = find(context);

	if (entry)
		atomic_store(&entry->device, (uint32_t)device + 1);
	vs_device_facts_define(call->real, (uint32_t)device);
	vs_recorder_add_context(call->self, VS_CONTEXT_CREATED, vs_recorder_context(context),
				(uint32_t)device);
}

void vs_contexts_note_create(struct vs_call *call, CUresult result, CUcontext context,
			     CUdevice device)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS && context)
		note_new(call, (uintptr_t)context, device);
	errno = error_number;
}

void vs_contexts_note_retain(struct vs_call *call, CUresult result, CUcontext context,
			     CUdevice device)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS && context && device >= 0 &&
	    device < MAX_DEVICES &&
	    atomic_exchange(&primary[device], (uintptr_t)context) != (uintptr_t)context)
		note_new(call, (uintptr_t)context, device);
	errno = error_number;
}

static void note_end(struct vs_call *call, uint64_t context, uint32_t device)
{
	vs_recorder_add_context(call->self, VS_CONTEXT_DESTROYED, vs_recorder_context(context),
				device);
	vs_recorder_forget_context(context);
}

void vs_contexts_note_destroy(struct vs_call *call, CUcontext context)
{
	int error_number = errno;
	unsigned version = 0;
	struct entry *entry;

	/* The driver checks the handle; NULL would ask about the current one. */
	if (call->is_recording && context && call->real->cuCtxGetApiVersion &&
	    call->real->cuCtxGetApiVersion(context, &version) == CUDA_SUCCESS) {
		entry = find((uintptr_t)context);
		note_end(call, (uintptr_t)context,
			 entry ? atomic_load(&entry->device) - 1 : VS_NO_DEVICE);
	}
	errno = error_number;
}

/* Whether a device has a primary context now. */
static bool is_active(const struct vs_real *real, CUdevice device)
{
	unsigned flags = 0;
	int active = 0;

	return real->cuDevicePrimaryCtxGetState &&
	       real->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

void vs_contexts_note_reset(struct vs_call *call, CUdevice device)
{
	int error_number = errno;
	uint64_t context;

	if (call->is_recording && is_active(call->real, device)) {
		vs_recorder_add_context(call->self, VS_CONTEXT_RESET, 0, (uint32_t)device);
		context = device < MAX_DEVICES ? atomic_exchange(&primary[device], 0) : 0;
		if (context)
			vs_recorder_forget_context(context);
	}
	errno = error_number;
}

void vs_contexts_note_release(struct vs_call *call, CUresult result, CUdevice device)
{
	int error_number = errno;
	uint64_t context = 0;

	if (call->is_recording && result == CUDA_SUCCESS && device >= 0 && device < MAX_DEVICES &&
	    !is_active(call->real, device))
		context = atomic_exchange(&primary[device], 0);
	if (context)
		note_end(call, context, (uint32_t)device);
	errno = error_number;
}
