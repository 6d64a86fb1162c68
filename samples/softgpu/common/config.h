#ifndef SG_CONFIG_H
#define SG_CONFIG_H

#include <stdint.h>

#include "profile.h"

#define SG_MAX_DEVICES 16
#define SG_PAGE_SIZE   ((uint64_t)2 << 20) /* physical memory is taken in pages of this size */
#define SG_KIB         ((uint64_t)1 << 10)
#define SG_MIB         ((uint64_t)1 << 20)
#define SG_GIB         ((uint64_t)1 << 30)
#define SG_MAX_SIZE    ((uint64_t)1 << 59) /* no sum over the devices of a card overflows */

/* How device memory is kept on the host; docs/softgpu.md, "Backings". */
enum sg_backing {
	SG_BACKING_EXACT, /* every written byte is kept */
	SG_BACKING_ZERO,  /* reads as zero, only small copies are kept */
};

/* What a yes or no reads as that a kernel should have written; driver/truth.h. */
enum sg_bool {
	SG_BOOL_NO,
	SG_BOOL_YES,
	SG_BOOL_GUESS, /* by the kernel */
};

/* What NVML, and CUDA in part, tell of the machine; docs/softgpu.md, "NVML". */
enum sg_nvml_mode {
	SG_NVML_NORMAL,
	SG_NVML_CONTAINER, /* other processes' numbers, as outside a container */
	SG_NVML_MIG,       /* every device is partitioned: one MIG device each, all of it */
	SG_NVML_WSL,       /* no figures per process */
};

/*
 * What the environment asked for. Read once per process, before the first use, and constant from
 * then on. A value that cannot be understood is said on standard error and the default is used.
 *
 *   SOFTGPU_PROFILE  SOFTGPU_DEVICES  SOFTGPU_DRIVER_VERSION  SOFTGPU_NVML  SOFTGPU_BACKING
 *   SOFTGPU_EXACT_BELOW  SOFTGPU_BOOL  SOFTGPU_CARD, and those of profile_field.def
 */
struct sg_config {
	struct sg_profile profile;
	int nr_devices;
	int driver_version; /* 13000 */
	enum sg_nvml_mode nvml_mode;
	enum sg_backing backing;
	uint64_t exact_below;      /* in zero backing: copies up to this size are kept */
	enum sg_bool unknown_bool; /* in zero backing: of one byte that was not written */
	/*
	 * Name of the card. Without SOFTGPU_CARD a name of this process's own, so that its
	 * libraries (driver, NVML) meet on one card. NULL (no memory): a card for one opener alone.
	 */
	const char *card;
};

/* Any thread. */
const struct sg_config *sg_config_get(void);

#endif
