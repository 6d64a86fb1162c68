#ifndef SG_NVML_STATE_H
#define SG_NVML_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "card.h"
#include "nvml_api.h"

/*
 * Between nvmlInit and nvmlShutdown. The card is opened by the first nvmlInit and stays open: a
 * thread may be inside any function while another one shuts down. Any thread may call any of these.
 */

/* NVML_SUCCESS or NVML_ERROR_UNINITIALIZED */
nvmlReturn_t sg_nvml_state_check_init(void);

/* As above, then NVML_ERROR_INVALID_ARGUMENT if the handle is none of ours or out is NULL. */
nvmlReturn_t sg_nvml_state_check(nvmlDevice_t device, const void *out);

/*
 * The same, but the handle of a MIG device is as good. For the few questions that MIG devices
 * answer; to all others their handles are none of ours.
 */
nvmlReturn_t sg_nvml_state_check_any(nvmlDevice_t device, const void *out);

/*
 * As that, for memory and processes: NVML_ERROR_NO_PERMISSION for a device that is partitioned. The
 * sums over its partitions are for privileged callers, which nobody is here.
 */
nvmlReturn_t sg_nvml_state_check_sums(nvmlDevice_t device, const void *out);

/* How the library was told to behave (SOFTGPU_NVML). With MIG a device has one MIG device. */
bool sg_nvml_state_is_mig_mode(void);
bool sg_nvml_state_is_wsl(void);
bool sg_nvml_state_is_container(void);

/* Whether the handle, which passed the check above, is that of a MIG device; and the other way. */
bool sg_nvml_state_is_mig_device(nvmlDevice_t device);
nvmlDevice_t sg_nvml_state_get_mig_device(int index);

/* Only where the check above, or the one of initialisation, was passed. */
struct sg_card *sg_nvml_state_get_card(void);
int sg_nvml_state_get_nr_devices(void);
int sg_nvml_state_get_index(nvmlDevice_t device); /* of a MIG device: its parent's */
nvmlDevice_t sg_nvml_state_get_device(int index);

/*
 * Copy text with its terminator: NVML_SUCCESS, NVML_ERROR_INVALID_ARGUMENT without a buffer,
 * NVML_ERROR_INSUFFICIENT_SIZE if it is too small.
 */
nvmlReturn_t sg_nvml_state_put_text(char *buffer, unsigned int length, const char *text);

/* What a function that is not written answers. Names itself the first time; said is its own. */
nvmlReturn_t sg_nvml_state_refuse(const char *name, atomic_flag *said);

#endif
