#ifndef SG_IMAGE_READERS_H
#define SG_IMAGE_READERS_H

#include "image.h"

/* The readers of one format each. All add what they find to an image that image.c made. */

/* Whether bytes may be a cubin: the first bytes of its header. Reads no further than they agree. */
bool sg_image_elf_is(const unsigned char *bytes, size_t size);

/*
 * Architecture of a cubin (90 for sm_90), 0 if it is none. *has_code: machine code of that
 * architecture is in it. Our runtime hands in images that hold nothing but names and values.
 */
int sg_image_elf_get_arch(const unsigned char *bytes, size_t size, bool *has_code);
SG_MUST_USE CUresult sg_image_elf_read(struct sg_image *image, const unsigned char *bytes,
				       size_t size);

/*
 * The architecture that the code of a cubin was made of: that of the PTX in between. 0 if it does
 * not say.
 */
int sg_image_needs_get_ptx_arch(const unsigned char *bytes, size_t size);

/*
 * Fill in what the kernels of the image need, as far as a cubin tells: the image's own, or one that
 * has the same kernels. A cubin that cannot be read, or is not for the architecture that the image
 * stands for (binary_version), changes nothing.
 */
SG_MUST_USE CUresult sg_image_needs_read(struct sg_image *image, const unsigned char *bytes,
					 size_t size);

/*
 * The cubin that an image made by our runtime refers to; false if there is none. It is told by a
 * pointer, so this is only for images that are in the memory of a program.
 */
bool sg_image_needs_find_cubin(const unsigned char *bytes, size_t size, const unsigned char **cubin,
			       size_t *cubin_size);

/* Whether text is PTX. Reads up to the first thing that tells. */
bool sg_image_ptx_is(const char *text, size_t size);

/* Architecture it was written for, 0 if it does not say. size is the exact length. */
int sg_image_ptx_get_arch(const char *text, size_t size);
SG_MUST_USE CUresult sg_image_ptx_read(struct sg_image *image, const char *text, size_t size);

#endif
