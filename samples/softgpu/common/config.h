#ifndef SG_CONFIG_H
#define SG_CONFIG_H

#include <stdint.h>

#include "profile.h"

#define SG_MAX_DEVICES 16
#define SG_PAGE_SIZE   ((uint64_t)2 << 20) /* physical memory is taken in pages of this size */
#define SG_KIB         ((uint64_t)1 << 10)
#define SG_MIB         ((uint64_t)1 << 20)
#define SG_GIB         ((uint64_t)1 << 30)

/* How device memory is kept on the host; docs/softgpu.md, "Backings". */
enum sg_backing {
	SG_BACKING_EXACT, /* every written byte is kept */
	SG_BACKING_ZERO,  /* reads as zero, only small copies are kept */
};

/*
 * What the environment asked for. Read once per process, before the first use, and constant from
 * then on. A value that cannot be understood is said on standard error and the default is used.
 *
 *   SOFTGPU_PROFILE  SOFTGPU_MEMORY  SOFTGPU_CONTEXT  SOFTGPU_DEVICES  SOFTGPU_CC
 *   SOFTGPU_DRIVER_VERSION  SOFTGPU_BACKING  SOFTGPU_EXACT_BELOW  SOFTGPU_CARD  SOFTGPU_MANAGED
 */
struct sg_config {
	struct sg_profile profile;
	int nr_devices;
	int driver_version; /* 13000 */
	enum sg_backing backing;
	uint64_t exact_below; /* in zero backing: copies up to this size are kept */
	/*
	 * Name of the card. Without SOFTGPU_CARD a name of this process's own, so that its
	 * libraries (driver, NVML) meet on one card. NULL (no memory): a card for one opener alone.
	 */
	const char *card;
};

/* Any thread. */
const struct sg_config *sg_config_get(void);

/*
 * "8G", "512M", "80GiB", "4096" (bytes): 0 and the value, or -1. Parses the whole string; fractions
 * such as 1.5G are understood, in every locale.
 */
int sg_config_parse_size(const char *text, uint64_t *size);

#endif
