#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "identity.h"
#include "nvml_state.h"

/*
 * Which devices there are, and who they are. NVML counts all of the card: CUDA_VISIBLE_DEVICES is
 * for CUDA alone.
 */

#define PCI_BASE_CLASS 3 /* display controller ... */
#define PCI_SUB_CLASS  2 /* ... for 3D */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	if (!deviceCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*deviceCount = (unsigned int)sg_nvml_state_get_nr_devices();
	return NVML_SUCCESS;
}

/* The first version leaves out what one may not use: there is no such device here. */
nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
	return nvmlDeviceGetCount_v2(deviceCount);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	if (!device || index >= (unsigned int)sg_nvml_state_get_nr_devices())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = sg_nvml_state_get_device((int)index);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex_v2(index, device);
}

struct pci_address {
	unsigned int domain, bus, device, function;
};

/* domain:bus:device.function, domain:bus:device or bus:device.function, hexadecimal. */
static int parse_pci(const char *text, struct pci_address *out)
{
	const int length = (int)strlen(text);
	int end = -1;

	*out = (struct pci_address){0};
	if (sscanf(text, "%x:%x:%x.%x%n", &out->domain, &out->bus, &out->device, &out->function,
		   &end) == 4 &&
	    end == length)
		return 0;
	out->function = 0;
	end = -1;
	if (sscanf(text, "%x:%x:%x%n", &out->domain, &out->bus, &out->device, &end) == 3 &&
	    end == length)
		return 0;
	out->domain = 0;
	end = -1;
	if (sscanf(text, "%x:%x.%x%n", &out->bus, &out->device, &out->function, &end) == 3 &&
	    end == length)
		return 0;
	return -1;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	nvmlReturn_t result = sg_nvml_state_check_init();
	struct pci_address pci;

	if (result != NVML_SUCCESS)
		return result;
	if (!pciBusId || !device || parse_pci(pciBusId, &pci) < 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (pci.domain || pci.device || pci.function)
		return NVML_ERROR_NOT_FOUND;
	for (int i = 0; i < sg_nvml_state_get_nr_devices(); i++) {
		if ((unsigned int)sg_identity_get_pci_bus(i) == pci.bus) {
			*device = sg_nvml_state_get_device(i);
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device);
}

static void get_uuid(nvmlDevice_t device, unsigned char uuid[16])
{
	int index = sg_nvml_state_get_index(device);

	if (sg_nvml_state_is_mig_device(device))
		sg_identity_get_mig_uuid(index, uuid);
	else
		sg_identity_get_uuid(index, uuid);
}

static void format_uuid(nvmlDevice_t device, char text[SG_IDENTITY_UUID_TEXT])
{
	unsigned char uuid[16];

	get_uuid(device, uuid);
	sg_identity_format_uuid(text, sg_nvml_state_is_mig_device(device) ? "MIG-" : "GPU-", uuid);
}

/* All devices, then their MIG devices if they have any: NULL behind the last. */
static nvmlDevice_t get_any(int number)
{
	int nr = sg_nvml_state_get_nr_devices();

	if (number < nr)
		return sg_nvml_state_get_device(number);
	return sg_nvml_state_is_mig_mode() && number < 2 * nr
		       ? sg_nvml_state_get_mig_device(number - nr)
		       : NULL;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	nvmlReturn_t result = sg_nvml_state_check_init();
	char text[SG_IDENTITY_UUID_TEXT];
	nvmlDevice_t any;

	if (result != NVML_SUCCESS)
		return result;
	if (!uuid || !*uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; (any = get_any(i)); i++) {
		format_uuid(any, text);
		if (!strcasecmp(text, uuid)) {
			*device = any;
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t find_by_uuid_bytes(const unsigned char *bytes, nvmlDevice_t *device)
{
	unsigned char own[16];
	nvmlDevice_t any;

	for (int i = 0; (any = get_any(i)); i++) {
		get_uuid(any, own);
		if (!memcmp(own, bytes, sizeof(own))) {
			*device = any;
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	nvmlReturn_t result = sg_nvml_state_check_init();
	char text[NVML_DEVICE_UUID_ASCII_LEN];

	if (result != NVML_SUCCESS)
		return result;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (uuid->version != nvmlUUID_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	switch (uuid->type) {
	case NVML_UUID_TYPE_ASCII:
		snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, uuid->value.str);
		return nvmlDeviceGetHandleByUUID(text, device);
	case NVML_UUID_TYPE_BINARY:
		return find_by_uuid_bytes(uuid->value.bytes, device);
	default:
		return NVML_ERROR_INVALID_ARGUMENT;
	}
}

/* Softgpu's devices bear no serial number: there is none to be found by. */
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	return serial && device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	nvmlReturn_t result = sg_nvml_state_check_any(device, name);
	char mig_name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];

	if (result != NVML_SUCCESS)
		return result;
	if (!sg_nvml_state_is_mig_device(device))
		return sg_nvml_state_put_text(name, length, profile->name);
	sg_identity_format_mig_name(mig_name, sizeof(mig_name), profile);
	return sg_nvml_state_put_text(name, length, mig_name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, uuid);
	char text[SG_IDENTITY_UUID_TEXT];

	if (result != NVML_SUCCESS)
		return result;
	format_uuid(device, text);
	return sg_nvml_state_put_text(uuid, length, text);
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length)
{
	nvmlReturn_t result = sg_nvml_state_check(device, version);

	if (result != NVML_SUCCESS)
		return result;
	return sg_nvml_state_put_text(version, length, "00.00.00.00.00");
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, index);

	if (result != NVML_SUCCESS)
		return result;
	/* Among the MIG devices of its parent a MIG device is the first. */
	*index = sg_nvml_state_is_mig_device(device)
			 ? 0
			 : (unsigned int)sg_nvml_state_get_index(device);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
	nvmlReturn_t result = sg_nvml_state_check(device, minorNumber);

	return result == NVML_SUCCESS ? nvmlDeviceGetIndex(device, minorNumber) : result;
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *boardId)
{
	nvmlReturn_t result = sg_nvml_state_check(device, boardId);

	/* NVIDIA's is domain, bus and device in one number. */
	if (result == NVML_SUCCESS)
		*boardId = (unsigned int)sg_identity_get_pci_bus(sg_nvml_state_get_index(device))
			   << 8;
	return result;
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int *onSameBoard)
{
	nvmlReturn_t result = sg_nvml_state_check(device1, onSameBoard);

	if (result == NVML_SUCCESS)
		result = sg_nvml_state_check(device2, onSameBoard);
	if (result == NVML_SUCCESS)
		*onSameBoard = device1 == device2;
	return result;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlReturn_t result = sg_nvml_state_check(device, pci);

	if (result != NVML_SUCCESS)
		return result;
	memset(pci, 0, sizeof(*pci));
	pci->bus = (unsigned int)sg_identity_get_pci_bus(sg_nvml_state_get_index(device));
	pci->pciDeviceId = sg_identity_get_pci_id(sg_config_get()->profile.pci_device_id);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT,
		 NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(pci));
	snprintf(pci->busId, sizeof(pci->busId), NVML_DEVICE_PCI_BUS_ID_FMT,
		 NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(pci));
	return NVML_SUCCESS;
}

/*
 * The structure has grown at its end. Programs built for an older one have no room behind it: the
 * second version ended before busId, the first before pciSubSystemId.
 */
static nvmlReturn_t get_old_pci(nvmlDevice_t device, nvmlPciInfo_t *pci, size_t size)
{
	nvmlPciInfo_t newest;
	nvmlReturn_t result;

	result = sg_nvml_state_check(device, pci);
	if (result == NVML_SUCCESS)
		result = nvmlDeviceGetPciInfo_v3(device, &newest);
	if (result == NVML_SUCCESS)
		memcpy(pci, &newest, size);
	return result;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return get_old_pci(device, pci, offsetof(nvmlPciInfo_t, busId));
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return get_old_pci(device, pci, offsetof(nvmlPciInfo_t, pciSubSystemId));
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	nvmlReturn_t result = sg_nvml_state_check(device, pci);

	if (result != NVML_SUCCESS)
		return result;
	if (pci->version != nvmlPciInfoExt_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	*pci = (nvmlPciInfoExt_t){
		.version = nvmlPciInfoExt_v1,
		.bus = (unsigned int)sg_identity_get_pci_bus(sg_nvml_state_get_index(device)),
		.pciDeviceId = sg_identity_get_pci_id(sg_config_get()->profile.pci_device_id),
		.baseClass = PCI_BASE_CLASS,
		.subClass = PCI_SUB_CLASS,
	};
	snprintf(pci->busId, sizeof(pci->busId), NVML_DEVICE_PCI_BUS_ID_FMT,
		 NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(pci));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, major);

	if (result != NVML_SUCCESS)
		return result;
	if (!minor)
		return NVML_ERROR_INVALID_ARGUMENT;
	*major = sg_config_get()->profile.cc / 10;
	*minor = sg_config_get()->profile.cc % 10;
	return NVML_SUCCESS;
}

/* What follows from the compute capability: highest first. */
static const struct generation {
	int cc;
	nvmlDeviceArchitecture_t architecture;
	unsigned int cores_per_multiprocessor;
} generations[] = {
	{100, NVML_DEVICE_ARCH_BLACKWELL, 128}, {90, NVML_DEVICE_ARCH_HOPPER, 128},
	{89, NVML_DEVICE_ARCH_ADA, 128},        {81, NVML_DEVICE_ARCH_AMPERE, 128},
	{80, NVML_DEVICE_ARCH_AMPERE, 64},      {75, NVML_DEVICE_ARCH_TURING, 64},
	{70, NVML_DEVICE_ARCH_VOLTA, 64},       {61, NVML_DEVICE_ARCH_PASCAL, 128},
	{60, NVML_DEVICE_ARCH_PASCAL, 64},      {50, NVML_DEVICE_ARCH_MAXWELL, 128},
	{0, NVML_DEVICE_ARCH_KEPLER, 192},
};

static const struct generation *get_generation(void)
{
	const struct generation *g = generations;

	while (g->cc > sg_config_get()->profile.cc)
		g++;
	return g;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
	nvmlReturn_t result = sg_nvml_state_check(device, arch);

	if (result == NVML_SUCCESS)
		*arch = get_generation()->architecture;
	return result;
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int *numCores)
{
	nvmlReturn_t result = sg_nvml_state_check(device, numCores);

	if (result != NVML_SUCCESS)
		return result;
	if (sg_nvml_state_is_mig_mode())
		return NVML_ERROR_NOT_SUPPORTED;
	*numCores = (unsigned int)sg_config_get()->profile.nr_multiprocessors *
		    get_generation()->cores_per_multiprocessor;
	return NVML_SUCCESS;
}
