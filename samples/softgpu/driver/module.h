#ifndef SG_MODULE_H
#define SG_MODULE_H

#include "context.h"
#include "image.h"

/*
 * Modules and libraries.
 *
 *   CUmodule    an image in one context; its variables have memory there from the start
 *   CUlibrary   an image in no context. Wherever it is first used it gets a module of its own in
 *               that context, and again after that context was reset. Managed variables have
 *               one copy for all contexts.
 *
 * One lock guards everything below but the image, which does not change. It is never held while
 * memory is allocated or freed.
 */
struct sg_kernel;

struct sg_module {
	struct sg_image *image;     /* owned, unless library is set: then it is the library's */
	struct sg_context *context; /* NULL: this is a library */
	struct sg_module *library;  /* whose module in that context this is, else NULL */
	struct sg_module *modules;  /* library: its modules, one per context */
	struct sg_module *next;     /* in that list */
	CUdeviceptr device_block;   /* module: its variables, 0 if it has none */
	CUdeviceptr managed_block;  /* module without a library, or library; 0: none yet */
	struct sg_context *managed_context; /* where that was allocated */
	struct sg_name_table names;         /* opaque image: the kernels asked for so far */
	struct sg_kernel **kernels;         /* by number of the name; NULL: not asked for yet */
	uint32_t nr_kernels;                /* length of kernels */
};

/* By handle; NULL if it is none. */
struct sg_module *sg_module_get(CUmodule handle);
struct sg_module *sg_module_get_library(CUlibrary handle);

/* Takes over the image, also when it fails. context NULL: a library. */
SG_MUST_USE CUresult sg_module_create(struct sg_image *image, struct sg_context *context,
				      struct sg_module **module);

/* A module without a library, or a library with all its modules. Frees their memory. */
void sg_module_destroy(struct sg_module *module);

/* The module of a library in a context, made if need be. */
SG_MUST_USE CUresult sg_module_load_library(struct sg_module *library, struct sg_context *context,
					    struct sg_module **module);

/* A module's function or a library's kernel: CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY. */
SG_MUST_USE CUresult sg_module_find_kernel(struct sg_module *module, const char *name,
					   struct sg_kernel **kernel);

/* The number of them that are known, and the first `max` of them. */
unsigned sg_module_count_kernels(struct sg_module *module);
SG_MUST_USE CUresult sg_module_list_kernels(struct sg_module *module, void *handles, unsigned max);

/* A variable of a module: CUDA_ERROR_NOT_FOUND. */
SG_MUST_USE CUresult sg_module_find_variable(struct sg_module *module, const char *name,
					     CUdeviceptr *address, size_t *size);

/* The same for managed variables of a library that is loaded somewhere. */
SG_MUST_USE CUresult sg_module_find_managed(struct sg_module *library, const char *name,
					    CUdeviceptr *address, size_t *size);

/* Unload the modules of a context that goes away; their globals' memory goes with the context. */
void sg_module_destroy_all(struct sg_context *context);

#endif
