#ifndef SG_IMAGE_H
#define SG_IMAGE_H

#include "driver.h"
#include "name_table.h"

/*
 * Device images: what cuModuleLoadData and its like are given. Kernels do not run, so of an image
 * only the names of its kernels matter, what they need of a multiprocessor, and its variables:
 * name, size, initial bytes.
 *
 *   cubin        ELF64 of machine 190
 *   PTX          text that begins, after white space and comments, with ".version"
 *   fat binary   a list of cubins and PTX for several architectures; also its wrapper, which
 *                holds a pointer and is therefore believed only in memory, never in a file
 *
 * An image keeps copies of all it needs: the bytes may go once it is open. It does not change after
 * that, so any number of threads may read it.
 */
struct sg_image_variable {
	size_t size;
	size_t alignment; /* that the image asks for; 0: none, anything but a power of two: none */
	size_t offset;    /* in the block of all variables of that kind, see below */
	const unsigned char *data; /* init_size bytes; the rest is zero */
	size_t init_size;
	bool is_managed;
};

/* What the compiler says that a kernel needs. */
struct sg_image_kernel {
	int registers;   /* of a thread; 0: nothing is known of this kernel */
	int shared_size; /* bytes of a block, fixed */
	int local_size;  /* bytes of a thread */
	int max_threads; /* of a block, by __launch_bounds__; 0: no limit of its own */
};

struct sg_image {
	int ptx_version;    /* architecture the code was written for, 90 for sm_90 */
	int binary_version; /* architecture of the machine code; of PTX, the device's own */
	bool is_opaque;     /* compressed: nothing is known of its names */
	struct sg_name_table kernels;
	struct sg_image_kernel *needs; /* by number of the kernel; NULL: nothing is known */
	int constant_size;             /* bytes of __constant__ variables */
	struct sg_name_table variable_names;
	struct sg_image_variable *variables; /* by number of the name */
	/* What the variables need, one block for device memory and one for managed. */
	size_t device_size;
	size_t managed_size;
};

#define SG_IMAGE_UNSIZED SIZE_MAX

/*
 * Read an image for a device of compute capability cc. size may be SG_IMAGE_UNSIZED: the extent is
 * then what the image itself says (the API gives only a pointer), and PTX ends with NUL.
 *
 * CUDA_SUCCESS, or CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU
 * (a good image with nothing for that device), CUDA_ERROR_OUT_OF_MEMORY.
 */
SG_MUST_USE CUresult sg_image_open(struct sg_image **image, const void *bytes, size_t size, int cc);
void sg_image_close(struct sg_image *image);

/* What a kernel needs, or NULL if nothing is known of it. */
const struct sg_image_kernel *sg_image_find_needs(const struct sg_image *image, const char *name);

/* A variable by name, or NULL. */
const struct sg_image_variable *sg_image_find_variable(const struct sg_image *image,
						       const char *name);

/* For the readers of one format (image_elf.c, image_ptx.c). False: out of memory. */
SG_MUST_USE bool sg_image_add_kernel(struct sg_image *image, const char *name, size_t length);

/* Copies data. A name that is already there is left as it is. */
SG_MUST_USE bool sg_image_add_variable(struct sg_image *image, const char *name, size_t length,
				       const struct sg_image_variable *variable);

#endif
