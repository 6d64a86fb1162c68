#ifndef VS_MODULE_FILE_H
#define VS_MODULE_FILE_H

/*
 * The files on disk that describe a module of a recorded process: the module's own file, unless it
 * changed since the run, and the debug file of the same build-id.
 */
#include <gelf.h>

#include "record.h"

enum vs_module_file_state {
	VS_MODULE_FILE_GOOD,
	VS_MODULE_FILE_GONE,    /* not there, not readable, or not ELF */
	VS_MODULE_FILE_CHANGED, /* another build-id: its names would be lies */
};

struct vs_module_file {
	enum vs_module_file_state state; /* of the module's own file */
	Elf *elf;                        /* NULL unless GOOD */
	Elf *debug;                      /* /usr/lib/debug/.build-id/..., or NULL */
	int elf_fd;
	int debug_fd;
};

/* Folder with debug files by build-id, for tests; NULL: the system's. Kept, not copied. */
void vs_module_file_set_debug_folder(const char *path);

/* `path` is the module's, terminated. Opens what there is. */
void vs_module_file_open(struct vs_module_file *file, const char *path, const uint8_t *build_id,
			 uint32_t build_id_size);
void vs_module_file_close(struct vs_module_file *file);

#endif
