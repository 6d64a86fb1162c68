#include "contexts.h"

#include <errno.h>
#include <stdatomic.h>

#include "device_facts.h"
#include "memory_info.h"
#include "peer_opens.h"

#define NR_CONTEXTS 256 /* a power of two */
#define MAX_DEVICES 64

/* Device of each context that was created; the driver tells it only of the current one. */
static struct entry {
	_Atomic uint64_t context;
	_Atomic uint32_t device; /* + 1; 0: not known, or the context is gone */
	atomic_bool is_found;    /* no call made it that we saw */
} entries[NR_CONTEXTS];

_Static_assert((uint32_t)(0 - 1) == VS_NO_DEVICE, "not known is no device");

/* Primary context of each device while we know it; 0: none. */
static _Atomic uint64_t primary[MAX_DEVICES];

/* How many there are, as far as we know. */
static _Atomic uint32_t nr_contexts[MAX_DEVICES];

/* What all processes used of the device before the call that this thread is in. initial-exec: as
 * in device_facts.c. */
static _Thread_local struct {
	bool is_known;
	uint64_t used_size;
} before __attribute__((tls_model("initial-exec")));

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

static void measure(struct vs_call *call, CUdevice device)
{
	before.is_known = false;
	if (!call->is_recording || device < 0 || device >= MAX_DEVICES)
		return;
	vs_device_facts_name(call->real, (uint32_t)device);
	before.is_known = vs_memory_info_look((uint32_t)device, &before.used_size);
}

void vs_contexts_note_creating(struct vs_call *call, CUdevice device)
{
	int error_number = errno;

	measure(call, device);
	errno = error_number;
}

void vs_contexts_note_retaining(struct vs_call *call, CUdevice device)
{
	int error_number = errno;

	before.is_known = false;
	if (device >= 0 && device < MAX_DEVICES && !atomic_load(&primary[device]))
		measure(call, device);
	errno = error_number;
}

/*
 * After the call, before the program goes on: nothing else of ours has grown. True: NVML has told
 * just now.
 */
static bool measure_new(CUdevice device)
{
	uint64_t used_size;

	if (device < 0 || device >= MAX_DEVICES)
		return false;
	atomic_fetch_add(&nr_contexts[device], 1);
	if (!before.is_known || !vs_memory_info_look((uint32_t)device, &used_size))
		return false;
	before.is_known = false;
	vs_memory_info_add_context((uint32_t)device,
				   used_size > before.used_size ? used_size - before.used_size : 0);
	return true;
}

/* nr of them are gone. */
static void forget_contexts(uint32_t device, uint32_t nr)
{
	uint32_t known;

	vs_peer_opens_forget();
	if (device >= MAX_DEVICES)
		return;
	known = atomic_load(&nr_contexts[device]);
	while (known && !atomic_compare_exchange_weak(&nr_contexts[device], &known,
						      known > nr ? known - nr : 0))
		;
	if (known <= nr)
		vs_memory_info_forget_contexts(device);
}

static bool is_known(uint64_t context)
{
	struct entry *entry = find(context);

	return entry && atomic_load(&entry->device) != 0;
}

/* Its handle may come again. */
static void forget(uint64_t context)
{
	struct entry *entry = find(context);

	if (entry) {
		atomic_store(&entry->device, 0);
		atomic_store(&entry->is_found, false);
	}
	vs_recorder_forget_context(context);
}

static void note_new(struct vs_call *call, uint64_t context, CUdevice device)
{
	struct entry *entry = find(context);
	bool has_told = measure_new(device);

	if (entry)
		atomic_store(&entry->device, (uint32_t)device + 1);
	vs_device_facts_define(call->real, (uint32_t)device);
	vs_recorder_add_context(call->self, VS_CONTEXT_CREATED, vs_recorder_context(context),
				(uint32_t)device);
	if (has_told)
		vs_memory_info_tell(call->self, (uint32_t)device);
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
	    atomic_exchange(&primary[device], (uintptr_t)context) != (uintptr_t)context &&
	    !vs_contexts_is_found(context))
		note_new(call, (uintptr_t)context, device);
	errno = error_number;
}

void vs_contexts_note_found(struct vs_call *call, CUcontext context, CUdevice device)
{
	int error_number = errno;
	struct entry *entry;

	if (call->is_recording && context && device >= 0 && !is_known((uintptr_t)context)) {
		note_new(call, (uintptr_t)context, device);
		entry = find((uintptr_t)context);
		if (entry)
			atomic_store(&entry->is_found, true);
	}
	errno = error_number;
}

bool vs_contexts_is_found(CUcontext context)
{
	struct entry *entry = find((uintptr_t)context);

	return entry && atomic_load(&entry->device) && atomic_load(&entry->is_found);
}

static void note_end(struct vs_call *call, uint64_t context, uint32_t device)
{
	vs_recorder_add_context(call->self, VS_CONTEXT_DESTROYED, vs_recorder_context(context),
				device);
	forget(context);
	forget_contexts(device, 1);
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
		forget_contexts((uint32_t)device, UINT32_MAX);
		context = device < MAX_DEVICES ? atomic_exchange(&primary[device], 0) : 0;
		if (context)
			forget(context);
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
