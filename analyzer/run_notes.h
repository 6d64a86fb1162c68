#ifndef VS_RUN_NOTES_H
#define VS_RUN_NOTES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * What the simulated GPU writes down while a program runs on it (docs/softgpu.md, "Notes"): the
 * card it described, sizes it made up, functions it does not have. The import hook of Python adds a
 * hint.
 */
struct vs_run_notes_size {
	char name[64];
	uint64_t bytes;
};

struct vs_run_notes {
	char path[PATH_MAX]; /* of the file, in the folder for temporary ones; empty: there is none
			      */
	bool has_card;
	uint32_t compute_capability; /* 89 for 8.9 */
	uint32_t nr_multiprocessors;
	uint32_t threads_per_multiprocessor;
	uint32_t nr_devices;
	uint64_t memory_size;
	uint64_t context_size;
	char addresses[16];
	char backing[16];
	char profile[32];
	char name[128];
	struct vs_run_notes_size *sizes; /* each name once, in order of appearance */
	size_t nr_sizes;
	char (*missing)[64]; /* the same */
	size_t nr_missing;
	bool jax_wants_file; /* JAX was imported, and looks for a GPU only where a device file is */
};

/* Makes the file and names it in the environment of the program. Without one, nothing is known. */
void vs_run_notes_open(struct vs_run_notes *notes);

/* Reads what is there. What cannot be read is left out; -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_run_notes_read(struct vs_run_notes *notes);

/* Removes the file. */
void vs_run_notes_close(struct vs_run_notes *notes);

#endif
