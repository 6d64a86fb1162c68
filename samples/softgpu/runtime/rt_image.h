#ifndef SG_RT_IMAGE_H
#define SG_RT_IMAGE_H

#include <stddef.h>

enum sg_rt_image_kind {
	SG_RT_IMAGE_KERNEL,
	SG_RT_IMAGE_VARIABLE,
	SG_RT_IMAGE_CONSTANT,
	SG_RT_IMAGE_MANAGED,
};

struct sg_rt_image_symbol {
	const char *name;
	enum sg_rt_image_kind kind;
	size_t size;       /* of a variable, in bytes */
	const void *value; /* its initial value, size bytes; NULL: zero */
};

/*
 * Find the initial values of variables in a device image (a cubin): value points into it
 * afterwards. Symbols without one there, or whose size differs, are left alone; an image that
 * cannot be read changes nothing. Sorts the symbols by name.
 */
void sg_rt_image_find_values(struct sg_rt_image_symbol *symbols, size_t nr_symbols,
			     const void *cubin, size_t cubin_size);

/* The code that an image stands for. */
struct sg_rt_image_code {
	unsigned arch;     /* 90 for sm_90 */
	unsigned ptx_arch; /* what that was made of */
	/* A cubin with the same kernels, in memory, or NULL: the driver reads what they need. */
	const void *cubin;
	size_t cubin_size;
};

/*
 * Build a device image (ELF64, EM_CUDA) that defines the symbols for an architecture. Returns
 * malloc'ed memory, to be freed by the caller, or NULL when there is none or the sizes do not
 * fit. The image refers to nothing outside itself but the cubin, which must be there when it is
 * loaded.
 */
void *sg_rt_image_build(const struct sg_rt_image_symbol *symbols, size_t nr_symbols,
			const struct sg_rt_image_code *code, size_t *image_size);

#endif
