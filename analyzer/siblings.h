#ifndef VS_SIBLINGS_H
#define VS_SIBLINGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "options.h"

/*
 * The traces of one run: those in the folder of one of them that say of themselves that they belong
 * to the same (VS_INFO_RUN). A run whose traces were spread over several folders, or moved, is not
 * found as a whole.
 */
struct vs_sibling {
	char *path; /* begins as that of the trace that was asked for */
	uint64_t pid;
	uint64_t parent;
	uint64_t start_ns;
	dev_t device;
	ino_t inode;
};

/* {0} is an empty list. */
struct vs_siblings {
	struct vs_sibling *list; /* the oldest first */
	size_t nr;
	size_t capacity;
	char **paths; /* of vs_siblings_gather */
};

/*
 * Adds the traces of `run` in the folder of `path`, those that the list does not have. 0, or
 * -VS_ERR_NO_MEMORY; what cannot be read is no sibling.
 */
VS_MUST_CHECK int vs_siblings_find(struct vs_siblings *siblings, const char *path, const char *run);
void vs_siblings_fini(struct vs_siblings *siblings);

/*
 * --run: puts the siblings of each trace into options->traces, where it stood, and each once. The
 * paths belong to *siblings, which must be empty before. 0, or -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_siblings_gather(struct vs_siblings *siblings, struct vs_options *options);

#endif
