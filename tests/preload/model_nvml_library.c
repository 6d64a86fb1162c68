/*
 * NVML as nvml.h has it, with answers that a test can tell apart. MODEL_NVML_OLD: one of before the
 * second versions.
 */
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int card, part;

struct memory_v1 {
	uint64_t total, free, used;
};

struct process_v1 {
	uint32_t pid;
	uint64_t used;
};

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
	return 0;
}

API int nvmlSystemGetDriverVersion(char *text, unsigned size);
API int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	strncpy(text, "model 7", size);
	return 0;
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	if (!strcmp(uuid, "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"))
		*device = &card;
	else if (!strcmp(uuid, "MIG-ff020304-0506-0708-090a-0b0c0d0e0f10"))
		*device = &part;
	else
		return 6;
	return 0;
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
	if (strcmp(pci, "0000:3b:00.0") != 0)
		return 6;
	*device = &card;
	return 0;
}

API int nvmlDeviceGetMemoryInfo(void *device, struct memory_v1 *memory);
API int nvmlDeviceGetMemoryInfo(void *device, struct memory_v1 *memory)
{
	if (device != &card && device != &part)
		return 2;
	*memory = (struct memory_v1){.total = 1100, .free = 300, .used = 800};
	return 0;
}

API int nvmlDeviceGetComputeRunningProcesses(void *device, uint32_t *nr, struct process_v1 *out);
API int nvmlDeviceGetComputeRunningProcesses(void *device, uint32_t *nr, struct process_v1 *out)
{
	(void)device;
	if (*nr < 2)
		return 7;
	*nr = 2;
	out[0] = (struct process_v1){.pid = 10, .used = 100};
	out[1] = (struct process_v1){.pid = 11, .used = UINT64_MAX}; /* it is not told */
	return 0;
}

#ifndef MODEL_NVML_OLD

struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};

struct process_v2 {
	uint32_t pid;
	uint64_t used;
	uint32_t gpu_instance, compute_instance;
};

API int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory);
API int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory)
{
	if ((device != &card && device != &part) || memory->version != 0x02000028)
		return 2;
	memory->total = 1100;
	memory->reserved = 100;
	memory->free = 300;
	memory->used = device == &part ? 77 : 700;
	return 0;
}

API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint32_t *nr, struct process_v2 *out);
API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint32_t *nr, struct process_v2 *out)
{
	(void)device;
	if (*nr < 3)
		return 7;
	*nr = 3;
	out[0] = (struct process_v2){.pid = 10, .used = 100};
	out[1] = (struct process_v2){.pid = 11, .used = UINT64_MAX};
	out[2] = (struct process_v2){.pid = 12, .used = 300};
	return 0;
}

/* Draws and computes: in both lists. */
API int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, uint32_t *nr,
						 struct process_v2 *out);
API int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, uint32_t *nr, struct process_v2 *out)
{
	(void)device;
	*nr = 2;
	out[0] = (struct process_v2){.pid = 12, .used = 350};
	out[1] = (struct process_v2){.pid = 13, .used = 5};
	return 0;
}

#endif
