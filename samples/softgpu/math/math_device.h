#ifndef SG_MATH_DEVICE_H
#define SG_MATH_DEVICE_H

#include <stddef.h>

/*
 * The driver, for the few functions of mathematics libraries that hold or move device memory. It is
 * reached as any program reaches it: dlopen("libcuda.so.1") and its public names, on the context
 * that is current, or else on the primary context of device 0.
 *
 * Any thread may call these. All of them return 0, or -1 if the driver is missing or refuses.
 */
int sg_math_device_alloc(void **memory, size_t size);
int sg_math_device_free(void *memory);

/* Number of the device in use. */
int sg_math_device_current(int *device);

/* Host or device memory, either way, in the order of @stream, as a kernel would do it. */
int sg_math_device_copy(void *to, const void *from, size_t size, void *stream);

#endif
