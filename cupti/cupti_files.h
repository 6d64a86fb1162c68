#ifndef VS_CUPTI_FILES_H
#define VS_CUPTI_FILES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which files a libcupti may be in: names by release, in the order in which they suit a driver, and
 * folders. Nothing here looks at a file.
 */

/*
 * The next name to try for a driver of this version (13000; 0: not known): releases of its major
 * version, then older ones, the newest first. A newer one cannot work. *at is 0 at first. NULL: no
 * more.
 */
const char *vs_cupti_files_next(int driver_version, unsigned *at);

/*
 * The next folder in which CUPTI lies if a CUDA runtime is at this path: its own, those of a
 * toolkit and of NVIDIA's packages for Python. *at is 0 at first. False: no more.
 */
bool vs_cupti_files_next_folder(const char *runtime_path, unsigned *at, char *out, size_t out_size);

#endif
