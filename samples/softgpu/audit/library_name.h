/*
 * Names of shared libraries, taken apart: libcudart-d0da41ae.so.11.0 is the stem libcudart and the
 * version 11.0; the hash between them was put there when a wheel was packed.
 */
#ifndef SG_LIBRARY_NAME_H
#define SG_LIBRARY_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct sg_library_name {
	char text[NAME_MAX + 1]; /* "libcudart.so.11.0" */
	size_t stem_size;        /* length of "libcudart" */
	size_t version_at;       /* where "11.0" begins; text[version_at] is 0 without a version */
};

/*
 * Takes the last component of @path apart. Returns 0, or -EINVAL when it is not of the form
 * STEM.so[.VERSION] (@name is then untouched). Any thread.
 */
int sg_library_name_parse(const char *path, struct sg_library_name *name);

/* Removes the last component of the version (13.0.96 -> 13.0); false when there was only one. */
bool sg_library_name_shorten(struct sg_library_name *name);

/* True for the libraries of nvidia_libraries.def. Any thread. */
bool sg_library_name_is_nvidia(const struct sg_library_name *name);

#endif
