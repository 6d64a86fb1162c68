#include "nvml_state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "log.h"

/* The handles: nothing but addresses. */
struct nvmlDevice_st {
	char unused;
};
static struct nvmlDevice_st devices[SG_MAX_DEVICES];
static struct nvmlDevice_st mig_devices[SG_MAX_DEVICES];

static _Atomic unsigned nr_inits;
static struct sg_card *card; /* written once, before the first nr_inits */

/* pthread_once, not a mutex: it survives a fork() in the middle of it. */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_card(void)
{
	const struct sg_config *config = sg_config_get();

	card = sg_card_open(config->card, config);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	pthread_once(&once, open_card);
	if (!card)
		return NVML_ERROR_MEMORY;
	if (!sg_card_get_nr_devices(card) && !(flags & NVML_INIT_FLAG_NO_GPUS))
		return NVML_ERROR_GPU_NOT_FOUND;
	atomic_fetch_add(&nr_inits, 1);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlShutdown(void)
{
	unsigned n = atomic_load(&nr_inits);

	while (n && !atomic_compare_exchange_weak(&nr_inits, &n, n - 1))
		;
	return n ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t sg_nvml_state_check_init(void)
{
	return atomic_load(&nr_inits) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

static bool is_one_of(nvmlDevice_t device, const struct nvmlDevice_st *first)
{
	uintptr_t offset = (uintptr_t)device - (uintptr_t)first;

	return offset < (uintptr_t)sg_nvml_state_get_nr_devices();
}

bool sg_nvml_state_is_mig_mode(void)
{
	return sg_config_get()->nvml_mode == SG_NVML_MIG;
}

bool sg_nvml_state_is_wsl(void)
{
	return sg_config_get()->nvml_mode == SG_NVML_WSL;
}

bool sg_nvml_state_is_container(void)
{
	return sg_config_get()->nvml_mode == SG_NVML_CONTAINER;
}

bool sg_nvml_state_is_mig_device(nvmlDevice_t device)
{
	return sg_nvml_state_is_mig_mode() && is_one_of(device, mig_devices);
}

nvmlReturn_t sg_nvml_state_check(nvmlDevice_t device, const void *out)
{
	if (sg_nvml_state_check_init() != NVML_SUCCESS)
		return NVML_ERROR_UNINITIALIZED;
	return out && is_one_of(device, devices) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sg_nvml_state_check_any(nvmlDevice_t device, const void *out)
{
	if (sg_nvml_state_check_init() != NVML_SUCCESS)
		return NVML_ERROR_UNINITIALIZED;
	if (out && sg_nvml_state_is_mig_device(device))
		return NVML_SUCCESS;
	return sg_nvml_state_check(device, out);
}

nvmlReturn_t sg_nvml_state_check_sums(nvmlDevice_t device, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, out);

	if (result != NVML_SUCCESS)
		return result;
	return sg_nvml_state_is_mig_mode() && !sg_nvml_state_is_mig_device(device)
		       ? NVML_ERROR_NO_PERMISSION
		       : NVML_SUCCESS;
}

struct sg_card *sg_nvml_state_get_card(void)
{
	return card;
}

int sg_nvml_state_get_nr_devices(void)
{
	return sg_card_get_nr_devices(card);
}

int sg_nvml_state_get_index(nvmlDevice_t device)
{
	return (int)(sg_nvml_state_is_mig_device(device) ? device - mig_devices : device - devices);
}

nvmlDevice_t sg_nvml_state_get_device(int index)
{
	return &devices[index];
}

nvmlDevice_t sg_nvml_state_get_mig_device(int index)
{
	return &mig_devices[index];
}

nvmlReturn_t sg_nvml_state_put_text(char *buffer, unsigned int length, const char *text)
{
	size_t size = strlen(text) + 1;

	if (!buffer)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (length < size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(buffer, text, size);
	return NVML_SUCCESS;
}

nvmlReturn_t sg_nvml_state_refuse(const char *name, atomic_flag *said)
{
	if (!atomic_flag_test_and_set(said))
		sg_log_part(SG_LOG_MISSING, "%s is not supported", name);
	return atomic_load(&nr_inits) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
}
