#include "device_facts.h"

#include <string.h>

#include "captures.h"
#include "memory_info.h"
#include "recorder.h"

/*
 * What the driver said of the context that was current last, so that it need not be asked about it
 * again. initial-exec: the general model may allocate at a thread's first use.
 */
static _Thread_local struct {
	uint64_t context; /* 0: none yet */
	uint64_t nr_forgotten;
	struct vs_device_place place;
} last __attribute__((tls_model("initial-exec")));

static uint32_t get_current(const struct vs_real *real)
{
	CUdevice device = -1;

	/* 201 on a thread without a context; nothing is known then. */
	if (!real->cuCtxGetDevice || real->cuCtxGetDevice(&device) != CUDA_SUCCESS || device < 0)
		return VS_NO_DEVICE;
	return (uint32_t)device;
}

uint32_t vs_device_facts_get_current(const struct vs_real *real)
{
	uint32_t device = get_current(real);

	vs_device_facts_define(real, device);
	return device;
}

uint32_t vs_device_facts_get_context(const struct vs_real *real)
{
	CUcontext context = NULL;

	if (!real->cuCtxGetCurrent || real->cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return 0;
	return vs_recorder_context((uintptr_t)context);
}

static __attribute__((noinline)) struct vs_device_place find_place(const struct vs_real *real,
								   uint64_t context,
								   uint64_t nr_forgotten)
{
	struct vs_device_place place = {get_current(real), vs_recorder_context(context)};

	if (context && place.device != VS_NO_DEVICE) {
		last.context = context;
		last.nr_forgotten = nr_forgotten;
		last.place = place;
	}
	return place;
}

struct vs_device_place vs_device_facts_get_place(const struct vs_real *real)
{
	/* First: one that is forgotten meanwhile may have another meaning when it is met again. */
	uint64_t nr_forgotten = vs_recorder_get_nr_forgotten_contexts();
	struct vs_device_place place;
	CUcontext current = NULL;
	uint64_t context = 0;

	if (real->cuCtxGetCurrent && real->cuCtxGetCurrent(&current) == CUDA_SUCCESS)
		context = (uintptr_t)current;
	if (__builtin_expect(
		    context && context == last.context && nr_forgotten == last.nr_forgotten, 1))
		place = last.place;
	else
		place = find_place(real, context, nr_forgotten);
	vs_device_facts_define(real, place.device);
	return place;
}

uint32_t vs_device_facts_get_of_stream(const struct vs_real *real, CUstream stream)
{
	CUdevice device = -1;

	if (stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD &&
	    real->cuStreamGetDevice && real->cuStreamGetDevice(stream, &device) == CUDA_SUCCESS &&
	    device >= 0)
		return (uint32_t)device;
	return get_current(real);
}

/* softgpu says its name through its public door; no other driver knows the question. */
static bool is_simulated(const struct vs_real *real)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	return real->cuGetProcAddress_v2 &&
	       real->cuGetProcAddress_v2("softgpuIdentify", &function, 0, 0, &status) ==
		       CUDA_SUCCESS &&
	       function;
}

static uint32_t get_compute_capability(const struct vs_real *real, CUdevice device)
{
	int major = 0, minor = 0;

	if (!real->cuDeviceGetAttribute ||
	    real->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				       device) != CUDA_SUCCESS ||
	    real->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				       device) != CUDA_SUCCESS)
		return 0;
	return (uint32_t)(major * 10 + minor);
}

void vs_device_facts_name(const struct vs_real *real, uint32_t device)
{
	CUdevice ordinal = (CUdevice)device;
	struct vs_nvml_name name;
	CUuuid uuid = {{0}};

	if (device == VS_NO_DEVICE || vs_memory_info_has_device(device))
		return;
	memset(&name, 0, sizeof(name));
	if (real->cuDeviceGetUuid)
		(void)real->cuDeviceGetUuid(&uuid, ordinal);
	memcpy(name.uuid, uuid.bytes, sizeof(name.uuid));
	/* The second version tells of the part of a card (MIG) where the first tells of the card.
	 */
	if (real->cuDeviceGetUuid_v2)
		(void)real->cuDeviceGetUuid_v2(&uuid, ordinal);
	memcpy(name.mig_uuid, uuid.bytes, sizeof(name.mig_uuid));
	if (!real->cuDeviceGetPCIBusId ||
	    real->cuDeviceGetPCIBusId(name.pci_bus_id, sizeof(name.pci_bus_id), ordinal) !=
		    CUDA_SUCCESS)
		name.pci_bus_id[0] = '\0';
	vs_memory_info_add_device(device, &name);
}

static __attribute__((noinline)) void define(const struct vs_real *real, uint32_t device)
{
	CUdevice ordinal = (CUdevice)device;
	CUuuid uuid = {{0}};
	char name[128] = "";
	size_t total_size = 0;

	if (!real->cuDeviceGetName ||
	    real->cuDeviceGetName(name, sizeof(name), ordinal) != CUDA_SUCCESS)
		name[0] = '\0';
	if (real->cuDeviceTotalMem_v2)
		(void)real->cuDeviceTotalMem_v2(&total_size, ordinal);
	if (real->cuDeviceGetUuid)
		(void)real->cuDeviceGetUuid(&uuid, ordinal);
	vs_recorder_define_device(device, name, total_size, get_compute_capability(real, ordinal),
				  (const uint8_t *)uuid.bytes, is_simulated(real));
	vs_device_facts_name(real, device);
}

void vs_device_facts_define(const struct vs_real *real, uint32_t device)
{
	if (__builtin_expect(device != VS_NO_DEVICE && !vs_recorder_has_device(device), 0))
		define(real, device);
}

void vs_device_facts_get_memory(const struct vs_real *real, uint32_t device, uint64_t *free_size,
				uint64_t *total_size)
{
	size_t available = 0, total = 0;

	*free_size = 0;
	*total_size = 0;
	if (vs_captures_has_any() || !real->cuMemGetInfo_v2 || device == VS_NO_DEVICE ||
	    get_current(real) != device ||
	    real->cuMemGetInfo_v2(&available, &total) != CUDA_SUCCESS)
		return;
	*free_size = available;
	*total_size = total;
}
