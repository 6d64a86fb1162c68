#ifndef SG_KERNEL_H
#define SG_KERNEL_H

#include <stdatomic.h>

#include "module.h"

struct sg_kernel_settings;

/* CUfunction (its module is in a context) and CUkernel (its module is a library). */
struct sg_kernel {
	struct sg_module *module;
	const char *name;                 /* the module's or its image's */
	bool is_conjunction;              /* truth.h */
	struct sg_kernel *library_kernel; /* the CUkernel of a function from a library, else NULL */
	/* What was set: one for a function, one per device for a kernel; NULL: nothing. */
	_Atomic(struct sg_kernel_settings *) settings;
};

/* By handle, of either sort; NULL if it is none. */
struct sg_kernel *sg_kernel_find(const void *handle);

/* NULL when memory is out. */
struct sg_kernel *sg_kernel_create(struct sg_module *module, const char *name);
void sg_kernel_destroy(struct sg_kernel *kernel);

/* An attribute (0 to CU_FUNC_ATTRIBUTE_MAX - 1) as it holds on a device. */
int sg_kernel_get_attribute(struct sg_kernel *kernel, CUfunction_attribute attribute,
			    CUdevice device);

/*
 * Whether a function or kernel can be used in a context: a function must be of that context, a
 * kernel's library is loaded into it. CUDA_ERROR_INVALID_HANDLE, or what loading gives.
 */
SG_MUST_USE CUresult sg_kernel_load(struct sg_kernel *kernel, struct sg_context *context);

#endif
