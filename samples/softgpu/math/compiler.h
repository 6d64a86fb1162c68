#ifndef SG_COMPILER_H
#define SG_COMPILER_H

#include <stddef.h>

/*
 * What libnvrtc makes of a program: PTX with one empty kernel for each __global__ function, which
 * is all the driver wants of it. Text made here is zero-terminated and freed by the caller.
 */

/* Calls found for the name of each __global__ function in @source. Comments are skipped. */
void sg_compiler_names_scan(const char *source,
			    void (*found)(const char *name, size_t size, void *argument),
			    void *argument);

/*
 * A name the linker would take for a name expression ("&scale<float>"); each expression has
 * another. A plain identifier stays as it is. NULL when memory is out.
 */
char *sg_compiler_names_lower(const char *expression);

#endif
