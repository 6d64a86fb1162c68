#ifndef VS_NULL_DRIVER_H
#define VS_NULL_DRIVER_H

#include <stddef.h>

#include <cuda.h>

/*
 * A libcuda.so.1 that does next to nothing, so that what is measured is whoever stands in front of
 * it. Any thread, up to 16 that allocate in one process.
 */
struct vs_null_driver_calls {
	CUresult (*alloc)(CUdeviceptr *address, size_t size);
	CUresult (*free)(CUdeviceptr address);
};

/* Its functions themselves, by a name that nobody hooks. */
const struct vs_null_driver_calls *vs_null_driver_get_calls(void);

#endif
