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

/*
 * Build a device image (ELF64, EM_CUDA) that defines the symbols for an architecture (90 for
 * sm_90). Returns malloc'ed memory, to be freed by the caller, or NULL when there is none or the
 * sizes do not fit. The image refers to nothing outside itself.
 */
void *sg_rt_image_build(const struct sg_rt_image_symbol *symbols, size_t nr_symbols, unsigned arch,
			size_t *image_size);

#endif
