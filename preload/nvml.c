#include "nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "compose.h"

#define LIBRARY "libnvidia-ml.so.1"

/* nvml.h: what is used of it. */
#define NVML_SUCCESS             0
#define NVML_MEMORY_V2           (sizeof(struct memory_v2) | 2u << 24)
#define NVML_VALUE_NOT_AVAILABLE (~UINT64_C(0))
#define NVML_VERSION_MAX         80
#define NVML_UUID_MAX            48

struct memory_v1 {
	uint64_t total, free, used;
};

struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};

struct process_v1 {
	uint32_t pid;
	uint64_t used;
};

struct process_v2 {
	uint32_t pid;
	uint64_t used;
	uint32_t gpu_instance, compute_instance;
};

typedef int (*list_v1)(void *device, uint32_t *nr, struct process_v1 *processes);
typedef int (*list_v2)(void *device, uint32_t *nr, struct process_v2 *processes);

/* Which processes: a process that draws and computes is in both lists, with all it holds. */
enum list {
	LIST_COMPUTE,
	LIST_GRAPHICS,
	NR_LISTS
};

/* Written by vs_nvml_open(). */
static struct {
	bool is_open;
	int (*init)(void);
	int (*get_version)(char *text, unsigned size);
	int (*find_uuid)(const char *uuid, void **device);
	int (*find_pci)(const char *pci, void **device);
	int (*get_memory_v1)(void *device, struct memory_v1 *memory);
	int (*get_memory_v2)(void *device, struct memory_v2 *memory);
	list_v1 list_v1[NR_LISTS];
	list_v2 list_v2[NR_LISTS]; /* the third version has the same structure */
} nvml;

/* ISO C knows no cast from a data pointer to a function's. */
#define TAKE(pointer, handle, name) (*(void **)(void *)&(pointer) = dlsym((handle), (name)))

static void take_list(void *handle, enum list list, const char *third, const char *second,
		      const char *first)
{
	TAKE(nvml.list_v2[list], handle, third);
	if (!nvml.list_v2[list])
		TAKE(nvml.list_v2[list], handle, second);
	TAKE(nvml.list_v1[list], handle, first);
}

static bool take_functions(void *handle)
{
	TAKE(nvml.init, handle, "nvmlInit_v2");
	TAKE(nvml.get_version, handle, "nvmlSystemGetDriverVersion");
	TAKE(nvml.find_uuid, handle, "nvmlDeviceGetHandleByUUID");
	TAKE(nvml.find_pci, handle, "nvmlDeviceGetHandleByPciBusId_v2");
	TAKE(nvml.get_memory_v1, handle, "nvmlDeviceGetMemoryInfo");
	TAKE(nvml.get_memory_v2, handle, "nvmlDeviceGetMemoryInfo_v2");
	take_list(handle, LIST_COMPUTE, "nvmlDeviceGetComputeRunningProcesses_v3",
		  "nvmlDeviceGetComputeRunningProcesses_v2",
		  "nvmlDeviceGetComputeRunningProcesses");
	take_list(handle, LIST_GRAPHICS, "nvmlDeviceGetGraphicsRunningProcesses_v3",
		  "nvmlDeviceGetGraphicsRunningProcesses_v2",
		  "nvmlDeviceGetGraphicsRunningProcesses");
	return nvml.init && nvml.get_version && (nvml.find_uuid || nvml.find_pci) &&
	       (nvml.get_memory_v1 || nvml.get_memory_v2);
}

static void say(char *what, size_t what_size, const char *first, const char *second)
{
	struct vs_compose text;

	vs_compose_init(&text, what, what_size);
	vs_compose_add(&text, first);
	vs_compose_add(&text, second);
}

static void say_error(char *what, size_t what_size, int error)
{
	struct vs_compose text;

	vs_compose_init(&text, what, what_size);
	vs_compose_add(&text, "nvmlInit failed with error ");
	vs_compose_add_number(&text, (uint64_t)error);
}

bool vs_nvml_open(char *what, size_t what_size)
{
	char version[NVML_VERSION_MAX] = "";
	const char *reason;
	void *handle;
	int error;

	if (!nvml.is_open) {
		handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
		if (!handle) {
			reason = dlerror();
			say(what, what_size, reason ? reason : LIBRARY " cannot be loaded", "");
			return false;
		}
		if (!take_functions(handle)) {
			say(what, what_size, LIBRARY, " lacks functions");
			return false;
		}
		nvml.is_open = true;
	}
	error = nvml.init();
	if (error != NVML_SUCCESS) {
		say_error(what, what_size, error);
		return false;
	}
	if (nvml.get_version(version, sizeof(version)) != NVML_SUCCESS)
		version[0] = '\0';
	say(what, what_size, version[0] ? version : "unknown version", "");
	return true;
}

/* "GPU-" or "MIG-", then 8-4-4-4-12 digits. */
static void put_uuid(char text[NVML_UUID_MAX], const char *prefix, const uint8_t uuid[16])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = strlen(prefix);

	memcpy(text, prefix, at);
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		text[at++] = digits[uuid[i] >> 4];
		text[at++] = digits[uuid[i] & 15];
	}
	text[at] = '\0';
}

void *vs_nvml_find(const struct vs_nvml_name *name)
{
	bool is_mig = memcmp(name->uuid, name->mig_uuid, sizeof(name->uuid)) != 0;
	char text[NVML_UUID_MAX];
	void *device = NULL;

	/* Of a card that is divided it tells nothing; and the card is not what CUDA shows. */
	if (nvml.find_uuid && is_mig) {
		put_uuid(text, "MIG-", name->mig_uuid);
		return nvml.find_uuid(text, &device) == NVML_SUCCESS ? device : NULL;
	}
	if (nvml.find_uuid) {
		put_uuid(text, "GPU-", name->uuid);
		if (nvml.find_uuid(text, &device) == NVML_SUCCESS)
			return device;
	}
	if (nvml.find_pci && name->pci_bus_id[0] && !is_mig &&
	    nvml.find_pci(name->pci_bus_id, &device) == NVML_SUCCESS)
		return device;
	return NULL;
}

bool vs_nvml_get_memory(void *device, struct vs_memory_info *info)
{
	struct memory_v2 second = {.version = (uint32_t)NVML_MEMORY_V2};
	struct memory_v1 first = {0};

	if (nvml.get_memory_v2 && nvml.get_memory_v2(device, &second) == NVML_SUCCESS) {
		info->total_size = second.total;
		info->free_size = second.free;
		info->used_size = second.used;
		info->reserved_size = second.reserved;
		return true;
	}
	if (!nvml.get_memory_v1 || nvml.get_memory_v1(device, &first) != NVML_SUCCESS)
		return false;
	info->total_size = first.total;
	info->free_size = first.free;
	info->used_size = first.used;
	info->reserved_size = 0;
	return true;
}

/* More than a card has; the newest form of the answer is the largest. */
#define MAX_LISTED 256u

/* Appends one, or raises the one with that pid. */
static void add_process(struct vs_nvml_process *processes, uint32_t max, uint32_t *nr, uint32_t pid,
			uint64_t size)
{
	uint32_t known = *nr < max ? *nr : max;

	if (size == NVML_VALUE_NOT_AVAILABLE)
		return;
	for (uint32_t i = 0; i < known; i++) {
		if (processes[i].pid != pid)
			continue;
		if (size > processes[i].size)
			processes[i].size = size;
		return;
	}
	if (*nr < max)
		processes[*nr] = (struct vs_nvml_process){.pid = pid, .size = size};
	++*nr;
}

/* False: it does not tell. Only its own thread comes here, so the lists need not be on a stack. */
static bool add_list(void *device, enum list list, struct vs_nvml_process *processes, uint32_t max,
		     uint32_t *nr)
{
	static struct process_v2 second[MAX_LISTED];
	static struct process_v1 first[MAX_LISTED];
	uint32_t found = MAX_LISTED;

	if (nvml.list_v2[list]) {
		if (nvml.list_v2[list](device, &found, second) != NVML_SUCCESS)
			return false;
		for (uint32_t i = 0; i < found && i < MAX_LISTED; i++)
			add_process(processes, max, nr, second[i].pid, second[i].used);
		return true;
	}
	if (!nvml.list_v1[list] || nvml.list_v1[list](device, &found, first) != NVML_SUCCESS)
		return false;
	for (uint32_t i = 0; i < found && i < MAX_LISTED; i++)
		add_process(processes, max, nr, first[i].pid, first[i].used);
	return true;
}

int vs_nvml_get_processes(void *device, struct vs_nvml_process *processes, uint32_t max)
{
	uint32_t nr = 0;

	if (!add_list(device, LIST_COMPUTE, processes, max, &nr))
		return -1;
	(void)add_list(device, LIST_GRAPHICS, processes, max, &nr);
	return (int)nr;
}
