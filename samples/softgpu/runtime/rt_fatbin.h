#ifndef SG_RT_FATBIN_H
#define SG_RT_FATBIN_H

#include <stddef.h>

/* What a fat binary offers a device. */
enum sg_rt_fatbin_fit {
	SG_RT_FATBIN_FITS,
	SG_RT_FATBIN_UNREADABLE, /* not a fat binary we can read: nothing is known about it */
	SG_RT_FATBIN_NO_IMAGE,   /* made for other devices only */
};

/*
 * Machine code goes before PTX, whatever their architectures; the newest of a kind before others.
 * PTX would be compiled for the device.
 */
struct sg_rt_fatbin_choice {
	unsigned arch;     /* 75, 90, ...: of the machine code that would run */
	unsigned ptx_arch; /* what it was made of */
	/*
	 * An image that is not compressed: the chosen one if that can be, else one of any
	 * architecture (variables start with the same values on all of them), or NULL. Not copied.
	 */
	const void *cubin;
	size_t cubin_size;
};

/*
 * Choose for a device of compute capability device_arch (90 for 9.0) from a fat binary wrapper as
 * nvcc emits it. choice is filled only when the answer is SG_RT_FATBIN_FITS.
 */
enum sg_rt_fatbin_fit sg_rt_fatbin_choose(const void *wrapper, unsigned device_arch,
					  struct sg_rt_fatbin_choice *choice);

#endif
