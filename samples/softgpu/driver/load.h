#ifndef SG_LOAD_H
#define SG_LOAD_H

#include "image.h"

/* What cuModuleLoad* and cuLibraryLoad* share. */

/* An image in memory, for the devices of this process. */
SG_MUST_USE CUresult sg_load_memory(const void *bytes, struct sg_image **image);

/* An image in a file: CUDA_ERROR_FILE_NOT_FOUND, and what reading it gives. */
SG_MUST_USE CUresult sg_load_file(const char *path, struct sg_image **image);

/*
 * Check options of the compiler and give those that return something their values: there is nothing
 * to compile, so logs are empty and no time was spent.
 */
SG_MUST_USE CUresult sg_load_check_options(unsigned nr_options, const CUjit_option *options,
					   void **values);

#endif
